"""The measurements of ``make bench-judge``: each returns counts by name.

``of_unit`` and the other functions whose names begin with ``of_`` say what a measurement measures, without running any
check: counts and digests. Where they say something else than a stored entry, that entry is out of date.
"""

import contextlib
import hashlib
import io
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from anatomy.program import records
from anatomy.program.records import ExerciseRecord

from autograder import ROOT, exercises
from autograder.grading.base.masters import gradable_units, master
from autograder.grading.judging import execution
from autograder.grading.source.calls import read_calls
from autograder.judge import trusted
from autograder.judge.drawing import draw_record, student_key
from autograder.judge.spec import Exercise, Implementation
from autograder.mutation import explained, processes
from autograder.mutation.subjects import subjects
from autograder.mutation.trial import OutOfTime, limited, quiet
from benchmarks import grading_cheats, written_answers
from benchmarks.naming import verdict_on
from tests.grading import calls_read
from tests.grading.cheats import CHEATS, ENTRIES, Cheat

Figures = dict[str, float]
SECONDS = 8.0  # of processor time, for one answer
# What decides about an answer, in files.
DECIDES = (
    *("course/anatomy/judge", "course/anatomy/program", "autograder/judge", "autograder/exercises"),
    *("autograder/reference", "autograder/grading", "autograder/sandbox", "autograder/mutation", "assets/recordings"),
)


def checks() -> str:
    """Digest of the code and the recordings that decide about an answer."""
    digest = hashlib.sha256()
    for folder in DECIDES:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".json", ".safetensors", ".c"):
                digest.update(f"{path.relative_to(ROOT)} ".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


@cache
def of_unit(unit: str) -> dict[str, Any]:
    """Numbers of a unit's exercises, listed mistakes, and right answers in its solution and specs."""
    found = exercises.of_unit(unit)
    right = sum(1 + len(e.alternatives) for e in found)
    return {"exercises": len(found), "mistakes": sum(len(e.mutants) for e in found), "right": right}


def of_set(name: str, unit: str) -> dict[str, Any]:
    """Digest of a set of answers, and the number of exercises of a unit."""
    return {
        "set": _digest((written_answers.FOLDER / f"{name}.txt").read_bytes()),
        "exercises": of_unit(unit)["exercises"],
    }


def of_hostile(kind: str) -> dict[str, Any]:
    """Digest of the hostile submissions of one kind."""
    if kind == "evasions":
        return {"answers": _digest(*((calls_read.ANSWERS / n).read_bytes() for n in ("evasions.txt", "right.txt")))}
    if kind == "folders":
        return {"names": _digest(*(e.name.encode() for e in ENTRIES))}
    return {"names": _digest(*(c.name.encode() for c in CHEATS))}


def techniques() -> list[str]:
    """The kinds of hostile submissions that stock nbgrader gets too: not those that only cost time."""
    return sorted({c.technique for c in CHEATS} - set(grading_cheats.LEFT_OUT))


def of_technique(technique: str) -> dict[str, Any]:
    """Digest of the hostile submissions of one technique."""
    return {"names": _digest(*(c.name.encode() for c in CHEATS if c.technique == technique))}


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\n".join(parts)).hexdigest()[:12]


def listed(unit: str) -> Figures:
    """Listed mistakes must fail and get their own names; right answers must pass, also on fresh inputs."""
    counts = Counter(mistakes=0, caught=0, named=0, right=0, accepted=0)
    for exercise in exercises.of_unit(unit):
        public = records.load(exercise.id)
        fresh = draw_record(exercise, student_key("judge", "judge", unit), with_mutants=False)
        for mutant in exercise.mutants:
            counts["mistakes"] += 1
            passed, name = _tried(public, exercise, mutant.fn)
            counts["caught"] += not passed
            counts["named"] += name == mutant.name
        for subject in subjects(exercise):
            counts["right"] += 1
            counts["accepted"] += all(_tried(r, exercise, subject.implementation())[0] for r in (public, fresh))
    return dict(counts)


def _tried(record: ExerciseRecord, exercise: Exercise, implementation: Implementation) -> tuple[bool, str]:
    """(whether an answer passes, the name of its first mistake)."""
    torch.manual_seed(0)
    try:
        with quiet(), limited(SECONDS):
            verdict = verdict_on(record, tuple(exercise.functions(implementation).values()))
    except (OutOfTime, Exception):
        return False, ""
    return verdict.passed, verdict.mistakes[0].name if verdict.mistakes else ""


def mutants(unit: str, workers: int) -> Figures:
    """Right answers of a unit, changed by a machine in one place each: what becomes of the changes."""
    counts = Counter(mutants=0, killed=0, without_effect=0, explained=0, left=0)
    for tally in processes.tallies(exercises.of_unit(unit), workers):
        if tally.problems:
            raise RuntimeError("; ".join(tally.problems))
        review = explained.reviewed(tally, explained.entries(exercises.get(tally.exercise)))
        counts.update(
            mutants=tally.mutants,
            killed=tally.killed,
            without_effect=tally.without_effect,
            explained=len(review.explained),
            left=len(review.unexplained),
        )
    return dict(counts)


def answers(name: str, unit: str) -> Figures:
    """What the instant check says of one set of answers, those of one unit."""
    counts = Counter(wrong=0, named=0, told=0, specific=0, generic=0, passed=0, cell=0, right=0, refused=0)
    for answer, result in written_answers.of_unit((name, unit)):
        kind = "passed" if result["kind"] == "passes" else result["kind"]
        counts.update({"right": 1, "refused": kind != "passed"} if answer.right else {"wrong": 1, kind: 1})
    return dict(counts)


def submissions() -> Figures:
    """The hostile submissions, graded as ``make grade`` grades them: how many get points, and what they cost."""
    with hurried():
        results = [grading_cheats.ours(cheat) for cheat in _counted(CHEATS)]
    return {
        "tried": len(results),
        "techniques": len({c.technique for c in CHEATS}),
        "paid": sum(bool(points) for points, *_ in results),
        "worst_cpu": round(max(own for *_, own in results), 1),
    }


def _counted(cheats: Sequence[Cheat]) -> Iterator[Cheat]:
    """The cheats; says before every tenth how many there are, as each takes seconds."""
    for at, cheat in enumerate(cheats):
        if at % 10 == 0:
            print(f"{at} of {len(cheats)}", file=sys.stderr)
        yield cheat


def folders() -> Figures:
    """Entries of a class's folder that should not be there: how many hide the honest submissions beside them."""
    with _stock_course(False) as root:
        found = [_honest_ones_are_found(root, entry) for entry in ENTRIES]
    return {"tried": len(found), "hidden": found.count(False)}


def _honest_ones_are_found(root: Path, entry: Any) -> bool:
    try:
        grading_cheats.our_folder(root, entry)
    except AssertionError:
        return False
    return True


def evasions() -> Figures:
    """Answers that let a library do what is to be written by hand, read from their source alone; and right answers."""
    seen = [bool(calls_read.findings(a.exercise, a.source, *a.own)) for a in calls_read.EVASIONS]
    held = [bool(calls_read.findings(a.exercise, a.source, *a.own)) for a in calls_read.RIGHT]
    playing = sum(_plays_and_is_held(cell.source) for cell in calls_read.PLAYING)
    return {
        "tried": len(seen),
        "seen": sum(seen),
        "right": len(held) + len(calls_read.PLAYING),
        "held": sum(held) + playing,
    }


def _plays_and_is_held(cell: str) -> bool:
    for unit in gradable_units():
        calls = read_calls(calls_read.notebook_with(calls_read.solved(unit), [cell]))
        if any(calls.findings(e.targets, e.forbidden) for e in master(unit).exercises if e.forbidden):
            return True
    return False


def stock(technique: str) -> Figures:
    """Hostile submissions of one technique in stock nbgrader: how many get points.

    Raises RuntimeError in a checkout below /tmp, which the submissions don't see.
    """
    if Path("/tmp") in Path(sys.executable).parents:
        raise RuntimeError("stock nbgrader is measured in a checkout outside /tmp, which it does not see")
    with _stock_course(True) as root:
        chosen = [cheat for cheat in CHEATS if cheat.technique == technique]
        points = [grading_cheats.stock(root, cheat) for cheat in _counted(chosen)]
    return {"tried": len(points), "paid": sum(bool(p) for p in points), "no_result": points.count(None)}


@contextlib.contextmanager
def _stock_course(with_stock: bool) -> Iterator[Path]:
    with contextlib.redirect_stderr(io.StringIO()):
        root = grading_cheats.prepare(with_stock)
    try:
        yield root
    finally:
        subprocess.run(["chmod", "-R", "u+rwx", root], stderr=subprocess.DEVNULL)
        shutil.rmtree(root, ignore_errors=True)


@contextlib.contextmanager
def hurried() -> Iterator[None]:
    """Limits of grading as in ``make bench-cheats``, so that submissions that only wait end soon."""
    before = execution.CELL_SECONDS, execution.TOGETHER_SECONDS, execution.ANSWER_SECONDS, trusted.TOGETHER_SECONDS
    execution.CELL_SECONDS = execution.TOGETHER_SECONDS = execution.ANSWER_SECONDS = 5.0
    trusted.TOGETHER_SECONDS = 5.0
    try:
        yield
    finally:
        execution.CELL_SECONDS, execution.TOGETHER_SECONDS, execution.ANSWER_SECONDS, trusted.TOGETHER_SECONDS = before


def said(*words: object) -> None:
    """Prints a line at once."""
    print(*words)
    sys.stdout.flush()

"""Judges a new exercise before anything is recorded: its answers, its mistakes and its solution."""

import builtins
import re
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from anatomy.judge import judging
from anatomy.judge.verdict import Verdict
from anatomy.program import runner
from anatomy.program.records import ExerciseRecord

from autograder import exercises
from autograder.judge.changes import problem
from autograder.judge.drawing import draw_record, student_key
from autograder.judge.spec import Exercise
from autograder.notebooks.cells import Cell, Problem, SourceError, read_cells
from autograder.notebooks.source import source_path

from . import by_heart
from .review import line_of_spec
from .templates import MARK

_SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION\n.*?### END SOLUTION", re.M | re.S)


def problems(exercise: Exercise) -> list[Problem]:
    """Problems that the judge finds in the exercise, on the public cases and on those of a submission.

    A spec or a solution that is not written yet is skipped.
    """
    path, line = exercises.place_of(exercise)
    if MARK in path.read_text(encoding="utf-8"):
        return []
    # The review reports changes that cannot be made; the others are tried here.
    exercise = replace(exercise, mutants=[m for m in exercise.mutants if not problem(m)])
    try:
        public = draw_record(exercise)
        fresh = draw_record(exercise, student_key("secret", "ada", exercise.unit))
    except Exception as error:  # the spec's own code may raise anything
        at = next((f.lineno for f in reversed(traceback.extract_tb(error.__traceback__)) if _in(f, path)), line)
        return [Problem(path, at or line, f"its cases cannot be built: {type(error).__name__}: {error}")]
    found = [*_of_answers(exercise, {"public": public, "fresh": fresh}), *_of_cases(exercise, public)]
    return [*found, *_of_solution(exercise, public)]


def judged(exercise: Exercise, record: ExerciseRecord, implementation: Any) -> Verdict:
    """Verdict on a reference, an alternative or a mutant, with the cases of a record."""
    named = exercise.functions(implementation)
    return judging.judge(
        record, [runner.run_program(c.program, c.tensors, named, record.forbidden) for c in record.cases]
    )


def _of_answers(exercise: Exercise, drawn: dict[str, ExerciseRecord]) -> Iterator[Problem]:
    path, line = exercises.place_of(exercise)
    raised = [c.name for c in drawn["public"].cases if "raises" in c.outcomes["expected"][0]["results"][-1]]
    if len(raised) == len(drawn["public"].cases):
        said = ": ".join(drawn["public"].cases[0].outcomes["expected"][0]["results"][-1]["raises"][:2])
        yield Problem(path, line, f"the reference fails on every case ({said})")
        return
    right = {"the reference": exercise.reference} | {
        f"alternative {n}": a for n, a in enumerate(exercise.alternatives, 1)
    }
    for kind, record in drawn.items():
        for title, answer in right.items():
            verdict = judged(exercise, record, answer)
            if not verdict.passed:
                yield Problem(path, line, f"{title} does not pass on {kind} inputs: {_first(verdict)}")
        for mutant in exercise.mutants:
            verdict = judged(exercise, record, mutant.fn)
            says = _not_told_apart(mutant.name, verdict)
            if says:
                yield Problem(path, line_of_spec(exercise, mutant.name), f"{mutant.name}: on {kind} inputs {says}")


def _not_told_apart(name: str, verdict: Verdict) -> str | None:
    if verdict.passed:
        return "this mistake passes; add the smallest case that separates it from the right answer"
    if verdict.mistakes[0].name != name:
        return f"this mistake is called {verdict.mistakes[0].name}; add the smallest case that separates the two"
    return None


def _first(verdict: Verdict) -> str:
    return verdict.mistakes[0].message.split("\n")[0] if verdict.mistakes else "no reason given"


def _of_cases(exercise: Exercise, public: ExerciseRecord) -> Iterator[Problem]:
    path, line = exercises.place_of(exercise)
    given_back = (lambda *args, **kwargs: args[0] if args else None,) * len(exercise.targets)
    for case in judged(exercise, public, given_back).cases:
        if case.points:
            says = f"case {case.name!r} gives points to who returns the input: weight=0, or another input"
            yield Problem(path, line_of_spec(exercise, case.name), says)
    for name, says in by_heart.problems(*by_heart.drawn(exercise)):
        yield Problem(path, line_of_spec(exercise, name) if name else line, says)


def _of_solution(exercise: Exercise, record: ExerciseRecord) -> Iterator[Problem]:
    """Problems of solution and stub in the text; runs the setup cells and earlier exercises first, as in grading."""
    path = source_path(exercise.unit)
    try:
        cells, _ = read_cells(path)
    except SourceError:
        return  # said elsewhere
    at = next((i for i, c in enumerate(cells) if c.part == "exercise" and c.exercise == exercise.id), None)
    if at is None or MARK in cells[at].source:
        return
    space: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins}
    for cell in (c for c in cells[: at + 1] if c.setup or c.part == "exercise"):
        try:
            _execute(cell, path, space)
        except Exception as error:
            where = next((f.lineno for f in reversed(traceback.extract_tb(error.__traceback__)) if _in(f, path)), None)
            yield Problem(path, where or cell.line, f"this does not run: {type(error).__name__}: {error}")
            return
    if not space.keys() >= set(exercise.targets):
        return  # said elsewhere
    verdict = judged(exercise, record, tuple(space[t] for t in exercise.targets))
    if not verdict.passed:
        yield Problem(path, cells[at].line, f"{exercise.id}: the solution does not pass: {_first(verdict)}")
        return
    stub = replace(cells[at], source=_SOLUTION.sub(r"\1raise NotImplementedError", cells[at].source))
    try:
        _execute(stub, path, space)
    except NotImplementedError:
        return  # a stub that cannot even be run passes nothing
    for case in judged(exercise, record, tuple(space[t] for t in exercise.targets)).cases:
        if case.points:
            says = f"case {case.name!r} gives points to the stub: let it need what the learner writes"
            yield Problem(exercises.place_of(exercise)[0], line_of_spec(exercise, case.name), says)


def _execute(cell: Cell, path: Path, space: dict[str, Any]) -> None:
    # The blank lines make line numbers in errors match the file.
    exec(compile("\n" * (cell.first - 1) + cell.source, str(path), "exec"), space)


def _in(frame: traceback.FrameSummary, path: Path) -> bool:
    return frame.filename == str(path)

"""Shows the instant check's verdicts on answers that people wrote from the text of the notebooks alone.

``make bench-answers ARGS="--set second --unit 06-rope"``. ``benchmarks/answers/*.txt`` says for each answer
whether it is right, and what a tutor says about the mistake (format: ``autograder.messages.read_answers``). The writers
saw no spec, no solution and no test. Wrong answers that pass and right answers that fail are listed; ``--unnamed`` also
lists wrong answers without a name, ``--named`` those with a name, so that a reader can judge whether the name is right.
"""

import argparse
import ast
import builtins
import contextlib
import io
import linecache
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402
from anatomy.program import records  # noqa: E402
from anatomy.program.records import ExerciseRecord  # noqa: E402

from autograder import ROOT, exercises  # noqa: E402
from autograder.judge.drawing import draw_record  # noqa: E402
from autograder.messages import Answer, kind_of, read_answers  # noqa: E402
from autograder.mutation.trial import OutOfTime, limited, quiet  # noqa: E402
from autograder.notebooks.cells import read_cells  # noqa: E402
from autograder.notebooks.source import source_path  # noqa: E402
from benchmarks.naming import verdict_on  # noqa: E402

FOLDER = ROOT / "benchmarks" / "answers"
SECONDS = 8.0
# Verdicts that identify the mistake without a listed one: a wrong dtype, a write into an input, a lost gradient.
TELLING = {
    f"generic.{n}"
    for n in ("edit", "mutated", "dtype", "gradient", "cost", "law", "raises", "untold", "missing", "signature")
}


def read(name: str) -> list[Answer]:
    """The answers of one set, in order."""
    return read_answers(FOLDER / f"{name}.txt")


def spaces(unit: str) -> dict[str, dict[str, Any]]:
    """Exercise id → the namespace for its answer cell, including the helper functions that the cell itself provides."""
    space: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins}
    found = {}
    for cell in read_cells(source_path(unit))[0]:
        if not (cell.setup or cell.part == "exercise"):
            continue
        if cell.part == "exercise":
            targets = exercises.get(cell.exercise).targets
            body = ast.parse(cell.source).body
            given: list[ast.stmt] = [n for n in body if isinstance(n, ast.FunctionDef) and n.name not in targets]
            found[cell.exercise] = dict(space)
            exec(compile(ast.Module(given, []), "<given>", "exec"), found[cell.exercise])
        exec(compile(cell.source, "<solutions>", "exec"), space)
    return found


def judged(answer: Answer, record: ExerciseRecord, space: dict[str, Any]) -> dict[str, Any]:
    """The result of one answer: kind and texts of the verdict, or why its cell does not run."""
    torch.manual_seed(0)
    name = f"<{answer.title}>"
    linecache.cache[name] = (len(answer.source), None, answer.source.splitlines(True), name)
    space = dict(space)
    try:
        with quiet(), limited(SECONDS):
            exec(compile(answer.source, name, "exec"), space)
            verdict = verdict_on(record, [space[t] for t in record.targets])
    except (OutOfTime, Exception) as error:
        return {"kind": "cell", "says": [f"{type(error).__name__}: {error}"[:200]]}
    if verdict.passed:
        return {"kind": "passes", "says": []}
    name = verdict.mistakes[0].name
    kind = "told" if name in TELLING else kind_of(verdict)
    return {"kind": kind, "says": [f"{m.name}: {m.message}" for m in verdict.mistakes[:2]]}


def of_unit(job: tuple[str, str]) -> list[tuple[Answer, dict[str, Any]]]:
    """(answer, result) for each answer of one unit. job: (set, unit)."""
    name, unit = job
    with contextlib.redirect_stderr(io.StringIO()):
        around, ids = spaces(unit), {e.id for e in exercises.of_unit(unit)}
    drawn: dict[str, ExerciseRecord] = {}
    done = []
    for answer in read(name):
        exercise = answer.exercise
        if exercise in ids:
            if exercise not in drawn:  # add the results of single changes, which are only recorded
                edits = records.load(exercise).edits
                drawn[exercise] = replace(draw_record(exercises.get(exercise)), edits=edits)
            done.append((answer, judged(answer, drawn[exercise], around[exercise])))
    return done


def sentences(unit: str, found: Sequence[tuple[Answer, dict[str, Any]]], listed: Sequence[str]) -> Iterator[str]:
    """A line of counts, and the answers that are listed."""
    counts = Counter((a.right, f["kind"]) for a, f in found)
    wrong = sum(n for (is_right, sort), n in counts.items() if not is_right and sort != "cell")
    kinds = ("named", "told", "specific", "generic", "passes")
    shares = "".join(f"{counts[False, k]:5} ({100 * counts[False, k] / max(wrong, 1):3.0f} %)" for k in kinds)
    right = sum(n for (is_right, sort), n in counts.items() if is_right and sort != "passes")
    yield f"{unit:28}{wrong:6}{shares}{counts[True, 'passes']:8}{right:6}{counts[False, 'cell']:6}"
    for answer, what in found:
        if answer.right != (what["kind"] == "passes") or not answer.right and what["kind"] in listed:
            kind = "right" if answer.right else "wrong"
            yield f"  {kind}, {what['kind']}: {answer.exercise}: {answer.title}: {' '.join(answer.says)}"
            yield from (f"      {line}" for line in what["says"])


def main() -> None:
    """Prints a table with a line for each unit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--set", default="second", choices=sorted(p.stem for p in FOLDER.glob("*.txt")))
    parser.add_argument("--unit", action="append", help="e.g. 01-attention (may be repeated; default all)")
    parser.add_argument("--unnamed", action="store_true", help="list wrong answers that got no name")
    parser.add_argument("--named", action="store_true", help="list wrong answers with the names they got")
    options = parser.parse_args()
    listed = ["specific", "generic"] * options.unnamed + ["named"] * options.named
    jobs = [(options.set, unit) for unit in options.unit or exercises.units()]
    heads = "".join(f"{k:>13}" for k in ("named", "told", "specific", "generic", "pass"))
    print(f"{'wrong answers':28}{'':>6}{heads}{'right':>8}{'fail':>6}{'cell':>6}")
    everything = []
    with multiprocessing.get_context("fork").Pool(min(2, len(jobs))) as pool:
        for (_, unit), found in zip(jobs, pool.imap(of_unit, jobs), strict=True):
            print(*sentences(unit, found, listed), sep="\n")
            sys.stdout.flush()
            everything += found
    print(next(sentences("all", everything, ())))


if __name__ == "__main__":
    main()

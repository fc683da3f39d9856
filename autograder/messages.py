"""Shows a unit's author the messages that learners get for stubs, known mistakes and generic wrong answers.

``python -m autograder.messages --unit 01-attention`` prints each exercise's messages, each of them once, with the
change that turns a right answer into the known mistake. ``--examples`` prints the whole verdicts on the hand-written
wrong answers in ``tests/course/wrong_answers/``. Their format: ``read_answers``.
"""

import argparse
import ast
import contextlib
import inspect
import io
import itertools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from anatomy.judge import judging, probing
from anatomy.judge.verdict import Verdict
from anatomy.program import records, runner
from anatomy.system.translation import ENGLISH, speaking

from autograder import ROOT, exercises
from autograder.judge.changes import edits
from autograder.judge.spec import Exercise
from autograder.notebooks.cells import read_cells
from autograder.notebooks.source import source_path

# A Change maps (result, arguments) to another result; a Before maps the arguments to those that the function gets.
Change = Callable[[Any, tuple], Any]
Before = Callable[[tuple, dict[str, Any]], Any]


def verdict_on(exercise_id: str, functions: Sequence[Any]) -> Verdict:
    """The instant check's Verdict on some functions, without output or side effects.

    functions: in the order of the exercise's text.
    """
    with speaking(ENGLISH):  # ``kind_of`` looks at the words
        return _verdict_on(records.load(exercise_id), functions)


def _verdict_on(record: records.ExerciseRecord, functions: Sequence[Any]) -> Verdict:
    named = dict(zip(record.targets, functions, strict=True))
    problem = runner.calling_problem(named, record.signature)
    outcomes = []
    with contextlib.redirect_stdout(io.StringIO()):
        for case in record.cases:
            outcomes.append(
                ({"results": [], "signature": problem}, {})
                if problem
                else runner.run_program(case.program, case.tensors, named, record.forbidden)
            )
        verdict = judging.judge(record, outcomes)
        probing.add_findings(record, named, verdict)
    return verdict


def wrong_versions(exercise: Exercise) -> Iterator[tuple[str, tuple]]:
    """(title, functions) of the wrong answers that are generated from the reference."""
    right = list(exercise.functions(exercise.reference).values())

    def every(change: Change) -> tuple:
        return tuple(changed(f, change) for f in right)

    yield "stub", tuple(changed(f, None, _stub(exercise.id)) for f in right)
    for title, change in CHANGES.items():
        yield title, every(change)
    for title, before in BEFORE.items():
        yield title, tuple(changed(f, None, before) for f in right)
    if len(right) > 1:
        for i, target in enumerate(exercise.targets):
            yield (
                f"only {target} wrong",
                tuple(changed(f, CHANGES["times 2"]) if i == k else f for k, f in enumerate(right)),
            )
    yield "a result in place of the function", (torch.zeros(2), *right[1:])


def changed(function: Any, change: Change | None, before: Before | None = None) -> Any:
    """A function or class whose results go through ``change`` and whose arguments go through ``before``."""
    if inspect.isclass(function):
        names = [n for n in ("forward", "append") if n in vars(function)]
        return type(function.__name__, (function,), {n: changed(vars(function)[n], change, before) for n in names})

    def wrapped(*args, **kwargs):
        if before is not None:
            args, kwargs = before(args, kwargs)
        result = function(*args, **kwargs)
        return change(result, args) if change is not None else result

    with contextlib.suppress(TypeError, ValueError):
        wrapped.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # inspect looks for it
    wrapped.__name__ = function.__name__
    return wrapped


def _stub(exercise_id):
    def before(args, kwargs):
        raise NotImplementedError(f"{exercise_id}: your code goes here")

    return before


def _tensors(f):
    """A Change that applies ``f`` to every tensor and number in a result, and keeps everything else."""

    def change(value, args):
        if isinstance(value, torch.Tensor):
            return f(value)
        if isinstance(value, tuple | list):
            return type(value)(change(v, args) for v in value) if type(value) in (tuple, list) else value
        if isinstance(value, float | int) and not isinstance(value, bool):
            new = f(torch.tensor(value))
            return new.item() if isinstance(new, torch.Tensor) and new.ndim == 0 else value
        return value

    return change


def _arithmetic(f):
    return _tensors(lambda t: ~t if t.dtype == torch.bool else f(t))


def _only(condition, change):
    """A Change that is applied only where ``condition`` holds for the tensors among the arguments."""
    return lambda value, args: (
        change(value, args) if condition([a for a in args if isinstance(a, torch.Tensor)]) else value
    )


def _raises(error):
    def before(args, kwargs):
        raise error

    return before


def _matmul(args, kwargs):
    torch.zeros(2, 3) @ torch.zeros(2, 3)


def _undefined(args, kwargs):
    return sqrt_of_d  # noqa: F821


def _in_place(args, kwargs):
    for a in args:
        if isinstance(a, torch.Tensor) and a.is_floating_point() and not a.requires_grad:
            a.mul_(2)
    return args, kwargs


def _ignores_last(args, kwargs):
    last = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)][-1:]
    return tuple(torch.zeros_like(a) if i in last else a for i, a in enumerate(args)), kwargs


CHANGES = {
    "returns None": lambda value, args: None,
    "prints": lambda value, args: print(value),
    "transposed": _tensors(lambda t: t.transpose(-1, -2) if t.ndim > 1 else t),
    "float64": _tensors(lambda t: t.double()),
    "times 2": _arithmetic(lambda t: 2 * t),
    "plus 1": _arithmetic(lambda t: t + 1),
    "negated": _arithmetic(lambda t: -t),
    "NaN": _tensors(lambda t: t * math.nan if t.is_floating_point() else t),
    "zeros": _tensors(torch.zeros_like),
    "flipped": _tensors(lambda t: t.flip(-1) if t.ndim else t),
    "axis too many": _tensors(lambda t: t[None]),
    "axis lost": _tensors(lambda t: t.sum(-1) if t.ndim else t),
    "a list": _tensors(lambda t: t.tolist() if t.ndim else t),
    "numpy": lambda value, args: value.detach().numpy() if isinstance(value, torch.Tensor) else value,
    "a tuple": lambda value, args: (value, value),
    "last value lost": lambda value, args: value[:-1] if isinstance(value, tuple) else value,
    "wrong last column": _arithmetic(lambda t: torch.cat([t[..., :-1], 2 * t[..., -1:]], -1) if t.ndim else t),
    "wrong above the diagonal": _arithmetic(lambda t: t + t.triu(1) if t.ndim > 1 else t),
    "wrong for a batch": _only(lambda ts: any(t.ndim > 2 and len(t) > 1 for t in ts), _arithmetic(lambda t: 3 * t)),
    "wrong in half precision": _only(
        lambda ts: any(t.dtype in (torch.float16, torch.bfloat16) for t in ts), _arithmetic(lambda t: t * 1.5)
    ),
    "wrong for large inputs": _only(
        lambda ts: sum(t.numel() for t in ts) > 40,
        _arithmetic(lambda t: t + t.mean() if t.is_floating_point() else t + 1),
    ),
}
BEFORE = {
    "NameError": _undefined,
    "shapes": _matmul,
    "RuntimeError": _raises(RuntimeError("something went wrong")),
    "ignores its last tensor": _ignores_last,
    "in place": _in_place,
}


def of_exercise(exercise: Exercise) -> list[tuple[list[str], Verdict]]:
    """[(titles, Verdict)] for all wrong versions of one exercise, grouped by message."""
    answers = list(wrong_versions(exercise))
    answers[1:1] = [(f"mistake {m.name}", tuple(exercise.functions(m.fn).values())) for m in exercise.mutants]
    found: dict[str, tuple[list[str], Verdict]] = {}
    for title, functions in answers:
        verdict = verdict_on(exercise.id, functions)
        if not verdict.passed:
            said = "\n".join(m.message for m in verdict.mistakes[:2])
            found.setdefault(said, ([], verdict))[0].append(title)
    return list(found.values())


def kind_of(verdict: Verdict) -> str:
    """``named``, ``specific`` or ``generic``: how much a verdict says about this answer.

    It is generic if it says only that numbers are wrong, in which function and where: that doesn't help to fix them.
    """
    first = verdict.mistakes[0]
    if not first.name.startswith("generic."):
        return "named"
    bare = (
        "by hand, and print each intermediate value.",
        "different about its input?",
        "Print the shapes at each line.",
    )
    return "generic" if first.message.endswith(bare) else "specific"


class Answer(NamedTuple):
    """An answer that somebody wrote by hand, with what is said about it."""

    exercise: str
    title: str
    source: str  # of the answer cell
    says: list[str]  # phrases that its message must contain, or a tutor's description
    right: bool
    own: list[str]  # sources of the cells that the student added


def read_answers(path: Path) -> list[Answer]:
    """The answers in a text file.

    An answer begins with ``=== exercise: title`` or ``=== right exercise: title``. Lines with ``> ``
    below say something about it; then comes the answer cell. ``--- a cell of one's own`` begins a cell that the
    student added.
    """
    answers = []
    for entry in ("\n" + path.read_text(encoding="utf-8")).split("\n=== ")[1:]:
        head, _, body = entry.partition("\n")
        exercise, _, title = head.partition(": ")
        lines = body.splitlines(keepends=True)
        says = list(itertools.takewhile(lambda line: line.startswith("> "), lines))
        source, *own = "".join(lines[len(says) :]).split("--- a cell of one's own\n")
        said = [line[2:].strip() for line in says]
        right = exercise.startswith("right ")
        answers.append(Answer(exercise.removeprefix("right "), title, source, said, right, own))
    return answers


def hand_written() -> list[Answer]:
    """The wrong answers whose messages are tested."""
    files = sorted((ROOT / "tests" / "course" / "wrong_answers").glob("*.txt"))
    return [answer for path in files for answer in read_answers(path)]


def verdict_on_source(exercise_id: str, source: str) -> Verdict:
    """The Verdict on the source text of an answer cell."""
    import linecache

    exercise = exercises.get(exercise_id)
    space = {"torch": torch, "math": math, "nn": torch.nn, "F": torch.nn.functional, "__name__": "__main__"}
    for e in exercises.of_unit(exercise.unit):
        if e.id == exercise_id:
            break
        space |= e.functions(e.reference)
    _define_given(exercise, space)
    name = f"<answer to {exercise_id}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)  # so that a message can quote a line
    exec(compile(source, name, "exec"), space)
    return verdict_on(exercise_id, [space[t] for t in exercise.targets])


def _define_given(exercise: Exercise, space: dict[str, Any]) -> None:
    """Adds to ``space`` the functions that the notebook defines before the exercise in cells that grading also runs."""
    cells, _ = read_cells(source_path(exercise.unit))
    for cell in cells:
        if cell.part == "exercise" and cell.exercise == exercise.id:
            return
        if cell.setup:
            given: list[ast.stmt] = [
                n for n in ast.parse(cell.source).body if isinstance(n, ast.FunctionDef | ast.ClassDef)
            ]
            exec(compile(ast.Module(given, []), "<given>", "exec"), space)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--unit", action="append", help="e.g. 01-attention (may be repeated; default all)")
    parser.add_argument("--examples", action="store_true", help="the hand-written wrong answers, with whole verdicts")
    options = parser.parse_args(argv)
    if options.examples:
        for answer in hand_written():
            verdict = verdict_on_source(answer.exercise, answer.source)
            print(f"── {answer.exercise}: {answer.title}\n{verdict.text()}\n")
        return 0
    try:
        _tell([e for u in options.unit or exercises.units() for e in exercises.of_unit(u)])
    except (exercises.SpecError, exercises.UnknownName, records.MissingRecording) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _tell(chosen: list[Exercise]) -> None:
    counts = {"named": 0, "specific": 0, "generic": 0}
    for exercise in chosen:
        print(f"── {exercise.id}")
        changed = {f"mistake {m.name}": m.change for m in exercise.mutants}
        for titles, verdict in of_exercise(exercise):
            kind = kind_of(verdict)
            counts[kind] += len(titles)
            print(f"  {', '.join(titles)} [{kind}]")
            for old, new in (e for title in titles for e in edits(changed.get(title, ""))):
                print(f"      - {old}\n      + {new}")
            for mistake in verdict.mistakes[:2]:
                print(f"      {mistake.message}")
    total = sum(counts.values())
    print(f"{total} wrong answers: " + ", ".join(f"{n} {k}" for k, n in counts.items()))


if __name__ == "__main__":
    sys.exit(main())

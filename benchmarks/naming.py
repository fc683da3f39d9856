"""Measures how specific the feedback on wrong answers is: a name, a sentence about this answer, or only "wrong".

``make bench-naming``. Four sorts of wrong answers: those written by hand in ``tests/course/wrong_answers``, the listed
mistakes, the reference with a changed result, and every nth mutant of the solutions. All run on the public cases, drawn
from the specs. A listed mistake must get its own name; the others show how many other mistakes the names cover.
"""

import argparse
import contextlib
import io
import itertools
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402
from anatomy.judge import judging, probing
from anatomy.judge.verdict import Verdict  # noqa: E402
from anatomy.program import runner  # noqa: E402
from anatomy.program.records import ExerciseRecord  # noqa: E402

from autograder import exercises  # noqa: E402
from autograder.judge.drawing import draw_record  # noqa: E402
from autograder.judge.spec import Exercise  # noqa: E402
from autograder.messages import hand_written, kind_of, wrong_versions  # noqa: E402
from autograder.mutation.subjects import Subject, subjects  # noqa: E402
from autograder.mutation.trial import OutOfTime, limited, quiet  # noqa: E402

KINDS = ("named", "specific", "generic", "passes")
SORTS = ("by hand", "listed", "changed result", "mutants")
SECONDS = 4.0


def verdict_on(record: ExerciseRecord, functions: Sequence[Any]) -> Verdict:
    """The instant check's Verdict on functions, which are in the order of the record's targets."""
    named = dict(zip(record.targets, functions, strict=True))
    problem = runner.calling_problem(named, record.signature)
    outcomes: list[Any] = [({"results": [], "signature": problem}, {})] * len(record.cases)
    if not problem:
        outcomes = [runner.run_program(c.program, c.tensors, named, record.forbidden) for c in record.cases]
    verdict = judging.judge(record, outcomes)
    if not verdict.passed:
        probing.add_findings(record, named, verdict)
    return verdict


def by_hand() -> dict[str, list[str]]:
    """Exercise id → sources of its hand-written wrong answers."""
    found: dict[str, list[str]] = {}
    for answer in hand_written():
        found.setdefault(answer.exercise, []).append(answer.source)
    return found


def answers(exercise: Exercise, written: Sequence[str], every: int) -> Iterator[tuple[str, str | None, Any]]:
    """(sort, the name that it must get or None, a function that returns its functions) for each wrong answer."""
    solution = next(s for s in subjects(exercise) if s.name == "solution")
    for source in written:
        yield "by hand", None, lambda source=source: _defined(exercise, solution, source)
    for mutant in exercise.mutants:
        yield "listed", mutant.name, lambda fn=mutant.fn: tuple(exercise.functions(fn).values())
    for _, functions in wrong_versions(exercise):
        yield "changed result", None, lambda functions=functions: functions
    for made in itertools.islice(solution.mutants(), 0, None, every):
        yield "mutants", None, lambda made=made: solution.implementation(made)


def _defined(exercise: Exercise, solution: Subject, source: str) -> tuple[Any, ...]:
    space = dict(solution.space)
    exec(compile(source, "<answer>", "exec"), space)
    return tuple(space[t] for t in exercise.targets)


def measure(chosen: Sequence[Exercise], every: int) -> tuple[Counter[tuple[str, str]], list[str]]:
    """((sort, kind) → number of answers, sentences about listed mistakes that did not get their name).

    chosen: the exercises. every: take every ``every``-th mutant. A mutant that passes may be a right answer.
    """
    counts: Counter[tuple[str, str]] = Counter()
    wrong, written = [], by_hand()
    for exercise in chosen:
        record = draw_record(exercise)
        for sort, name, make in answers(exercise, written.get(exercise.id, []), every):
            torch.manual_seed(0)
            try:
                with quiet(), limited(SECONDS):
                    verdict = verdict_on(record, make())
            except (OutOfTime, Exception):  # the cell itself fails or never ends, so there is no verdict
                continue
            kind = "passes" if verdict.passed else kind_of(verdict)
            counts[sort, kind] += 1
            said = verdict.mistakes[0].name if verdict.mistakes else "nothing"
            if name is not None and said != name:
                wrong.append(f"{exercise.id}: {name} is called {said}")
    return counts, wrong


def main() -> None:
    """Prints a table, and each listed mistake that does not get its name."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--unit", action="append", help="e.g. 01-attention (may be repeated; default all)")
    parser.add_argument("--every", type=int, default=10, help="take one of so many mutants (default 10)")
    options = parser.parse_args()
    with contextlib.redirect_stderr(io.StringIO()):
        chosen = [e for u in options.unit or exercises.units() for e in exercises.of_unit(u)]
    counts, wrong = measure(chosen, options.every)
    print(f"{'wrong answers':16} {'number':>7}" + "".join(f"{k:>10}" for k in KINDS[:3]) + f"{'pass':>7}")
    for sort in SORTS:
        fail = sum(counts[sort, k] for k in KINDS[:3])
        shares = "".join(f"{100 * counts[sort, k] / max(fail, 1):9.0f}%" for k in KINDS[:3])
        print(f"{sort:16} {fail:7}{shares}{counts[sort, 'passes']:7}")
    print("\n".join(wrong) if wrong else "Every listed mistake gets its own name.")


if __name__ == "__main__":
    main()

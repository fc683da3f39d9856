"""What somebody who knows the recorded answers by heart would earn: the recordings are public."""

from collections.abc import Iterator, Sequence

from anatomy.program.records import ExerciseRecord

from autograder.judge.drawing import draw_record
from autograder.judge.examples import is_drawn
from autograder.judge.spec import Exercise

KEYS = tuple(bytes([i]) * 32 for i in range(8))


def drawn(exercise: Exercise) -> tuple[ExerciseRecord, list[ExerciseRecord]]:
    """The examples, and the cases of eight submissions, as ``problems`` takes them."""
    return draw_record(exercise, with_mutants=False), [draw_record(exercise, k, with_mutants=False) for k in KEYS]


def problems(public: ExerciseRecord, drawn: Sequence[ExerciseRecord]) -> Iterator[tuple[str, str]]:
    """(name of a case, or "" for the exercise; what is to be done about it) for everything that can be known by heart.

    A guess that is right for one in a hundred would bring all fixed cases with it: of eight submissions no two may have
    the same answer, nor the public one.
    """
    number, pairs = 0, len(drawn) * (len(drawn) + 1) // 2
    for shown, *fresh in zip(public.cases, *(record.cases for record in drawn), strict=True):
        if not shown.weight or not any(is_drawn(f, shown) for f in fresh):
            continue  # the same for all, which earns nothing alone
        number += 1
        every = [shown, *fresh]
        same = sum(not is_drawn(every[j], every[i]) for j in range(len(every)) for i in range(j))
        if same:
            yield (
                shown.name,
                f"case {shown.name!r} has the same answer for {same} of {pairs} pairs of submissions, so it can be "
                "guessed: draw more of it from g, or ask several times",
            )
    if not number:
        yield (
            "",
            "no case draws from g, so its answers can be known by heart: draw a case from g (g.randn, g.integers, …)",
        )

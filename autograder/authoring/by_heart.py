"""Checks that a student can't earn points by memorizing the recorded answers, which are public."""

from collections.abc import Iterator, Sequence

from anatomy.program.records import ExerciseRecord

from autograder.judge.drawing import draw_record
from autograder.judge.examples import is_drawn
from autograder.judge.spec import Exercise

KEYS = tuple(bytes([i]) * 32 for i in range(8))


def drawn(exercise: Exercise) -> tuple[ExerciseRecord, list[ExerciseRecord]]:
    """The arguments of ``problems``: the public examples, and the cases of eight submissions."""
    return draw_record(exercise, with_mutants=False), [draw_record(exercise, k, with_mutants=False) for k in KEYS]


def problems(public: ExerciseRecord, drawn: Sequence[ExerciseRecord]) -> Iterator[tuple[str, str]]:
    """(name of a case, or "" for the exercise; what to do about it) for everything that can be memorized.

    A guess that is right for one in a hundred would also earn the points of all fixed cases, so eight submissions must
    have eight different answers, none of them the public one.
    """
    number, pairs = 0, len(drawn) * (len(drawn) + 1) // 2
    for shown, *fresh in zip(public.cases, *(record.cases for record in drawn), strict=True):
        if not shown.weight or not any(is_drawn(f, shown) for f in fresh):
            continue  # the same for all submissions; alone it earns no points
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

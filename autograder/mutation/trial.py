"""Judges one changed answer: does it fail on the public cases and on freshly drawn ones?"""

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

import torch
from anatomy.judge import judging
from anatomy.program import runner
from anatomy.program.records import CaseRecord, ExerciseRecord

from autograder.judge.drawing import draw_record, student_key
from autograder.judge.spec import Exercise, Implementation

SECONDS = 4.0  # of processor time, for one mutant on all cases
SLOWER = 20  # 20 times as slow as the right answer plus half a second is also too slow
KEY = "mutation"


class OutOfTime(BaseException):
    """A mutant runs too long. Not an Exception, so that an answer's own ``except`` does not catch it."""


@dataclass
class Cases:
    """Cases with the reference's results; those that failed the latest mutants come first, large ones last."""

    record: ExerciseRecord
    order: list[CaseRecord]

    @classmethod
    def of(cls, record: ExerciseRecord) -> "Cases":
        """All cases of a record, in their order."""
        return cls(record, sorted(record.cases, key=lambda c: c.is_large))

    def failed(self, exercise: Exercise, implementation: Implementation) -> str | None:
        """Name of a case that the implementation fails, or None if it passes all of them."""
        functions = exercise.functions(implementation)
        if runner.calling_problem(functions, self.record.signature):
            return self.order[0].name
        for i, case in enumerate(self.order):
            if not passes(self.record, case, functions):
                if not case.is_large:  # large cases take long, so they stay last
                    self.order.insert(0, self.order.pop(i))
                return case.name
        return None


def drawn(exercise: Exercise) -> dict[str, Cases]:
    """``examples``: the public cases; ``drawn``: cases as for a submission, always from the same key."""
    key = student_key(KEY, KEY, exercise.unit)
    records = {"examples": draw_record(exercise, with_mutants=False)}
    records["drawn"] = draw_record(exercise, key, with_mutants=False)
    return {name: Cases.of(record) for name, record in records.items()}


def passes(record: ExerciseRecord, case: CaseRecord, functions: runner.Functions) -> bool:
    """Whether functions give the expected results on one case without using anything forbidden."""
    torch.manual_seed(0)
    got = runner.run_program(case.program, case.tensors, functions, record.forbidden)
    return not got[0]["used"] and not differs(case, got)


def differs(case: CaseRecord, got: tuple[runner.Outcome, dict[str, torch.Tensor]]) -> bool:
    """Whether an outcome differs from the expected one; an unreadable or incomparable one does."""
    try:
        found = judging.outcome_difference(case, case.outcomes["expected"], got, case.atol, case.rtol)
    except Exception:
        return True
    return found is not None


def patience(seconds: float) -> float:
    """Time limit of a mutant, given how many seconds the right answer took."""
    return min(SECONDS, 0.5 + SLOWER * seconds)


@contextlib.contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """Raises OutOfTime in the body after some seconds of processor time, then every second until the body ends."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGPROF, ring)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Discards everything printed."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        yield

"""One changed answer before the judge: does it fail, on the public cases and on freshly drawn ones?"""

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
SLOWER = 20  # times as slow as the right answer, and half a second more, is too slow as well
KEY = "mutation"


class OutOfTime(BaseException):
    """A mutant runs too long. No Exception, so that an answer's own ``except`` lets it through."""


@dataclass
class Cases:
    """Cases with what the reference gives for them; those that ended the last mutants come first, large ones last."""

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
                if not case.is_large:  # these take long: they come last
                    self.order.insert(0, self.order.pop(i))
                return case.name
        return None


def drawn(exercise: Exercise) -> dict[str, Cases]:
    """``examples``: the public cases; ``drawn``: those that a submission gets, from a key that is always the same."""
    key = student_key(KEY, KEY, exercise.unit)
    records = {"examples": draw_record(exercise, with_mutants=False)}
    records["drawn"] = draw_record(exercise, key, with_mutants=False)
    return {name: Cases.of(record) for name, record in records.items()}


def passes(record: ExerciseRecord, case: CaseRecord, functions: runner.Functions) -> bool:
    """Whether functions give on one case what is expected, without what the exercise forbids."""
    torch.manual_seed(0)
    got = runner.run_program(case.program, case.tensors, functions, record.forbidden)
    return not got[0]["used"] and not differs(case, got)


def differs(case: CaseRecord, got: tuple[runner.Outcome, dict[str, torch.Tensor]]) -> bool:
    """Whether an outcome is another one than the case expects; what cannot be read or compared is."""
    try:
        found = judging.outcome_difference(case, case.outcomes["expected"], got, case.atol, case.rtol)
    except Exception:
        return True
    return found is not None


def patience(seconds: float) -> float:
    """Seconds that a mutant gets, where the right answer took some."""
    return min(SECONDS, 0.5 + SLOWER * seconds)


@contextlib.contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """Raises OutOfTime inside after some seconds of processor time, and again each second, until it is let through."""

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
    """Swallows what is printed."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        yield

"""Which known mistake a learner made: the one whose recorded outcomes (its fingerprint) are the learner's outcomes.

A wrong name sends a learner looking where nothing is wrong, so a coincidence must not name. Every case counts as
evidence for what it shows: equal wrong numbers for much, an error that happens to be of the same type for nothing.
"""

import re
from collections.abc import Collection, Sequence
from enum import Enum, IntEnum
from typing import Any

import torch

from .codec import Memory, Tensors
from .compare import Difference, difference
from .records import CaseRecord, ExerciseRecord
from .runner import Outcome, Outcomes
from .verdict import Mistake


class Likeness(Enum):
    """How the outcome of a case is like a fingerprint."""

    VALUE = "the same wrong numbers"
    ERROR = "the same error, one that is raised on purpose or says the same"
    ACCIDENT = "an error of the same type, which may come from anywhere"


class Explained(IntEnum):
    """How much of a failed check a mistake explains; less is better."""

    EVERY_CASE = 0
    EVERY_FAILED_CASE = 1
    FIRST_FUNCTION = 2  # each failed case of it: an exercise may ask for several functions, each with its own mistake
    MOST = 3  # the first failed case and most of the others: a second, smaller mistake lies on top
    TOO_LITTLE = 4


def named(
    record: ExerciseRecord,
    outcomes: Outcomes,
    problems: Sequence[Difference | None],
    memory: Memory | None = None,
) -> Mistake | None:
    """The known Mistake that explains a failed check, or None.

    record: ExerciseRecord. outcomes: as for ``judging.judge``. problems: for each case its Difference, or None.
    memory: where decoded values are kept.
    """
    check = _FailedCheck(record, outcomes, problems, memory or Memory())
    suspects = [_Suspect(name, check) for name in record.mistakes]
    convicted = [s for s in suspects if s.is_convicted()]
    if not convicted:
        return None
    best = min(convicted, key=_Suspect.rank)  # of equals the one that the exercise lists first
    return Mistake(best.name, record.mistakes[best.name])


def functions_of(case: CaseRecord) -> frozenset[str]:
    """Names of the learner's functions that a case calls."""
    names = [s.get("call") or s.get("new") for s in case.program["steps"]]  # a call of what a step made has none
    return frozenset(n for n in names if n is not None)


def expects_error(case: CaseRecord) -> bool:
    """Should this case raise?"""
    return any("raises" in r for r in case.outcomes["expected"][0]["results"])


class _FailedCheck:
    """What a check gave. failed, passed: indices of its cases."""

    def __init__(
        self, record: ExerciseRecord, outcomes: Outcomes, problems: Sequence[Difference | None], memory: Memory
    ) -> None:
        self.cases, self.outcomes, self.problems, self.memory = record.cases, outcomes, problems, memory
        self.failed = [i for i, p in enumerate(problems) if p is not None]
        self.passed = [i for i, p in enumerate(problems) if p is None]
        first = self.functions(self.failed[0])
        self.failed_of_first_function = [i for i in self.failed if self.functions(i) == first]
        # Errors that an exercise asks for are written on purpose; what torch raises is an accident.
        asked_for = [r for c in self.cases for r in c.outcomes["expected"][0]["results"] if "raises" in r]
        self.deliberate = {"ValueError"} | {r["raises"][0] for r in asked_for}

    def functions(self, i: int) -> frozenset[str]:
        return functions_of(self.cases[i])

    def expects_error(self, i: int) -> bool:
        return expects_error(self.cases[i])


class _Suspect:
    """A known mistake that a failed check may be due to. like: for each case its Likeness, or None."""

    def __init__(self, name: str, check: _FailedCheck) -> None:
        self.name, self.check = name, check
        self.like = [self._likeness(i) for i in range(len(check.cases))]
        self.explained = self._explained()

    def is_convicted(self) -> bool:
        """Is there enough evidence, and none against?"""
        return self.explained < Explained.TOO_LITTLE and self._is_shown() and not self._is_contradicted()

    def rank(self) -> tuple[int, int]:
        """The less, the better. Of two that explain as much, the one that is alike in more cases: a missing check at
        the end looks the same in every mistake without it."""
        return self.explained, -sum(k in (Likeness.VALUE, Likeness.ERROR) for k in self.like)

    def _likeness(self, i: int) -> Likeness | None:
        case = self.check.cases[i]
        if self.name not in case.outcomes:
            return None
        try:
            known, mine = case.outcomes[self.name], self.check.outcomes[i]
            return _likeness(case, known, mine, self.check.deliberate, self.check.memory)
        except Exception:  # a malformed outcome is like no fingerprint
            return None

    def _explained(self) -> Explained:
        failed = self.check.failed
        if all(self.like):
            return Explained.EVERY_CASE
        if all(self.like[i] for i in failed):
            return Explained.EVERY_FAILED_CASE
        if all(self.like[i] for i in self.check.failed_of_first_function):
            return Explained.FIRST_FUNCTION
        if self.like[failed[0]] and sum(self.like[i] is not None for i in failed) > len(failed) / 2:
            return Explained.MOST
        return Explained.TOO_LITTLE

    def _is_shown(self) -> bool:
        """Does a failed case show this mistake, rather than merely not speak against it?"""
        failed = self.check.failed
        showing = [i for i in failed if self.like[i] in (Likeness.VALUE, Likeness.ERROR)]
        if not showing:
            return False
        if self.explained == Explained.EVERY_CASE or all(self.check.expects_error(i) for i in failed):
            return True
        # Where a result is wrong, errors alone prove nothing; nor does NaN, which comes from anywhere.
        telling = [i for i in showing if not self.check.expects_error(i) and not self._is_nan(i)]
        if not telling:
            return False
        # What speaks against it elsewhere is only outweighed by more than one number.
        several_numbers = len(telling) > 1 or _numbers(self.check.cases[telling[0]]) > 1
        return self.explained == Explained.EVERY_FAILED_CASE or several_numbers

    def _is_nan(self, i: int) -> bool:
        problem = self.check.problems[i]
        return problem is not None and problem.kind == "nan"

    def _is_contradicted(self) -> bool:
        """Does the learner pass a case in which whoever has made this mistake would fail?"""
        blamed = {self.check.functions(i) for i in self.check.failed if self.like[i]}
        return any(self._would_fail(i) for i in self.check.passed if self.check.functions(i) in blamed)

    def _would_fail(self, i: int) -> bool:
        """Does this mistake give another result in a case that was passed? (Not asked of cases that expect an error: a
        check may be missing or not.)"""
        is_recorded = self.name in self.check.cases[i].outcomes
        return is_recorded and not self.like[i] and not self.check.expects_error(i)


def _numbers(case: CaseRecord) -> int:
    """How many numbers the last step of a case gives."""
    outcome, tensors = case.outcomes["expected"]
    value = outcome["results"][-1].get("value")
    (items,) = value.values() if isinstance(value, dict) else (value,)
    return sum(t.numel() for t in tensors.values()) or (len(items) if isinstance(items, list) else 1)


def _likeness(
    case: CaseRecord,
    theirs: tuple[Outcome, Tensors],
    got: tuple[Outcome, Tensors],
    deliberate: Collection[str],
    memory: Memory,
) -> Likeness | None:
    """How one outcome is like a fingerprint. Raises all kinds of errors for an outcome that is malformed."""
    (mine, my_tensors), (known, known_tensors) = got, theirs
    if mine.get("missing") or mine.get("signature") or bool(mine.get("mutated")) > bool(known.get("mutated")):
        return None
    # A fingerprint is met more loosely than an expectation: another order of summation is still the same mistake.
    loose = {id(t): 10 * case.atol.get(n, 0.0) + 1e-6 for n, t in known_tensors.items()}
    for a, b in zip(known["results"], mine["results"], strict=True):
        if "raises" in a and "raises" in b:
            return error_likeness(a["raises"], b["raises"], deliberate)
        if "raises" in a or "raises" in b:
            return None
        for part in ("value", "grads"):
            if part in a:
                wanted, given = memory.value(a[part], known_tensors), memory.value(b[part], my_tensors)
                if not _same(wanted, given, loose, case.rtol or 1e-5):
                    return None
    return Likeness.VALUE


def error_likeness(known: Sequence[str], mine: Sequence[str], deliberate: Collection[str]) -> Likeness | None:
    """How two errors are alike, each [type name, message, …]. deliberate: types that are raised on purpose."""
    if known[0] != mine[0]:
        return None
    if known[0] in deliberate or _words(known[1]) == _words(mine[1]):
        return Likeness.ERROR
    return Likeness.ACCIDENT


def _words(message: str) -> tuple[str, bool]:
    """What an error says, without the numbers of the case; names that do not load apart from shapes that do not."""
    return re.sub(r"\d+", "#", message)[:30], "size mismatch" in message


def _same(known: Any, mine: Any, loose: dict[int, float], rtol: float) -> bool:
    known, mine = _as_numbers(known, mine)
    return difference(known, mine, loose, rtol) is None


def _as_numbers(a: Any, b: Any) -> tuple[Any, Any]:
    """Both values, with 0-d tensors as numbers where the other side has a number: the mistake is the same one."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple) and len(a) == len(b):
        pairs = [_as_numbers(x, y) for x, y in zip(a, b, strict=True)]
        return [p[0] for p in pairs], [p[1] for p in pairs]
    if isinstance(a, torch.Tensor) != isinstance(b, torch.Tensor):
        return _number(a, b), _number(b, a)
    return a, b


def _number(value: Any, beside: Any) -> Any:
    plain = isinstance(value, torch.Tensor) and value.ndim == 0 and isinstance(beside, int | float)
    return value.item() if plain else value

"""Which known mistake a learner made: the one whose recorded outcomes (its fingerprint) are the learner's outcomes.

A wrong name sends a learner looking where nothing is wrong, so a coincidence must not name. Every case counts as
evidence for what it shows: equal wrong numbers for much, an error that happens to be of the same type for nothing.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Any

import torch

from ..program.codec import Memory, Tensors
from ..program.records import CaseRecord, ExerciseRecord
from ..program.runner import Outcome, Outcomes
from ..system.translation import _, said
from .compare import Difference, difference
from .fingerprint_match import Likeness, as_numbers, costs_alike, of_outcomes
from .verdict import Mistake


class Weight(IntEnum):
    """How much it says that a failed case gave what a mistake gives."""

    CHANCE = 0  # one small whole number, or a yes or no: the next mistake gives it too
    NOTHING = 1  # NaN comes from anywhere, and so does an error that torch raises
    LITTLE = 2  # a few counts, zeros, twice the expected numbers: what other mistakes give too
    MUCH = 3


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
    best = _most_likely([_Suspect(name, check) for name in record.mistakes])
    return Mistake(best.name, record.mistakes[best.name]) if best else None


def in_part(
    record: ExerciseRecord,
    outcomes: Outcomes,
    problems: Sequence[Difference | None],
    memory: Memory | None = None,
) -> Mistake | None:
    """The known Mistake that explains several failed cases, where none explains them all, and how many; or None.

    Whoever has made two mistakes gives in some cases just what one of them gives, because the other one changes nothing
    there. Arguments as for ``named``.
    """
    check = _FailedCheck(record, outcomes, problems, memory or Memory())
    best = None if check.only_errors else _most_likely([_Part(name, check) for name in record.mistakes])
    if best is None:
        return None
    n = sum(best.like[i] is not None for i in check.failed)
    told = _("In {n} of the {all} cases that fail: {mistake} In the others something else is wrong as well.")
    mistake = said(record.id, record.mistakes[best.name])
    return Mistake(best.name, told.format(n=n, all=len(check.failed), mistake=mistake))


def _most_likely(suspects: Sequence["_Suspect"]) -> "_Suspect | None":
    """The convicted suspect that explains most, or None where the cases do not tell which of several it is."""
    convicted = [s for s in suspects if s.is_convicted()]
    if not convicted:
        return None
    best = max(convicted, key=_Suspect.rank)
    equals = [s for s in convicted if s.rank() == best.rank()]
    return best if all(s is best or best.is_same_as(s) for s in equals) else None


def functions_of(case: CaseRecord) -> frozenset[str]:
    """Names of the learner's functions that a case calls."""
    names = [s.get("call") or s.get("new") for s in case.program["steps"]]  # a call of what a step made has none
    return frozenset(n for n in names if n is not None)


def expects_error(case: CaseRecord) -> bool:
    """Should this case raise?"""
    return any("raises" in r for r in case.outcomes["expected"][0]["results"])


def blamed(case: CaseRecord, problem: Difference) -> frozenset[str]:
    """The function whose step went wrong in a failed case; all that it calls where this is not known."""
    steps = case.program["steps"]
    step = steps[problem.step] if problem.step is not None else {}
    step = steps[step["on"]] if step.get("on") is not None else step
    name = step.get("call") or step.get("new")
    return frozenset([name]) if name else functions_of(case)


class _FailedCheck:
    """What a check gave, as far as it is about the function that failed first.

    failed: indices of all failed cases. mine: of those in which that function went wrong. passed: of the passed cases
    that call it. only_errors: is an error that was asked for all that is missing?
    """

    def __init__(
        self, record: ExerciseRecord, outcomes: Outcomes, problems: Sequence[Difference | None], memory: Memory
    ) -> None:
        self.cases, self.outcomes, self.problems, self.memory = record.cases, outcomes, problems, memory
        found = {i: blamed(record.cases[i], p) for i, p in enumerate(problems) if p is not None}
        self.failed = list(found)
        first = found[self.failed[0]]
        self.mine = [i for i, functions in found.items() if functions & first]
        self.passed = [i for i, c in enumerate(self.cases) if i not in found and functions_of(c) & first]
        self.only_errors = all(expects_error(self.cases[i]) for i in self.mine)
        # A check that is missing as well is a mistake of its own.
        self.to_explain = [i for i in self.mine if self.only_errors or not expects_error(self.cases[i])]
        # Errors that an exercise asks for are written on purpose; what torch raises is an accident.
        asked_for = [r for c in self.cases for r in c.outcomes["expected"][0]["results"] if "raises" in r]
        self.deliberate = {"ValueError"} | {r["raises"][0] for r in asked_for}


class _Suspect:
    """A known mistake that a failed check may be due to.

    explains: is it alike in all cases that are asked for, the failed ones of the function? like: then, for each case,
    its Likeness or None.
    """

    def __init__(self, name: str, check: _FailedCheck) -> None:
        self.name, self.check = name, check
        first: dict[int, Likeness | None] = {}
        self.explains = all(first.setdefault(i, self._likeness(i)) for i in self._asked())  # most end here, early
        everything = range(len(check.cases)) if self.explains else ()
        self.like = [first[i] if i in first else self._likeness(i) for i in everything]

    def is_convicted(self) -> bool:
        """Is there enough evidence, and none against?"""
        return self.explains and not self._is_contradicted() and self._is_shown()

    def _asked(self) -> Sequence[int]:
        """The cases in which it must give what the learner gives."""
        return self.check.to_explain

    def rank(self) -> tuple[int, int]:
        """The more, the better: failed cases explained, then cases alike (a missing check at the end looks the same in
        every mistake without it)."""
        solid = [k in (Likeness.VALUE, Likeness.ERROR) for k in self.like]
        return sum(solid[i] for i in self.check.failed), sum(solid)

    def is_same_as(self, other: "_Suspect") -> bool:
        """Do both mistakes give the same in all cases?"""
        return all(self._matches(i, other) for i in range(len(self.check.cases)))

    def _matches(self, i: int, other: "_Suspect") -> bool:
        outcomes = self.check.cases[i].outcomes
        return (self.name in outcomes) == (other.name in outcomes) and (
            self.name not in outcomes or self._likeness_of(i, outcomes[other.name]) is not None
        )

    def _likeness(self, i: int) -> Likeness | None:
        if self.name not in self.check.cases[i].outcomes:
            return None
        try:
            like = self._likeness_of(i, self.check.outcomes[i])
            problem = self.check.problems[i]
            is_right = problem is None or problem.kind == "cost"  # only then has the cost been looked at
            known, mine = self.check.cases[i].outcomes[self.name], self.check.outcomes[i]
            return None if is_right and not costs_alike(self.check.cases[i], known[0], mine[0]) else like
        except Exception:  # a malformed outcome is like no fingerprint
            return None

    def _likeness_of(self, i: int, got: tuple[Outcome, Tensors]) -> Likeness | None:
        check, case = self.check, self.check.cases[i]
        steps = _steps_of(case, check.problems[i])
        return of_outcomes(case, case.outcomes[self.name], got, check.deliberate, check.memory, steps)

    def _is_contradicted(self) -> bool:
        """Does the learner pass a case in which whoever has made this mistake would fail? (Of cases that expect an
        error only where nothing else is wrong: a check may be missing or not.)"""
        return any(
            self.name in self.check.cases[i].outcomes and not self.like[i]
            for i in self.check.passed
            if self.check.only_errors or not expects_error(self.check.cases[i])
        )

    def _is_shown(self) -> bool:
        """Do the failed cases show this mistake, rather than merely not speak against it?"""
        check = self.check
        if check.only_errors:
            return any(self.like[i] == Likeness.ERROR or self.like[i] == Likeness.VALUE for i in check.mine)
        weights = [self._weight(i) for i in check.mine if not expects_error(check.cases[i])]
        if Weight.MUCH in weights or sum(w in (Weight.CHANCE, Weight.LITTLE) for w in weights) > 1:
            return True
        # Little is enough where the mistake goes wrong in these cases, and in no others.
        alike = all(self.like[i] for i in (*check.mine, *check.passed))
        solid = any(self.like[i] in (Likeness.VALUE, Likeness.NUMBERS, Likeness.ERROR) for i in check.mine)
        return alike and solid and Weight.CHANCE not in weights

    def _weight(self, i: int) -> Weight:
        """How much the likeness in a failed case says."""
        case, problem = self.check.cases[i], self.check.problems[i]
        if self.like[i] == Likeness.ERROR:
            raised = next(r["raises"] for r in self.check.outcomes[i][0]["results"] if "raises" in r)
            return Weight.MUCH if raised[0] in self.check.deliberate else Weight.NOTHING
        if self.like[i] not in (Likeness.VALUE, Likeness.NUMBERS) or problem is None or problem.kind == "nan":
            return Weight.NOTHING
        numbers = list(wrong_numbers(case, self.check.outcomes[i], self.check.memory))
        # A tensor of one number is like that number: it shows nothing, unless the mistake is to return it.
        is_plain = problem.kind == "type" and not self._has_wrong_type(case)
        if problem.kind == "values" or is_plain or self.like[i] == Likeness.NUMBERS:
            return weight_of(numbers)
        return Weight.MUCH  # a form in which no right answer comes: a shape, a dtype, a cost

    def _has_wrong_type(self, case: CaseRecord) -> bool:
        (right, right_tensors), (known, known_tensors) = case.outcomes["expected"], case.outcomes[self.name]
        value = self.check.memory.value
        found = [
            difference(value(a["value"], right_tensors), value(b["value"], known_tensors))
            for a, b in zip(right["results"], known["results"], strict=True)
            if "value" in a and "value" in b
        ]
        return any(d is not None and d.kind == "type" for d in found)


class _Part(_Suspect):
    """A known mistake that may be one of two. It has to explain several of the failed cases, the smallest among them or
    at least half: in a single one other mistakes give the same, where its sizes happen to be equal."""

    def _asked(self) -> Sequence[int]:
        """Those that would contradict it: most mistakes end here."""
        cases = self.check.cases
        return [i for i in self.check.passed if self.name in cases[i].outcomes and not expects_error(cases[i])]

    def _is_shown(self) -> bool:
        asked = self.check.to_explain
        explained = [i for i in asked if self.like[i] is not None]
        many = len(explained) > 1 and (asked[0] in explained or 2 * len(explained) >= len(asked))
        return many and any(self._weight(i) == Weight.MUCH for i in explained)


def weight_of(pairs: Sequence[tuple[float, float]]) -> Weight:
    """How much it says that a mistake gives the same wrong numbers. pairs: (expected, got) of each wrong number."""
    numbers = {float(f"{g:.4g}") for _, g in pairs if math.isfinite(g)}
    if not numbers:
        return Weight.NOTHING
    ratios = [g / e if e else math.inf for e, g in pairs]
    is_simple = any(all(math.isclose(r, s, rel_tol=1e-3, abs_tol=1e-9) for r in ratios) for s in _SIMPLE)
    if all(g == int(g) for g in numbers):  # counts, places and masks are made of few numbers: it takes several
        if len(pairs) == 1 and pairs[0][0].is_integer() and abs(pairs[0][1]) < _SMALL:
            return Weight.CHANCE
        return Weight.LITTLE if is_simple or len(pairs) < _FEW else Weight.MUCH
    return Weight.LITTLE if is_simple or len(numbers) < 2 else Weight.MUCH


_SIMPLE = (0.0, -1.0, 2.0, 0.5, 3.0, 1 / 3, 4.0, 0.25)  # what a forgotten count, sign or size multiplies by, too
_FEW = 3
_SMALL = 100


def wrong_numbers(case: CaseRecord, got: tuple[Outcome, Tensors], memory: Memory) -> Iterator[tuple[float, float]]:
    """(expected, got) of each number that is wrong, in all steps of a case; of steps that end without an error."""
    want, want_tensors = case.outcomes["expected"]
    mine, my_tensors = got
    for a, b in zip(want["results"], mine["results"], strict=True):
        for part in ("value", "grads"):
            if part in a and part in b:
                yield from _unequal(memory.value(a[part], want_tensors), memory.value(b[part], my_tensors))


def _unequal(want: Any, mine: Any) -> Iterator[tuple[float, float]]:
    want, mine = as_numbers(want, mine)
    if isinstance(want, dict) and isinstance(mine, dict):
        want, mine = list(want.values()), [mine.get(k) for k in want]
    if isinstance(want, list | tuple) and isinstance(mine, list | tuple):
        for a, b in zip(want, mine, strict=False):
            yield from _unequal(a, b)
    elif isinstance(want, torch.Tensor) and isinstance(mine, torch.Tensor):
        if want.shape == mine.shape and not want.is_complex() and not mine.is_complex():
            a, b = want.double().flatten(), mine.double().flatten()
            wrong = ~torch.isclose(b, a, 1e-4, 1e-6 * _scale(a), equal_nan=True)
            yield from zip(a[wrong].tolist(), b[wrong].tolist(), strict=True)
    elif isinstance(want, int | float) and isinstance(mine, int | float) and want != mine:
        yield float(want), float(mine)


def _scale(t: torch.Tensor) -> float:
    finite = t[t.isfinite()]
    return finite.abs().max().item() if finite.numel() else 0.0


def _steps_of(case: CaseRecord, problem: Difference | None) -> list[int]:
    """Which steps of a case a mistake is looked for in: what another function makes of a wrong result is its own."""
    number = len(case.program["steps"])
    if problem is None or problem.step is None:
        return list(range(number))
    wrong = blamed(case, problem)
    later = [i for i in range(problem.step + 1, number) if blamed(case, replace(problem, step=i)) & wrong]
    return [*range(problem.step + 1), *later]

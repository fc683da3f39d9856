"""Names the known mistake that a learner made: the one whose recorded outcomes (its fingerprint) equal the learner's.

A wrong name sends a learner looking in the wrong place, so a coincidence must not name a mistake. Every case is weighed
as evidence: equal wrong numbers count for much, an error that happens to have the same type counts for nothing.
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
    """How much evidence it is that a failed case gives the outcome of a mistake."""

    CHANCE = 0  # one small whole number, or True or False: other mistakes give it too
    NOTHING = 1  # NaN has many causes, and so has an error that torch raises
    LITTLE = 2  # a few counts, zeros, twice the expected numbers: other mistakes give these too
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
    """The known Mistake that explains several, but not all, of the failed cases, and how many; or None.

    A learner who made two mistakes gets exactly the results of one of them in those cases where the other one changes
    nothing. Arguments as for ``named``.
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
    """The convicted suspect that explains the most, or None if the cases cannot tell several different ones apart."""
    convicted = [s for s in suspects if s.is_convicted()]
    if not convicted:
        return None
    best = max(convicted, key=_Suspect.rank)
    equals = [s for s in convicted if s.rank() == best.rank()]
    return best if all(s is best or best.is_same_as(s) for s in equals) else None


def functions_of(case: CaseRecord) -> frozenset[str]:
    """Names of the learner's functions that a case calls."""
    names = [s.get("call") or s.get("new") for s in case.program["steps"]]  # a call on an earlier result has none
    return frozenset(n for n in names if n is not None)


def expects_error(case: CaseRecord) -> bool:
    """Should this case raise?"""
    return any("raises" in r for r in case.outcomes["expected"][0]["results"])


def blamed(case: CaseRecord, problem: Difference) -> frozenset[str]:
    """The function whose step went wrong in a failed case; if that is unknown, all functions that the case calls."""
    steps = case.program["steps"]
    step = steps[problem.step] if problem.step is not None else {}
    step = steps[step["on"]] if step.get("on") is not None else step
    name = step.get("call") or step.get("new")
    return frozenset([name]) if name else functions_of(case)


class _FailedCheck:
    """The results of a check, as far as they concern the function that failed first.

    failed: indices of all failed cases. mine: those in which that function went wrong. passed: the passed cases that
    call it. only_errors: True if every case in ``mine`` asks for an error.
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
        # If numbers are wrong too, a missing check of the input is a mistake of its own.
        self.to_explain = [i for i in self.mine if self.only_errors or not expects_error(self.cases[i])]
        # Errors that an exercise asks for are raised on purpose; those that torch raises are accidents.
        asked_for = [r for c in self.cases for r in c.outcomes["expected"][0]["results"] if "raises" in r]
        self.deliberate = {"ValueError"} | {r["raises"][0] for r in asked_for}


class _Suspect:
    """A known mistake that may have caused a failed check.

    explains: True if it gives the learner's outcome in all cases that ``_asked`` lists. like: if so, its Likeness (or
    None) for each case of the exercise.
    """

    def __init__(self, name: str, check: _FailedCheck) -> None:
        self.name, self.check = name, check
        first: dict[int, Likeness | None] = {}
        self.explains = all(first.setdefault(i, self._likeness(i)) for i in self._asked())  # most are ruled out here
        everything = range(len(check.cases)) if self.explains else ()
        self.like = [first[i] if i in first else self._likeness(i) for i in everything]

    def is_convicted(self) -> bool:
        """Is there enough evidence, and none against?"""
        return self.explains and not self._is_contradicted() and self._is_shown()

    def _asked(self) -> Sequence[int]:
        """The cases in which the mistake has to give the learner's outcome."""
        return self.check.to_explain

    def rank(self) -> tuple[int, int]:
        """Failed cases explained, then all cases alike; higher is likelier. (A missing check at the end looks the same
        in every mistake that lacks it.)"""
        solid = [k in (Likeness.VALUE, Likeness.ERROR) for k in self.like]
        return sum(solid[i] for i in self.check.failed), sum(solid)

    def is_same_as(self, other: "_Suspect") -> bool:
        """Do both mistakes give the same outcomes in all cases?"""
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
            is_right = problem is None or problem.kind == "cost"  # the cost is only checked then
            known, mine = self.check.cases[i].outcomes[self.name], self.check.outcomes[i]
            return None if is_right and not costs_alike(self.check.cases[i], known[0], mine[0]) else like
        except Exception:  # a malformed outcome matches no fingerprint
            return None

    def _likeness_of(self, i: int, got: tuple[Outcome, Tensors]) -> Likeness | None:
        check, case = self.check, self.check.cases[i]
        steps = _steps_of(case, check.problems[i])
        return of_outcomes(case, case.outcomes[self.name], got, check.deliberate, check.memory, steps)

    def _is_contradicted(self) -> bool:
        """Does the learner pass a case that fails with this mistake? (Cases that expect an error only count where
        nothing else is wrong: the check may or may not be missing.)"""
        return any(
            self.name in self.check.cases[i].outcomes and not self.like[i]
            for i in self.check.passed
            if self.check.only_errors or not expects_error(self.check.cases[i])
        )

    def _is_shown(self) -> bool:
        """Are the failed cases positive evidence of this mistake, rather than merely consistent with it?"""
        check = self.check
        if check.only_errors:
            return any(self.like[i] == Likeness.ERROR or self.like[i] == Likeness.VALUE for i in check.mine)
        weights = [self._weight(i) for i in check.mine if not expects_error(check.cases[i])]
        if Weight.MUCH in weights or sum(w in (Weight.CHANCE, Weight.LITTLE) for w in weights) > 1:
            return True
        # Little evidence is enough if the mistake goes wrong in these cases and in no others.
        alike = all(self.like[i] for i in (*check.mine, *check.passed))
        solid = any(self.like[i] in (Likeness.VALUE, Likeness.NUMBERS, Likeness.ERROR) for i in check.mine)
        return alike and solid and Weight.CHANCE not in weights

    def _weight(self, i: int) -> Weight:
        """How much evidence the likeness in a failed case is."""
        case, problem = self.check.cases[i], self.check.problems[i]
        if self.like[i] == Likeness.ERROR:
            raised = next(r["raises"] for r in self.check.outcomes[i][0]["results"] if "raises" in r)
            return Weight.MUCH if raised[0] in self.check.deliberate else Weight.NOTHING
        if self.like[i] not in (Likeness.VALUE, Likeness.NUMBERS) or problem is None or problem.kind == "nan":
            return Weight.NOTHING
        numbers = list(wrong_numbers(case, self.check.outcomes[i], self.check.memory))
        # A tensor of one number counts as that number: its type is no evidence, unless the mistake has a wrong type.
        is_plain = problem.kind == "type" and not self._has_wrong_type(case)
        if problem.kind == "values" or is_plain or self.like[i] == Likeness.NUMBERS:
            return weight_of(numbers)
        return Weight.MUCH  # a form that no right answer has: a shape, a dtype, a cost

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
    """A known mistake that may be one of two. It has to explain several failed cases, including the smallest or at
    least half of them: in a single case other mistakes give the same, if its sizes happen to be equal."""

    def _asked(self) -> Sequence[int]:
        """The cases that would contradict the mistake: most are ruled out here."""
        cases = self.check.cases
        return [i for i in self.check.passed if self.name in cases[i].outcomes and not expects_error(cases[i])]

    def _is_shown(self) -> bool:
        asked = self.check.to_explain
        explained = [i for i in asked if self.like[i] is not None]
        many = len(explained) > 1 and (asked[0] in explained or 2 * len(explained) >= len(asked))
        return many and any(self._weight(i) == Weight.MUCH for i in explained)


def weight_of(pairs: Sequence[tuple[float, float]]) -> Weight:
    """How much evidence it is that a mistake gives the same wrong numbers. pairs: (expected, got) of each of them."""
    numbers = {float(f"{g:.4g}") for _, g in pairs if math.isfinite(g)}
    if not numbers:
        return Weight.NOTHING
    ratios = [g / e if e else math.inf for e, g in pairs]
    is_simple = any(all(math.isclose(r, s, rel_tol=1e-3, abs_tol=1e-9) for r in ratios) for s in _SIMPLE)
    if all(g == int(g) for g in numbers):  # counts, positions and masks have few possible values: several must agree
        if len(pairs) == 1 and pairs[0][0].is_integer() and abs(pairs[0][1]) < _SMALL:
            return Weight.CHANCE
        return Weight.LITTLE if is_simple or len(pairs) < _FEW else Weight.MUCH
    return Weight.LITTLE if is_simple or len(numbers) < 2 else Weight.MUCH


_SIMPLE = (0.0, -1.0, 2.0, 0.5, 3.0, 1 / 3, 4.0, 0.25)  # factors that a forgotten count, sign or size causes, too
_FEW = 3
_SMALL = 100


def wrong_numbers(case: CaseRecord, got: tuple[Outcome, Tensors], memory: Memory) -> Iterator[tuple[float, float]]:
    """(expected, got) of each wrong number, in all steps of a case that end without an error."""
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
    """Steps of a case in which to look for a mistake: what other functions make of a wrong result is left out."""
    number = len(case.program["steps"])
    if problem is None or problem.step is None:
        return list(range(number))
    wrong = blamed(case, problem)
    later = [i for i in range(problem.step + 1, number) if blamed(case, replace(problem, step=i)) & wrong]
    return [*range(problem.step + 1), *later]

"""Compares one outcome of a program with that of a known mistake: its values, gradients, errors and costs.

Looser than the judge's comparison with the expected outcome: a different order of summation is still the same mistake.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import Any

import torch

from ..program import cost, distributions, runner
from ..program.codec import Memory, Tensors
from ..program.records import CaseRecord
from ..program.runner import Outcome
from ..program.symbolic import Expression, counterexample
from .compare import difference, equal_tensors


class Likeness(Enum):
    """How the outcome of a case matches a fingerprint."""

    VALUE = "the same wrong numbers"
    NUMBERS = "the same wrong numbers, but in another dtype, or cut off from their inputs"
    ERROR = "the same error, one that is raised on purpose or says the same"
    ACCIDENT = "an error of the same type, which may come from anywhere"


def of_outcomes(
    case: CaseRecord,
    theirs: tuple[Outcome, Tensors],
    got: tuple[Outcome, Tensors],
    deliberate: Collection[str],
    memory: Memory,
    steps: Collection[int],
) -> Likeness | None:
    """How one outcome matches a fingerprint in some steps, or None. A malformed outcome raises all kinds of errors."""
    (mine, my_tensors), (known, known_tensors) = got, theirs
    if mine.get("missing") or mine.get("signature") or bool(mine.get("mutated")) > bool(known.get("mutated")):
        return None
    loose, likes = _loose(case, known_tensors), []
    for i in steps:
        a, b = known["results"][i], mine["results"][i]
        if "raises" in a and "raises" in b:
            asked = case.program["steps"][i].get("tells", ())
            told = [[text in str(r["raises"][1]) for text in asked] for r in (a, b)]
            return error_likeness(a["raises"], b["raises"], deliberate) if told[0] == told[1] else None
        if "raises" in a or "raises" in b:
            return None
        values = memory.value(a["value"], known_tensors), memory.value(b["value"], my_tensors)
        law = case.program["steps"][i].get("law")
        if law:
            likes.append(Likeness.VALUE if _same_law(law, *values) else None)
            continue
        likes.append(_value_likeness(case, i, values, loose, memory))
        if likes[-1] and "grads" in a:
            grads = memory.value(a["grads"], known_tensors), memory.value(b["grads"], my_tensors)
            likes.append(_grads_likeness(case, i, (a, b), grads, loose, _is_wrong(case, i, values[0], loose, memory)))
    if None in likes:
        return None
    return Likeness.NUMBERS if Likeness.NUMBERS in likes else Likeness.VALUE


class Loose:
    """Tolerances for a mistake's tensors, which do not depend on the answer; computed when an answer comes close.

    A fingerprint is matched more loosely than an expectation: a different order of summation is still the same mistake.
    But not if a case counts rounding steps, nor if the mistake itself is that close to the right result: then every
    nearly right result, off by an ε or by rounding to float32, would count as that mistake.
    """

    def __init__(self, case: CaseRecord, known: Tensors):
        self._case, self._names = case, {id(t): n for n, t in known.items()}
        self._rtol = case.rtol or 1e-5
        self._most: dict[str, tuple[float, float]] = {}
        self._allowed: dict[str, tuple[float, float | None]] = {}

    def equal(self, known: torch.Tensor, mine: torch.Tensor) -> bool:
        """True if ``mine`` is one of the mistake's tensors, within its tolerance. (What was made from several of them
        has none.)"""
        name = self._names.get(id(known))
        if name is None:
            return equal_tensors(known, mine, 0.0, self._rtol)
        if known.shape != mine.shape or known.dtype != mine.dtype:
            return False
        if name not in self._most:
            self._most[name] = self._loosest(name, known)
        if not equal_tensors(known, mine, *self._most[name]):  # most answers: nothing more is computed for them
            return False
        if name not in self._allowed:
            self._allowed[name] = self._tolerance(name, known)
        return equal_tensors(known, mine, *self._allowed[name])

    def _loosest(self, name: str, known: torch.Tensor) -> tuple[float, float]:
        """At least as loose as ``_tolerance``: (absolute, relative)."""
        most, rtol = self._ten_times(_tolerance(self._case, name, known)), self._rtol
        is_inexact = known.is_floating_point() or known.is_complex()
        steps = 64 * torch.finfo(known.dtype).eps if self._case.rtol is None and is_inexact else 0.0
        return most, max(rtol, steps)

    def _tolerance(self, name: str, known: torch.Tensor) -> tuple[float, float | None]:
        case, rtol, least = self._case, self._rtol, _tolerance(self._case, name, known)
        most = self._ten_times(least)
        right = case.outcomes["expected"][1].get(name)
        if case.rtol == 0 or right is None or not equal_tensors(right, known, most, rtol):
            return most, rtol
        return (most, rtol) if equal_tensors(right, known, least, case.rtol) else (least, case.rtol)

    def _ten_times(self, least: float) -> float:
        return (1 if self._case.rtol == 0 else 10) * least + 1e-6


def _loose(case: CaseRecord, known: Tensors) -> Loose:
    kept, loose = case.tolerances.get(id(known), (None, None))
    if kept is not known or loose is None:
        loose = Loose(case, known)
        case.tolerances[id(known)] = known, loose
    return loose


_STEPS = 32  # rounding steps of the largest entry: the smallest tolerance for any right answer


def _tolerance(case: CaseRecord, name: str, known: torch.Tensor) -> float:
    """Absolute tolerance of a mistake's tensor: that of the right tensor of the same name, but at least the smallest
    that any right answer has. A mistake that returns numbers instead of a mask, or two results instead of one, has
    tensors for which nothing was measured.
    """
    allowed = case.atol.get(name, 0.0)
    if case.rtol == 0 or not known.is_floating_point():
        return allowed
    finite = known[known.isfinite()].double()
    scale = finite.abs().max().item() if finite.numel() else 0.0
    return max(allowed, _STEPS * torch.finfo(known.dtype).eps * scale)


# Wrong numbers match a mistake even if they come in a different dtype, or cut off from their inputs: that is a separate
# mistake, reported once the numbers are fixed. Right numbers are no evidence of a mistake.


def _is_wrong(case: CaseRecord, i: int, known: Any, loose: Loose, memory: Memory) -> bool:
    """True if a mistake's numbers are wrong in step i, whatever their dtype."""
    outcome, tensors = case.outcomes["expected"]
    right = outcome["results"][i]
    return "value" not in right or not _same(
        known, memory.value(right["value"], tensors), loose, case.rtol or 1e-5, any_dtype=True
    )


def _value_likeness(case: CaseRecord, i: int, values: tuple[Any, Any], loose: Loose, memory: Memory) -> Likeness | None:
    """How the value of a step matches the mistake's. values: (the mistake's, the learner's)."""
    if _same(*values, loose, case.rtol or 1e-5):
        return Likeness.VALUE
    is_alike = not _has_dtypes_of(*values) and _same(*values, loose, case.rtol or 1e-5, any_dtype=True)
    return Likeness.NUMBERS if is_alike and _is_wrong(case, i, values[0], loose, memory) else None


def _grads_likeness(
    case: CaseRecord,
    i: int,
    results: tuple[Mapping[str, Any], Mapping[str, Any]],
    grads: tuple[Any, Any],
    loose: Loose,
    is_wrong: bool,
) -> Likeness | None:
    """How the step's gradients match. results: (the mistake's, the learner's) of the step, grads: theirs, decoded."""
    asked = case.outcomes["expected"][0]["results"][i].get("carries")
    if is_wrong and _is_cut_off(asked, results[1]) and not _is_cut_off(asked, results[0]):
        return Likeness.NUMBERS
    same = _carry_alike(asked, *results) and _same(*grads, loose, case.rtol or 1e-5, any_dtype=is_wrong)
    return Likeness.VALUE if same else None


def costs_alike(case: CaseRecord, known: Outcome, mine: Outcome) -> bool:
    """True if each call with a limit keeps within it in both outcomes, or exceeds it by about the same in both."""
    steps = zip(case.program["steps"], known["results"], mine["results"], strict=True)
    return all(cost.alike(s["cost"]["limits"], a.get("cost"), b.get("cost")) for s, a, b in steps if "cost" in s)


def error_likeness(known: Sequence[str], mine: Sequence[str], deliberate: Collection[str]) -> Likeness | None:
    """How two errors match, each [type name, message, …]. deliberate: types that are raised on purpose."""
    if known[0] != mine[0]:
        return None
    if known[0] in deliberate or _words(known[1]) == _words(mine[1]):
        return Likeness.ERROR
    return Likeness.ACCIDENT


_WHOLE = 590  # characters; a message that is no longer was certainly not cut


def _words(message: str) -> list[str]:
    """The words of an error message, without the numbers of the case. For weights that do not load, their names and
    shapes: a different missing layer is a different mistake."""
    if "Error(s) in loading state_dict" not in message:
        return [re.sub(r"\d+", "#", message)[:30]]
    if len(message) > _WHOLE:
        return [start for start in ("Missing key", "Unexpected key", "size mismatch") if start in message]
    told = re.sub(r".*?loading state_dict for \w+", "", message)  # the class may have any name
    return sorted(re.findall(r"[\w.]+", told))  # torch lists names in the order of a set


def _same(known: Any, mine: Any, loose: Loose, rtol: float, any_dtype: bool = False) -> bool:
    known, mine = as_numbers(known, mine)
    return _equal(known, _in_dtype_of(known, mine) if any_dtype else mine, loose, rtol)


def _equal(known: Any, mine: Any, loose: Loose, rtol: float) -> bool:
    """True if ``difference`` would find none; putting one into words would take most of the time."""
    if isinstance(known, torch.Tensor) and isinstance(mine, torch.Tensor):
        return loose.equal(known, mine)
    if isinstance(known, list | tuple) and isinstance(mine, list | tuple):
        return len(known) == len(mine) and all(_equal(a, b, loose, rtol) for a, b in zip(known, mine, strict=True))
    if isinstance(known, dict) and isinstance(mine, dict):
        return known.keys() == mine.keys() and all(_equal(v, mine[k], loose, rtol) for k, v in known.items())
    if isinstance(known, Expression) and isinstance(mine, Expression):
        return known.shape == mine.shape and counterexample(mine, known) is None
    return difference(known, mine, rtol=rtol) is None


def _has_dtypes_of(known: Any, mine: Any) -> bool:
    """Do floating tensors have the dtypes, and numbers the types, of their counterparts in ``known``? Then
    ``any_dtype`` finds nothing new."""
    if isinstance(known, torch.Tensor) and isinstance(mine, torch.Tensor):
        return known.dtype == mine.dtype or not (known.is_floating_point() and mine.is_floating_point())
    if isinstance(known, dict) and isinstance(mine, dict):
        return all(_has_dtypes_of(known.get(k), v) for k, v in mine.items())
    if isinstance(known, list | tuple) and isinstance(mine, list | tuple) and len(known) == len(mine):
        return all(map(_has_dtypes_of, known, mine))
    return not (_is_number(known) and _is_number(mine)) or type(known) is type(mine)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _in_dtype_of(known: Any, mine: Any) -> Any:
    """``mine`` with its floating tensors in the dtypes of their counterparts in ``known``, and with equal numbers, 3 or
    3.0, in their types."""
    if isinstance(known, torch.Tensor) and isinstance(mine, torch.Tensor):
        return mine.to(known.dtype) if known.is_floating_point() and mine.is_floating_point() else mine
    if isinstance(known, dict) and isinstance(mine, dict):
        return {k: _in_dtype_of(known.get(k), v) for k, v in mine.items()}
    if isinstance(known, list | tuple) and isinstance(mine, list | tuple) and len(known) == len(mine):
        return [_in_dtype_of(a, b) for a, b in zip(known, mine, strict=True)]
    if _is_number(known) and _is_number(mine) and known == mine:
        return known
    return mine


def _is_cut_off(asked: Any, mine: Mapping[str, Any]) -> bool:
    """True if no gradient flows back from some result from which one should."""
    carried = mine.get("carries")
    return (
        isinstance(asked, list)
        and isinstance(carried, list)
        and any(want and have is not True for want, have in zip(asked, carried, strict=False))
    )


def _carry_alike(asked: Any, known: Mapping[str, Any], mine: Mapping[str, Any]) -> bool:
    """True if gradients flow back from the same results in both, of those from which they should."""
    if not isinstance(asked, list):
        return True
    theirs, ours = known.get("carries") or [], mine.get("carries") or []
    return all(a == b for want, a, b in zip(asked, theirs, ours, strict=False) if want)


def _same_law(law: distributions.Law, known: Any, mine: Any) -> bool:
    """True if both are drawn from the law, or both from the same different distribution."""
    pairs = list(zip(runner.floating(known), runner.floating(mine), strict=True))
    if any(a.shape != b.shape for a, b in pairs):
        return False
    return bool(pairs) and all(
        (distributions.problem(law, a) is None) == (distributions.problem(law, b) is None)
        and (distributions.problem(law, a) is None or _moments(a) == _moments(b))
        for a, b in pairs
    )


def _moments(t: torch.Tensor) -> tuple[float, float]:
    """Mean in units of the spread, and spread to one digit: finer digits are chance."""
    x = t.double()
    spread = x.std(correction=0).item()
    return round(x.mean().item() / spread if spread else x.mean().item()), float(f"{spread:.1g}")


def as_numbers(a: Any, b: Any) -> tuple[Any, Any]:
    """Both values, with 0-d tensors as numbers where the other value has a number: the mistake is the same."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple) and len(a) == len(b):
        pairs = [as_numbers(x, y) for x, y in zip(a, b, strict=True)]
        return [p[0] for p in pairs], [p[1] for p in pairs]
    if isinstance(a, torch.Tensor) != isinstance(b, torch.Tensor):
        return _number(a, b), _number(b, a)
    return a, b


def _number(value: Any, beside: Any) -> Any:
    plain = isinstance(value, torch.Tensor) and value.ndim == 0 and isinstance(beside, int | float)
    return value.item() if plain else value

"""How one outcome of a program is like another, that of a known mistake: its values, gradients, errors and costs.

Looser than the judge's comparison with what is expected: another order of summation is still the same mistake.
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
    """How the outcome of a case is like a fingerprint."""

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
    """How one outcome is like a fingerprint in some steps. Raises all kinds of errors for a malformed outcome."""
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


Loose = dict[int, tuple[float, float | None]]


def _loose(case: CaseRecord, known: Tensors) -> Loose:
    """How far each of a mistake's tensors may be missed, by its id: (absolute, relative). Worked out once: no answer
    changes it.

    A fingerprint is met more loosely than an expectation: another order of summation is still the same mistake. But
    not where a case counts rounding steps, nor where the mistake itself misses by as little: all that is nearly right,
    be it for an ε or for a rounding to float32, would be that mistake.
    """
    kept, loose = case.tolerances.get(id(known), (None, {}))
    if kept is not known:
        loose = {id(t): _allowed(case, n, t) for n, t in known.items()}
        case.tolerances[id(known)] = known, loose
    return loose


def _allowed(case: CaseRecord, name: str, known: torch.Tensor) -> tuple[float, float | None]:
    least, rtol = _tolerance(case, name, known), case.rtol or 1e-5
    most = (1 if case.rtol == 0 else 10) * least + 1e-6
    right = case.outcomes["expected"][1].get(name)
    if case.rtol == 0 or right is None or not equal_tensors(right, known, most, rtol):
        return most, rtol
    return (most, rtol) if equal_tensors(right, known, least, case.rtol) else (least, case.rtol)


_STEPS = 32  # rounding steps of the largest entry: the least that any right answer is allowed


def _tolerance(case: CaseRecord, name: str, known: torch.Tensor) -> float:
    """How far a mistake's tensor may be missed: as far as the right one of that name, and never less than any right
    one. A mistake that returns numbers for a mask, or two results for one, has tensors that nothing was measured for.
    """
    allowed = case.atol.get(name, 0.0)
    if case.rtol == 0 or not known.is_floating_point():
        return allowed
    finite = known[known.isfinite()].double()
    scale = finite.abs().max().item() if finite.numel() else 0.0
    return max(allowed, _STEPS * torch.finfo(known.dtype).eps * scale)


# Wrong numbers are a mistake's also where they come in another dtype, or cut off from their inputs: that is a mistake
# of its own, told when the numbers are mended. Right numbers show no mistake.


def _is_wrong(case: CaseRecord, i: int, known: Any, loose: Loose, memory: Memory) -> bool:
    """Are a mistake's numbers wrong in step i, whatever their dtype?"""
    outcome, tensors = case.outcomes["expected"]
    right = outcome["results"][i]
    return "value" not in right or not _same(
        known, memory.value(right["value"], tensors), loose, case.rtol or 1e-5, any_dtype=True
    )


def _value_likeness(case: CaseRecord, i: int, values: tuple[Any, Any], loose: Loose, memory: Memory) -> Likeness | None:
    """How the value of a step is like the mistake's. values: (the mistake's, the learner's)."""
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
    """The same for its gradients. results: (the mistake's, the learner's) of the step, grads: theirs, decoded."""
    asked = case.outcomes["expected"][0]["results"][i].get("carries")
    if is_wrong and _is_cut_off(asked, results[1]) and not _is_cut_off(asked, results[0]):
        return Likeness.NUMBERS
    same = _carry_alike(asked, *results) and _same(*grads, loose, case.rtol or 1e-5, any_dtype=is_wrong)
    return Likeness.VALUE if same else None


def costs_alike(case: CaseRecord, known: Outcome, mine: Outcome) -> bool:
    """Does each call that has a limit keep within it in both outcomes, or in neither by about the same?"""
    steps = zip(case.program["steps"], known["results"], mine["results"], strict=True)
    return all(cost.alike(s["cost"]["limits"], a.get("cost"), b.get("cost")) for s, a, b in steps if "cost" in s)


def error_likeness(known: Sequence[str], mine: Sequence[str], deliberate: Collection[str]) -> Likeness | None:
    """How two errors are alike, each [type name, message, …]. deliberate: types that are raised on purpose."""
    if known[0] != mine[0]:
        return None
    if known[0] in deliberate or _words(known[1]) == _words(mine[1]):
        return Likeness.ERROR
    return Likeness.ACCIDENT


_WHOLE = 590  # characters of a message that was certainly not cut


def _words(message: str) -> list[str]:
    """What an error says, without the numbers of the case. Of weights that do not load which ones, and their shapes:
    another layer that is missing is another mistake."""
    if "Error(s) in loading state_dict" not in message:
        return [re.sub(r"\d+", "#", message)[:30]]
    if len(message) > _WHOLE:
        return [start for start in ("Missing key", "Unexpected key", "size mismatch") if start in message]
    told = re.sub(r".*?loading state_dict for \w+", "", message)  # whatever the class is called
    return sorted(re.findall(r"[\w.]+", told))  # torch lists names in the order of a set


def _same(known: Any, mine: Any, loose: Loose, rtol: float, any_dtype: bool = False) -> bool:
    known, mine = as_numbers(known, mine)
    return _equal(known, _in_dtype_of(known, mine) if any_dtype else mine, loose, rtol)


def _equal(known: Any, mine: Any, loose: Loose, rtol: float) -> bool:
    """Is there no ``difference``? It would word each one, which takes most of its time."""
    if isinstance(known, torch.Tensor) and isinstance(mine, torch.Tensor):
        return equal_tensors(known, mine, *loose.get(id(known), (0.0, rtol)))
    if isinstance(known, list | tuple) and isinstance(mine, list | tuple):
        return len(known) == len(mine) and all(_equal(a, b, loose, rtol) for a, b in zip(known, mine, strict=True))
    if isinstance(known, dict) and isinstance(mine, dict):
        return known.keys() == mine.keys() and all(_equal(v, mine[k], loose, rtol) for k, v in known.items())
    if isinstance(known, Expression) and isinstance(mine, Expression):
        return known.shape == mine.shape and counterexample(mine, known) is None
    return difference(known, mine, rtol=rtol) is None


def _has_dtypes_of(known: Any, mine: Any) -> bool:
    """Have floating tensors the dtypes, and numbers the types, of those in their places in ``known``? Then
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
    """``mine`` with its floating tensors in the dtype of those that stand in their places in ``known``, and with its
    numbers, 3 or 3.0, in their type."""
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
    """Does no gradient flow back from a result from which one should?"""
    carried = mine.get("carries")
    return (
        isinstance(asked, list)
        and isinstance(carried, list)
        and any(want and have is not True for want, have in zip(asked, carried, strict=False))
    )


def _carry_alike(asked: Any, known: Mapping[str, Any], mine: Mapping[str, Any]) -> bool:
    """Does a gradient flow back from the same results, of those from which one should?"""
    if not isinstance(asked, list):
        return True
    theirs, ours = known.get("carries") or [], mine.get("carries") or []
    return all(a == b for want, a, b in zip(asked, theirs, ours, strict=False) if want)


def _same_law(law: distributions.Law, known: Any, mine: Any) -> bool:
    """Are both drawn from the law, or both from the same other one?"""
    pairs = list(zip(runner.floating(known), runner.floating(mine), strict=True))
    if any(a.shape != b.shape for a, b in pairs):
        return False
    return bool(pairs) and all(
        (distributions.problem(law, a) is None) == (distributions.problem(law, b) is None)
        and (distributions.problem(law, a) is None or _moments(a) == _moments(b))
        for a, b in pairs
    )


def _moments(t: torch.Tensor) -> tuple[float, float]:
    """Mean and spread to one digit: more is chance."""
    x = t.double()
    spread = x.std(correction=0).item()
    return round(x.mean().item() / spread if spread else x.mean().item()), float(f"{spread:.1g}")


def as_numbers(a: Any, b: Any) -> tuple[Any, Any]:
    """Both values, with 0-d tensors as numbers where the other side has a number: the mistake is the same one."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple) and len(a) == len(b):
        pairs = [as_numbers(x, y) for x, y in zip(a, b, strict=True)]
        return [p[0] for p in pairs], [p[1] for p in pairs]
    if isinstance(a, torch.Tensor) != isinstance(b, torch.Tensor):
        return _number(a, b), _number(b, a)
    return a, b


def _number(value: Any, beside: Any) -> Any:
    plain = isinstance(value, torch.Tensor) and value.ndim == 0 and isinstance(beside, int | float)
    return value.item() if plain else value

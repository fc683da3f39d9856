"""How a wrong result relates to the expected one, and where it differs. Claims only what holds in every pair given."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

Pairs = Sequence[tuple[Tensor, Tensor]]  # (expected, got) of each failed case

_FUNCTIONS = (
    ("the square of", torch.square),
    ("the square root of", torch.sqrt),
    ("one over", torch.reciprocal),
    ("the exponential of", torch.exp),
    ("the logarithm of", torch.log),
    ("one minus", lambda x: 1 - x),
    ("the absolute value of", torch.abs),
)


def relation(pairs: Pairs, inputs: Sequence[Sequence[Tensor]]) -> tuple[str, str] | None:
    """(slug, sentence) that holds for all pairs (expected, got), or None.

    pairs: float tensors of equal shapes, with all entries finite. inputs: for each pair the case's input tensors.
    """
    pairs = [(e.double(), g.double()) for e, g in pairs]
    if not pairs or not all(e.isfinite().all() and g.isfinite().all() for e, g in pairs):
        return None
    entries = torch.cat([e.flatten() for e, _ in pairs])
    if len(entries) < 2:  # one number is related to any other in many ways
        return None
    if all((g == 0).all() for _, g in pairs) and (entries != 0).any():
        return "zeros", "Every entry of your result is 0. Was a tensor made and never filled, or was all masked away?"
    if all(
        any(_close(g, t.double()) for t in ts if t.is_floating_point() and t.shape == g.shape)
        for (_, g), ts in zip(pairs, inputs, strict=True)
    ):
        return "unchanged", "The result equals an input: nothing was done to it."
    for found in (_sign, _factor, _offset, _transposed, _shifted, _order, _function, _nearly, _slices):
        said = found(pairs)
        if said:
            return said
    return None


def _scale(e):
    return e.abs().max().item() if e.numel() else 0.0


def _close(a, b):
    return a.shape == b.shape and torch.allclose(a, b, 1e-4, 1e-6 * max(_scale(b), 1e-12))


def _sign(pairs):
    if all(_close(g, -e) for e, g in pairs):
        return "sign", "Every entry has the wrong sign."
    return None


def _varies(pairs):
    """Is there more than one expected number? Of one alone, every factor is an offset too."""
    entries = torch.cat([e.flatten() for e, _ in pairs])
    return (entries.max() - entries.min()).item() > 1e-3 * _scale(entries)


def _factor(pairs):
    if not _varies(pairs):
        return None
    # Of entries near zero nothing can be said: their ratio is the ratio of two roundings.
    solid = [(e.abs() > 1e-3 * _scale(e)) & (e.abs() > 1e-9) for e, _ in pairs]
    if sum(int(s.sum()) for s in solid) * 2 < sum(s.numel() for s in solid) or not any(s.any() for s in solid):
        return None
    ratios = torch.cat([(g[s] / e[s]) for (e, g), s in zip(pairs, solid, strict=True)])
    factor = ratios.median().item()
    if not 1e-3 < abs(factor) < 1e3 or not all(
        torch.allclose(g, factor * e, 1e-3, 1e-4 * abs(factor) * _scale(e)) for e, g in pairs
    ):
        return None
    what = "entry" if any(e.ndim for e, _ in pairs) else "result"
    return "factor", f"Every {what} is {factor:.4g} times the expected one{_known(factor)}."


def _known(factor):
    for value in (factor, 1 / factor):
        for n in (2, 3, 4, 5, 6, 8, 12, 16, 32, 64):
            if math.isclose(value, math.sqrt(n), rel_tol=1e-3) and n not in (4, 16, 64):
                return f" (that is {'' if value == factor else '1/'}√{n})"
    return ""


def _offset(pairs):
    if not _varies(pairs):
        return None
    offset = torch.cat([(g - e).flatten() for e, g in pairs]).median().item()
    if all(
        abs(offset) > 1e-3 * _scale(e) and torch.allclose(g - e, torch.full_like(e, offset), 1e-3, 1e-5 * _scale(e))
        for e, g in pairs
    ):
        return "offset", f"Every entry is off by the same {offset:.4g}."
    return None


def _transposed(pairs):
    if all(e.ndim >= 2 and e.shape[-1] == e.shape[-2] and _close(g, e.transpose(-1, -2)) for e, g in pairs):
        return "transposed", "This is the transpose of the expected result: the last two axes are swapped."
    return None


def _shifted(pairs):
    """The right numbers, one place off along one axis (counted from the end, so that all pairs mean the same)."""
    for axis in range(-1, -1 - min(e.ndim for e, _ in pairs), -1):
        if not all(e.shape[axis] >= 3 for e, _ in pairs):
            continue
        n = [e.shape[axis] - 1 for e, _ in pairs]
        late = all(_close(g.narrow(axis, 1, k), e.narrow(axis, 0, k)) for (e, g), k in zip(pairs, n, strict=True))
        early = all(_close(g.narrow(axis, 0, k), e.narrow(axis, 1, k)) for (e, g), k in zip(pairs, n, strict=True))
        if late != early:
            where = "late" if late else "early"
            return "shifted", f"The right numbers stand one place too {where} along the {axis_name(axis)}."
    return None


def axis_name(axis: int) -> str:
    """An axis counted from the end, in words."""
    return {-1: "last axis", -2: "second to last axis", -3: "third to last axis"}.get(axis, f"axis {axis}")


def _order(pairs):
    if all(_close(g.flatten().sort().values, e.flatten().sort().values) for e, g in pairs):
        return "order", ("The right numbers in the wrong places: the order of an axis, a reshape or an index is off.")
    return None


def _function(pairs):
    if not _varies(pairs):
        return None
    for words, f in _FUNCTIONS:
        made = [f(e) for e, _ in pairs]
        if all(m.isfinite().all() and _close(g, m) for m, (_, g) in zip(made, pairs, strict=True)):
            return "relation", f"Your result is {words} the expected one."
    return None


def _nearly(pairs):
    gaps = [((g - e).abs().max() / _scale(e)).item() for e, g in pairs if _scale(e) > 0]
    if gaps and len(gaps) == len(pairs) and max(gaps) < 5e-3:
        return "nearly", (
            f"The numbers are nearly right: they miss by at most {100 * max(gaps):.2g} % of the largest. "
            "Look for a small constant such as ε, a rounded number, or a lower precision on the way."
        )
    return None


def _slices(pairs):
    if any((e.abs() <= 1e-6 * _scale(e)).any() or not _scale(e) for e, _ in pairs):
        return None
    for axis in range(-1, -1 - min(e.ndim for e, _ in pairs), -1):
        if all(
            e.ndim >= 2
            and e.shape[axis] > 1
            and e.numel() > e.shape[axis]
            and torch.allclose(g / e, (g / e).mean(axis, keepdim=True).expand_as(e), 1e-3)
            for e, g in pairs
        ):
            return "slices", (
                f"Along the {axis_name(axis)} all entries are off by the same factor, and each slice has "
                "a factor of its own: look at the sum, mean or norm that divides it."
            )
    return None


def where(expected: Tensor, got: Tensor) -> str | None:
    """Words that say where two tensors of the same shape differ, e.g. ``only above the diagonal``, or None."""
    wrong = _wrong(expected, got)
    if wrong.ndim == 0 or wrong.all() or not wrong.any():
        return None
    zero = expected == 0
    found = "only where 0 is expected" if torch.equal(wrong, zero) and expected.dtype != torch.bool else None
    found = found or _diagonal(wrong)
    if not found:
        parts = [p for a in range(wrong.ndim) for p in [_along(wrong, a)] if p]
        found = " and ".join(parts[:2])
    if found and expected.dtype == torch.bool and len(set(got[wrong].tolist())) == 1:
        found += f", where it is {got[wrong][0].item()} and should be {expected[wrong][0].item()}"
    return found or None


def _wrong(expected, got):
    if not expected.is_floating_point():
        return expected != got
    e, g = expected.double(), got.double()
    same = (e == g) | (e.isnan() & g.isnan())
    return ~(same | ((e - g).abs() <= 1e-4 * e.abs() + 1e-6 * _scale(e[e.isfinite()])))


def _diagonal(wrong):
    if wrong.ndim < 2 or wrong.shape[-1] != wrong.shape[-2] or wrong.shape[-1] < 3:
        return None
    n = wrong.shape[-1]
    flat = wrong.reshape(-1, n, n).any(0)
    on = torch.eye(n, dtype=torch.bool)
    above = torch.ones(n, n, dtype=torch.bool).triu(1)
    for words, there in (("on the diagonal", on), ("above the diagonal", above), ("below the diagonal", above.T)):
        if not (flat & ~there).any() and 2 * int(flat.sum()) >= int(there.sum()):
            return f"only {words}"
    return None


def _along(wrong, axis):
    n = wrong.shape[axis]
    if n < 2:
        return None
    others = [i for i in range(wrong.ndim) if i != axis]
    places = (wrong.amax(dim=others) if others else wrong).nonzero().flatten().tolist()
    if not 0 < len(places) < n:
        return None
    steps = {b - a for a, b in zip(places, places[1:], strict=False)}
    if places == [0]:
        at = "only at index 0"
    elif places == [n - 1]:
        at = "only at the last index"
    elif places == list(range(places[0], n)):
        at = f"only from index {places[0]} on"
    elif places == list(range(places[-1] + 1)):
        at = f"only up to index {places[-1]}"
    elif steps == {2} and len(places) == len(range(places[0], n, 2)):
        at = f"only at {'odd' if places[0] % 2 else 'even'} indices"
    elif len(places) <= 4:
        at = f"only at {'index' if len(places) == 1 else 'indices'} {', '.join(map(str, places))}"
    else:
        return None
    return f"{at} of axis {axis}" if wrong.ndim > 1 else at

"""Finds how a wrong result relates to the expected one; claims only what holds in every given pair."""

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ..system.translation import N_, _, listed

Pairs = Sequence[tuple[Tensor, Tensor]]  # (expected, got) of each failed case

_ORDINALS = (N_("first"), N_("second"), N_("third"), N_("fourth"))
_FUNCTIONS = (
    (N_("the square of"), torch.square),
    (N_("the square root of"), torch.sqrt),
    (N_("one over"), torch.reciprocal),
    (N_("one over the square root of"), torch.rsqrt),
    (N_("the exponential of"), torch.exp),
    (N_("the logarithm of"), torch.log),
    (N_("one minus"), lambda x: 1 - x),
    (N_("the absolute value of"), torch.abs),
    (N_("the softmax (over the last axis) of"), lambda x: x.softmax(-1) if x.ndim else x),
    (N_("the logarithm to base 10 of"), torch.log10),
    (N_("the running sum (along the last axis) of"), lambda x: x.cumsum(-1) if x.ndim else x),
)


def relation(pairs: Pairs, inputs: Sequence[Sequence[Tensor]]) -> tuple[str, str] | None:
    """(slug, sentence) of a relation that holds for all pairs (expected, got), or None.

    pairs: float tensors of equal shapes, with all entries finite. inputs: for each pair the case's input tensors.
    """
    rounded = _rounding(pairs, inputs)
    flags = all(e.dtype == torch.bool == g.dtype for e, g in pairs)
    pairs = [(e.double(), g.double()) for e, g in pairs]
    if not pairs or any(g.isnan().any() or e.isnan().any() for e, g in pairs):
        return None
    if not all(e.isfinite().all() and g.isfinite().all() for e, g in pairs):
        return _function(pairs)
    entries = torch.cat([e.flatten() for e, __ in pairs])
    if len(entries) < 2:  # one number is related to any other in many ways, but is hardly ever that close to it
        return _nearly(pairs) if all(torch.allclose(g, e, 1e-5, 0) for e, g in pairs) else None
    if all((g == 0).all() for _, g in pairs) and (entries != 0).any():
        return "zeros", _(
            "Every entry of your result is 0. Was a tensor made and never filled, or was all masked away?"
        )
    if all(
        any(_close(g, t.double()) for t in ts if t.is_floating_point() and t.shape == g.shape)
        for (__, g), ts in zip(pairs, inputs, strict=True)
    ):
        return "unchanged", _("The result equals an input: nothing was done to it.")
    if flags:
        return _flags(pairs) or _transposed(pairs) or _shifted(pairs)
    if said := _sign(pairs) or _factor(pairs) or _divisor(pairs) or rounded:
        return said
    if all(_close(g, e) for e, g in pairs):  # any relation would then hold for the right numbers too
        return _nearly(pairs)
    for found in (_offset, _transposed, _shifted, _order, _function, _nearly):
        said = found(pairs)
        if said:
            return said
    return _factors(pairs, inputs) or _slices(pairs)


def _scale(e):
    return e[e.isfinite()].abs().max().item() if e.isfinite().any() else 0.0


def _close(a, b):
    return a.shape == b.shape and torch.allclose(a, b, 1e-4, 1e-6 * max(_scale(b), 1e-12))


def _sign(pairs):
    if all(_close(g, -e) for e, g in pairs):
        return "sign", _("Every entry has the wrong sign.")
    return None


def _varies(pairs):
    """Is there more than one expected number? If there is only one, every factor is an offset too."""
    entries = torch.cat([e.flatten() for e, __ in pairs])
    return (entries.max() - entries.min()).item() > 1e-3 * _scale(entries)


def _factor(pairs):
    if not _varies(pairs):
        return None
    # Entries near zero say nothing: their ratio is the ratio of two rounding errors.
    solid = [(e.abs() > 1e-3 * _scale(e)) & (e.abs() > 1e-9) for e, __ in pairs]
    if sum(int(s.sum()) for s in solid) * 2 < sum(s.numel() for s in solid) or not any(s.any() for s in solid):
        return None
    ratios = torch.cat([(g[s] / e[s]) for (e, g), s in zip(pairs, solid, strict=True)])
    factor = ratios.median().item()
    if abs(factor - 1) < 1e-5:  # the numbers are equal; something else is wrong
        return None
    # For a factor near 1 its distance from 1 counts: 0.9997 and 0.9998 are different factors.
    close = max(1e-6, min(1e-3, 0.02 * abs(factor - 1)))
    if not 1e-3 < abs(factor) < 1e3 or not all(
        torch.allclose(g, factor * e, close, min(1e-4, close) * abs(factor) * _scale(e)) for e, g in pairs
    ):
        return None
    told = _("Every result is {factor:.4g} times the expected one{known}.")
    if any(e.ndim for e, __ in pairs):
        told = _("Every entry is {factor:.4g} times the expected one{known}.")
    return "factor", told.format(factor=factor, known=_known(factor))


def _known(factor):
    for value in (factor, 1 / factor):
        for n in (2, 3, 4, 5, 6, 8, 12, 16, 32, 64):
            if math.isclose(value, math.sqrt(n), rel_tol=1e-3) and n not in (4, 16, 64):
                return (_(" (that is √{n})") if value == factor else _(" (that is 1/√{n})")).format(n=n)
    return ""


def _offset(pairs):
    if not _varies(pairs):
        return None
    offset = torch.cat([(g - e).flatten() for e, g in pairs]).median().item()
    if all(
        abs(offset) > 1e-3 * _scale(e) and torch.allclose(g - e, torch.full_like(e, offset), 1e-3, 1e-5 * _scale(e))
        for e, g in pairs
    ):
        return "offset", _("Every entry is off by the same {offset:.4g}.").format(offset=offset)
    return None


def _transposed(pairs):
    if all(e.ndim >= 2 and e.shape[-1] == e.shape[-2] and _close(g, e.transpose(-1, -2)) for e, g in pairs):
        return "transposed", _("This is the transpose of the expected result: the last two axes are swapped.")
    return None


def _shifted(pairs):
    """The right numbers, shifted by one along one axis (counted from the end, so that it is the same in all pairs)."""
    for axis in range(-1, -1 - min(e.ndim for e, __ in pairs), -1):
        if not all(e.shape[axis] >= 3 for e, __ in pairs):
            continue
        n = [e.shape[axis] - 1 for e, __ in pairs]
        late = all(_close(g.narrow(axis, 1, k), e.narrow(axis, 0, k)) for (e, g), k in zip(pairs, n, strict=True))
        early = all(_close(g.narrow(axis, 0, k), e.narrow(axis, 1, k)) for (e, g), k in zip(pairs, n, strict=True))
        if late != early:
            told = _("The right numbers stand one place too early along the {axis}.")
            if late:
                told = _("The right numbers stand one place too late along the {axis}.")
            return "shifted", told.format(axis=axis_name(axis))
    return None


def axis_name(axis: int) -> str:
    """An axis counted from the end, in words."""
    names = {-1: _("last axis"), -2: _("second to last axis"), -3: _("third to last axis")}
    return names.get(axis) or _("axis {n}").format(n=axis)


def _order(pairs):
    if not all(_close(g.flatten().sort().values, e.flatten().sort().values) for e, g in pairs):
        return None
    ndim = min(e.ndim for e, __ in pairs)
    for axis in range(-1, -1 - ndim, -1):
        if all(e.shape[axis] > 1 and _close(g, e.flip(axis)) for e, g in pairs):
            return "order", _("The right numbers in reverse order along the {axis}.").format(axis=axis_name(axis))
    for first, second in itertools.combinations(range(-ndim, 0), 2):
        # The result of swapping axes with a reshape: the numbers in one order, cut into the shape of the other.
        made = [(e.transpose(first, second), e.shape, g) for e, g in pairs]
        axes = _("the {axis} and the {other}").format(axis=axis_name(first), other=axis_name(second))
        if all(_close(g, t.reshape(shape)) for t, shape, g in made):
            return "order", _(
                "The right numbers in the wrong places: {axes} are swapped by a reshape, without a transpose. "
                "reshape keeps the order of the numbers; transpose moves the axes."
            ).format(axes=axes)
        back = [(e.reshape(_swapped(e.shape, first, second)).transpose(first, second), g) for e, g in pairs]
        if all(_close(g, t) for t, g in back):
            return "order", _(
                "The right numbers in the wrong places: {axes} are swapped once too often, or after a reshape "
                "in the other order."
            ).format(axes=axes)
    for axis in range(-1, -1 - ndim, -1):
        order = _moved([(e.movedim(axis, 0), g.movedim(axis, 0)) for e, g in pairs])
        if order:
            return "order", _(
                "The right slices in the wrong places along the {axis} (in the largest failed case {places}): the "
                "order of that axis is off."
            ).format(axis=axis_name(axis), places=order)
    return "order", _("The right numbers in the wrong places: the order of an axis, a reshape or an index is off.")


def _swapped(shape: Sequence[int], a: int, b: int) -> list[int]:
    sizes = list(shape)
    sizes[a], sizes[b] = sizes[b], sizes[a]
    return sizes


def _moved(pairs: Pairs) -> str:
    """Which slice is at which index of the first axis, in the largest pair; empty if a slice matches none."""
    for e, g in pairs:
        if not 2 < len(e) <= 64 or e.ndim < 2 or e[0].numel() < 2:
            return ""
        if not all(any(_close(mine, right) for right in e) for mine in g):
            return ""
    e, g = max(pairs, key=lambda pair: pair[0].numel())
    places = [next(k for k, right in enumerate(e) if _close(mine, right)) for mine in g]
    told = [_("place {i} holds slice {k}").format(i=i, k=k) for i, k in enumerate(places) if i != k]
    return listed(told[:2])


def _function(pairs):
    if not _varies(pairs):
        return None
    for words, f in _FUNCTIONS:
        if all(_close(g, f(e)) for e, g in pairs):
            return "relation", _("Your result is {function} the expected one.").format(function=_(words))
        if all(_close(f(g), e) for e, g in pairs):
            return "relation", _("The expected result is {function} yours: is a last step missing?").format(
                function=_(words)
            )
    return None


def _flags(pairs):
    if all(torch.equal(g, 1 - e) for e, g in pairs):
        return "relation", _("True stands where False belongs and False where True belongs, everywhere.")
    return None


def _rounding(pairs, inputs):
    """Differences as small as rounding errors, where rounding is to be expected."""
    if not pairs or not all(e.is_floating_point() and g.dtype == e.dtype and e.isfinite().all() for e, g in pairs):
        return None
    gaps = [((g.double() - e.double()).abs().max() / max(_scale(e.double()), 1e-300)).item() for e, g in pairs]
    if not all(0 < gap < 1e-3 for gap in gaps):
        return None
    if all(e.dtype == torch.float64 for e, __ in pairs) and 1e-9 < max(gaps) < 1e-5 and _is_float32(pairs):
        return "rounding", _(
            "This looks like rounding: the numbers miss by {gap:.1g} of the largest, the precision of float32, "
            "and float64 is asked for. Leave out .float(), or make new tensors with the input's dtype."
        ).format(gap=max(gaps))
    floats = [[t.double() for t in ts if t.is_floating_point() and t.numel() > 1] for ts in inputs]
    large = [any((t.mean().abs() > 50 * t.std()).item() for t in ts if t.isfinite().all()) for ts in floats]
    if large and all(large):
        return "rounding", _(
            "This looks like rounding: the numbers miss by {gap:.1g} of the largest, and the input is far "
            "from 0 for its spread. Differences of large numbers lose digits: subtract the mean first, then square."
        ).format(gap=max(gaps))
    return None


def _is_float32(pairs):
    """Were these float64 numbers rounded to float32? Either they still are, or the errors have both signs, which a
    small number in a divisor does not cause."""
    if all(torch.equal(g.float().double(), g) for _, g in pairs):
        return True
    missed = torch.cat([((g - e) * e.sign()).flatten() for e, g in pairs])
    return bool((missed > 0).any() and (missed < 0).any())


def _divisor(pairs):
    """Too small, or too large, by a tiny part that is the same along an axis: an ε in a divisor."""
    if not _varies(pairs):
        return None
    parts = []
    for e, g in pairs:
        solid = (e.abs() > 1e-3 * _scale(e)) & (e.abs() > 1e-9)
        if 2 * int(solid.sum()) < e.numel():
            return None
        parts.append(torch.where(solid, (e - g) / e, torch.nan))  # ε/(divisor + ε), if that is the cause
    every = torch.cat([p[p.isfinite()] for p in parts])
    sign = 1 if every.median() > 0 else -1
    if not (sign * every > 0).all() or not 1e-14 < every.abs().median() < 1e-3:
        return None
    for axis in (None, -1, -2, -3):
        if axis is not None and any(p.ndim < -axis or p.shape[axis] < 2 for p in parts):
            continue
        rows = [p.flatten()[None] if axis is None else p.movedim(axis, -1).reshape(-1, p.shape[axis]) for p in parts]
        if any(p.ndim == 0 for p in parts) or not all(_one_number(row) for r in rows for row in r):
            continue
        shared = _("the same everywhere")
        if axis is not None:
            shared = _("the same along the {axis}").format(axis=axis_name(axis))
        told = _(
            "The numbers are too small by a tiny part ({part:.1g}), {shared}: as if a small number such "
            "as ε were added to what divides them, or a larger one than is asked for."
        )
        if sign < 0:
            told = _(
                "The numbers are too large by a tiny part ({part:.1g}), {shared}: as if the small number "
                "that belongs to what divides them were missing, or too small."
            )
        return "divisor", told.format(part=every.abs().max().item(), shared=shared)
    return None


def _one_number(row):
    """True if the known numbers, at least two, are equal up to rounding."""
    known = row[row.isfinite()]
    return len(known) > 1 and (known.max() - known.min()).item() < 0.1 * known.abs().max().item()


def _factors(pairs, inputs):
    """One factor in each case, but not the same in all cases: a size that is missing, or used twice."""
    found = []
    for e, g in pairs:
        solid = (e.abs() > 1e-3 * _scale(e)) & (e.abs() > 1e-9)
        if 2 * int(solid.sum()) < e.numel() or e.numel() < 2:
            return None
        factor = (g[solid] / e[solid]).median().item()
        if not 1e-4 < abs(factor) < 1e4 or not torch.allclose(g, factor * e, 1e-3, 1e-4 * abs(factor) * _scale(e)):
            return None
        found.append(factor)
    if len({round(f, 4) for f in found}) < 2:
        return None
    for number, axis in ((k, a) for k in range(min(map(len, inputs))) for a in (-1, -2, -3)):
        if any(ts[number].ndim < -axis for ts in inputs):
            continue
        sizes = [ts[number].shape[axis] for ts in inputs]
        for words, power in (("n", 1), ("1/n", -1), ("√n", 0.5), ("1/√n", -0.5)):
            if all(n and math.isclose(f, n**power, rel_tol=1e-3) for f, n in zip(found, sizes, strict=True)):
                tensor = _(_ORDINALS[number]) if number < 4 else _("{n}th").format(n=number + 1)
                return "factors", _(
                    "In each case every entry is off by one factor ({factors}): it is {power}, n the length of the "
                    "{axis} of the {nth} tensor. Is it forgotten, or used twice?"
                ).format(factors=_numbers(found), power=words, axis=axis_name(axis), nth=tensor)
    return None


def _numbers(values):
    return ", ".join(f"{v:.4g}" for v in values[:3]) + (", …" if len(values) > 3 else "")


def _nearly(pairs):
    gaps = [((g - e).abs().max() / _scale(e)).item() for e, g in pairs if _scale(e) > 0]
    if gaps and len(gaps) == len(pairs) and max(gaps) < 5e-3:
        return "nearly", _(
            "The numbers are nearly right: they miss by at most {percent:.2g} % of the largest. "
            "Look for a small constant such as ε, a rounded number, or a lower precision on the way."
        ).format(percent=100 * max(gaps))
    return None


def _slices(pairs):
    if any((e.abs() <= 1e-6 * _scale(e)).any() or not _scale(e) for e, __ in pairs):
        return None
    if not any(((g / e).max() - (g / e).min()).item() > 1e-3 * _scale(g / e) for e, g in pairs):
        return None  # one factor for all slices
    for axis in range(-1, -1 - min(e.ndim for e, __ in pairs), -1):
        if all(
            e.ndim >= 2
            and e.shape[axis] > 1
            and e.numel() > e.shape[axis]
            and torch.allclose(g / e, (g / e).mean(axis, keepdim=True).expand_as(e), 1e-3)
            for e, g in pairs
        ):
            return "slices", _(
                "Along the {axis} all entries are off by the same factor, and each slice has a factor of its own: "
                "look at the sum, mean or norm that divides it."
            ).format(axis=axis_name(axis))
    return None

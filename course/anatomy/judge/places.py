"""Says where a wrong result differs from the expected one: a pattern of entries, or the first one."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..system.translation import _, listed, ngettext

Path = tuple[Any, ...]


def where(expected: Tensor, got: Tensor) -> str | None:
    """Words that say where two tensors of the same shape differ, e.g. ``only above the diagonal``, or None."""
    wrong = _wrong(expected, got)
    if wrong.ndim == 0 or wrong.all() or not wrong.any():
        return None
    zero = expected == 0
    found = _("only where 0 is expected") if torch.equal(wrong, zero) and expected.dtype != torch.bool else None
    found = found or _diagonal(wrong)
    if not found:
        parts = [p for a in range(wrong.ndim) for p in [_along(wrong, a)] if p]
        found = _(" and ").join(parts[:2])
    if found and expected.dtype == torch.bool and len(set(got[wrong].tolist())) == 1:
        told = _(", where it is {got} and should be {expected}")
        found += told.format(got=got[wrong][0].item(), expected=expected[wrong][0].item())
    return found or None


def first_wrong(expected: Tensor, got: Tensor, of: str = "") -> str:
    """How many entries of two tensors of the same shape differ, and where the first is; empty if all or none differ."""
    wrong = _wrong(expected, got)
    if wrong.ndim == 0 or wrong.all() or not wrong.any():
        return ""
    number, place = int(wrong.sum()), ", ".join(map(str, wrong.nonzero()[0].tolist()))
    if number == 1:
        told = _("One of {all} entries is wrong, at [{place}]{case}.")
    else:
        told = _("{n} of {all} entries are wrong, the first at [{place}]{case}.")
    return told.format(n=number, all=wrong.numel(), place=place, case=of)


def _wrong(expected, got):
    if not expected.is_floating_point():
        return expected != got
    e, g = expected.double(), got.double()
    same = (e == g) | (e.isnan() & g.isnan())
    scale = e[e.isfinite()].abs().amax().item() if e.isfinite().any() else 0.0
    return ~(same | ((e - g).abs() <= 1e-4 * e.abs() + 1e-6 * scale))


def _diagonal(wrong):
    if wrong.ndim < 2 or wrong.shape[-1] != wrong.shape[-2] or wrong.shape[-1] < 3:
        return None
    n = wrong.shape[-1]
    flat = wrong.reshape(-1, n, n).any(0)
    on = torch.eye(n, dtype=torch.bool)
    above = torch.ones(n, n, dtype=torch.bool).triu(1)
    for words, there in (
        (_("only on the diagonal"), on),
        (_("only above the diagonal"), above),
        (_("only below the diagonal"), above.T),
    ):
        if not (flat & ~there).any() and 2 * int(flat.sum()) >= int(there.sum()):
            return words
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
        at = _("only at index 0")
    elif places == [n - 1]:
        at = _("only at the last index")
    elif places == list(range(places[0], n)):
        at = _("only from index {n} on").format(n=places[0])
    elif places == list(range(places[-1] + 1)):
        at = _("only up to index {n}").format(n=places[-1])
    elif steps == {2} and len(places) == len(range(places[0], n, 2)):
        at = _("only at odd indices") if places[0] % 2 else _("only at even indices")
    elif len(places) <= 4:
        at = ngettext("only at index {places}", "only at indices {places}", len(places))
        at = at.format(places=listed(places))
    else:
        return None
    return _("{where} of axis {axis}").format(where=at, axis=axis) if wrong.ndim > 1 else at


def first_unlike(want: Any, got: Any, path: Path, same: Callable[[Any, Any], bool]) -> tuple[Path, Any, Any] | None:
    """(path, expected, got) of the first part of two values that differs, or None; a list of numbers is one part."""
    if same(want, got):
        return None
    deeper = isinstance(want, list | tuple) and isinstance(got, list | tuple) and len(want) == len(got)
    if deeper and as_tensor(want) is None:
        for i, (a, b) in enumerate(zip(want, got, strict=True)):
            found = first_unlike(a, b, (*path, i), same)
            if found:
                return found
    if isinstance(want, dict) and isinstance(got, dict) and set(want) == set(got):
        for key in want:
            found = first_unlike(want[key], got[key], (*path, key), same)
            if found:
                return found
    return path, want, got


def as_tensor(value: Any) -> Tensor | None:
    """A number, or a list of numbers, as a tensor; None for everything else."""
    if isinstance(value, torch.Tensor):
        return None if value.is_complex() else value
    if isinstance(value, bool) or not isinstance(value, int | float | list | tuple):
        return None
    items = value if isinstance(value, list | tuple) else [value]
    if not items or any(isinstance(v, bool) or not isinstance(v, int | float) for v in items):
        return None
    t = torch.tensor([float(v) for v in items], dtype=torch.float64)
    return t if isinstance(value, list | tuple) else t[0]

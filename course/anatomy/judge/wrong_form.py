"""Advice on a result of the wrong form: a type, a shape or a dtype that was not asked for."""

import math
from typing import Any

import torch

from ..program.codec import Opaque
from ..system.translation import _, ngettext
from .compare import difference, dtype_name
from .verdict import Mistake


def of_type(sentence: str, want: Any, got: Any) -> Mistake:
    """A result of the wrong type. sentence: what is wrong; want, got: the values, None if unknown."""
    return Mistake("generic.type", sentence + _type_hint(want, got))


def of_nothing(sentence: str) -> Mistake:
    """Nothing was returned."""
    return Mistake("generic.type", sentence + _(" print only shows a value, return hands it back."))


def _type_hint(want: Any, got: Any) -> str:
    if isinstance(want, torch.Tensor):
        if isinstance(got, list | tuple) and got and all(isinstance(v, torch.Tensor) for v in got):
            for i, v in enumerate(got[:8]):
                if difference(want, v, rtol=1e-4) is None:
                    return _(" Item {i} of it is right: return that one alone.").format(i=i)
            if want.ndim and want.shape[:1] == (len(got),):
                return _(" Put the items together with torch.stack or torch.cat.")
        if isinstance(got, list | tuple) or isinstance(got, Opaque) and got.type_name.startswith(("list ", "tuple ")):
            return _(" Stay with tensors all the way, or wrap it at the end: torch.tensor(…), torch.stack(…).")
        if isinstance(got, bool | int | float):
            return _(" Leave out .item() and float(…), or wrap it: torch.tensor(…).")
        if isinstance(got, Opaque) and "numpy" in got.type_name:
            return _(" Use torch's functions in place of numpy's; torch.from_numpy(…) turns an array into a tensor.")
    if isinstance(want, list | tuple) and isinstance(got, torch.Tensor):
        return _(" Return the values one after the other: return a, b.")
    if isinstance(want, int) and isinstance(got, float) and want == got:
        return _(" The number is right; count with // in place of /, or wrap it at the end: int(…).")
    if isinstance(want, float | int) and isinstance(got, torch.Tensor) and got.numel() == 1:
        return f" {_number_hint(want, got)}"
    if isinstance(want, float | int) and isinstance(got, torch.Tensor):
        return _(" One number is asked for: sum or average over all axes.")
    if isinstance(want, float | int) and isinstance(got, list | tuple):
        return _(" Return one number. Which of these is asked for?")
    return ""


def _number_hint(want: float, got: torch.Tensor) -> str:
    is_right = not got.is_complex() and math.isclose(got.item(), want, rel_tol=1e-4, abs_tol=1e-6)
    told = _("A Python number is asked for: wrap it at the end: {type}(…).")
    if is_right:
        told = _("Its number is right: wrap it at the end: {type}(…).")
    return told.format(type=type(want).__name__)


def of_dtype(sentence: str, want: torch.Tensor, got: torch.Tensor) -> Mistake:
    """A tensor of the wrong dtype; the message says so if its numbers are right."""
    asked, told = dtype_name(want), sentence
    if want.is_floating_point() and got.is_floating_point():
        coarse = min((want, got), key=lambda t: -torch.finfo(t.dtype).eps).dtype
        step = 4 * torch.finfo(coarse).eps
        if torch.allclose(got.double(), want.double(), step, step, equal_nan=True):
            told = _but(sentence)
            if torch.finfo(got.dtype).bits < torch.finfo(want.dtype).bits:
                return Mistake(
                    "generic.dtype",
                    _("{sentence} Somewhere it is cast down: keep {dtype} all the way.").format(
                        sentence=told, dtype=asked
                    ),
                )
    elif torch.equal(got.double(), want.double()):
        told = _but(sentence)
    return Mistake(
        "generic.dtype", _("{sentence} Cast it to {dtype} before you return it.").format(sentence=told, dtype=asked)
    )


def _but(sentence: str) -> str:
    return _("The numbers are right, but {sentence}").format(sentence=sentence[:1].lower() + sentence[1:])


def of_shape(sentence: str, want: torch.Tensor, got: torch.Tensor) -> Mistake:
    """A tensor of the wrong shape."""
    theirs, right = tuple(got.shape), tuple(want.shape)
    if got.ndim == want.ndim and sorted(theirs) == sorted(right):
        return Mistake(
            "generic.axes",
            _(
                "The axes are in another order: {got} instead of {expected}. Look at transpose, permute and the order "
                "of reshape."
            ).format(got=theirs, expected=right),
        )
    if got.numel() == want.numel():
        return Mistake(
            "generic.reshape",
            _("The right number of values in the wrong shape: {got} instead of {expected}.").format(
                got=theirs, expected=right
            )
            + _ones(theirs, right),
        )
    return Mistake("generic.shape", f"{sentence} {_axes(got, want)}")


def _axes(got: torch.Tensor, want: torch.Tensor) -> str:
    if got.ndim == 0:
        return _("One number is left: does a sum or mean run over all axes? Say which: dim=-1.")
    if got.ndim == want.ndim - 1:
        return _("One axis was lost: in a sum, a mean or an index. keepdim=True keeps it.")
    if got.ndim > want.ndim:
        more = got.ndim - want.ndim
        return ngettext(
            "It has {n} axis too many: broadcasting adds axes on the left. Print the shapes at each line.",
            "It has {n} axes too many: broadcasting adds axes on the left. Print the shapes at each line.",
            more,
        ).format(n=more)
    differ = [i for i in range(got.ndim) if got.ndim == want.ndim and got.shape[i] != want.shape[i]]
    if len(differ) == 1:
        have, asked = got.shape[differ[0]], want.shape[differ[0]]
        told = _("Axis {axis} alone is wrong, it has {got} in place of {expected}: which line gives it its length?")
        if have - asked == 1:
            told = _("Axis {axis} alone is wrong, it has one too many: which line gives it its length?")
        elif have - asked == -1:
            told = _("Axis {axis} alone is wrong, it has one too few: which line gives it its length?")
        return told.format(axis=differ[0], got=have, expected=asked)
    return _("Print the shapes at each line.")


def _ones(theirs: tuple[int, ...], right: tuple[int, ...]) -> str:
    """Advice where only axes of length 1 differ; elsewhere a hint at reshape and transpose."""
    if [n for n in theirs if n != 1] != [n for n in right if n != 1]:
        return _(" Look at the order of reshape and transpose.")
    return (
        _(" An axis of length 1 is too many: squeeze it, or leave out keepdim or None.")
        if len(theirs) > len(right)
        else _(" An axis of length 1 is missing: keepdim=True, unsqueeze or None puts it there.")
    )

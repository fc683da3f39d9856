"""Compares what a learner's code returned with what was expected; says where they differ, most basic thing first."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from ..program.codec import Opaque
from ..program.symbolic import MAX_NAME, Expression, NotAnExpression, counterexample
from ..system.texts import short, written
from ..system.translation import N_, _

RESULT, RESULT_OF_CALL = N_("the result"), N_("the result of call {n}")
MOST_CALLS = 20  # more than any case has
CHARACTERS = 1_200  # of a shown value
_PART = 300  # of a string, a key or an expression within a value
_KEYS_TEXT = 600  # of the keys that a sentence lists
_SYMBOLS = 8  # whose values a counterexample lists


@dataclass
class Difference:
    """Why two results differ.

    kind: ``raises``, ``type``, ``shape``, ``dtype``, ``nan``, ``values``, ``length``, ``keys``, ``gradient`` or
    ``expression``.
    sentence: one sentence for the learner.
    expected, got: short texts to be shown side by side.
    step: index of the program's step that differs; gradient: label of the gradient that differs (if known).
    nothing: if None was returned, the sentence without its guess at the reason.
    """

    kind: str
    sentence: str
    expected: str = ""
    got: str = ""
    step: int | None = None
    gradient: str | None = None
    nothing: str = ""


def show(value: Any, limit: int = 24) -> str:
    """Short text for a value: small tensors in full, large ones by shape and dtype; never more than CHARACTERS."""
    return written(lambda out: _show(value, limit, out), CHARACTERS)


def _show(value, limit, out):
    if isinstance(value, torch.Tensor):
        if 0 < value.numel() <= limit:
            rounded = value.detach().to(torch.float64) if value.is_floating_point() else value.detach()
            return _nested(rounded.tolist(), out)
        return out.put(_("tensor of shape {shape}, {dtype}").format(shape=tuple(value.shape), dtype=dtype_name(value)))
    if isinstance(value, float):
        return out.put(f"{value:.6g}")
    if isinstance(value, list | tuple):
        out.put("[" if isinstance(value, list) else "(")
        for i, part in enumerate(value[:8]):
            out.put(", " if i else "")
            _show(part, limit, out)
        out.put(", …" if len(value) > 8 else "")
        return out.put("]" if isinstance(value, list) else ")")
    if isinstance(value, dict):
        out.put("{")
        for i, (key, part) in enumerate(islice(value.items(), 12)):
            out.put(", " if i else "")
            _show(key, limit, out)
            out.put(": ")
            _show(part, limit, out)
        return out.put("}")
    if isinstance(value, str):
        value = value[: _PART + 1]
    text = str(value) if isinstance(value, Expression) else repr(value)
    return out.put(text if len(text) <= _PART else text[:_PART] + "…")


def expectation(value: Any) -> str:
    """Text for the expected value; of a formula only its kind, which does not give the answer away."""
    parts = value if isinstance(value, list | tuple) else [value]
    return _kind(value) if any(isinstance(p, Expression) for p in parts) else show(value)


def _nested(value, out):
    if isinstance(value, list):
        out.put("[")
        for i, part in enumerate(value):
            out.put(", " if i else "")
            _nested(part, out)
        return out.put("]")
    return out.put(f"{value:.4g}" if isinstance(value, float) else str(value))


def dtype_name(t: Tensor) -> str:
    """A tensor's dtype without the word torch."""
    return str(t.dtype).split(".")[1]


def difference(
    expected: Any,
    got: Any,
    atol: Mapping[int, float] | None = None,
    rtol: float | None = None,
    where: str = "",
) -> Difference | None:
    """First Difference between two decoded values, or None.

    atol: dict id(expected tensor) → absolute tolerance, measured when the expectation was computed (see METHOD
    in the recorder); rtol: relative tolerance on top, default 64 rounding steps of the dtype. where: what a sentence
    calls the value; by default "the result".
    """
    where = where or _(RESULT)
    if isinstance(got, Opaque):
        told = _("{where} is a {type}, expected {kind}").format(where=where, type=got.type_name, kind=_kind(expected))
        return Difference("type", told, expectation(expected), repr(got))
    if got is None and expected is not None:
        told = _("{where} is None, expected {kind}").format(where=where, kind=_kind(expected))
        if where == _(RESULT) or where in (_(RESULT_OF_CALL).format(n=n) for n in range(1, MOST_CALLS)):
            guess = _("{where} is None: is a return missing?").format(where=where)
            return Difference("type", guess, expectation(expected), "None", nothing=told)
        return Difference("type", told, expectation(expected), "None")
    if isinstance(expected, torch.Tensor):
        return _tensor_difference(expected, got, (atol or {}).get(id(expected), 0.0), rtol, where)
    if isinstance(expected, Expression):
        return _expression_difference(expected, got, where)
    if isinstance(expected, list | tuple):
        return _sequence_difference(expected, got, atol, rtol, where)
    if isinstance(expected, dict):
        return _dict_difference(expected, got, atol, rtol, where)
    if isinstance(expected, bool) or isinstance(got, bool) or not isinstance(expected, int | float):
        same = type(expected) is type(got) and expected == got
    elif not isinstance(got, int | float):
        same = False
    elif isinstance(expected, int):
        same = got == expected
        if same and isinstance(got, float):
            # A count, a size or an index: 2.0 cannot be an index.
            sentence = _("{where} is the float {got}, expected the int {expected}")
            sentence = sentence.format(where=where, got=_float_text(got), expected=expected)
            return Difference("type", sentence, str(expected), _float_text(got))
    else:
        same = got == expected or _is_close(got, expected, rtol or 1e-6)
    if same:
        return None
    if type(expected) is not type(got) and not (isinstance(got, int | float) and isinstance(expected, int | float)):
        sentence = _is_expected(where, _kind(got), _kind(expected))
        return Difference("type", sentence, show(expected), show(got))
    return Difference("values", _is_expected(where, show(got), show(expected)), show(expected), show(got))


def _is_expected(where, got, expected):
    return _("{where} is {got}, expected {expected}").format(where=where, got=got, expected=expected)


def _float_text(value: float) -> str:
    """A float that is a whole number, as Python writes it."""
    return repr(value) if abs(value) < 1e16 else f"{value:.6g}"


def _is_close(got, expected, rtol):
    try:
        return math.isclose(got, expected, rel_tol=rtol, abs_tol=1e-12)
    except OverflowError:  # an int too large for a float
        return False


def _kind(value):
    if isinstance(value, torch.Tensor):
        return _("a tensor of shape {shape}").format(shape=tuple(value.shape))
    if isinstance(value, Expression):
        n, m = value.shape or (0, 0)
        return _("a SymPy matrix of {n} × {m}").format(n=n, m=m) if value.shape else _("a SymPy expression")
    if isinstance(value, int) and not isinstance(value, bool):
        return _("an int")
    return "None" if value is None else _("a {type}").format(type=type(value).__name__)


def _tensor_difference(expected, got, atol, rtol, where):
    if not isinstance(got, torch.Tensor):
        return Difference(
            "type",
            _is_expected(where, _kind(got), _kind(expected)),
            show(expected),
            show(got),
        )
    if got.shape != expected.shape:
        return Difference(
            "shape",
            _has_shape(where, tuple(got.shape), tuple(expected.shape)),
            _("shape {shape}").format(shape=tuple(expected.shape)),
            _("shape {shape}").format(shape=tuple(got.shape)),
        )
    if got.dtype != expected.dtype:
        return Difference(
            "dtype",
            _("{where} has dtype {got}, expected {expected}").format(
                where=where, got=dtype_name(got), expected=dtype_name(expected)
            ),
            dtype_name(expected),
            dtype_name(got),
        )
    nan = got.isnan() & ~expected.isnan() if expected.is_floating_point() or expected.is_complex() else None
    if nan is not None and nan.any():
        return Difference(
            "nan",
            _("{where} has {n} NaN where a number is expected").format(where=where, n=int(nan.sum())),
            *_side_by_side(expected, got, nan),
        )
    wrong = _wrong(expected, got, atol, rtol)
    if not wrong.any():
        return None
    told = _("{where}: the entry differs")
    if wrong.numel() > 1:
        told = _("{where}: {n} of {all} entries differ")
    told = told.format(where=where, n=int(wrong.sum()), all=wrong.numel())
    return Difference("values", told, *_side_by_side(expected, got, wrong))


def _has_shape(where, got, expected):
    return _("{where} has shape {got}, expected {expected}").format(where=where, got=got, expected=expected)


def equal_tensors(expected: torch.Tensor, got: torch.Tensor, atol: float, rtol: float | None) -> bool:
    """True if ``difference`` would find none between two tensors; does not put it into words."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    return torch.equal(expected, got) or not _wrong(expected, got, atol, rtol).any().item()


def _wrong(expected, got, atol, rtol):
    """Mask of the entries that differ, for two tensors of the same shape and dtype."""
    if not expected.is_floating_point() and not expected.is_complex():
        return expected != got
    rtol = 64 * torch.finfo(expected.dtype).eps if rtol is None else rtol
    if atol == math.inf:  # random numbers: any number will do where a number is expected
        known, drawn = expected.isnan(), got.isnan()
        return ~((expected == got) | known & drawn | expected.isfinite() & ~drawn)
    return torch.isclose(_wide(got), _wide(expected), rtol=rtol, atol=atol, equal_nan=True).logical_not_()


def _wide(t):
    return t.to(torch.complex128) if t.is_complex() else t.to(torch.float64)


def _side_by_side(expected, got, wrong):
    index = tuple(int(i) for i in wrong.nonzero()[0])
    if expected.numel() <= 24:
        texts = show(expected), show(got)
        return texts if texts[0] != texts[1] else _digits(expected, got, index)
    # The rest of that row says more than one number (a shifted row, a swapped half), but a long row is cut.
    row, at = (index[:-1], index[-1]) if index else ((), 0)
    low = max(0, min(at - 3, expected.shape[-1] - 8))
    label = ", ".join(map(str, row)) + (", " if row else "") + f"{low}:{min(low + 8, expected.shape[-1])}"
    cut = slice(low, low + 8)
    return tuple(f"[{label}] = {show(t[row][cut])}" for t in (expected, got))


def _digits(expected, got, index):
    """The entries at an index, with enough digits to show a rounding difference."""
    label = f"{list(index)} = " if index else ""
    return tuple(f"{label}{t[index].item():.17g}" for t in (expected, got))


def _expression_difference(expected, got, where):
    if isinstance(got, int | float):
        got = Expression(["Float", got])
    if not isinstance(got, Expression) or (got.shape is None) != (expected.shape is None):
        return Difference("type", _is_expected(where, _kind(got), _kind(expected)), expectation(expected), show(got))
    if got.shape != expected.shape:
        return Difference("shape", _has_shape(where, got.shape, expected.shape), expectation(expected), str(got))
    unknown = sorted(got.symbols - expected.symbols)
    try:
        found = counterexample(got, expected)
    except NotAnExpression as error:
        return Difference("expression", f"{where} {error}", expectation(expected), str(got))
    if found is None:
        return None
    point, have, want = found
    # If there are many symbols, name only those that the expected form has too.
    named = list(point) if len(point) <= _SYMBOLS else [n for n in point if n in expected.symbols][:_SYMBOLS]
    at = _listed([f"{short(n, MAX_NAME)}={point[n]}" for n in named], len(point) > len(named))
    told = _("{where} is not the same function: at {at} the two differ")
    if unknown:
        told = _(
            "{where} is not the same function: at {at} the two differ (it uses {symbols}, which the expected form "
            "does not)"
        )
    told = told.format(where=where, at=at, symbols=_listed(unknown))
    values = [_("at {at}: {number}").format(at=at, number=_number(n)) for n in (want, have)]
    return Difference("expression", told, values[0], f"{got}\n{values[1]}")


def _listed(texts: Iterable[str], more: bool = False) -> str:
    """Texts joined by commas; ends in an ellipsis if it is cut or if ``more`` is True."""

    def write(out):
        for i, text in enumerate(texts):
            out.put(", " if i else "")
            out.put(text)
        out.put(", …" if more else "")

    return written(write, _KEYS_TEXT)


def _number(v):
    if isinstance(v, list):
        return f"[{_listed(map(_number, v))}]"
    if isinstance(v, complex):
        return f"{v.real:.4g}" if abs(v.imag) < 1e-12 else f"{v.real:.4g}{v.imag:+.4g}i"
    return f"{v:.4g}" if isinstance(v, int | float) else str(v)


def _sequence_difference(expected, got, atol, rtol, where):
    if not isinstance(got, list | tuple):
        told = _("{where} is {got}, expected {n} values").format(where=where, got=_kind(got), n=len(expected))
        return Difference("type", told, show(expected), show(got))
    if len(got) != len(expected):
        told = _("{where} has {got} items, expected {expected}")
        told = told.format(where=where, got=len(got), expected=len(expected))
        return Difference("length", told, show(expected), show(got))
    for i, (e, g) in enumerate(zip(expected, got, strict=True)):
        found = difference(e, g, atol, rtol, f"{where}[{i}]")
        if found:
            # A short list of numbers is easier to read whole.
            if all(isinstance(x, int | float | str) for x in expected) and len(expected) <= 24:
                found.expected, found.got = show(expected), show(got)
            return found
    return None


def _dict_difference(expected, got, atol, rtol, where):
    if not isinstance(got, dict):
        told = _("{where} is {got}, expected a dictionary").format(where=where, got=_kind(got))
        return Difference("type", told, show(expected), show(got))
    if set(got) != set(expected):
        missing, extra = _keys(set(expected) - set(got)), _keys(set(got) - set(expected))
        told = _("{where} lacks {missing} and has unexpected {extra}")
        if not extra:
            told = _("{where} lacks {missing}")
        elif not missing:
            told = _("{where} has unexpected {extra}")
        told = told.format(where=where, missing=missing, extra=extra)
        return Difference("keys", told, show(expected), show(got))
    for key, e in expected.items():
        found = difference(e, got[key], atol, rtol, f"{where}[{key!r}]")
        if found:
            return found
    return None


def _keys(keys):
    return _listed(sorted(k[:_PART] if isinstance(k, str) else show(k) for k in keys))

"""Compares what a learner's code returned with what was expected; says where they differ, smallest thing first."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .codec import Opaque
from .symbolic import Expression, NotAnExpression, counterexample


@dataclass
class Difference:
    """Why two results differ.

    kind: ``raises``, ``type``, ``shape``, ``dtype``, ``nan``, ``values``, ``length``, ``keys``, ``gradient`` or
    ``expression``.
    sentence: one sentence for the learner.
    expected, got: short texts to be shown side by side.
    step: index of the program's step that differs; gradient: label of the gradient that does (where it is known).
    """

    kind: str
    sentence: str
    expected: str = ""
    got: str = ""
    step: int | None = None
    gradient: str | None = None


def show(value: Any, limit: int = 24) -> str:
    """Short text for a value: small tensors in full, large ones by shape and dtype."""
    if isinstance(value, torch.Tensor):
        if value.numel() <= limit:
            rounded = value.detach().to(torch.float64) if value.is_floating_point() else value.detach()
            return _nested(rounded.tolist())
        return f"tensor of shape {tuple(value.shape)}, {dtype_name(value)}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        inner = ", ".join(show(v, limit) for v in value[:8]) + (", …" if len(value) > 8 else "")
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {show(v, limit)}" for k, v in list(value.items())[:12]) + "}"
    text = str(value) if isinstance(value, Expression) else repr(value)
    return text if len(text) <= 300 else text[:300] + "…"


def _nested(v):
    if isinstance(v, list):
        return "[" + ", ".join(_nested(x) for x in v) + "]"
    return f"{v:.4g}" if isinstance(v, float) else str(v)


def dtype_name(t: Tensor) -> str:
    """A tensor's dtype without the word torch."""
    return str(t.dtype).split(".")[1]


def difference(
    expected: Any,
    got: Any,
    atol: Mapping[int, float] | None = None,
    rtol: float | None = None,
    where: str = "the result",
) -> Difference | None:
    """First Difference between two decoded values, or None.

    atol: dict id(expected tensor) → absolute tolerance, measured when the expectation was computed (see METHOD
    in the recorder); rtol: relative tolerance on top, default 64 rounding steps of the dtype.
    """
    if isinstance(got, Opaque):
        return Difference(
            "type", f"{where} is a {got.type_name}, expected {_kind(expected)}", show(expected), repr(got)
        )
    if got is None and expected is not None:
        whole = where == "the result" or where.startswith("the result of call")
        why = ": is a return missing?" if whole and "[" not in where else f", expected {_kind(expected)}"
        return Difference("type", f"{where} is None{why}", show(expected), "None")
    if isinstance(expected, torch.Tensor):
        return _tensor_difference(expected, got, (atol or {}).get(id(expected), 0.0), rtol, where)
    if isinstance(expected, Expression):
        return _expression_difference(expected, got, where)
    if isinstance(expected, list | tuple):
        return _sequence_difference(expected, got, atol, rtol, where)
    if isinstance(expected, dict):
        return _dict_difference(expected, got, atol, rtol, where)
    if isinstance(got, torch.Tensor) and got.numel() == 1:
        got = got.item()
    if isinstance(expected, bool) or isinstance(got, bool) or not isinstance(expected, int | float):
        same = type(expected) is type(got) and expected == got
    elif not isinstance(got, int | float):
        same = False
    elif isinstance(expected, int):
        same = got == expected
    else:
        same = math.isclose(got, expected, rel_tol=rtol or 1e-6, abs_tol=1e-12) or got == expected
    if same:
        return None
    if type(expected) is not type(got) and not (isinstance(got, int | float) and isinstance(expected, int | float)):
        sentence = f"{where} is {_kind(got)}, expected {_kind(expected)}"
        return Difference("type", sentence, show(expected), show(got))
    return Difference("values", f"{where} is {show(got)}, expected {show(expected)}", show(expected), show(got))


def _kind(value):
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, Expression):
        return "a SymPy expression"
    return {"int": "an int", "NoneType": "None"}.get(type(value).__name__, f"a {type(value).__name__}")


def _tensor_difference(expected, got, atol, rtol, where):
    if not isinstance(got, torch.Tensor):
        return Difference(
            "type",
            f"{where} is {_kind(got)}, expected a tensor of shape {tuple(expected.shape)}",
            show(expected),
            show(got),
        )
    if got.shape != expected.shape:
        return Difference(
            "shape",
            f"{where} has shape {tuple(got.shape)}, expected {tuple(expected.shape)}",
            f"shape {tuple(expected.shape)}",
            f"shape {tuple(got.shape)}",
        )
    if got.dtype != expected.dtype:
        return Difference(
            "dtype",
            f"{where} has dtype {dtype_name(got)}, expected {dtype_name(expected)}",
            dtype_name(expected),
            dtype_name(got),
        )
    if not expected.is_floating_point() and not expected.is_complex():
        wrong = expected != got
        if not wrong.any():
            return None
    else:
        e, g = _wide(expected), _wide(got)
        same_special = (e == g) | (e.isnan() & g.isnan())
        if (g.isnan() & ~e.isnan()).any():
            count = int((g.isnan() & ~e.isnan()).sum())
            return Difference(
                "nan",
                f"{where} has {count} NaN where a number is expected",
                *_side_by_side(expected, got, g.isnan() & ~e.isnan()),
            )
        eps = torch.finfo(expected.dtype).eps
        allowed = atol + (rtol if rtol is not None else 64 * eps) * e.abs()
        # Beside an infinity every number is within a relative tolerance, zero and the other infinity too.
        wrong = ~(((e - g).abs() <= allowed) & e.isfinite() | same_special)
        if not wrong.any():
            return None
    share = f"{int(wrong.sum())} of {wrong.numel()} entries differ" if wrong.numel() > 1 else "the entry differs"
    return Difference("values", f"{where}: {share}", *_side_by_side(expected, got, wrong))


def _wide(t):
    return t.to(torch.complex128) if t.is_complex() else t.to(torch.float64)


def _side_by_side(expected, got, wrong):
    if expected.numel() <= 24:
        return show(expected), show(got)
    index = tuple(int(i) for i in wrong.nonzero()[0])
    # The rest of that row tells more than one number (a shifted row, a swapped half), but not all of a long one.
    row, at = (index[:-1], index[-1]) if index else ((), 0)
    low = max(0, min(at - 3, expected.shape[-1] - 8))
    label = ", ".join(map(str, row)) + (", " if row else "") + f"{low}:{min(low + 8, expected.shape[-1])}"
    cut = slice(low, low + 8)
    return tuple(f"[{label}] = {show(t[row][cut])}" for t in (expected, got))


def _expression_difference(expected, got, where):
    if isinstance(got, int | float):
        got = Expression(["Float", got])
    if not isinstance(got, Expression):
        return Difference("type", f"{where} is {_kind(got)}, expected a SymPy expression", show(expected), show(got))
    if got.shape != expected.shape:
        return Difference("shape", f"{where} has shape {got.shape}, expected {expected.shape}", str(expected), str(got))
    unknown = sorted(got.symbols - expected.symbols)
    try:
        found = counterexample(got, expected)
    except NotAnExpression as error:
        return Difference("expression", f"{where} {error}", str(expected), str(got))
    if found is None:
        return None
    point, have, want = found
    at = ", ".join(f"{k}={v}" for k, v in point.items())
    more = f" (it uses {', '.join(unknown)}, which the expected form does not)" if unknown else ""
    return Difference(
        "expression", f"{where} is not the same function: at {at} the two differ{more}", _number(want), _number(have)
    )


def _number(v):
    if isinstance(v, list):
        return "[" + ", ".join(_number(x) for x in v) + "]"
    if isinstance(v, complex):
        return f"{v.real:.4g}" if abs(v.imag) < 1e-12 else f"{v.real:.4g}{v.imag:+.4g}i"
    return f"{v:.4g}" if isinstance(v, int | float) else str(v)


def _sequence_difference(expected, got, atol, rtol, where):
    if not isinstance(got, list | tuple):
        return Difference(
            "type", f"{where} is {_kind(got)}, expected {len(expected)} values", show(expected), show(got)
        )
    if len(got) != len(expected):
        return Difference(
            "length", f"{where} has {len(got)} items, expected {len(expected)}", show(expected), show(got)
        )
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
        return Difference("type", f"{where} is {_kind(got)}, expected a dictionary", show(expected), show(got))
    if set(got) != set(expected):
        missing, extra = sorted(map(str, set(expected) - set(got))), sorted(map(str, set(got) - set(expected)))
        parts = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"has unexpected {', '.join(extra)}"] * bool(extra)
        return Difference("keys", f"{where} {' and '.join(parts)}", show(expected), show(got))
    for key, e in expected.items():
        found = difference(e, got[key], atol, rtol, f"{where}[{key!r}]")
        if found:
            return found
    return None

"""Functions that mutants call, as ``mutation``. ``effects`` counts the calls that changed something."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

effects = 0


def _noted(before: Any, after: Any) -> Any:
    global effects
    try:
        effects += _differ(before, after)
    except Exception:  # values that cannot be compared count as different
        effects += 1
    return after


def _differ(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.dtype != b.dtype or a.requires_grad != b.requires_grad or a.shape != b.shape:
            return True
        return not torch.equal(a.detach(), b.detach())
    if type(a) is not type(b):
        return True
    if isinstance(a, list | tuple):
        return len(a) != len(b) or any(map(_differ, a, b))
    if isinstance(a, dict):
        return a.keys() != b.keys() or any(_differ(a[k], b[k]) for k in a)
    if hasattr(a, "__code__") and hasattr(b, "__code__"):  # a lambda used as default is a new object each time
        return _does(a) != _does(b)
    return bool(a != b)


def _does(function: Any) -> tuple[Any, ...]:
    code = function.__code__
    return code.co_code, code.co_consts, code.co_names


def _mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """The value with each tensor and number in it changed."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_mapped(change, v) for v in value))
    if isinstance(value, list | tuple):
        return type(value)(_mapped(change, v) for v in value)
    if isinstance(value, dict):
        return {k: _mapped(change, v) for k, v in value.items()}
    return change(value)


def _floats(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    return _mapped(lambda t: change(t) if isinstance(t, Tensor) and t.is_floating_point() else t, value)


def detach(value: Any) -> Any:
    """Detaches tensors from their graph."""
    return _noted(value, _mapped(lambda t: t.detach() if isinstance(t, Tensor) else t, value))


def to_float32(value: Any) -> Any:
    """Floating tensors as float32."""
    return _noted(value, _floats(value, Tensor.float))


def to_float64(value: Any) -> Any:
    """Floating tensors as float64."""
    return _noted(value, _floats(value, Tensor.double))


def to_half(value: Any) -> Any:
    """Floating tensors as float16."""
    return _noted(value, _floats(value, Tensor.half))


def int_to_float(value: Any) -> Any:
    """Each int as a float, and each tensor of integers as float32."""

    def change(v: Any) -> Any:
        if isinstance(v, Tensor):
            return v if v.is_floating_point() or v.is_complex() or v.dtype == torch.bool else v.float()
        return float(v) if type(v) is int else v

    return _noted(value, _mapped(change, value))


def narrowed(value: Any) -> Any:
    """float64 tensors as float32; other tensors unchanged."""
    return _noted(value, _floats(value, lambda t: t.float() if t.dtype == torch.float64 else t))


def rounded(value: Any) -> Any:
    """Floating tensors as bfloat16."""
    return _noted(value, _floats(value, Tensor.bfloat16))


def dtype_of(*values: Any) -> torch.dtype | None:
    """The dtype of the first floating tensor."""
    return next((v.dtype for v in values if isinstance(v, Tensor) and v.is_floating_point()), None)


def back(value: Any, dtype: torch.dtype | None) -> Any:
    """Casts floating tensors to a dtype; None leaves them unchanged."""
    return value if dtype is None else _floats(value, lambda t: t.to(dtype))


def zeros(value: Any) -> Any:
    """0, False or zeros instead of a number, a bool or a tensor."""
    return _noted(value, _filled(value, torch.zeros_like, 0))


def ones(value: Any) -> Any:
    """1, True or ones instead of a number, a bool or a tensor."""
    return _noted(value, _filled(value, torch.ones_like, 1))


def _filled(value: Any, like: Callable[[Tensor], Tensor], number: int) -> Any:
    if isinstance(value, Tensor):
        return like(value)
    return type(value)(number) if isinstance(value, bool | int | float) else value


def default(value: Any, given: Any) -> Any:
    """The default instead of the value passed."""
    return _noted(value, given)


def mean_unbiased(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Mean with n − 1 instead of n."""
    mean = x.mean(*args, **kwargs)
    n = x.numel() / max(mean.numel(), 1)
    return mean * n / (n - 1)


def add_(a: Any, b: Any) -> Any:
    """a + b, computed in place if a is mutable."""
    a += b
    return a


def sub_(a: Any, b: Any) -> Any:
    """a − b, computed in place if a is mutable."""
    a -= b
    return a


def mult_(a: Any, b: Any) -> Any:
    """a · b, computed in place if a is mutable."""
    a *= b
    return a


def div_(a: Any, b: Any) -> Any:
    """a / b, computed in place if a is mutable."""
    a /= b
    return a

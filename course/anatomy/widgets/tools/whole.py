"""Calling a learner's function whose result is made of booleans, whole numbers or lists of them."""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from .calls import WrongOutput

_KINDS = {"boolean": (torch.bool,), "integer": (torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8)}


def tensor_of(value: Any, name: str, kind: Literal["boolean", "integer"], shape: Sequence[int] | None = None) -> Tensor:
    """``value`` as a detached CPU tensor, if it is a ``"boolean"`` or ``"integer"`` tensor of that shape.

    shape: None asks for one axis of any length. Raises WrongOutput with one sentence otherwise.
    """
    size = "of one axis" if shape is None else f"of shape {tuple(shape)}"
    asked = f"{name} must return {'a' if kind == 'boolean' else 'an'} {kind} tensor {size} here"
    if not isinstance(value, torch.Tensor):
        raise WrongOutput(f"{asked}, and it returned {'None' if value is None else type(value).__name__}.")
    if (value.dim() != 1) if shape is None else (tuple(value.shape) != tuple(shape)):
        raise WrongOutput(f"{asked}, and it returned shape {tuple(value.shape)}.")
    if value.dtype not in _KINDS[kind]:
        raise WrongOutput(f"{asked}, and it returned dtype {str(value.dtype).removeprefix('torch.')}.")
    return value.detach().cpu()


def several_of(value: Any, name: str, count: int) -> list[Any]:
    """``value`` as a list, if it is a tuple or list of ``count`` things. Raises WrongOutput otherwise."""
    if not isinstance(value, tuple | list) or len(value) != count:
        got = f"{len(value)} things" if isinstance(value, tuple | list) else type(value).__name__
        raise WrongOutput(f"{name} must return {count} things here, and it returned {got}.")
    return list(value)

"""Checks results of a learner's function that consist of booleans, integers or lists of them."""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from .calls import WrongOutput
from .words import _

_KINDS = {"boolean": (torch.bool,), "integer": (torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8)}


def tensor_of(value: Any, name: str, kind: Literal["boolean", "integer"], shape: Sequence[int] | None = None) -> Tensor:
    """Returns ``value`` as a detached CPU tensor, if it is a ``"boolean"`` or ``"integer"`` tensor of that shape.

    shape: None means one axis of any length. Raises WrongOutput with one sentence otherwise.
    """
    got = None
    if not isinstance(value, torch.Tensor):
        got = "None" if value is None else type(value).__name__
    elif (value.dim() != 1) if shape is None else (tuple(value.shape) != tuple(shape)):
        got = _("shape {shape}").format(shape=tuple(value.shape))
    elif value.dtype not in _KINDS[kind]:
        got = _("dtype {dtype}").format(dtype=str(value.dtype).removeprefix("torch."))
    if got is not None:
        said = {
            ("boolean", True): _("{name} must return a boolean tensor of one axis here, and it returned {got}."),
            ("integer", True): _("{name} must return an integer tensor of one axis here, and it returned {got}."),
            ("boolean", False): _("{name} must return a boolean tensor of shape {shape} here, and it returned {got}."),
            ("integer", False): _("{name} must return an integer tensor of shape {shape} here, and it returned {got}."),
        }[kind, shape is None]
        raise WrongOutput(said.format(name=name, shape=tuple(shape or ()), got=got))
    return value.detach().cpu()


def several_of(value: Any, name: str, count: int) -> list[Any]:
    """Returns ``value`` as a list, if it is a tuple or list of ``count`` things, else raises WrongOutput."""
    if not isinstance(value, tuple | list) or len(value) != count:
        got = type(value).__name__
        if isinstance(value, tuple | list):
            got = _("{n} things").format(n=len(value))
        said = _("{name} must return {n} things here, and it returned {got}.")
        raise WrongOutput(said.format(name=name, n=count, got=got))
    return list(value)

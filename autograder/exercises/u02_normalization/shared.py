"""Inputs and wrong norms that several exercises use."""

import torch
from torch import Tensor

from autograder.judge.spec import Source

BUILT_IN = (
    "layer_norm",
    "native_layer_norm",
    "rms_norm",
    "batch_norm",
    "instance_norm",
    "group_norm",
    "normalize",
)


def t(*rows: float | list[float]) -> Tensor:
    """A float32 tensor of the given numbers."""
    return torch.tensor(rows, dtype=torch.float32)


def ones(d: int) -> Tensor:
    """A weight that changes nothing."""
    return torch.ones(d)


def double(g: Source, *shapes: int | tuple[int, ...]) -> list[Tensor]:
    """A random float64 tensor of each shape."""
    return [g.randn(*((s,) if isinstance(s, int) else s), dtype=torch.float64) for s in shapes]


def image(g: Source, *shape: int) -> Tensor:
    """Random values around another mean and with another size in each sample and channel."""
    return g.randn(*shape) * g.uniform(*shape[:2], *[1] * (len(shape) - 2), low=0.5, high=2.0) + 2 * g.randn(
        *shape[:2], *[1] * (len(shape) - 2)
    )

"""Inputs that several exercises of this unit use."""

import torch
from torch import Tensor

from autograder.judge.spec import Source


def qkv(
    g: Source,
    T: int,
    S: int | None = None,
    B: int = 2,
    H: int = 3,
    D: int = 4,
    Dv: int = 5,
    scale: float = 1.0,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor, Tensor]:
    """q (B, H, T, D), k (B, H, S, D), v (B, H, S, Dv); S is T where it is not given."""
    S = S or T
    draw = lambda *shape: g.randn(*shape, scale=scale, dtype=dtype)
    return draw(B, H, T, D), draw(B, H, S, D), g.randn(B, H, S, Dv, dtype=dtype)


def row(*numbers: float) -> Tensor:
    """A number per token: (1, T, 1)."""
    return torch.tensor(numbers).reshape(1, -1, 1)

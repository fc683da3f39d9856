"""Masks by rule and cases that several exercises use."""

import math

import torch
from torch import Tensor

from autograder.judge.spec import Source


def places(T: int) -> tuple[Tensor, Tensor]:
    """Query positions as a column, key positions as a row."""
    i = torch.arange(T)
    return i[:, None], i[None, :]


def attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor, fill: float = -math.inf, scale: bool = True, dim: int = -1
) -> Tensor:
    """Attention by steps, with room for mistakes."""
    scores = q @ k.mT / (math.sqrt(q.shape[-1]) if scale else 1.0)
    return scores.masked_fill(~mask, fill).softmax(dim) @ v


def column(*numbers: float) -> Tensor:
    """A number per token: (1, 1, T, 1)."""
    return torch.tensor(numbers).reshape(1, 1, -1, 1)


def qkv(g: Source, T: int, B: int = 2, H: int = 3, D: int = 4, Dv: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    """Random queries, keys and values."""
    return g.randn(B, H, T, D), g.randn(B, H, T, D), g.randn(B, H, T, Dv)

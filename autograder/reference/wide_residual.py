"""Hyper-connections whose mixing matrices are doubly stochastic.

Sources: Zhu et al. 2024 (hyper-connections), arXiv:2409.19606; Xie et al. 2025 (mHC), arXiv:2512.24880; the layout of
weights is that of DeepSeek-V4. Sinkhorn and Knopp 1967 for the iteration.
"""

from collections.abc import Callable

import torch
from torch import Tensor


def doubly_stochastic(logits: Tensor, rounds: int = 20) -> Tensor:
    """logits (..., n, n) → positive (..., n, n) whose columns sum to 1, and whose rows nearly do.

    A round divides by the sums of the rows, then by those of the columns. The first division of rows is a softmax,
    which is the same and cannot overflow.
    """
    x = logits.softmax(-1)
    x = x / x.sum(-2, keepdim=True)
    for _ in range(rounds - 1):
        x = x / x.sum(-1, keepdim=True)
        x = x / x.sum(-2, keepdim=True)
    return x


def road_weights(
    streams: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, rounds: int = 20, eps: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor]:
    """(read (B, T, n), write (B, T, n), mix (B, T, n, n)) for streams (B, T, n, d).

    weight (2n + n², n·d), bias (2n + n²,), scale (3,), all in that order. All streams of a token together are divided
    by their root mean square, which has no gain.
    """
    n = streams.shape[2]
    flat = streams.flatten(2)
    flat = flat * torch.rsqrt(flat.pow(2).mean(-1, keepdim=True) + eps)
    parts = zip((flat @ weight.T).split([n, n, n * n], -1), bias.split([n, n, n * n]), scale, strict=True)
    read, write, mix = (part * s + b for part, b, s in parts)
    return read.sigmoid(), 2 * write.sigmoid(), doubly_stochastic(mix.unflatten(-1, (n, n)), rounds)


def wide_step(streams: Tensor, layer: Callable[[Tensor], Tensor], read: Tensor, write: Tensor, mix: Tensor) -> Tensor:
    """streams (B, T, n, d) → the same shape: mixed streams, plus the layer's output written to each.

    layer: (B, T, d) → (B, T, d). read, write (..., n) and mix (..., n, n) fit (B, T); stream i goes to stream j with
    weight mix[i, j].
    """
    y = layer((read[..., None] * streams).sum(-2))
    return mix.mT @ streams + write[..., None] * y[..., None, :]

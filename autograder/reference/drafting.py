"""Speculative decoding: a cheap model drafts tokens, the large one verifies them, and its law stays exact.

Source: Leviathan et al. 2022, arXiv:2211.17192 (algorithm 1, theorem 3.8); Chen et al. 2023, arXiv:2302.01318.
"""

import torch
from torch import Tensor


def pick(probabilities: Tensor, u: float | Tensor) -> int:
    """The token that a number u in [0, 1) falls on when the probabilities (V,) lie side by side from 0 to 1."""
    return min(int((probabilities.cumsum(-1) <= u).sum()), len(probabilities) - 1)


def verify(drafted: Tensor, q: Tensor, p: Tensor, u: Tensor) -> Tensor:
    """Drafted tokens that pass, and one more: (n,) int64 with 1 ≤ n ≤ K + 1.

    drafted (K,) int64, drawn from the draft's laws q (K, V). p (K + 1, V): the model's laws in the same places and
    behind them. u (K + 1,): uniform numbers, one for each drafted token, and the last one for the token that is added.
    """
    K = len(drafted)
    n = next((i for i in range(K) if u[i] * q[i, drafted[i]] >= p[i, drafted[i]]), K)
    rest = (p[n] - q[n]).clamp(min=0) if n < K else p[n]
    return torch.cat([drafted[:n], torch.tensor([pick(rest / rest.sum(), u[K])])])


def acceptance(p: Tensor, q: Tensor) -> Tensor:
    """p, q (..., V) → (...): how likely a token drawn from q passes."""
    return torch.minimum(p, q).sum(-1)


def tokens_per_call(rate: float, K: int) -> float:
    """Expected tokens for one call of the large model when each of K drafted tokens passes with chance ``rate``."""
    return sum(rate**i for i in range(K + 1))


def speedup(rate: float, K: int, cost: float) -> float:
    """Times faster than without drafts; a drafted token costs ``cost`` calls of the large model."""
    return tokens_per_call(rate, K) / (1 + K * cost)

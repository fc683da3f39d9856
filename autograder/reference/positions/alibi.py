"""ALiBi: a penalty that grows linearly with distance. Source: Press et al. 2021, arXiv:2108.12409."""

import math

import torch
from torch import Tensor

from autograder.reference.attention import attention_scores, attention_weights
from autograder.reference.positions.relative import relative_positions


def alibi_slopes(n_heads: int) -> Tensor:
    """One slope per head: 2^(-8/H), 2^(-16/H), … 2^-8 when H is a power of two.

    Otherwise the slopes for the largest power of two P below H, then every other slope of the series for
    2P (its 1st, 3rd, 5th …), as in the authors' code.
    Returns: (H,) float32. Raises: ValueError when n_heads < 1.
    """
    if n_heads < 1:
        raise ValueError(f"n_heads must be positive, got {n_heads}")
    power = 2 ** (n_heads.bit_length() - 1)
    exponents = [8 * h / power for h in range(1, power + 1)]
    exponents += [8 * h / (2 * power) for h in range(1, 2 * (n_heads - power), 2)]
    return torch.tensor([2.0**-e for e in exponents], dtype=torch.float32)


def alibi_bias(slopes: Tensor, T: int, S: int, offset: int = 0) -> Tensor:
    """-slope·|i + offset - j|.

    Args: slopes (H,); T queries, the first at position ``offset``; S keys.
    Returns: (H, T, S) in the dtype of slopes. The paper is causal, where i - j is never negative; with
    the absolute value the same bias also serves encoders.
    """
    distance = relative_positions(T, S, offset, slopes.device).abs()
    return -slopes[:, None, None] * distance.to(slopes.dtype)


def alibi_attention(
    q: Tensor, k: Tensor, v: Tensor, slopes: Tensor, mask: Tensor | None = None, offset: int = 0
) -> Tensor:
    """softmax(q kᵀ/√D + alibi_bias) v: the bias is added after scaling.

    Args: q (B, H, T, D), k (B, H, S, D), v (B, H, S, Dv), slopes (H,), mask boolean, True = may attend.
    Returns: (B, H, T, Dv).
    """
    bias = alibi_bias(slopes, q.shape[-2], k.shape[-2], offset)
    return attention_weights(attention_scores(q, k) + bias.to(device=q.device, dtype=q.dtype), mask) @ v


def alibi_window(slope: float, share: float = 0.99) -> int:
    """Number of nearest keys that hold ``share`` of the weight when all contents have equal scores.

    The weights are then geometric, e^(-slope·distance), so n keys hold 1 - e^(-slope·n) of an infinite
    past: a soft local window. Raises: ValueError when share is not strictly between 0 and 1.
    """
    if not 0 < share < 1:
        raise ValueError(f"share must lie strictly between 0 and 1, got {share}")
    return math.ceil(-math.log(1 - share) / slope)

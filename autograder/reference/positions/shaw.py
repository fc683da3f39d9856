"""Relative positions on keys and values. Source: Shaw et al. 2018, arXiv:1803.02155."""

import math

import torch
from torch import Tensor

from autograder.reference.attention import attention_weights
from autograder.reference.positions.relative import relative_positions


def shaw_index(T: int, S: int, k: int, offset: int = 0, device: torch.device | str | None = None) -> Tensor:
    """Row of the relative tables for every pair: clip(j - i, -k, k) + k.

    Returns: (T, S) int64 in 0 … 2k. Raises: ValueError when k < 0.
    """
    if k < 0:
        raise ValueError(f"the clipping distance k must not be negative, got {k}")
    return relative_positions(T, S, offset, device).clamp(-k, k) + k


def shaw_scores(q: Tensor, k: Tensor, rel_k: Tensor, offset: int = 0) -> Tensor:
    """q_i·(k_j + a_ij)/√D with a_ij a row of rel_k.

    Args: q (B, H, T, D), k (B, H, S, D), rel_k (2K+1, D) shared by heads; K is the clipping distance.
    Returns: (B, H, T, S).
    """
    T, S = q.shape[-2], k.shape[-2]
    index = shaw_index(T, S, _clip_distance(rel_k), offset, q.device)
    # q·a for the 2K+1 distinct rows, then picked per pair: (T, S, D) is never stored.
    by_distance = q @ rel_k.T  # (B, H, T, 2K+1)
    position = by_distance.gather(-1, index.expand(*q.shape[:-1], S))
    return (q @ k.transpose(-2, -1) + position) / math.sqrt(q.shape[-1])


def shaw_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    rel_k: Tensor,
    rel_v: Tensor,
    mask: Tensor | None = None,
    offset: int = 0,
) -> Tensor:
    """Σ_j w_ij (v_j + b_ij), w the softmax of shaw_scores and b_ij a row of rel_v.

    Args: q (B, H, T, D), k (B, H, S, D), v (B, H, S, Dv), rel_k (2K+1, D), rel_v (2K'+1, Dv); mask
    boolean, True = may attend, broadcastable to (B, H, T, S); offset, position of the first query.
    Returns: (B, H, T, Dv). Raises: ValueError for tables with an even number of rows.
    """
    T, S = q.shape[-2], k.shape[-2]
    weights = attention_weights(shaw_scores(q, k, rel_k, offset), mask)
    index = shaw_index(T, S, _clip_distance(rel_v), offset, q.device).expand(weights.shape)
    # Weights that share a distance share a row of rel_v: add them up first.
    by_distance = weights.new_zeros(*weights.shape[:-1], rel_v.shape[0]).scatter_add(-1, index, weights)
    return weights @ v + by_distance @ rel_v


def _clip_distance(table: Tensor) -> int:
    if table.dim() != 2 or table.shape[0] % 2 == 0:
        raise ValueError(f"a relative table needs 2K+1 rows, got shape {tuple(table.shape)}")
    return table.shape[0] // 2

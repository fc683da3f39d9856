"""Untied positions. Source: TUPE, Ke et al. 2020, arXiv:2006.15595.

Words and positions have separate projections and interact only through the sum of their scores:
(x_i W_Q)(x_j W_K)ᵀ/√(2D) + (p_i U_Q)(p_j U_K)ᵀ/√(2D). The second term has no content, so all layers can
share it.
"""

import math

import torch
from torch import Tensor


def tupe_position_scores(pos_q: Tensor, pos_k: Tensor) -> Tensor:
    """The untied position-position term. Args: pos_q, pos_k (H, T, D). Returns: (H, T, T)."""
    return pos_q @ pos_k.transpose(-2, -1) / math.sqrt(2 * pos_q.shape[-1])


def tupe_scores(q: Tensor, k: Tensor, position_scores: Tensor) -> Tensor:
    """Content term plus position term. √(2D) because two products of equal variance are added.

    Args: q, k (B, H, T, D); position_scores (H, T, T). Returns: (B, H, T, T).
    """
    return q @ k.transpose(-2, -1) / math.sqrt(2 * q.shape[-1]) + position_scores


def untie_cls(position_scores: Tensor, from_cls: Tensor, to_cls: Tensor) -> Tensor:
    """Untie [CLS], at position 0, from its position: a learned scalar per head replaces its position scores.

    Args: position_scores (H, T, T); from_cls (H,) for row 0, including its own entry; to_cls (H,) for
    column 0 of the other rows. Returns: (H, T, T); the input is not changed.
    """
    T = position_scores.shape[-1]
    is_cls = torch.arange(T, device=position_scores.device) == 0
    out = torch.where(is_cls[None, None, :], to_cls[:, None, None], position_scores)
    return torch.where(is_cls[None, :, None], from_cls[:, None, None], out)

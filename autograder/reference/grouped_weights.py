"""Weights in a few bits, with one scale for each group of neighbors in a row.

Sources: Frantar et al. 2022 (GPTQ), arXiv:2210.17323, for groups;
Dettmers et al. 2022, arXiv:2208.07339, for outliers.
"""

import torch
from torch import Tensor


def quantize_groups(w: Tensor, group: int, bits: int) -> tuple[Tensor, Tensor]:
    """w (m, n) → (codes int8 (m, n) in ±(2^(bits−1) − 1), scales (m, n / group) of w's dtype).

    A group of zeros has scale 0 and codes 0. Raises: ValueError if ``group`` does not divide n.
    """
    if w.shape[1] % group:
        raise ValueError(f"groups of {group} do not fit rows of {w.shape[1]}")
    parts = w.unflatten(-1, (-1, group))
    scale = parts.abs().amax(-1) / (2 ** (bits - 1) - 1)
    safe = torch.where(scale == 0, 1.0, scale)
    return (parts / safe[..., None]).round().flatten(1).to(torch.int8), scale


def restore_groups(codes: Tensor, scale: Tensor) -> Tensor:
    """codes (m, n), scale (m, n / group) → (m, n) of the scale's dtype."""
    parts = codes.unflatten(-1, (scale.shape[1], -1))
    return (parts * scale[..., None]).flatten(1)


def bits_per_weight(bits: int, group: int, scale_bits: int = 16) -> float:
    """What a weight takes when its group shares one scale."""
    return bits + scale_bits / group

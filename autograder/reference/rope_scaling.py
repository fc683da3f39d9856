"""Stretching RoPE past the training length: position interpolation, NTK-aware bases, YaRN.

Every method changes only the frequencies (or the positions, which is equivalent), so each returns an
input of apply_scaled_rope. s is the factor by which the context grows.
"""

import math

import torch
from torch import Tensor

from autograder.reference.rope import (
    angle_dtype,
    check_positions,
    rope_angles,
    rope_frequencies,
    rotate_halves,
    rotate_pairs,
)


def _check_factor(s: float) -> None:
    if s < 1:
        raise ValueError(f"the scaling factor s must be at least 1, got {s}")


def position_interpolation(position_ids: Tensor, s: float) -> Tensor:
    """Compress positions to id/s, so that s·L positions fall into the trained range. arXiv:2306.15595.

    Args: position_ids, integer or fractional, any shape. Returns: same shape, float64.
    Raises: ValueError when s < 1.
    """
    _check_factor(s)
    return position_ids.to(torch.float64) / s


def ntk_base(base: float, s: float, D: int) -> float:
    """The base with which the slowest pair turns s times slower while the fastest is unchanged.

    base·s^(D/(D-2)); the slowest of D/2 pairs has exponent (D-2)/D. Described by its author in a
    public post and in arXiv:2309.00071, section 3.1. Raises: ValueError when s < 1 or D is below 4 or odd.
    """
    _check_factor(s)
    if D < 4 or D % 2:
        raise ValueError(f"D must be even and at least 4, got {D}")
    return base * s ** (D / (D - 2))


def dynamic_ntk_base(base: float, D: int, seq_len: int, max_position: int, factor: float = 1.0) -> float:
    """ntk_base with an s that grows with the text: s = factor·seq_len/max_position - (factor - 1).

    With factor 1 this is s = seq_len/max_position. Up to max_position tokens the base does not change.
    Raises: ValueError when factor < 1 or D is below 4 or odd.
    """
    _check_factor(factor)
    s = factor * max(seq_len, max_position) / max_position - (factor - 1)
    return ntk_base(base, s, D)


def yarn_ramp(D: int, base: float, original_max: int, beta_fast: float = 32, beta_slow: float = 1) -> Tensor:
    """How much each pair is interpolated: 0 keeps its frequency, 1 divides it by s. arXiv:2309.00071.

    A pair that turns beta_fast times or more within original_max tokens is kept, one that turns
    beta_slow times or fewer is interpolated. The ramp between is linear in the pair's index, its ends
    rounded outwards to whole indices, as in the authors' code and in Hugging Face's.
    Returns: (D/2,) float64 in [0, 1].
    """

    def pair_that_turns(rotations: float) -> float:
        # Solve original_max·θ_i = 2π·rotations for i.
        return D * math.log(original_max / (2 * math.pi * rotations)) / (2 * math.log(base))

    low = max(math.floor(pair_that_turns(beta_fast)), 0)
    high = min(math.ceil(pair_that_turns(beta_slow)), D - 1)
    width = (high - low) or 0.001  # a step instead of a division by zero
    return ((torch.arange(D // 2, dtype=torch.float64) - low) / width).clamp(0, 1)


def yarn_frequencies(
    D: int,
    base: float,
    s: float,
    original_max: int,
    beta_fast: float = 32,
    beta_slow: float = 1,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """YaRN's frequencies: a mix of θ_i and θ_i/s by yarn_ramp. arXiv:2309.00071, section 3.2.

    Args: dtype of the result; float32, as in released models, limits a float64 model to seven digits.
    Returns: (D/2,). Raises: ValueError when s < 1 or D is not positive and even.
    """
    _check_factor(s)
    theta = rope_frequencies(D, base, dtype=torch.float64)
    ramp = yarn_ramp(D, base, original_max, beta_fast, beta_slow)
    return (theta * (1 - ramp) + theta / s * ramp).to(dtype)


def yarn_temperature(s: float) -> float:
    """0.1·ln s + 1, the factor on q and on k each, so logits grow by its square. arXiv:2309.00071.

    In the paper's symbols this is √(1/t). Raises: ValueError when s < 1.
    """
    _check_factor(s)
    return 0.1 * math.log(s) + 1.0


def _scaled_cos_sin(x: Tensor, position_ids: Tensor, frequencies: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    check_positions(x, position_ids)
    if frequencies.shape != (x.shape[-1] // 2,) or x.shape[-1] % 2:
        raise ValueError(f"need D/2 frequencies for D={x.shape[-1]}, got {tuple(frequencies.shape)}")
    frequencies = frequencies.to(device=x.device, dtype=angle_dtype(x))
    angles = rope_angles(position_ids.to(x.device), frequencies)
    return angles.cos() * temperature, angles.sin() * temperature


def apply_scaled_rope(x: Tensor, position_ids: Tensor, frequencies: Tensor, temperature: float = 1.0) -> Tensor:
    """RoPE (interleaved) with given frequencies, times ``temperature``.

    Args: x (B, H, T, D); position_ids (T,) or (B, T), integer or fractional; frequencies (D/2,).
    Returns: same shape and dtype as x. Raises: ValueError when sizes do not fit.
    """
    return rotate_pairs(x, *_scaled_cos_sin(x, position_ids, frequencies, temperature))


def apply_scaled_rope_half(x: Tensor, position_ids: Tensor, frequencies: Tensor, temperature: float = 1.0) -> Tensor:
    """Like apply_scaled_rope, in the half-split layout."""
    return rotate_halves(x, *_scaled_cos_sin(x, position_ids, frequencies, temperature))

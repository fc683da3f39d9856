"""Rotary position embedding: rotate pairs of features by an angle that grows with the position.

Source: Su et al. 2021, arXiv:2104.09864.

Conventions: positions count from 0. Pair i of D/2 turns by position·θ_i, θ_i = base^(-2i/D). In the
*interleaved* layout pair i is features (2i, 2i+1); in the *half-split* layout it is (i, i+D/2), as in
GPT-NeoX and in Hugging Face's LLaMA.

Precision: angles, cosines and products are computed in float32 (float64 for float64 inputs), whatever
the input dtype, and the result is cast back. A bfloat16 angle would be off by whole turns at position
1000. A float32 angle of m radians is still uncertain by about m·6e-8: 2e-3 at position 32768.
"""

import math

import torch
from torch import Tensor


def rotation_matrix_2d(angle: Tensor | float) -> Tensor:
    """Counter-clockwise rotation by ``angle`` radians.

    Args: angle, a number (float64 result) or a floating tensor (...).
    Returns: (..., 2, 2), [[cos, -sin], [sin, cos]].
    """
    angle = torch.as_tensor(angle, dtype=None if isinstance(angle, Tensor) else torch.float64)
    cos, sin = torch.cos(angle), torch.sin(angle)
    return torch.stack([torch.stack([cos, -sin], dim=-1), torch.stack([sin, cos], dim=-1)], dim=-2)


def rotate_complex(x: Tensor, angle: Tensor | float) -> Tensor:
    """The same rotation as a product of complex numbers: (x₀ + i·x₁)·e^{i·angle}.

    Args: x (..., 2), angle a number or a tensor broadcastable to (...).
    Returns: same shape and dtype as x.
    Raises: ValueError when the last size is not 2.
    """
    if x.shape[-1] != 2:
        raise ValueError(f"x must end in a pair, got {tuple(x.shape)}")
    work = x.to(angle_dtype(x))
    angle = torch.as_tensor(angle, dtype=work.dtype, device=x.device)
    turned = torch.view_as_complex(work.contiguous()) * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(turned).to(x.dtype)


def angle_dtype(x: Tensor) -> torch.dtype:
    """float64 if x is float64, else float32."""
    return torch.promote_types(x.dtype, torch.float32)


def rope_frequencies(
    D: int,
    base: float = 10000.0,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> Tensor:
    """θ_i = base^(-2i/D) for i = 0 … D/2-1, in radians per position.

    Returns: (D/2,), decreasing from 1. Raises: ValueError when D is not positive and even.
    """
    if D < 2 or D % 2:
        raise ValueError(f"RoPE rotates pairs: the dimension must be positive and even, got {D}")
    # Computed in float64, then rounded: the same bits on every device, at most 2 ulp from a float32 power.
    exponents = torch.arange(0, D, 2, dtype=torch.float64) / D
    return (float(base) ** -exponents).to(device=device, dtype=dtype)


def wavelengths(D: int, base: float = 10000.0) -> Tensor:
    """Positions per full turn of each pair, 2π/θ_i. Returns: (D/2,) float64, increasing from 2π."""
    return 2 * math.pi / rope_frequencies(D, base, dtype=torch.float64)


def rope_angles(position_ids: Tensor, frequencies: Tensor) -> Tensor:
    """Angles position·θ_i, ready to broadcast against (B, H, T, D/2).

    Args: position_ids (T,) or (B, T), integer or fractional; frequencies (D/2,) floating.
    Returns: (T, D/2) or (B, 1, T, D/2) in the dtype of ``frequencies``.
    """
    angles = position_ids.to(frequencies.dtype)[..., None] * frequencies
    return angles if position_ids.dim() == 1 else angles.unsqueeze(1)


def rotate_pairs(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate interleaved pairs. Args: x (..., D), cos and sin broadcastable to (..., D/2).

    Returns: same shape and dtype as x; the arithmetic is done in the dtype of ``cos``.
    """
    even, odd = x[..., 0::2].to(cos.dtype), x[..., 1::2].to(cos.dtype)
    turned = torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1)  # (..., D/2, 2)
    return turned.flatten(-2).to(x.dtype)


def rotate_half(x: Tensor) -> Tensor:
    """Quarter turn of every half-split pair: [x₁, x₂] -> [-x₂, x₁], x (..., D) with D even."""
    if x.shape[-1] % 2:
        raise ValueError(f"rotate_half needs an even last size, got {tuple(x.shape)}")
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat([-x2, x1], dim=-1)


def rotate_halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate half-split pairs. Args: x (..., D), cos and sin broadcastable to (..., D/2).

    Returns: same shape and dtype as x; the arithmetic is done in the dtype of ``cos``.
    """
    work = x.to(cos.dtype)
    cos, sin = torch.cat([cos, cos], dim=-1), torch.cat([sin, sin], dim=-1)  # (..., D)
    return (work * cos + rotate_half(work) * sin).to(x.dtype)


def check_positions(x: Tensor, position_ids: Tensor) -> None:
    """Raises: ValueError when position_ids are not (T,) or (B, T) for x (B, H, T, D), or (T,) for x (..., T, D)."""
    T = x.shape[-2]
    if position_ids.dim() not in (1, 2) or position_ids.shape[-1] != T:
        raise ValueError(f"position_ids must be (T,) or (B, T) with T={T}, got {tuple(position_ids.shape)}")
    if position_ids.dim() == 2 and (x.dim() != 4 or position_ids.shape[0] not in (1, x.shape[0])):
        raise ValueError(
            f"position_ids {tuple(position_ids.shape)} needs x of shape (B, H, T, D), got {tuple(x.shape)}"
        )


def _cos_sin(x: Tensor, position_ids: Tensor, base: float) -> tuple[Tensor, Tensor]:
    check_positions(x, position_ids)
    frequencies = rope_frequencies(x.shape[-1], base, dtype=angle_dtype(x), device=x.device)
    angles = rope_angles(position_ids.to(x.device), frequencies)
    return angles.cos(), angles.sin()


def apply_rope(x: Tensor, position_ids: Tensor, base: float = 10000.0) -> Tensor:
    """RoPE, interleaved layout.

    Args: x (B, H, T, D), D even; position_ids (T,) or (B, T): any integers, offsets and gaps allowed.
    Returns: same shape and dtype as x.
    Raises: ValueError when D is odd or position_ids does not fit x.
    """
    return rotate_pairs(x, *_cos_sin(x, position_ids, base))


def apply_rope_half(x: Tensor, position_ids: Tensor, base: float = 10000.0) -> Tensor:
    """RoPE, half-split layout. Arguments, result and errors as in apply_rope."""
    return rotate_halves(x, *_cos_sin(x, position_ids, base))


def apply_rope_complex(x: Tensor, position_ids: Tensor, base: float = 10000.0) -> Tensor:
    """RoPE, interleaved layout, by complex multiplication. Equals apply_rope, up to rounding."""
    check_positions(x, position_ids)
    frequencies = rope_frequencies(x.shape[-1], base, dtype=angle_dtype(x), device=x.device)
    pairs = x.unflatten(-1, (-1, 2))  # (B, H, T, D/2, 2)
    return rotate_complex(pairs, rope_angles(position_ids.to(x.device), frequencies)).flatten(-2)


def interleaved_to_half_permutation(D: int) -> Tensor:
    """Index p (D,) int64 such that x[..., p] is the half-split layout of an interleaved x.

    apply_rope_half(x[..., p], ids) equals apply_rope(x, ids)[..., p], so scores do not change when q
    and k are permuted alike. Raises: ValueError when D is not positive and even.
    """
    if D < 2 or D % 2:
        raise ValueError(f"the dimension must be positive and even, got {D}")
    return torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)])


def _check_rotary_dim(x: Tensor, rotary_dim: int) -> None:
    if not 0 < rotary_dim <= x.shape[-1]:
        raise ValueError(f"rotary_dim must lie in 1..{x.shape[-1]}, got {rotary_dim}")


def apply_partial_rope(x: Tensor, position_ids: Tensor, rotary_dim: int, base: float = 10000.0) -> Tensor:
    """Rotate the first ``rotary_dim`` features (interleaved), leave the others unchanged. As in GPT-J.

    The frequencies are those of a head of size rotary_dim, not D.
    Raises: ValueError when rotary_dim is odd or outside 1..D, or position_ids does not fit.
    """
    _check_rotary_dim(x, rotary_dim)
    head, tail = x[..., :rotary_dim], x[..., rotary_dim:]
    return torch.cat([apply_rope(head, position_ids, base), tail], dim=-1)


def apply_partial_rope_half(x: Tensor, position_ids: Tensor, rotary_dim: int, base: float = 10000.0) -> Tensor:
    """Like apply_partial_rope, with the half-split layout in the first rotary_dim features (GPT-NeoX)."""
    _check_rotary_dim(x, rotary_dim)
    head, tail = x[..., :rotary_dim], x[..., rotary_dim:]
    return torch.cat([apply_rope_half(head, position_ids, base), tail], dim=-1)


def rope_matrix(position: int, D: int, base: float = 10000.0, dtype: torch.dtype = torch.float64) -> Tensor:
    """R(position), the (D, D) block-diagonal rotation that apply_rope applies to one (interleaved) vector."""
    angles = position * rope_frequencies(D, base, dtype=dtype)
    return torch.block_diag(*rotation_matrix_2d(angles))

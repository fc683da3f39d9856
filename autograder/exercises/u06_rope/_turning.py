"""Wrong versions of RoPE put together from parts: which angles, and what is done to a pair with them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.judge.spec import Mutant
from autograder.reference import rope as R

Turn = Callable[[Tensor, Tensor, Tensor], Tensor]  # (x, cos, sin), cos and sin broadcastable to (..., D/2)
Rope = Callable[..., Tensor]
Entry = Callable[..., Tensor]  # of (first, second, cos, sin), the two of a pair


def same(position_ids: Tensor) -> Tensor:
    """The places as they are."""
    return position_ids


def of_first_text(position_ids: Tensor) -> Tensor:
    """The first row of places, for every text."""
    return position_ids[0] if position_ids.dim() == 2 else position_ids


def without_gaps(position_ids: Tensor) -> Tensor:
    """Counted on from the first place of each row."""
    return position_ids[..., :1] + torch.arange(position_ids.shape[-1])


def no_head_axis(position_ids: Tensor, frequencies: Tensor) -> Tensor:
    """Angles (..., T, D/2): the batch meets the heads."""
    return position_ids[..., None].to(frequencies.dtype) * frequencies


def always_head_axis(position_ids: Tensor, frequencies: Tensor) -> Tensor:
    """An axis for the heads at index 1, also for positions (T,)."""
    return no_head_axis(position_ids, frequencies).unsqueeze(1)


def wavelengths(D: int, base: float, dtype: torch.dtype) -> Tensor:
    """2π/θ where θ is wanted."""
    return 2 * torch.pi / R.rope_frequencies(D, base, dtype=dtype)


def slower_by(factor: float) -> Callable[[int, float, torch.dtype], Tensor]:
    """Frequencies whose exponent −2i/D has a factor too many."""
    return lambda D, base, dtype: R.rope_frequencies(D, base**factor, dtype=dtype)


def rope_of(
    turn: Turn,
    *,
    ids: Callable[[Tensor], Tensor] = same,
    angles: Callable[[Tensor, Tensor], Tensor] = R.rope_angles,
    frequencies: Callable[[int, float, torch.dtype], Tensor] = R.rope_frequencies,
) -> Rope:
    """RoPE that takes a base, with one of its parts exchanged."""

    def rope(x: Tensor, position_ids: Tensor, base: float = 10000.0) -> Tensor:
        angle = angles(ids(position_ids), frequencies(x.shape[-1], base, R.angle_dtype(x)))
        return turn(x, angle.cos(), angle.sin()).to(x.dtype)

    return rope


def frequency_mistakes(turn: Turn) -> list[Mutant]:
    """Wrong angles for a turn that is right, in either layout of the pairs."""
    return [
        Mutant(
            "wavelengths",
            rope_of(turn, frequencies=wavelengths),
            "The wavelengths 2π/θ are used as frequencies. The angle is position_ids times θ, from rope_frequencies.",
        ),
        Mutant(
            "double_exponent",
            rope_of(turn, frequencies=slower_by(2)),
            "The exponent is −4i/D for pair i, as if the head had D/2 features. It is −2i/D: your rope_frequencies "
            "has it right.",
        ),
    ]


def scaled_of(
    turn: Turn,
    *,
    ids: Callable[[Tensor], Tensor] = same,
    angles: Callable[[Tensor, Tensor], Tensor] = R.rope_angles,
) -> Rope:
    """RoPE that takes frequencies and a temperature, with one of its parts exchanged."""

    def rope(x: Tensor, position_ids: Tensor, frequencies: Tensor, temperature: float = 1.0) -> Tensor:
        angle = angles(ids(position_ids), frequencies.to(R.angle_dtype(x)))
        return turn(x, angle.cos() * temperature, angle.sin() * temperature).to(x.dtype)

    return rope


def neighbors(first: Entry, second: Entry) -> Turn:
    """Interleaved pairs, whose new entries are ``first`` and ``second``."""

    def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        pair = x[..., 0::2], x[..., 1::2], cos, sin
        return torch.stack([first(*pair), second(*pair)], -1).flatten(-2)

    return turn


def halves(first: Entry, second: Entry) -> Turn:
    """The same for pairs (i, i + D/2)."""

    def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        pair = *x.chunk(2, -1), cos, sin
        return torch.cat([first(*pair), second(*pair)], -1)

    return turn


def real(a: Tensor, b: Tensor, c: Tensor, s: Tensor) -> Tensor:
    """The first entry of a turned pair."""
    return a * c - b * s


def imaginary(a: Tensor, b: Tensor, c: Tensor, s: Tensor) -> Tensor:
    """The second entry of a turned pair."""
    return a * s + b * c


def apart(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Neighbors turned, then all first entries before all second ones."""
    pair = x[..., 0::2], x[..., 1::2], cos, sin
    return torch.cat([real(*pair), imaginary(*pair)], -1)


def woven(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Pairs (i, i + D/2) turned, then put back as neighbors."""
    pair = *x.chunk(2, -1), cos, sin
    return torch.stack([real(*pair), imaginary(*pair)], -1).flatten(-2)


def unflattened(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The axis of the pairs stays."""
    return R.rotate_pairs(x, cos, sin).unflatten(-1, (-1, 2))


def in_float32(f: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """``f`` computed in float32 whatever x is, and cast back."""

    def rope(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return f(x.float(), *args, **kwargs).to(x.dtype)

    return rope

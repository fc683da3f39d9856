"""A key-value cache in integers, and the resulting error.

Symmetric quantization: code = round(x / scale), scale = max|x| / (2^(bits-1) - 1) over one group. The
error of an entry is at most scale/2, so a single outlier makes its whole group coarse. Keys have a few
channels that are large for every token, so scales per channel suit them; scales per token suit values.

Sources: Dettmers et al. 2022, arXiv:2208.07339 (absolute-maximum codes); Liu et al. 2024 (KIVI),
arXiv:2402.02750 (which axis).
"""

import torch
from torch import Tensor


def quantize(x: Tensor, dim: int, bits: int = 8) -> tuple[Tensor, Tensor]:
    """Codes and scales with one scale per slice along ``dim``.

    Args: x, floating. For a cache (B, G, S, D), dim = -1 gives a scale per token and head, dim = -2 one
    per channel. bits in 2..8.
    Returns: codes, int8 in ±(2^(bits-1) - 1), same shape; scale, float32 (float64 for float64), size 1
    along dim. A slice of zeros has scale 0 and comes back as zeros.
    Raises: ValueError for other numbers of bits.
    """
    if not 2 <= bits <= 8:
        raise ValueError(f"bits must lie in 2..8, got {bits}")
    levels = 2 ** (bits - 1) - 1
    work = x.to(torch.promote_types(x.dtype, torch.float32))
    scale = work.abs().amax(dim=dim, keepdim=True) / levels
    codes = torch.round(work / scale.masked_fill(scale == 0, 1.0)).clamp(-levels, levels)
    return codes.to(torch.int8), scale


def dequantize(codes: Tensor, scale: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """codes · scale, in ``dtype``."""
    return (codes.to(scale.dtype) * scale).to(dtype)


class QuantizedCache:
    """ContiguousCache with int8 codes, one scale per token and head for keys and for values.

    Bytes per token, layer and head: 2·(D + 4) instead of 4·D in half precision.
    """

    def __init__(
        self,
        B: int,
        G: int,
        capacity: int,
        D: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
        bits: int = 8,
    ):
        self.codes = torch.zeros(2, B, G, capacity, D, dtype=torch.int8, device=device)
        scale_dtype = torch.promote_types(dtype, torch.float32)
        self.scales = torch.zeros(2, B, G, capacity, 1, dtype=scale_dtype, device=device)
        self.dtype, self.bits, self.capacity, self.length = dtype, bits, capacity, 0

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store T tokens (B, G, T, D), rounded; returns all stored ones as (B, G, S, D) in ``dtype``.

        Raises: ValueError when shapes do not fit, or the tokens exceed the capacity.
        """
        _, B, G, _, D = self.codes.shape
        if keys.shape != values.shape or (*keys.shape[:2], *keys.shape[3:]) != (B, G, D):
            raise ValueError(f"keys and values must be ({B}, {G}, T, {D}), got {keys.shape} and {values.shape}")
        end = self.length + keys.shape[2]
        if end > self.capacity:
            raise ValueError(f"the cache holds {self.capacity} tokens, {end} are needed")
        new = slice(self.length, end)
        self.codes[:, :, :, new], self.scales[:, :, :, new] = quantize(
            torch.stack([keys, values]), dim=-1, bits=self.bits
        )
        self.length = end
        both = dequantize(self.codes[:, :, :, :end], self.scales[:, :, :, :end], self.dtype)
        return both[0], both[1]

    def key_positions(self, T: int) -> Tensor:
        """Positions (S,) of the keys that append returns for T tokens."""
        return torch.arange(self.length + T, device=self.codes.device)

    @property
    def nbytes(self) -> int:
        """Allocated bytes, scales included."""
        return self.codes.nbytes + self.scales.nbytes

"""Key-value caches: contiguous, rolling window, cross-attention; paged and quantized ones are imported.

A cache belongs to one layer. ``append(keys, values)`` stores T new tokens and returns all keys and
values that these tokens may attend to, in order of position; ``key_positions(T)`` gives their positions
in advance, so that the mask can be built once for all layers. Shapes are (B, G, T, D).
Caches serve inference: run them under torch.no_grad().

Sources: cached decoding, Shazeer 2019, arXiv:1911.02150; rolling buffer, Jiang et al. 2023,
arXiv:2310.06825.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from autograder.reference.paged_cache import PagedCache, paged_attention
from autograder.reference.quantized_cache import QuantizedCache, dequantize, quantize

__all__ = [
    "ContiguousCache",
    "CrossAttentionCache",
    "PagedCache",
    "QuantizedCache",
    "RollingCache",
    "chunks",
    "dequantize",
    "paged_attention",
    "quantize",
    "run_in_chunks",
]


class ContiguousCache:
    """One buffer per layer, allocated once for ``capacity`` tokens.

    Args: B sequences, G key-value heads, head dims D of keys and Dv of values (default D). Multi-head
    latent attention uses it with G = 1, the latent as key and the rotary key as value.
    """

    def __init__(
        self,
        B: int,
        G: int,
        capacity: int,
        D: int,
        Dv: int | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ):
        self.keys = torch.zeros(B, G, capacity, D, dtype=dtype, device=device)
        self.values = torch.zeros(B, G, capacity, D if Dv is None else Dv, dtype=dtype, device=device)
        self.capacity, self.length = capacity, 0

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Returns: views of all stored keys (B, G, S, D) and values (B, G, S, Dv).

        Raises: ValueError when the shapes do not fit, or the tokens exceed the capacity.
        """
        check_entry(keys, values, self.keys, self.values)
        end = self.length + keys.shape[2]
        if end > self.capacity:
            raise ValueError(f"the cache holds {self.capacity} tokens, {end} are needed")
        self.keys[:, :, self.length : end] = keys
        self.values[:, :, self.length : end] = values
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def key_positions(self, T: int) -> Tensor:
        """Positions (S,) of the keys that append returns for T tokens: 0 … length + T - 1."""
        return torch.arange(self.length + T, device=self.keys.device)

    @property
    def nbytes(self) -> int:
        """Allocated bytes, used or not."""
        return self.keys.nbytes + self.values.nbytes


class RollingCache:
    """Keeps the last ``window`` tokens: position p lives in slot p mod window. For sliding-window layers."""

    def __init__(
        self,
        B: int,
        G: int,
        window: int,
        D: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ):
        if window < 1:
            raise ValueError(f"window must be at least 1, got {window}")
        self.keys = torch.zeros(B, G, window, D, dtype=dtype, device=device)
        self.values = torch.zeros_like(self.keys)
        self.window, self.length = window, 0

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Returns: up to window - 1 earlier tokens, then the new ones, (B, G, S, D) each.

        A chunk may be longer than the window: its first tokens are then returned but not kept. Early
        queries of a chunk see too far back unless masked by local_causal_mask_at(queries, positions, w).
        Raises: ValueError when the shapes do not fit.
        """
        check_entry(keys, values, self.keys, self.values)
        T = keys.shape[2]
        old = self.key_positions(T)[: -T or None] % self.window
        all_keys = torch.cat([self.keys[:, :, old], keys], dim=2)
        all_values = torch.cat([self.values[:, :, old], values], dim=2)
        kept = min(T, self.window)
        slots = torch.arange(self.length + T - kept, self.length + T, device=keys.device) % self.window
        self.keys[:, :, slots] = keys[:, :, T - kept :]
        self.values[:, :, slots] = values[:, :, T - kept :]
        self.length += T
        return all_keys, all_values

    def key_positions(self, T: int) -> Tensor:
        """Positions (S,) of the keys that append returns for T tokens: up to window - 1 old, then the new."""
        first = max(0, self.length - self.window + 1)
        return torch.arange(first, self.length + T, device=self.keys.device)

    @property
    def nbytes(self) -> int:
        """Allocated bytes; they do not grow with the text."""
        return self.keys.nbytes + self.values.nbytes


class CrossAttentionCache:
    """Keys and values of the encoder's output, computed at the first decoding step and kept."""

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def get(self, memory: Tensor, project: Callable[[Tensor], tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        """Args: memory (B, S, d_model), the encoder's output; project maps it to keys and values.

        Returns: keys and values (B, H, S, D); ``project`` runs on the first call only.
        Raises: ValueError when a later memory has a different batch size or length.
        """
        if self.keys is None or self.values is None:
            self.keys, self.values = project(memory)
        if (self.keys.shape[0], self.keys.shape[2]) != tuple(memory.shape[:2]):
            stored = (self.keys.shape[0], self.keys.shape[2])
            raise ValueError(f"the cache belongs to a memory of (B, S) = {stored}, got {tuple(memory.shape[:2])}")
        return self.keys, self.values


def check_entry(keys: Tensor, values: Tensor, key_buffer: Tensor, value_buffer: Tensor) -> None:
    """Raises: ValueError when keys or values do not fit (B, G, ·, D) of the buffers, or differ in length."""
    for name, new, buffer in (("keys", keys, key_buffer), ("values", values, value_buffer)):
        B, G, _, D = buffer.shape
        if new.dim() != 4 or (new.shape[0], new.shape[1], new.shape[3]) != (B, G, D):
            raise ValueError(f"{name} must have shape ({B}, {G}, T, {D}), got {tuple(new.shape)}")
    if keys.shape[2] != values.shape[2]:
        raise ValueError(f"{keys.shape[2]} keys and {values.shape[2]} values do not belong together")


def chunks(T: int, plan: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(start, stop) of each chunk of a plan such as [2, 3, 1].

    Raises: ValueError when a chunk is empty or the plan does not add up to T.
    """
    if any(size < 1 for size in plan) or sum(plan) != T:
        raise ValueError(f"chunk plan {list(plan)} must consist of positive sizes that sum to {T}")
    start = 0
    for size in plan:
        yield start, start + size
        start += size


def run_in_chunks(step: Callable[[Tensor, int], Tensor], x: Tensor, plan: Sequence[int]) -> Tensor:
    """Feed x (B, T, ...) to step(chunk, start) piece by piece; returns the outputs joined along T.

    The test of every cache: the result must not depend on the plan. Raises: ValueError like chunks.
    """
    pieces = [step(x[:, start:stop], start) for start, stop in chunks(x.shape[1], plan)]
    return torch.cat(pieces, dim=1)

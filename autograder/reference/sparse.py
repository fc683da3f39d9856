"""Sparse attention patterns as masks, the number of pairs they score, and how far they reach.

A mask by itself saves nothing: every score is still computed. The functions that do less work are in
sparse_gather.py. Masks are (T, T) boolean, True = may attend. A window of w keys includes the query's own.

Sources: Sparse Transformer, Child et al. 2019, arXiv:1904.10509; Longformer, Beltagy et al. 2020,
arXiv:2004.05150; BigBird, Zaheer et al. 2020, arXiv:2007.14062; sliding window in a decoder, Jiang et
al. 2023 (Mistral), arXiv:2310.06825.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from autograder.reference.attention import scaled_dot_product_attention
from autograder.reference.masks import causal_mask


def _offsets(T: int, device: torch.device | str | None = None) -> Tensor:
    """query position - key position, (T, T) int64."""
    positions = torch.arange(T, device=device)
    return positions[:, None] - positions


def _at_least_one(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")


def local_causal_mask(T: int, w: int, device: torch.device | str | None = None) -> Tensor:
    """Each query sees its own key and the w - 1 before it: i - w < j <= i.

    Raises: ValueError when w < 1.
    """
    _at_least_one(w=w)
    offset = _offsets(T, device)
    return (offset >= 0) & (offset < w)


def local_causal_mask_at(query_positions: Tensor, key_positions: Tensor, w: int) -> Tensor:
    """local_causal_mask for arbitrary absolute positions, such as those that a cache returns.

    Args: query_positions (..., T), key_positions (..., S), integers. Returns: (..., T, S).
    """
    _at_least_one(w=w)
    offset = query_positions[..., :, None] - key_positions[..., None, :]
    return (offset >= 0) & (offset < w)


def local_symmetric_mask(T: int, w: int, device: torch.device | str | None = None) -> Tensor:
    """Each query sees w keys centered on its own: |i - j| <= (w - 1)/2.

    Raises: ValueError when w is not odd and positive: an even window has no center.
    """
    if w < 1 or w % 2 == 0:
        raise ValueError(f"a symmetric window needs an odd number of keys, got {w}")
    return _offsets(T, device).abs() <= (w - 1) // 2


def block_mask(T: int, block: int, device: torch.device | str | None = None) -> Tensor:
    """Tokens see their own block of ``block`` tokens, in both directions; the last block may be shorter."""
    _at_least_one(block=block)
    blocks = torch.arange(T, device=device) // block
    return blocks[:, None] == blocks


def global_mask(T: int, tokens: Sequence[int], device: torch.device | str | None = None) -> Tensor:
    """The given tokens see all and are seen by all; nothing else is allowed.

    Raises: ValueError for a token outside 0..T-1.
    """
    if any(not 0 <= t < T for t in tokens):
        raise ValueError(f"global tokens must lie in 0..{T - 1}, got {list(tokens)}")
    chosen = torch.zeros(T, dtype=torch.bool, device=device)
    chosen[list(tokens)] = True
    return chosen[:, None] | chosen


def longformer_mask(T: int, w: int, tokens: Sequence[int], device: torch.device | str | None = None) -> Tensor:
    """Symmetric local window of w keys, plus global tokens. Errors as in the two parts."""
    return local_symmetric_mask(T, w, device) | global_mask(T, tokens, device)


def smallest_draws(draws: Tensor, keys: int, allowed: Tensor) -> Tensor:
    """The ``keys`` allowed keys with the smallest draws for each query: a sample without replacement.

    Args: draws (T, S), one random number per pair; allowed (T, S) boolean.
    Returns: (T, S) boolean; a query with fewer allowed keys gets all of those.
    """
    rank = draws.masked_fill(~allowed, math.inf).argsort(dim=-1).argsort(dim=-1)
    return (rank < keys) & allowed


def random_mask(T: int, keys: int, generator: torch.Generator, allowed: Tensor | None = None) -> Tensor:
    """``keys`` different random keys per query, drawn uniformly from ``allowed`` (T, T), default all.

    Returns: (T, T) on the CPU; a query with fewer allowed keys gets all of those. The same generator
    state gives the same mask on every machine.
    """
    draws = torch.rand(T, T, generator=generator, dtype=torch.float64)
    if allowed is None:
        allowed = torch.ones(T, T, dtype=torch.bool)
    return smallest_draws(draws, keys, allowed)


def bigbird_mask(
    T: int, block: int, generator: torch.Generator, global_blocks: int = 1, window: int = 3, random: int = 1
) -> Tensor:
    """Window, global and random attention, all three in units of blocks.

    Args: block, tokens per block; global_blocks, number of first blocks that see and are seen by all;
    window, odd number of blocks around the query's own; random, further blocks per query block.
    Returns: (T, T) on the CPU. Raises: ValueError like the parts, or when block < 1.
    """
    _at_least_one(block=block)
    n = -(-T // block)
    base = local_symmetric_mask(n, window) | global_mask(n, range(min(global_blocks, n)))
    blocks = base | random_mask(n, random, generator, allowed=~base)
    expanded = blocks.repeat_interleave(block, 0).repeat_interleave(block, 1)
    return expanded[:T, :T]


def strided_masks(T: int, stride: int, device: torch.device | str | None = None) -> tuple[Tensor, Tensor]:
    """Sparse Transformer, strided: (the last ``stride`` keys, every stride-th key back).

    The first holds ``stride`` keys including the query's own; the paper's set has one more. With
    stride near √T each head scores about T·√T pairs, and two hops reach every earlier position.
    """
    _at_least_one(stride=stride)
    offset = _offsets(T, device)
    return local_causal_mask(T, stride, device), (offset >= 0) & (offset % stride == 0)


def fixed_masks(
    T: int, stride: int, summary: int = 1, device: torch.device | str | None = None
) -> tuple[Tensor, Tensor]:
    """Sparse Transformer, fixed: (the query's block so far, the last ``summary`` positions of every block).

    Raises: ValueError when summary is outside 1..stride.
    """
    _at_least_one(stride=stride)
    if not 1 <= summary <= stride:
        raise ValueError(f"summary must lie in 1..{stride}, got {summary}")
    causal = causal_mask(T, device=device)
    is_summary = torch.arange(T, device=device) % stride >= stride - summary
    return block_mask(T, stride, device) & causal, causal & is_summary


def scored_pairs(mask: Tensor) -> int:
    """Number of (query, key) pairs that a mask allows."""
    return int(mask.sum())


def local_causal_pairs(T: int, w: int) -> int:
    """scored_pairs(local_causal_mask(T, w)) in closed form: w per query, fewer for the first w - 1."""
    w = min(w, T)
    return T * w - w * (w - 1) // 2


def local_symmetric_pairs(T: int, w: int) -> int:
    """scored_pairs(local_symmetric_mask(T, w)) in closed form; r = (w - 1)/2 keys to each side."""
    r = min((w - 1) // 2, T - 1)
    return T + 2 * (r * T - r * (r + 1) // 2)


def block_pairs(T: int, block: int) -> int:
    """scored_pairs(block_mask(T, block)) in closed form: whole blocks, plus a shorter one at the end."""
    full, rest = divmod(T, block)
    return full * block * block + rest * rest


def reach(layers: Sequence[Tensor]) -> Tensor:
    """Which inputs can influence which outputs through a stack of layers.

    Args: layers, masks (T, T), the first layer first. Residual connections are assumed: a position
    always reaches itself. Returns: (T, T) boolean, rows outputs, columns inputs.
    """
    T = layers[0].shape[-1]
    eye = torch.eye(T, dtype=torch.bool, device=layers[0].device)
    reached = eye
    for mask in layers:
        # Counts stay below T, exact in float32 up to 2^24; boolean matrices cannot be multiplied.
        reached = ((mask | eye).float() @ reached.float()) > 0
    return reached


def causal_reach(w: int, n_layers: int) -> int:
    """Positions seen through n_layers causal windows of w keys, own position included: 1 + n(w - 1)."""
    return 1 + n_layers * (w - 1)


def symmetric_reach(r: int, n_layers: int) -> int:
    """Positions seen through n_layers windows of radius r: 1 + 2nr."""
    return 1 + 2 * n_layers * r


def layers_needed(w: int, distance: int) -> int:
    """Fewest causal layers with windows of w keys after which a token depends on one ``distance`` before it.

    Raises: ValueError when w is 1 and the distance is not 0: such layers pass on nothing.
    """
    _at_least_one(w=w)
    if w == 1 and distance > 0:
        raise ValueError("windows of one key never reach another token")
    return -(-distance // (w - 1)) if distance else 0


def residual_stack(x: Tensor, layers: Sequence[Tensor]) -> Tensor:
    """x (T, d) through attention layers with these masks; each layer averages its input and its attention output.

    The smallest network whose dependence on its inputs shows what a stack of masks lets through. Queries, keys
    and values are x itself; the mean (a sum would double x with each layer) keeps weights from underflowing to 0.
    """
    for mask in layers:
        x = (x + scaled_dot_product_attention(x, x, x, mask)) / 2
    return x


def interleaved_layers(n_layers: int, w: int, every: int = 4) -> list[tuple[int | None, bool]]:
    """(window, has rotary positions) of each layer: every ``every``-th layer is full and has no positions.

    Sources: Yang et al. 2025, arXiv:2501.18795; Command A, arXiv:2504.00698.
    """
    _at_least_one(every=every)
    return [(None, False) if (n + 1) % every == 0 else (w, True) for n in range(n_layers)]


def interleaved_masks(
    T: int, n_layers: int, w: int, every: int = 4, device: torch.device | str | None = None
) -> list[Tensor]:
    """The masks of interleaved_layers: causal, over the last w keys or over all of them."""
    full, local = causal_mask(T, device=device), local_causal_mask(T, w, device)
    return [full if window is None else local for window, _ in interleaved_layers(n_layers, w, every)]


def interleaved_cache_tokens(T: int, n_layers: int, w: int, every: int = 4) -> int:
    """Number of cached (token, layer) entries of the same stack: T in a full layer, min(T, w) in a local one."""
    windows = [window for window, _ in interleaved_layers(n_layers, w, every)]
    return sum(T if window is None else min(T, window) for window in windows)

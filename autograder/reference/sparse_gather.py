"""Sparse attention that does less work: scores are computed only for the pairs that count.

Each function equals scaled_dot_product_attention with the corresponding mask from sparse.py, up to
rounding, at a cost that grows with the number of scored pairs instead of T².

Sources: block form of a sliding window, Beltagy et al. 2020, arXiv:2004.05150; gathered key blocks,
Zaheer et al. 2020, arXiv:2007.14062.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.reference.attention import scaled_dot_product_attention


def _check(q: Tensor, k: Tensor, v: Tensor) -> None:
    if q.dim() != 4 or q.shape != k.shape or k.shape[:-1] != v.shape[:-1]:
        shapes = [tuple(t.shape) for t in (q, k, v)]
        raise ValueError(f"q and k must be (B, H, T, D) and v (B, H, T, Dv), got {shapes}")


def local_attention(q: Tensor, k: Tensor, v: Tensor, w: int) -> Tensor:
    """Causal attention over the last w keys, including the query's own, in blocks of w queries.

    A block of queries needs its own block of keys and the one before: 2w scores per query instead of T.

    Args: q, k (B, H, T, D), v (B, H, T, Dv), one dtype; w >= 1, any T.
    Returns: (B, H, T, Dv), equal to dense attention under local_causal_mask(T, w).
    Raises: ValueError for shapes that do not fit or w < 1.
    """
    _check(q, k, v)
    if w < 1:
        raise ValueError(f"w must be at least 1, got {w}")
    T = q.shape[2]
    w = min(w, T)
    n = -(-T // w)
    # Pad the end to whole blocks (removed again below) and put one empty block before the keys.
    queries = F.pad(q, (0, 0, 0, n * w - T)).unflatten(2, (n, w))  # (B, H, n, w, D)
    keys, values = (_with_previous_block(x, n, w) for x in (k, v))  # (B, H, n, 2w, ·)

    i = torch.arange(n * w, device=q.device).view(n, w, 1)
    j = torch.arange(2 * w, device=q.device) + torch.arange(-1, n - 1, device=q.device)[:, None] * w
    offset = i - j[:, None, :]  # (n, w, 2w), absolute query minus absolute key position
    mask = (offset >= 0) & (offset < w) & (j[:, None, :] >= 0)
    out = scaled_dot_product_attention(queries, keys, values, mask)
    return out.flatten(2, 3)[:, :, :T]


def _with_previous_block(x: Tensor, n: int, w: int) -> Tensor:
    """(B, H, T, D) -> (B, H, n, 2w, D): each block of w positions, preceded by the block before it."""
    blocks = F.pad(x, (0, 0, w, n * w - x.shape[2])).unflatten(2, (n + 1, w))
    return torch.cat([blocks[:, :, :-1], blocks[:, :, 1:]], dim=3)


def neighbor_index(mask: Tensor) -> tuple[Tensor, Tensor]:
    """The allowed keys of each query as a list, padded to the longest one.

    Args: mask (T, S) boolean. Returns: index (T, n) int64 and valid (T, n) boolean, where n is the largest
    number of keys of any query; padding points at key 0 and is not valid.
    """
    n = int(mask.sum(-1).max()) if mask.numel() else 0
    # A stable sort moves allowed keys to the front and keeps their order.
    index = mask.int().argsort(dim=-1, descending=True, stable=True)[:, :n]
    valid = mask.gather(1, index)
    return index.masked_fill(~valid, 0), valid


def gather_attention(q: Tensor, k: Tensor, v: Tensor, index: Tensor, valid: Tensor) -> Tensor:
    """Attention where query i sees the keys index[i], and only those are scored: T·n scores, not T·S.

    For any pattern whose queries have similar numbers of keys; one query that sees everything makes
    n = S and removes the saving (so Longformer computes its global tokens separately).

    Args: q (B, H, T, D), k (B, H, S, D), v (B, H, S, Dv); index (T, n) int64, valid (T, n) boolean, as
    from neighbor_index.
    Returns: (B, H, T, Dv). Raises: ValueError when index or valid do not fit q.
    """
    if index.shape != valid.shape or index.shape[0] != q.shape[2]:
        raise ValueError(
            f"index and valid need shape (T={q.shape[2]}, n), got {tuple(index.shape)}, {tuple(valid.shape)}"
        )
    keys, values = k[:, :, index], v[:, :, index]  # (B, H, T, n, D)
    return scaled_dot_product_attention(q.unsqueeze(3), keys, values, valid[:, None, :]).squeeze(3)


def block_gather_attention(q: Tensor, k: Tensor, v: Tensor, blocks: Tensor, block: int) -> Tensor:
    """Block-sparse attention: each block of queries attends to the blocks of keys that it is allowed to see.

    Args: q, k (B, H, T, D), v (B, H, T, Dv), T divisible by block; blocks (T/block, T/block) boolean,
    True = every pair of the two blocks is scored.
    Returns: (B, H, T, Dv), equal to dense attention under the expanded mask.
    Raises: ValueError for shapes that do not fit.
    """
    _check(q, k, v)
    n = q.shape[2] // block if block > 0 else 0
    if n * block != q.shape[2] or blocks.shape != (n, n):
        raise ValueError(f"T={q.shape[2]} needs whole blocks of {block} and blocks {(n, n)}, got {blocks.shape}")
    index, valid = neighbor_index(blocks)  # (n, m)
    keys, values = (x.unflatten(2, (n, block))[:, :, index].flatten(3, 4) for x in (k, v))
    mask = valid.repeat_interleave(block, dim=1)[:, None, :]  # (n, 1, m·block)
    out = scaled_dot_product_attention(q.unflatten(2, (n, block)), keys, values, mask)
    return out.flatten(2, 3)

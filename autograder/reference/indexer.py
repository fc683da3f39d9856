"""A small, cheap attention that chooses the keys of the large one.

Sources: DeepSeek-V3.2 (lightning indexer, top-k), arXiv:2512.02556; MoBA (means of key blocks), Lu et al. 2025,
arXiv:2502.13189; Native Sparse Attention, Yuan et al. 2025, arXiv:2502.11089.
"""

import math

import torch
from torch import Tensor


def index_scores(q: Tensor, k: Tensor, w: Tensor) -> Tensor:
    """The lightning indexer: sum over J heads of w · ReLU(q · k), with one key for all heads.

    Args: q (B, T, J, D), k (B, S, D), w (B, T, J), of one floating dtype; w may be negative.
    Returns: (B, T, S) in the same dtype.
    """
    products = torch.einsum("btjd,bsd->btjs", q, k).relu()
    return torch.einsum("btjs,btj->bts", products, w)


def best_visible(scores: Tensor, n: int) -> Tensor:
    """The n best keys of each query among those that it may see; of equal scores the earlier key wins.

    Without the rule for equal scores, which key is chosen would depend on the sorting routine, and so on the length of
    the row: keys that come later could change what an earlier query reads.

    Args: scores (..., T, S), T <= S, finite; query t sees the keys 0 to S − T + t. n >= 1.
    Returns: boolean (..., T, S), True for min(n, visible) keys of each query.
    """
    T, S = scores.shape[-2:]
    seen = torch.ones(T, S, dtype=torch.bool, device=scores.device).tril(S - T)
    order = scores.masked_fill(~seen, -math.inf).sort(dim=-1, descending=True, stable=True).indices
    chosen = torch.zeros(scores.shape, dtype=torch.bool, device=scores.device)
    return chosen.scatter(-1, order[..., :n], True) & seen


def block_choice(q: Tensor, k: Tensor, block: int, n: int) -> Tensor:
    """MoBA's choice: the own block, causally, and the n − 1 earlier blocks whose mean key fits the query best.

    Args: q, k (B, H, T, D), of one floating dtype; block >= 1 keys (the last block may be shorter), n >= 1 blocks.
    Returns: boolean (B, H, T, T), True where query t may look at key s.
    """
    T, m = q.shape[-2], -(-q.shape[-2] // block)
    means = torch.stack([part.mean(-2) for part in k.split(block, -2)], -2)  # (B, H, m, D)
    own, blocks = torch.arange(T, device=q.device) // block, torch.arange(m, device=q.device)
    earlier = blocks < own[:, None]
    hidden = (q @ means.transpose(-2, -1)).masked_fill(~earlier, -math.inf)
    order = hidden.sort(dim=-1, descending=True, stable=True).indices[..., : n - 1]
    chosen = torch.zeros(hidden.shape, dtype=torch.bool, device=q.device).scatter(-1, order, True) & earlier
    chosen = chosen | (blocks == own[:, None])
    return chosen.repeat_interleave(block, -1)[..., :T] & torch.ones(T, T, dtype=torch.bool, device=q.device).tril()

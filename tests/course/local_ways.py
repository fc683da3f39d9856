"""Implementations of attention in a causal window: all give the same numbers, but some score every pair."""

import math

import torch
import torch.nn.functional as F

from autograder.exercises.u09_sparse_attention.local_attention import local_by_loop, local_by_unfold
from autograder.reference.sparse_gather import local_attention


def window(i, j, w):
    return (j <= i) & (i - j < w)


def attend(q, k, v, mask):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return scores.masked_fill(~mask, -math.inf).softmax(-1) @ v


def padded_blocks(q, k, v, w):
    w = min(w, q.shape[2])
    T, n = q.shape[2], -(-q.shape[2] // w)
    cut = lambda x, front: F.pad(x, (0, 0, front, n * w - T)).unflatten(2, (-1, w))
    k, v = (torch.cat([b[:, :, :-1], b[:, :, 1:]], dim=3) for b in (cut(k, w), cut(v, w)))
    i = torch.arange(n * w).view(n, w, 1)
    j = ((torch.arange(n)[:, None] - 1) * w + torch.arange(2 * w))[:, None]
    return cut(q, 0), k, v, window(i, j, w) & (j >= 0)


def by_einsum(q, k, v, w):
    T = q.shape[2]
    q, k, v, mask = padded_blocks(q, k, v, w)
    scores = torch.einsum("bhnqd,bhnkd->bhnqk", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("bhnqk,bhnkd->bhnqd", scores.masked_fill(~mask, -math.inf).softmax(-1), v).flatten(2, 3)[
        :, :, :T
    ]


def by_sdpa(q, k, v, w):
    T = q.shape[2]
    return F.scaled_dot_product_attention(*padded_blocks(q, k, v, w)).flatten(2, 3)[:, :, :T]


def by_strided_views(q, k, v, w):
    T, w = q.shape[2], min(w, q.shape[2])
    views = []
    for x in (k, v):
        padded = F.pad(x, (0, 0, w - 1, 0)).contiguous()
        B, H, _, D = padded.shape
        b, h, t, d = padded.stride()
        views.append(padded.as_strided((B, H, T, w, D), (b, h, t, t, d)))
    real = torch.arange(T)[:, None] - torch.arange(w - 1, -1, -1) >= 0
    return attend(q.unsqueeze(3), *views, real[:, None]).squeeze(3)


def by_offsets(q, k, v, w):
    scores, shifted = [], []
    for o in range(min(w, q.shape[2])):
        back = [F.pad(x, (0, 0, o, 0))[:, :, : x.shape[2]] for x in (k, v)]
        hidden = torch.arange(q.shape[2]) < o
        scores.append(((q * back[0]).sum(-1) / math.sqrt(q.shape[-1])).masked_fill(hidden, -math.inf))
        shifted.append(back[1])
    weights = torch.stack(scores, -1).softmax(-1)
    return sum(weights[..., o, None] * x for o, x in enumerate(shifted))


def by_queries(q, k, v, w):
    rows = []
    for t in range(q.shape[2]):
        seen = slice(max(0, t - w + 1), t + 1)
        weights = (q[:, :, t : t + 1] @ k[:, :, seen].mT / math.sqrt(q.shape[-1])).softmax(-1)
        rows.append(weights @ v[:, :, seen])
    return torch.cat(rows, dim=2)


def by_small_blocks(q, k, v, w):
    """Blocks of half a window, each with exactly the keys that it needs."""
    T, size, out = q.shape[2], max(1, w // 2), []
    for start in range(0, T, size):
        end, first = min(T, start + size), max(0, start - w + 1)
        mask = window(torch.arange(start, end)[:, None], torch.arange(first, end), w)
        out.append(attend(q[:, :, start:end], k[:, :, first:end], v[:, :, first:end], mask))
    return torch.cat(out, dim=2)


def mask_then_blocks(q, k, v, w):
    """Few scores, but a mask of all pairs, although only its blocks are used."""
    T, out = q.shape[2], []
    places = torch.arange(T)
    mask = window(places[:, None], places, w)
    for start in range(0, T, w):
        rows, keys = slice(start, start + w), slice(max(0, start - w), start + w)
        out.append(attend(q[:, :, rows], k[:, :, keys], v[:, :, keys], mask[rows, keys]))
    return torch.cat(out, dim=2)


def banded(T, w):
    return torch.ones(T, T).tril().triu(1 - w).bool()


def dense(q, k, v, w):
    return attend(q, k, v, banded(q.shape[2], w))


def dense_by_sdpa(q, k, v, w):
    return F.scaled_dot_product_attention(q, k, v, banded(q.shape[2], w))


def dense_rows(q, k, v, w):
    mask = banded(q.shape[2], w)
    return torch.cat([attend(q[:, :, t : t + 1], k, v, mask[t : t + 1]) for t in range(q.shape[2])], dim=2)


def whole_prefix(q, k, v, w):
    """Blocks of queries, each against all keys up to its end."""
    T, out = q.shape[2], []
    for start in range(0, T, w):
        end = min(T, start + w)
        mask = window(torch.arange(start, end)[:, None], torch.arange(end), w)
        out.append(attend(q[:, :, start:end], k[:, :, :end], v[:, :, :end], mask))
    return torch.cat(out, dim=2)


def four_blocks_back(q, k, v, w):
    T, out = q.shape[2], []
    for start in range(0, T, w):
        end, first = min(T, start + w), max(0, start - 4 * w)
        mask = window(torch.arange(start, end)[:, None], torch.arange(first, end), w)
        out.append(attend(q[:, :, start:end], k[:, :, first:end], v[:, :, first:end], mask))
    return torch.cat(out, dim=2)


def dense_by_broadcasting(q, k, v, w):
    scores = (q.unsqueeze(3) * k.unsqueeze(2)).sum(-1) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~banded(q.shape[2], w), -math.inf).softmax(-1)
    return (weights.unsqueeze(-1) * v.unsqueeze(2)).sum(3)


def dense_without_nan(q, k, v, w):
    return dense(q, k, v.nan_to_num(), w)


def dense_scores_gathered_values(q, k, v, w):
    T = q.shape[2]
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~banded(T, w), -math.inf).softmax(-1)
    index = (torch.arange(T)[:, None] - torch.arange(w)).clamp(min=0)
    real = torch.arange(T)[:, None] - torch.arange(w) >= 0
    chosen = weights.gather(3, index.expand(*weights.shape[:3], w)) * real
    return (chosen.unsqueeze(3) @ v[:, :, index]).squeeze(3)


RIGHT = [
    local_attention,
    local_by_unfold,
    local_by_loop,
    by_einsum,
    by_sdpa,
    by_strided_views,
    by_offsets,
    by_queries,
    by_small_blocks,
]
DEAR = [
    mask_then_blocks,
    dense,
    dense_by_sdpa,
    dense_rows,
    whole_prefix,
    four_blocks_back,
    dense_by_broadcasting,
    dense_without_nan,
    dense_scores_gathered_values,
]

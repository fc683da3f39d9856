"""Exact attention that never holds all its scores: partial results over some of the keys, and their merger.

A partial result is a pair (out, lse): the softmax average over some keys, and the logarithm of the sum of their
exponentials. The pair of a union of keys follows from the pairs of its parts, so keys can be read block by block.

Sources: Milakov and Gimelshein 2018, arXiv:1805.02867 (running maximum and sum); FlashAttention, Dao et al. 2022,
arXiv:2205.14135 (tiles), and 2, arXiv:2307.08691 (division at the end, causal tiles); Ring attention, Liu et al. 2023,
arXiv:2310.01889.
"""

import math

import torch
from torch import Tensor


def merge(out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    """The partial result over the keys of both parts.

    Args: out_a, out_b (..., T, Dv), lse_a, lse_b (..., T), of one floating dtype. A query that saw no key in a part has
    lse −∞ there, and out 0.
    Returns: out (..., T, Dv), lse (..., T), in the same dtype; 0 and −∞ where neither part had a key.
    """
    top = torch.maximum(lse_a, lse_b)
    top = top.masked_fill(top == -math.inf, 0.0)  # −∞ − (−∞) would be NaN
    a, b = (lse_a - top).exp(), (lse_b - top).exp()
    total = a + b
    out = (a[..., None] * out_a + b[..., None] * out_b) / total.masked_fill(total == 0, 1.0)[..., None]
    return out, top + total.log()


def attention_in_blocks(
    q: Tensor, k: Tensor, v: Tensor, block: int, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Attention with a running maximum and sum over blocks of keys; T × block scores at a time.

    Args: q (..., T, D), k (..., S, D), v (..., S, Dv) of one floating dtype; block >= 1; mask boolean, broadcasts to
    (..., T, S), True = may look.
    Returns: out (..., T, Dv) and lse (..., T), in the same dtype; 0 and −∞ for a query without any key.
    Raises: ValueError for a block below 1.
    """
    if block < 1:
        raise ValueError(f"a block holds at least one key, got block = {block}")
    largest = torch.full(q.shape[:-1], -math.inf, dtype=q.dtype, device=q.device)
    total = torch.zeros_like(largest)
    mixed = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=v.dtype, device=v.device)
    for start in range(0, k.shape[-2], block):
        part = slice(start, start + block)
        scores = q @ k[..., part, :].transpose(-2, -1) / math.sqrt(q.shape[-1])  # (..., T, block)
        if mask is not None:
            scores = scores.masked_fill(~mask[..., part], -math.inf)
        new = torch.maximum(largest, scores.amax(-1))
        shift = new.masked_fill(new == -math.inf, 0.0)  # a query that has seen no key so far
        old, weights = (largest - shift).exp(), (scores - shift[..., None]).exp()
        total = total * old + weights.sum(-1)
        mixed = mixed * old[..., None] + weights @ v[..., part, :]
        largest = new
    return mixed / total.masked_fill(total == 0, 1.0)[..., None], largest + total.log()


def causal_in_tiles(q: Tensor, k: Tensor, v: Tensor, block: int) -> tuple[Tensor, Tensor]:
    """Causal attention of the last T of S tokens, in tiles of block queries and block keys.

    A tile whose keys all come after its queries is never touched.

    Args: q (..., T, D), k (..., S, D), v (..., S, Dv), T <= S; query t sees the keys 0 to S − T + t; block >= 1.
    Returns: out (..., T, Dv), lse (..., T).
    """
    T, past = q.shape[-2], k.shape[-2] - q.shape[-2]
    outs, lses = [], []
    for start in range(0, T, block):
        rows = q[..., start : start + block, :]
        end = past + min(start + block, T)  # behind the last key that these queries see
        mask = torch.ones(rows.shape[-2], end, dtype=torch.bool, device=q.device).tril(past + start)
        out, lse = attention_in_blocks(rows, k[..., :end, :], v[..., :end, :], block, mask)
        outs.append(out)
        lses.append(lse)
    return torch.cat(outs, -2), torch.cat(lses, -1)


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, d_out: Tensor, block: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of unmasked attention for a gradient of its result, with the weights recomputed block by block.

    Args: q (..., T, D), k (..., S, D), v (..., S, Dv); out (..., T, Dv) and lse (..., T) of the forward pass; d_out as
    out; block >= 1.
    Returns: the gradients of q, k and v, in their shapes.
    """
    root, dq, dk, dv = math.sqrt(q.shape[-1]), torch.zeros_like(q), [], []
    mean = (d_out * out).sum(-1, keepdim=True)  # what the softmax's derivative subtracts, for all keys at once
    for keys, values in zip(k.split(block, -2), v.split(block, -2), strict=True):
        weights = (q @ keys.transpose(-2, -1) / root - lse[..., None]).exp()  # (..., T, block)
        d_scores = weights * (d_out @ values.transpose(-2, -1) - mean) / root
        dq = dq + d_scores @ keys
        dk.append(d_scores.transpose(-2, -1) @ q)
        dv.append(weights.transpose(-2, -1) @ d_out)
    return dq, torch.cat(dk, -2), torch.cat(dv, -2)

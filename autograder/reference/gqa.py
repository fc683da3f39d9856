"""Multi-query and grouped-query attention, and the size of a key-value cache in bytes.

H query heads share G key-value heads; query head h reads group h // (H/G). G = H is multi-head
attention, G = 1 multi-query attention.

Sources: MQA, Shazeer 2019, arXiv:1911.02150; GQA, Ainslie et al. 2023, arXiv:2305.13245.
"""

import copy
from typing import Protocol

import torch
from torch import Tensor, nn

from autograder.reference.attention import attention_scores, attention_weights, merge_heads
from autograder.reference.rope import apply_rope_half


class KeyValueCache(Protocol):
    """Interface that an attention layer needs: append new keys and values, get all that count."""

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]: ...


def group_size(n_heads: int, n_kv_heads: int) -> int:
    """Query heads per key-value head. Raises: ValueError when H is not a positive multiple of G."""
    if n_kv_heads < 1 or n_heads < 1 or n_heads % n_kv_heads:
        raise ValueError(f"n_heads ({n_heads}) must be a positive multiple of n_kv_heads ({n_kv_heads})")
    return n_heads // n_kv_heads


def repeat_kv(x: Tensor, n: int) -> Tensor:
    """Repeat each key-value head n times in a row: heads a b become a a b b, not a b a b.

    Args: x (B, G, S, D). Returns: (B, G·n, S, D), a copy unless n or G is 1.
    Raises: ValueError when n < 1.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    B, G, S, D = x.shape
    return x[:, :, None].expand(B, G, n, S, D).reshape(B, G * n, S, D)


def grouped_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Attention of H query heads on G key-value heads without repeating these in memory.

    Keys and values from a cache are read in place, without any copy. (In the layout of projections, where B and G
    are not adjacent in memory, torch copies each once, never H/G times.)

    Args: q (B, H, T, D), k (B, G, S, D), v (B, G, S, Dv); mask boolean, True = may attend, (T, S) or
    (B, 1, T, S) or (B, H, T, S).
    Returns: (B, H, T, Dv), equal to attention on repeat_kv(k, H/G) and repeat_kv(v, H/G).
    Raises: ValueError when G does not divide H, or k and v differ in length.
    """
    B, H, T, _ = q.shape
    G = k.shape[1]
    n = group_size(H, G)
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"k and v need the same length S, got k {tuple(k.shape)} and v {tuple(v.shape)}")
    # Queries of a group are rows of one matrix. Broadcasting over (B, G, n) would look the same, but matmul
    # expands its smaller operand and copies it: n times all keys and values.
    rows = q.reshape(B, G, n * T, -1)
    scores = attention_scores(rows, k).unflatten(2, (n, T))  # (B, G, n, T, S)
    if mask is not None and mask.dim() == 4:
        mask = mask.unflatten(1, (G, n)) if mask.shape[1] == H else mask[:, :, None]
    out = attention_weights(scores, mask).flatten(2, 3) @ v  # (B, G, n·T, Dv)
    return out.unflatten(2, (n, T)).flatten(1, 2)


def heads(x: Tensor, n: int) -> Tensor:
    """(B, T, n·D) -> (B, n, T, D), like split_heads, for head dims that d_model does not determine."""
    return x.unflatten(-1, (n, -1)).transpose(1, 2)


class GroupedQueryAttention(nn.Module):
    """Self-attention with G key-value heads and an optional cache; no positions.

    Projections: q_proj d_model -> H·D, k_proj and v_proj d_model -> G·D, o_proj H·D -> d_model.
    Variants override ``prepare`` (positions, norms on q and k) or ``attend`` (scale, soft cap).
    Raises: ValueError when G does not divide H, or d_model / H is not an integer and head_dim is not given.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        head_dim: int | None = None,
        qkv_bias: bool = False,
        out_bias: bool = False,
    ):
        super().__init__()
        group_size(n_heads, n_kv_heads)
        if head_dim is None and d_model % n_heads:
            raise ValueError(f"d_model ({d_model}) must be divisible by n_heads ({n_heads})")
        D = d_model // n_heads if head_dim is None else head_dim
        self.n_heads, self.n_kv_heads, self.head_dim = n_heads, n_kv_heads, D
        self.q_proj = nn.Linear(d_model, n_heads * D, bias=qkv_bias)
        self.k_proj = nn.Linear(d_model, n_kv_heads * D, bias=qkv_bias)
        self.v_proj = nn.Linear(d_model, n_kv_heads * D, bias=qkv_bias)
        self.o_proj = nn.Linear(n_heads * D, d_model, bias=out_bias)

    def prepare(self, q: Tensor, k: Tensor, position_ids: Tensor | None) -> tuple[Tensor, Tensor]:
        """Transforms q (B, T, H·D) and k (B, T, G·D) before caching. Returns them as heads."""
        return heads(q, self.n_heads), heads(k, self.n_kv_heads)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """Args as in grouped_attention. Returns: (B, H, T, D)."""
        return grouped_attention(q, k, v, mask)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """One pass over T new tokens.

        Args: x (B, T, d_model); mask over all S keys that the cache returns, new ones included;
        position_ids (T,) or (B, T), absolute, for variants that use positions; cache, appended to.
        Returns: (B, T, d_model).
        """
        q, k = self.prepare(self.q_proj(x), self.k_proj(x), position_ids)
        v = heads(self.v_proj(x), self.n_kv_heads)
        if cache is not None:
            # Keys are stored rotated: a cached key never has to be touched again.
            k, v = cache.append(k, v)
        return self.o_proj(merge_heads(self.attend(q, k, v, mask)))


class RotaryAttention(GroupedQueryAttention):
    """Grouped-query attention with RoPE in the half-split layout, as in LLaMA.

    Arguments as in GroupedQueryAttention, plus the base of RoPE's frequencies.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        head_dim: int | None = None,
        qkv_bias: bool = False,
        out_bias: bool = False,
        *,
        base: float = 10000.0,
    ):
        super().__init__(d_model, n_heads, n_kv_heads, head_dim, qkv_bias, out_bias)
        self.base = base

    def prepare(self, q: Tensor, k: Tensor, position_ids: Tensor | None) -> tuple[Tensor, Tensor]:
        if position_ids is None:
            # Starting from 0 here would be silently wrong for every chunk after the first.
            raise ValueError("rotary attention needs position_ids")
        q, k = super().prepare(q, k, position_ids)
        return apply_rope_half(q, position_ids, self.base), apply_rope_half(k, position_ids, self.base)


def mean_pool_heads(weight: Tensor, n_heads: int, n_kv_heads: int) -> Tensor:
    """Key or value projection of an MHA checkpoint, averaged to G heads as in GQA's conversion.

    Args: weight (H·D, d_model), or a bias (H·D,); heads are rows. Returns: (G·D, d_model) or (G·D,).
    Raises: ValueError when G does not divide H or H does not divide the rows.
    """
    n = group_size(n_heads, n_kv_heads)
    if weight.shape[0] % n_heads:
        raise ValueError(f"{weight.shape[0]} rows cannot hold {n_heads} heads")
    return weight.unflatten(0, (n_kv_heads, n, -1)).mean(1).flatten(0, 1)


@torch.no_grad()
def convert_to_gqa(layer: GroupedQueryAttention, n_kv_heads: int) -> GroupedQueryAttention:
    """A copy of the layer with fewer key-value heads, its keys and values mean-pooled.

    An approximation that the paper trains further (5 % of the original steps); it is exact when the
    heads of a group were equal. Raises: ValueError when n_kv_heads does not divide the current number.
    """
    small = copy.deepcopy(layer)
    for projection in (small.k_proj, small.v_proj):
        for name, parameter in list(projection.named_parameters()):
            pooled = mean_pool_heads(parameter, layer.n_kv_heads, n_kv_heads)
            setattr(projection, name, nn.Parameter(pooled, parameter.requires_grad))
        projection.out_features = n_kv_heads * layer.head_dim
    small.n_kv_heads = n_kv_heads
    return small


# Bytes. itemsize is 2 for float16 and bfloat16.


def kv_bytes_per_token(n_layers: int, n_kv_heads: int, head_dim: int, itemsize: int = 2) -> int:
    """2·N·G·D·itemsize: one key and one value vector per layer and key-value head.

    LLaMA-2-7B (32, 32, 128): 524,288. LLaMA-2-70B (80, 8, 128): 327,680. Llama-3-8B (32, 8, 128):
    131,072. ChatGLM2-6B (28, 2, 128): 28,672.
    """
    return 2 * n_layers * n_kv_heads * head_dim * itemsize


def encoder_decoder_cache_bytes(
    n_decoder: int, n_heads: int, head_dim: int, source: int, target: int, itemsize: int = 2
) -> int:
    """Cache of one encoder-decoder request: target tokens for self-attention, source tokens for cross.

    The cross-attention part is written only once, but it takes memory and grows with the input.
    """
    return kv_bytes_per_token(n_decoder, n_heads, head_dim, itemsize) * (source + target)


def users_that_fit(
    memory_bytes: int, weight_bytes: int, bytes_per_token: int, tokens_per_user: int, reserve_bytes: int = 0
) -> int:
    """How many users' caches fit beside the weights (and a reserve for activations), rounded down.

    Raises: ValueError when a size is negative, or tokens or their bytes are not positive.
    """
    if min(memory_bytes, weight_bytes, reserve_bytes) < 0 or min(bytes_per_token, tokens_per_user) < 1:
        raise ValueError("sizes must not be negative, tokens and their bytes must be positive")
    return max(0, memory_bytes - weight_bytes - reserve_bytes) // (bytes_per_token * tokens_per_user)

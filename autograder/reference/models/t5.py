"""T5: an encoder-decoder with RMSNorm before each sublayer, bucketed relative biases, no biases elsewhere.

Version 1.0 has a ReLU feed-forward layer and ties the head to the embeddings, scaling by 1/√d_model
first; version 1.1 (and mT5) has GeGLU and an untied head. Scores are not divided by √D.

Sources: Raffel et al. 2019, arXiv:1910.10683; GeGLU, Shazeer 2020, arXiv:2002.05202.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from autograder.reference.activations import gelu_tanh, relu
from autograder.reference.attention import merge_heads
from autograder.reference.ffn import FeedForward, GatedFeedForward
from autograder.reference.gqa import heads
from autograder.reference.kv_cache import ContiguousCache, CrossAttentionCache
from autograder.reference.masks import causal_mask_at, key_padding_mask
from autograder.reference.norms import RMSNorm
from autograder.reference.placement import PreLN
from autograder.reference.positions.t5_buckets import T5RelativeBias, t5_attention


class T5Config(NamedTuple):
    """Sizes of a T5 model; head_dim·n_heads need not be d_model. Encoder and decoder have n_layers each."""

    vocab: int
    d_model: int
    n_layers: int
    n_heads: int
    head_dim: int
    d_ff: int
    num_buckets: int = 32
    max_distance: int = 128
    eps: float = 1e-6


class T5Attention(nn.Module):
    """Unscaled attention plus a position bias; self-attention, or cross-attention on ``context``."""

    def __init__(self, c: T5Config):
        super().__init__()
        self.n_heads = c.n_heads
        inner = c.n_heads * c.head_dim
        self.q_proj = nn.Linear(c.d_model, inner, bias=False)
        self.k_proj = nn.Linear(c.d_model, inner, bias=False)
        self.v_proj = nn.Linear(c.d_model, inner, bias=False)
        self.o_proj = nn.Linear(inner, c.d_model, bias=False)

    def keys_values(self, context: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S, d_model) to keys and values (B, H, S, D)."""
        return heads(self.k_proj(context), self.n_heads), heads(self.v_proj(context), self.n_heads)

    def forward(self, x: Tensor, mask: Tensor | None, bias: Tensor, cache: ContiguousCache | None = None) -> Tensor:
        """Self-attention. Args: x (B, T, d_model), bias broadcastable to (B, H, T, S), cache or None."""
        k, v = self.keys_values(x)
        if cache is not None:
            k, v = cache.append(k, v)
        return self._attend(x, k, v, mask, bias)

    def cross(
        self, x: Tensor, context: Tensor, mask: Tensor | None, cache: CrossAttentionCache | None = None
    ) -> Tensor:
        """Cross-attention on the encoder's output (B, S, d_model); it has no position bias."""
        k, v = self.keys_values(context) if cache is None else cache.get(context, self.keys_values)
        return self._attend(x, k, v, mask, x.new_zeros(()))

    def _attend(self, x: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor) -> Tensor:
        q = heads(self.q_proj(x), self.n_heads)
        return self.o_proj(merge_heads(t5_attention(q, k, v, bias, mask)))


class T5DecoderCache(NamedTuple):
    """One decoder layer's caches: one for its own tokens, which grows, and one for the encoder's, which does not."""

    own: ContiguousCache
    cross: CrossAttentionCache


class T5DecoderBlock(nn.Module):
    """Three pre-norm sublayers: causal self-attention, cross-attention, feed-forward."""

    def __init__(self, c: T5Config, ffn: nn.Module):
        super().__init__()
        self.attention, self.cross_attention, self.ffn = T5Attention(c), T5Attention(c), ffn
        self.attention_norm, self.cross_norm, self.ffn_norm = (RMSNorm(c.d_model, c.eps) for _ in range(3))

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor,
        memory_mask: Tensor | None,
        bias: Tensor,
        cache: T5DecoderCache | None = None,
    ) -> Tensor:
        own, cross = (None, None) if cache is None else cache
        x = x + self.attention(self.attention_norm(x), mask, bias, own)
        x = x + self.cross_attention.cross(self.cross_norm(x), memory, memory_mask, cross)
        return x + self.ffn(self.ffn_norm(x))


class T5(nn.Module):
    """Version 1.0."""

    tied = True

    def __init__(self, c: T5Config):
        super().__init__()
        self.config = c
        norm = partial(RMSNorm, eps=c.eps)
        self.tokens = nn.Embedding(c.vocab, c.d_model)
        self.encoder_bias = T5RelativeBias(c.n_heads, True, c.num_buckets, c.max_distance)
        self.encoder = nn.ModuleList(
            PreLN(c.d_model, T5Attention(c), self.make_ffn(c), norm) for _ in range(c.n_layers)
        )
        self.encoder_norm = norm(c.d_model)
        self.decoder_bias = T5RelativeBias(c.n_heads, False, c.num_buckets, c.max_distance)
        self.decoder = nn.ModuleList(T5DecoderBlock(c, self.make_ffn(c)) for _ in range(c.n_layers))
        self.decoder_norm = norm(c.d_model)
        self.head = nn.Linear(c.d_model, c.vocab, bias=False)
        if self.tied:
            self.head.weight = self.tokens.weight

    def make_ffn(self, c: T5Config) -> nn.Module:
        """Two matrices and ReLU."""
        return FeedForward(c.d_model, c.d_ff, relu, bias=False)

    def encode(self, ids: Tensor, real: Tensor | None = None) -> Tensor:
        """Args: ids (B, S); real (B, S) boolean, False = padding. Returns: memory (B, S, d_model)."""
        S = ids.shape[1]
        mask = None if real is None else key_padding_mask(real)
        bias = self.encoder_bias(S, S)  # one table for all layers
        x = self.tokens(ids)
        for block in self.encoder:
            x = block(x, mask=mask, bias=bias)
        return self.encoder_norm(x)

    def decode(
        self,
        ids: Tensor,
        memory: Tensor,
        real: Tensor | None = None,
        caches: Sequence[T5DecoderCache] | None = None,
    ) -> Tensor:
        """Args: ids (B, T), the new target tokens, a start token first; memory (B, S, d_model) from
        encode; real (B, S) of the *source*; caches as from new_caches, appended to.
        Returns: logits (B, T, vocab).
        """
        T = ids.shape[1]
        past = caches[0].own.length if caches else 0
        slots = torch.arange(past, past + T, device=ids.device)
        keys = torch.arange(past + T, device=ids.device)
        mask, bias = causal_mask_at(slots, keys), self.decoder_bias(T, past + T, past)
        memory_mask = None if real is None else key_padding_mask(real)
        x = self.tokens(ids)
        for index, block in enumerate(self.decoder):
            x = block(x, memory, mask, memory_mask, bias, caches[index] if caches else None)
        x = self.decoder_norm(x)
        if self.tied:
            # Embeddings have unit scale as inputs; as a head they would make logits √d_model too large.
            x = x / math.sqrt(x.shape[-1])
        return self.head(x)

    def forward(self, source: Tensor, target: Tensor, real: Tensor | None = None) -> Tensor:
        """Args: source (B, S), target (B, T) int64, real (B, S) boolean. Returns: (B, T, vocab)."""
        return self.decode(target, self.encode(source, real), real)

    def new_caches(self, B: int, capacity: int) -> list[T5DecoderCache]:
        """Empty caches, one per decoder layer, for ``capacity`` target tokens."""
        like, c = self.tokens.weight, self.config
        own = partial(ContiguousCache, B, c.n_heads, capacity, c.head_dim, dtype=like.dtype, device=like.device)
        return [T5DecoderCache(own(), CrossAttentionCache()) for _ in self.decoder]


class T5v11(T5):
    """Version 1.1 and mT5: GeGLU, head not tied and not scaled."""

    tied = False

    def make_ffn(self, c: T5Config) -> nn.Module:
        """Three matrices and a GELU gate."""
        return GatedFeedForward(c.d_model, c.d_ff, gelu_tanh)

"""T5: an encoder that reads and a decoder that writes, with a bias per distance instead of positions.

Source: Raffel et al. 2019, arXiv:1910.10683. The configuration has position ``t5`` and placement ``pre``.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from autograder.reference.assembly.attention import Attention, Pair
from autograder.reference.assembly.block import Block
from autograder.reference.assembly.embeddings import Embeddings
from autograder.reference.assembly.pieces import Config, make_ffn, make_norm
from autograder.reference.attention import attention_weights, merge_heads
from autograder.reference.gqa import heads
from autograder.reference.positions.relative import relative_positions
from autograder.reference.positions.t5_buckets import t5_relative_bucket

BUCKETS = 32

Past = tuple[Pair, Pair]  # a layer's keys and values: those of the target so far, those of the source


def t5_bias(weight: Tensor, T: int, S: int, bidirectional: bool = True) -> Tensor:
    """weight (num_buckets, H) → (1, H, T, S), the bias for each distance of key and query."""
    bucket = t5_relative_bucket(relative_positions(T, S), bidirectional, len(weight))
    return weight[bucket].permute(2, 0, 1)[None]


def blocked(bias: Tensor, mask: Tensor | None) -> Tensor:
    """The bias, −∞ where the boolean mask is False."""
    return bias if mask is None else bias.masked_fill(~mask, -math.inf)


class T5Attention(Attention):
    """Scores are not divided by √D; the mask is a float bias that is added to them."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """q (B, H, T, D), k and v (B, H, S, D), mask (…, T, S) float → (B, H, T, D)."""
        scores = q @ k.transpose(-2, -1)
        return attention_weights(scores if mask is None else scores + mask) @ v


class CrossAttention(T5Attention):
    """Queries from the target text, keys and values from the source text."""

    def forward(  # type: ignore[override]
        self, x: Tensor, memory: Tensor, mask: Tensor | None = None, past: Pair | None = None
    ) -> tuple[Tensor, Pair]:
        """Args: x (B, T, d_model); memory (B, S, d_model), not read if ``past`` has its keys and values; mask as for
        attend.

        Returns: (B, T, d_model), and the memory's keys and values (B, H, S, D).
        """
        H = self.c["n_heads"]
        k, v = past or (heads(self.k_proj(memory), H), heads(self.v_proj(memory), H))
        return self.o_proj(merge_heads(self.attend(heads(self.q_proj(x), H), k, v, mask))), (k, v)


class CrossBlock(nn.Module):
    """A block of the decoder: self-attention, cross-attention, feed-forward layer, each after a norm."""

    def __init__(self, c: Config):
        super().__init__()
        self.attention, self.cross_attention, self.ffn = T5Attention(c), CrossAttention(c), make_ffn(c)
        self.attention_norm, self.cross_norm, self.ffn_norm = make_norm(c), make_norm(c), make_norm(c)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        cross_mask: Tensor | None = None,
        past: Past | None = None,
    ) -> tuple[Tensor, Past]:
        """Args: x (B, T, d_model); memory (B, S, d_model); both masks are added to scores; past, the pair of
        caches as returned by the previous call.

        Returns: (B, T, d_model), and the pair of caches: own keys and values, those of the memory.
        """
        own, cross = past or (None, None)
        out, own = self.attention(self.attention_norm(x), mask, None, own)
        x = x + out
        out, cross = self.cross_attention(self.cross_norm(x), memory, cross_mask, cross)
        x = x + out
        return x + self.ffn(self.ffn_norm(x)), (own, cross)


class EncoderDecoder(nn.Module):
    """Both stacks share the embeddings; all layers of a stack share one table of biases."""

    def __init__(self, c: Config):
        super().__init__()
        self.c = c
        self.embeddings = Embeddings(c)
        self.encoder = nn.ModuleList(Block(c, T5Attention) for _ in range(c["n_layers"]))
        self.decoder = nn.ModuleList(CrossBlock(c) for _ in range(c["n_layers"]))
        self.encoder_norm, self.decoder_norm = make_norm(c), make_norm(c)
        self.encoder_bias = nn.Embedding(BUCKETS, c["n_heads"])
        self.decoder_bias = nn.Embedding(BUCKETS, c["n_heads"])
        if not c["tied"]:
            self.head = nn.Linear(c["d_model"], c["vocab"], bias=False)

    def encode(self, ids: Tensor, real: Tensor | None = None) -> Tensor:
        """Args: ids (B, S) int64; real (B, S) boolean, False = padding. Returns: memory (B, S, d_model)."""
        S = ids.shape[1]
        mask = blocked(t5_bias(self.encoder_bias.weight, S, S), None if real is None else real[:, None, None, :])
        x = self.embeddings(ids, None)
        for block in self.encoder:
            x, _ = block(x, mask)
        return self.encoder_norm(x)

    def decode(
        self, ids: Tensor, memory: Tensor, real: Tensor | None = None, past: Sequence[Past] | None = None
    ) -> tuple[Tensor, list[Past]]:
        """Args: ids (B, T) int64, new tokens of the target; memory (B, S, d_model); real (B, S) boolean, of the source;
        past as returned by the previous call.

        Returns: logits (B, T, vocab), and for each layer its two caches.
        """
        seen = past[0][0][0].shape[2] if past else 0
        T, S = ids.shape[1], seen + ids.shape[1]
        causal = torch.ones(T, S, dtype=torch.bool, device=ids.device).tril(seen)
        mask = blocked(t5_bias(self.decoder_bias.weight, S, S, bidirectional=False)[:, :, seen:], causal)
        cross_mask = None if real is None else blocked(memory.new_zeros(()), real[:, None, None, :])
        x, stored = self.embeddings(ids, None), []
        for layer, block in enumerate(self.decoder):
            x, pair = block(x, memory, mask, cross_mask, past[layer] if past else None)
            stored.append(pair)
        return self.logits(self.decoder_norm(x)), stored

    def logits(self, x: Tensor) -> Tensor:
        """x (B, T, d_model) → (B, T, vocab). Embeddings of unit scale would make a tied head's logits √d too large."""
        return self.embeddings.logits(x / math.sqrt(x.shape[-1])) if self.c["tied"] else self.head(x)

    def forward(self, source: Tensor, target: Tensor, real: Tensor | None = None) -> Tensor:
        """Args: source (B, S), target (B, T) int64; real (B, S) boolean. Returns: logits (B, T, vocab)."""
        return self.decode(target, self.encode(source, real), real)[0]

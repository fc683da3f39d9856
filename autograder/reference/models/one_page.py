"""A modern decoder on one page: read it top to bottom, before anything else in this folder.

Token ids go in, logits of the next token come out. Between them: an embedding, N blocks of attention and a
feed-forward layer, each after a norm and added back to the stream, and one linear head.

    pre-norm residual stream    arXiv:2002.04745        grouped-query attention     arXiv:2305.13245
    RMSNorm                     arXiv:1910.07467        SwiGLU feed-forward layer   arXiv:2002.05202
    rotary positions (RoPE)     arXiv:2104.09864        scaled initialization       GPT-2's report, section 2.3

Together this is LLaMA (arXiv:2302.13971, arXiv:2407.21783): its checkpoints fit, see ``convert.from_llama``.
The formulas are imported from the modules where they are derived, tested and measured; this file shows only how they
are wired. The other decoders in this folder share that wiring through ``decoder.py``, which adds padding and sliding
windows.

Shapes: B sequences of T new tokens; S = T + number of cached tokens; d = d_model; H query heads and G key-value heads
of D = d/H features each.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from autograder.reference.attention import merge_heads, split_heads
from autograder.reference.ffn import GatedFeedForward
from autograder.reference.gqa import grouped_attention
from autograder.reference.kv_cache import ContiguousCache
from autograder.reference.masks import causal_mask_at
from autograder.reference.norms import RMSNorm
from autograder.reference.objectives.clm import next_token_loss
from autograder.reference.rope import apply_rope_half


class Config(NamedTuple):
    """All sizes; the first eight as in LlamaConfig. base: RoPE's. tied: the head shares the embedding's weight."""

    vocab: int
    d_model: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_ff: int
    base: float = 10000.0
    eps: float = 1e-5
    tied: bool = False


class Attention(nn.Module):
    """Each token queries (q) all tokens up to itself (k) and takes a weighted mean of their values (v)."""

    def __init__(self, c: Config):
        super().__init__()
        D = c.d_model // c.n_heads
        self.n_heads, self.n_kv_heads, self.base = c.n_heads, c.n_kv_heads, c.base
        self.q_proj = nn.Linear(c.d_model, c.n_heads * D, bias=False)
        self.k_proj = nn.Linear(c.d_model, c.n_kv_heads * D, bias=False)
        self.v_proj = nn.Linear(c.d_model, c.n_kv_heads * D, bias=False)
        self.o_proj = nn.Linear(c.n_heads * D, c.d_model, bias=False)

    def forward(self, x: Tensor, mask: Tensor, positions: Tensor, cache: ContiguousCache | None = None) -> Tensor:
        """x (B, T, d), mask (T, S) boolean with True = may attend, positions (T,) -> (B, T, d)."""
        q = split_heads(self.q_proj(x), self.n_heads)  # (B, H, T, D)
        k = split_heads(self.k_proj(x), self.n_kv_heads)  # (B, G, T, D)
        v = split_heads(self.v_proj(x), self.n_kv_heads)  # (B, G, T, D)
        # Positions enter only here: q·k then depends only on their difference.
        q, k = apply_rope_half(q, positions, self.base), apply_rope_half(k, positions, self.base)
        if cache is not None:
            k, v = cache.append(k, v)  # (B, G, S, D), rotated only once
        out = grouped_attention(q, k, v, mask)  # softmax(q·kᵀ/√D)·v, (B, H, T, D)
        return self.o_proj(merge_heads(out))


class Block(nn.Module):
    """Tokens exchange information (attention), then each is processed separately (feed-forward)."""

    def __init__(self, c: Config):
        super().__init__()
        self.attention_norm, self.attention = RMSNorm(c.d_model, c.eps), Attention(c)
        self.ffn_norm = RMSNorm(c.d_model, c.eps)
        self.ffn = GatedFeedForward(c.d_model, c.d_ff)  # SwiGLU: down_proj(silu(gate_proj(x)) ⊙ up_proj(x))

    def forward(self, x: Tensor, mask: Tensor, positions: Tensor, cache: ContiguousCache | None = None) -> Tensor:
        """(B, T, d) -> (B, T, d). The stream itself is never normalized: gradients pass through the sums unchanged."""
        x = x + self.attention(self.attention_norm(x), mask, positions, cache)
        return x + self.ffn(self.ffn_norm(x))


class Transformer(nn.Module):
    """The whole model. Raises: ValueError when H does not divide d_model, or G does not divide H."""

    def __init__(self, config: Config):
        super().__init__()
        c = self.config = config
        if c.d_model % c.n_heads or c.n_heads % c.n_kv_heads:
            raise ValueError(f"n_kv_heads must divide n_heads, and n_heads must divide d_model: got {c}")
        self.tokens = nn.Embedding(c.vocab, c.d_model)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.n_layers))
        self.final_norm = RMSNorm(c.d_model, c.eps)
        self.head = nn.Linear(c.d_model, c.vocab, bias=False)
        if c.tied:
            self.head.weight = self.tokens.weight
        self.initialize()

    def initialize(self) -> None:
        """Draws small normal weights; even smaller ones for matrices that add to the stream, as 2N of them add up."""
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                adds = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * self.config.n_layers) if adds else 0.02)

    def forward(self, ids: Tensor, caches: Sequence[ContiguousCache] | None = None) -> Tensor:
        """Logits of the token after each of T new ones, whose positions follow the cached tokens.

        Args: ids (B, T) int64; caches, one per block as from ``new_caches``, appended to.
        Returns: (B, T, vocab). Raises: ValueError when the caches are too small.
        """
        past = caches[0].length if caches else 0
        keys = torch.arange(past + ids.shape[1], device=ids.device)  # (S,)
        positions = keys[past:]  # (T,)
        mask = causal_mask_at(positions, keys)  # (T, S)
        x = self.tokens(ids)  # (B, T, d)
        for index, block in enumerate(self.blocks):
            x = block(x, mask, positions, caches[index] if caches else None)
        return self.head(self.final_norm(x))  # (B, T, vocab)

    def loss(self, ids: Tensor) -> Tensor:
        """The training loss: the mean of -log p(next token) in nats, a scalar. ids (B, T), T ≥ 2."""
        return next_token_loss(self(ids), ids)

    def new_caches(self, B: int, capacity: int) -> list[ContiguousCache]:
        """Empty caches for ``capacity`` tokens of B sequences: 2·N·G·D numbers per token, not 2·N·H·D."""
        c, like = self.config, self.tokens.weight
        sizes = B, c.n_kv_heads, capacity, c.d_model // c.n_heads
        return [ContiguousCache(*sizes, dtype=like.dtype, device=like.device) for _ in range(c.n_layers)]

    @torch.no_grad()
    def generate(
        self, ids: Tensor, steps: int, temperature: float = 0.0, generator: torch.Generator | None = None
    ) -> Tensor:
        """Appends ``steps`` tokens to a prompt: one pass over the whole prompt, then one over each new token.

        Args: ids (B, T), T ≥ 1; temperature 0 takes the most likely token, otherwise tokens are drawn from
        softmax(logits / temperature) with ``generator``. Returns: (B, T + steps).
        """
        caches = self.new_caches(ids.shape[0], ids.shape[1] + steps)
        new = ids
        for _ in range(steps):
            logits = self(new, caches)[:, -1]  # (B, vocab)
            if temperature > 0:
                new = torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)
            else:
                new = logits.argmax(-1, keepdim=True)  # (B, 1)
            ids = torch.cat([ids, new], dim=1)
        return ids

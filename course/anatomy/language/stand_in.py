"""The course's own decoder for the shipped language model, for a learner who has not built theirs yet.

It runs this one family (LLaMA: RMSNorm in front, rotation in halves, grouped heads, a gated feed-forward layer, a tied
head) and no other, so unit 11's decoder, which reads any configuration, is still to be written. Names of its parts and
what it takes and returns are those of unit 11, because the checkpoint's weights are loaded by name.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Pair = tuple[Tensor, Tensor]
ONLY = {
    "kind": "decoder",
    "norm": "rms",
    "placement": "pre",
    "position": "rope",
    "attention": "grouped",
    "activation": "silu",
    "gated": True,
    "tied": True,
}  # what a configuration has to say


class _Embeddings(nn.Module):
    """The table of token vectors, which is the head as well."""

    def __init__(self, c: Mapping[str, Any]):
        super().__init__()
        self.tokens = nn.Embedding(c["vocab"], c["d_model"])


class _Attention(nn.Module):
    """Grouped causal attention with rotated queries and keys."""

    def __init__(self, c: Mapping[str, Any]):
        super().__init__()
        self.c = c
        d, D = c["d_model"], c["head_dim"]
        self.q_proj, self.o_proj = (
            nn.Linear(d, c["n_heads"] * D, bias=False),
            nn.Linear(c["n_heads"] * D, d, bias=False),
        )
        self.k_proj, self.v_proj = (nn.Linear(d, c["n_kv_heads"] * D, bias=False) for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor | None, positions: Tensor, past: Pair | None) -> tuple[Tensor, Pair]:
        D = self.c["head_dim"]
        angles = positions.double()[:, None, :, None] * self.c["base"] ** (-torch.arange(0, D, 2).double() / D)
        turn = torch.polar(torch.ones_like(angles), angles)
        q, k, v = (p(x).unflatten(-1, (-1, D)).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        turned = []
        for y in (q, k):
            z = torch.complex(*y.double().chunk(2, -1)) * turn
            turned.append(torch.cat([z.real, z.imag], -1).to(y.dtype))
        q, k = turned
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        out = F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)
        return self.o_proj(out.transpose(1, 2).flatten(2)), (k, v)


class _Gated(nn.Module):
    """Feed-forward layer with a gate."""

    def __init__(self, d: int, hidden: int):
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(d, hidden, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(hidden, d, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class _Block(nn.Module):
    """Pre-norm block."""

    def __init__(self, c: Mapping[str, Any]):
        super().__init__()
        self.attention_norm, self.ffn_norm = (nn.RMSNorm(c["d_model"], c["eps"]) for _ in range(2))
        self.attention, self.ffn = _Attention(c), _Gated(c["d_model"], c["d_ff"])

    def forward(self, x: Tensor, mask: Tensor, positions: Tensor, past: Pair | None) -> tuple[Tensor, Pair]:
        y, pair = self.attention(self.attention_norm(x), mask, positions, past)
        x = x + y
        return x + self.ffn(self.ffn_norm(x)), pair


class StandIn(nn.Module):
    """Token ids to logits of the next token, for configurations of the shipped model's family.

    Raises ValueError for a configuration of another family.
    """

    def __init__(self, c: Mapping[str, Any]):
        super().__init__()
        if other := [name for name, value in ONLY.items() if c[name] != value]:
            raise ValueError(f"the stand-in runs the shipped model's family only, not {other[0]} = {c[other[0]]!r}")
        self.embeddings = _Embeddings(c)
        self.blocks = nn.ModuleList(_Block(c) for _ in range(c["n_layers"]))
        self.final_norm = nn.RMSNorm(c["d_model"], c["eps"])

    def forward(
        self, ids: Tensor, real: Tensor | None = None, past: Sequence[Pair] | None = None
    ) -> tuple[Tensor, list[Pair]]:
        """Args: ids (B, T) int64; real (B, S) bool, False = padding, None for none; past, one (keys, values) per layer.

        Returns: logits (B, T, vocab), and for each layer all keys and values (B, G, S, D).
        """
        seen, T = past[0][0].shape[2] if past else 0, ids.shape[1]
        S = seen + T
        real = ids.new_ones(len(ids), S, dtype=torch.bool) if real is None else real
        positions = (real.cumsum(1) - 1).clamp(min=0)[:, seen:]
        # A padded query sees itself alone, so that no row is empty.
        own = torch.arange(seen, S, device=ids.device)[:, None] == torch.arange(S, device=ids.device)
        causal = torch.ones(T, S, dtype=torch.bool, device=ids.device).tril(seen)
        mask = (causal & real[:, None, None] | own) if not real.all() else causal
        x, stored = self.embeddings.tokens(ids), []
        for layer, block in enumerate(self.blocks):
            x, pair = block(x, mask, positions, past[layer] if past else None)
            stored.append(pair)
        return F.linear(self.final_norm(x), self.embeddings.tokens.weight), stored

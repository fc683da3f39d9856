"""One attention layer from a configuration: key-value heads, rotary positions, a mask and a past."""

import torch
from torch import Tensor, nn

from autograder.reference.assembly.pieces import Config
from autograder.reference.attention import merge_heads
from autograder.reference.gqa import grouped_attention, heads
from autograder.reference.rope import apply_rope_half

Pair = tuple[Tensor, Tensor]  # keys and values, (B, G, S, D)


class Attention(nn.Module):
    """q_proj, k_proj, v_proj and o_proj around grouped attention.

    A variant overrides ``prepare`` (transforms queries and keys before the scores) or ``attend`` (from scores to
    result).
    """

    def __init__(self, c: Config):
        super().__init__()
        self.c = c
        d, H, G, D = c["d_model"], c["n_heads"], c["n_kv_heads"], c["head_dim"]
        self.q_proj = nn.Linear(d, H * D, bias=c["attention_bias"])
        self.k_proj = nn.Linear(d, G * D, bias=c["attention_bias"])
        self.v_proj = nn.Linear(d, G * D, bias=c["attention_bias"])
        self.o_proj = nn.Linear(H * D, d, bias=c["out_bias"])

    def prepare(self, q: Tensor, k: Tensor, positions: Tensor | None) -> Pair:
        """q (B, H, T, D) and k (B, G, T, D) of the new tokens, rotated by their positions if the model has RoPE."""
        if self.c["position"] != "rope":
            return q, k
        assert positions is not None, "RoPE needs positions"
        return apply_rope_half(q, positions, self.c["base"]), apply_rope_half(k, positions, self.c["base"])

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """q (B, H, T, D), k and v (B, G, S, D) → (B, H, T, D)."""
        return grouped_attention(q, k, v, mask)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, positions: Tensor | None = None, past: Pair | None = None
    ) -> tuple[Tensor, Pair]:
        """Args: x (B, T, d_model); mask boolean, True = may look, broadcastable to (B, H, T, S); positions (T,) or
        (B, T), of the new tokens; past, keys and values of the earlier tokens, keys as returned by ``prepare``.

        Returns: (B, T, d_model), and all keys and values (B, G, S, D).
        """
        G = self.c["n_kv_heads"]
        q, k = heads(self.q_proj(x), self.c["n_heads"]), heads(self.k_proj(x), G)
        v = heads(self.v_proj(x), G)
        q, k = self.prepare(q, k, positions)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        return self.o_proj(merge_heads(self.attend(q, k, v, mask))), (k, v)

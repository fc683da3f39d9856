"""Qwen 2 and Qwen 3: LLaMA with biases on q, k and v, then with per-head QK-norm instead.

Sources: Qwen Team 2024, arXiv:2407.10671; 2025, arXiv:2505.09388.
"""

from functools import partial

import torch
from torch import Tensor, nn

from autograder.reference.ffn import GatedFeedForward
from autograder.reference.gqa import RotaryAttention, heads
from autograder.reference.models.decoder import CausalDecoder
from autograder.reference.models.llama import LlamaConfig
from autograder.reference.norms import RMSNorm
from autograder.reference.placement import PreLN
from autograder.reference.rope import apply_rope_half
from autograder.reference.stability import qk_norm


class Qwen2(CausalDecoder):
    """Sizes as for LLaMA; the head is not tied (it is in the smallest releases)."""

    def __init__(self, c: LlamaConfig):
        norm = partial(RMSNorm, eps=c.eps)
        attention = partial(RotaryAttention, c.d_model, c.n_heads, c.n_kv_heads, qkv_bias=True, base=c.base)
        blocks = [PreLN(c.d_model, attention(), GatedFeedForward(c.d_model, c.d_ff), norm) for _ in range(c.n_layers)]
        super().__init__(c.vocab, c.d_model, blocks, norm(c.d_model), tied=False)


class HeadNormAttention(RotaryAttention):
    """Rotary attention with RMSNorm over each head of q and of k: gains q_gain and k_gain, (D,)."""

    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, head_dim: int, *, base: float, eps: float = 1e-6):
        super().__init__(d_model, n_heads, n_kv_heads, head_dim, base=base)
        self.eps = eps
        self.q_gain = nn.Parameter(torch.ones(self.head_dim))
        self.k_gain = nn.Parameter(torch.ones(self.head_dim))

    def prepare(self, q: Tensor, k: Tensor, position_ids: Tensor | None) -> tuple[Tensor, Tensor]:
        if position_ids is None:
            raise ValueError("rotary attention needs position_ids")
        q, k = heads(q, self.n_heads), heads(k, self.n_kv_heads)
        q, k = qk_norm(q, k, self.q_gain, self.k_gain, self.eps)
        return apply_rope_half(q, position_ids, self.base), apply_rope_half(k, position_ids, self.base)


class Qwen3(CausalDecoder):
    """Sizes as for LLaMA, plus its own head dim; the head is not tied."""

    def __init__(self, c: LlamaConfig, head_dim: int):
        norm = partial(RMSNorm, eps=c.eps)
        attention = partial(HeadNormAttention, c.d_model, c.n_heads, c.n_kv_heads, head_dim, base=c.base, eps=c.eps)
        blocks = [PreLN(c.d_model, attention(), GatedFeedForward(c.d_model, c.d_ff), norm) for _ in range(c.n_layers)]
        super().__init__(c.vocab, c.d_model, blocks, norm(c.d_model), tied=False)

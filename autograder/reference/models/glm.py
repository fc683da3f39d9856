"""GLM, twice: the original with blank infilling and 2-D positions, and the later chat models.

GLM (2021) trains one Transformer on corrupted text plus blanks; each token has two learned positions.
From ChatGLM2 on it is a causal decoder: RMSNorm, SwiGLU, two key-value groups, biases on q, k and v only,
and RoPE (interleaved) on the first half of each head.

Sources: Du et al. 2021, arXiv:2103.10360; GLM Team 2024, arXiv:2406.12793.
"""

from functools import partial
from typing import NamedTuple

from torch import Tensor, nn

from autograder.reference.activations import gelu_tanh
from autograder.reference.attention import MultiHeadAttention
from autograder.reference.ffn import FeedForward, GatedFeedForward
from autograder.reference.gqa import GroupedQueryAttention
from autograder.reference.models.decoder import CausalDecoder
from autograder.reference.models.gpt2 import GPTConfig
from autograder.reference.norms import LayerNorm, RMSNorm
from autograder.reference.placement import PreLN
from autograder.reference.rope import apply_partial_rope


class GLM(nn.Module):
    """The original: bidirectional part A and causal part B under one mask, two position tables, tied head.

    Pre-norm and GELU as in GPT-2. No learned embedding marks parts A and B; the mask and the second
    position distinguish them.
    """

    def __init__(self, c: GPTConfig, max_blank: int):
        super().__init__()
        self.tokens = nn.Embedding(c.vocab, c.d_model)
        self.positions = nn.Embedding(c.max_positions, c.d_model)
        self.blank_positions = nn.Embedding(max_blank + 1, c.d_model)
        self.blocks = nn.ModuleList(
            PreLN(
                c.d_model,
                MultiHeadAttention(c.d_model, c.n_heads),
                FeedForward(c.d_model, 4 * c.d_model, gelu_tanh),
                partial(LayerNorm, eps=c.eps),
            )
            for _ in range(c.n_layers)
        )
        self.final_norm = LayerNorm(c.d_model, c.eps)
        self.head = nn.Linear(c.d_model, c.vocab, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: Tensor, positions: Tensor, blank_positions: Tensor, mask: Tensor) -> Tensor:
        """Args: the fields of a BlankInfilling: ids, positions and blank_positions (B, T), mask (T, T) or
        (B, 1, T, T). Returns: logits (B, T, vocab)."""
        x = self.tokens(ids) + self.positions(positions) + self.blank_positions(blank_positions)
        for block in self.blocks:
            x = block(x, mask=mask)
        return self.head(self.final_norm(x))


class ChatGLMConfig(NamedTuple):
    """Sizes of ChatGLM2 and later; n_kv_heads is 2, rotary_dim half the head dim."""

    vocab: int
    d_model: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_ff: int
    rotary_dim: int
    base: float = 10000.0
    eps: float = 1e-5


class HalfRotaryAttention(GroupedQueryAttention):
    """Grouped-query attention that rotates the first ``rotary_dim`` features of each head, interleaved."""

    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, *, qkv_bias: bool, rotary_dim: int, base: float):
        super().__init__(d_model, n_heads, n_kv_heads, qkv_bias=qkv_bias)
        self.rotary_dim, self.base = rotary_dim, base

    def prepare(self, q: Tensor, k: Tensor, position_ids: Tensor | None) -> tuple[Tensor, Tensor]:
        if position_ids is None:
            raise ValueError("rotary attention needs position_ids")
        q, k = super().prepare(q, k, position_ids)
        rotate = partial(apply_partial_rope, position_ids=position_ids, rotary_dim=self.rotary_dim, base=self.base)
        return rotate(q), rotate(k)


class ChatGLM(CausalDecoder):
    """ChatGLM2, ChatGLM3 and GLM-4; the head is not tied."""

    def __init__(self, c: ChatGLMConfig):
        norm = partial(RMSNorm, eps=c.eps)
        blocks = [
            PreLN(
                c.d_model,
                HalfRotaryAttention(
                    c.d_model, c.n_heads, c.n_kv_heads, qkv_bias=True, rotary_dim=c.rotary_dim, base=c.base
                ),
                GatedFeedForward(c.d_model, c.d_ff),
                norm,
            )
            for _ in range(c.n_layers)
        ]
        super().__init__(c.vocab, c.d_model, blocks, norm(c.d_model), tied=False)

"""Gemma 2: norms before and after each sublayer, soft-capped scores and logits, alternating windows, GeGLU.

Source: Gemma Team 2024, arXiv:2408.00118.
"""

import math
from functools import partial
from typing import NamedTuple

from torch import Tensor

from autograder.reference.activations import gelu_tanh
from autograder.reference.ffn import GatedFeedForward
from autograder.reference.gqa import RotaryAttention, repeat_kv
from autograder.reference.models.decoder import CausalDecoder
from autograder.reference.norms import GemmaRMSNorm
from autograder.reference.placement import PrePostNorm
from autograder.reference.stability import soft_cap, soft_capped_weights


class Gemma2Config(NamedTuple):
    """Sizes of a Gemma 2 model. Scores are scaled by 1/√query_scale (not always D)."""

    vocab: int
    d_model: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    d_ff: int
    window: int
    query_scale: float
    score_cap: float = 50.0
    logit_cap: float = 30.0
    base: float = 10000.0
    eps: float = 1e-6


class SoftCapAttention(RotaryAttention):
    """Rotary grouped-query attention whose scores are scaled by 1/√query_scale and then soft-capped."""

    def __init__(
        self, d_model: int, n_heads: int, n_kv_heads: int, head_dim: int, *, base: float, query_scale: float, cap: float
    ):
        super().__init__(d_model, n_heads, n_kv_heads, head_dim, base=base)
        self.query_scale, self.cap = query_scale, cap

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        n = self.n_heads // self.n_kv_heads
        scores = (q / math.sqrt(self.query_scale)) @ repeat_kv(k, n).transpose(-2, -1)  # (B, H, T, S)
        return soft_capped_weights(scores, self.cap, mask) @ repeat_kv(v, n)


class Gemma2(CausalDecoder):
    """Every second layer, the first included, sees ``window`` tokens; embeddings are multiplied by √d_model."""

    def __init__(self, c: Gemma2Config):
        norm = partial(GemmaRMSNorm, eps=c.eps)
        blocks = [
            PrePostNorm(
                c.d_model,
                SoftCapAttention(
                    c.d_model,
                    c.n_heads,
                    c.n_kv_heads,
                    c.head_dim,
                    base=c.base,
                    query_scale=c.query_scale,
                    cap=c.score_cap,
                ),
                GatedFeedForward(c.d_model, c.d_ff, gelu_tanh),
                norm,
            )
            for _ in range(c.n_layers)
        ]
        windows = [c.window if n % 2 == 0 else None for n in range(c.n_layers)]
        super().__init__(c.vocab, c.d_model, blocks, norm(c.d_model), tied=True, windows=windows)
        self.logit_cap = c.logit_cap

    def embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        x = self.tokens(ids)
        # The released models round the factor to the dtype of the weights, hence the tensor.
        return x * x.new_tensor(math.sqrt(x.shape[-1]))

    def logits(self, hidden: Tensor) -> Tensor:
        return soft_cap(self.head(hidden), self.logit_cap)

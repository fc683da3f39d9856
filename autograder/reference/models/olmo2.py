"""OLMo 2: RMSNorm on each sublayer's output inside the residual branch, and on all of q and all of k.

Source: OLMo Team 2024, arXiv:2501.00656.
"""

from functools import partial

from torch import Tensor

from autograder.reference.ffn import GatedFeedForward
from autograder.reference.gqa import RotaryAttention
from autograder.reference.models.decoder import CausalDecoder
from autograder.reference.models.llama import LlamaConfig
from autograder.reference.norms import RMSNorm
from autograder.reference.placement import NormInside


class QKNormAttention(RotaryAttention):
    """Rotary attention with RMSNorm over all H·D features of q and all G·D of k, before the split.

    Other models (Qwen 3, Gemma 3) normalize each head separately, with one gain of size D.
    """

    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, *, base: float, eps: float = 1e-6):
        super().__init__(d_model, n_heads, n_kv_heads, base=base)
        self.q_norm = RMSNorm(self.q_proj.out_features, eps)
        self.k_norm = RMSNorm(self.k_proj.out_features, eps)

    def prepare(self, q: Tensor, k: Tensor, position_ids: Tensor | None) -> tuple[Tensor, Tensor]:
        return super().prepare(self.q_norm(q), self.k_norm(k), position_ids)


class Olmo2(CausalDecoder):
    """Sizes as for LLaMA; the head is not tied."""

    def __init__(self, c: LlamaConfig):
        norm = partial(RMSNorm, eps=c.eps)
        blocks = [
            NormInside(
                c.d_model,
                QKNormAttention(c.d_model, c.n_heads, c.n_kv_heads, base=c.base, eps=c.eps),
                GatedFeedForward(c.d_model, c.d_ff),
                norm,
            )
            for _ in range(c.n_layers)
        ]
        super().__init__(c.vocab, c.d_model, blocks, norm(c.d_model), tied=False)

"""DeepSeek's decoder with latent attention; dense feed-forward layers only.

DeepSeek-V3 uses this block in its first three layers; the others replace the feed-forward layer with
experts, which are outside this course.

Source: DeepSeek-AI 2024, arXiv:2412.19437.
"""

from functools import partial
from typing import NamedTuple

from autograder.reference.ffn import GatedFeedForward
from autograder.reference.kv_cache import ContiguousCache
from autograder.reference.mla import LatentAttention
from autograder.reference.models.decoder import Cache, CausalDecoder
from autograder.reference.norms import RMSNorm
from autograder.reference.placement import PreLN


class DeepSeekConfig(NamedTuple):
    """Sizes of a dense DeepSeek decoder; see LatentAttention for the ranks and head dims."""

    vocab: int
    d_model: int
    n_layers: int
    n_heads: int
    d_ff: int
    q_rank: int
    kv_rank: int
    nope_dim: int
    rope_dim: int
    v_dim: int
    base: float = 10000.0
    eps: float = 1e-6


class DeepSeek(CausalDecoder):
    """Pre-norm decoder; the head is not tied."""

    def __init__(self, c: DeepSeekConfig):
        norm = partial(RMSNorm, eps=c.eps)
        blocks = [
            PreLN(
                c.d_model,
                LatentAttention(c.d_model, c.n_heads, c.q_rank, c.kv_rank, c.nope_dim, c.rope_dim, c.v_dim, c.base),
                GatedFeedForward(c.d_model, c.d_ff),
                norm,
            )
            for _ in range(c.n_layers)
        ]
        super().__init__(c.vocab, c.d_model, blocks, norm(c.d_model), tied=False)
        self.cached = c.kv_rank, c.rope_dim  # numbers per token: latent, rotary key

    def new_caches(self, B: int, capacity: int) -> list[Cache]:
        """Latents and rotary keys instead of keys and values, for one head shared by all."""
        like = self.tokens.weight
        return [
            ContiguousCache(B, 1, capacity, *self.cached, dtype=like.dtype, device=like.device) for _ in self.blocks
        ]

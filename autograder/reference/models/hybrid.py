"""Hybrid of local and global layers: three sliding-window layers with RoPE, then a full one without (NoPE).

Local layers need distances; the full layer has no positions, and so none to extrapolate.

Sources: Yang et al. 2025, arXiv:2501.18795; Cohere 2025 (Command A), arXiv:2504.00698.
"""

from functools import partial

from autograder.reference.ffn import GatedFeedForward
from autograder.reference.gqa import GroupedQueryAttention, RotaryAttention
from autograder.reference.models.decoder import CausalDecoder
from autograder.reference.models.llama import LlamaConfig
from autograder.reference.norms import RMSNorm
from autograder.reference.placement import PreLN


class HybridDecoder(CausalDecoder):
    """LLaMA's blocks; every ``every``-th layer is full without positions, the others are local with RoPE."""

    def __init__(self, c: LlamaConfig, window: int, every: int = 4):
        norm = partial(RMSNorm, eps=c.eps)
        full = [(n + 1) % every == 0 for n in range(c.n_layers)]
        sizes = (c.d_model, c.n_heads, c.n_kv_heads)
        blocks = [
            PreLN(
                c.d_model,
                GroupedQueryAttention(*sizes) if is_full else RotaryAttention(*sizes, base=c.base),
                GatedFeedForward(c.d_model, c.d_ff),
                norm,
            )
            for is_full in full
        ]
        windows = [None if is_full else window for is_full in full]
        super().__init__(c.vocab, c.d_model, blocks, norm(c.d_model), tied=False, windows=windows)

"""LLaMA and Mistral: pre-norm with RMSNorm, SwiGLU, RoPE, grouped-query attention, no biases.

LLaMA-1 and LLaMA-2 7B and 13B have n_kv_heads = n_heads. Mistral is the same block with a sliding window.

Sources: Touvron et al. 2023, arXiv:2302.13971 and arXiv:2307.09288; Jiang et al. 2023, arXiv:2310.06825.
"""

from functools import partial
from typing import NamedTuple

from autograder.reference.ffn import GatedFeedForward
from autograder.reference.gqa import RotaryAttention
from autograder.reference.models.decoder import CausalDecoder
from autograder.reference.norms import RMSNorm
from autograder.reference.placement import PreLN


class LlamaConfig(NamedTuple):
    """Sizes of a LLaMA model; base is that of RoPE (10,000; 500,000 in Llama 3)."""

    vocab: int
    d_model: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_ff: int
    base: float = 10000.0
    eps: float = 1e-5


def llama_block(c: LlamaConfig) -> PreLN:
    """x + A(norm(x)), then x + F(norm(x))."""
    attention = RotaryAttention(c.d_model, c.n_heads, c.n_kv_heads, base=c.base)
    return PreLN(c.d_model, attention, GatedFeedForward(c.d_model, c.d_ff), partial(RMSNorm, eps=c.eps))


class Llama(CausalDecoder):
    """LLaMA 1, 2 and 3, Yi and others of that shape; the head is not tied."""

    def __init__(self, config: LlamaConfig):
        blocks = [llama_block(config) for _ in range(config.n_layers)]
        super().__init__(config.vocab, config.d_model, blocks, RMSNorm(config.d_model, config.eps), tied=False)


class Mistral(CausalDecoder):
    """LLaMA with every layer limited to the last ``window`` tokens, own included (4096 in Mistral 7B v0.1)."""

    def __init__(self, config: LlamaConfig, window: int):
        blocks = [llama_block(config) for _ in range(config.n_layers)]
        norm = RMSNorm(config.d_model, config.eps)
        windows = [window] * config.n_layers
        super().__init__(config.vocab, config.d_model, blocks, norm, tied=False, windows=windows)

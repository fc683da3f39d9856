"""GPT-1, GPT-2 and GPT-3: learned positions, biases everywhere, GELU in its tanh form, tied head.

GPT-1 normalizes after each sublayer (Post-LN), GPT-2 and GPT-3 before it, with a norm at the end. GPT-3
alternates full layers with local ones.

Sources: Radford et al. 2018 and 2019 (OpenAI reports); Brown et al. 2020, arXiv:2005.14165.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from torch import Tensor, nn

from autograder.reference.activations import gelu_tanh
from autograder.reference.ffn import FeedForward
from autograder.reference.gqa import GroupedQueryAttention
from autograder.reference.models.decoder import CausalDecoder
from autograder.reference.norms import LayerNorm
from autograder.reference.placement import PostLN, PreLN


class GPTConfig(NamedTuple):
    """Sizes of a GPT model; the feed-forward width is 4·d_model."""

    vocab: int
    d_model: int
    n_layers: int
    n_heads: int
    max_positions: int
    eps: float = 1e-5


class _LearnedPositionDecoder(CausalDecoder):
    def __init__(
        self,
        c: GPTConfig,
        wiring: type[PreLN] | type[PostLN],
        final_norm: nn.Module,
        windows: Sequence[int | None] | None = None,
    ):
        blocks = [
            wiring(
                c.d_model,
                GroupedQueryAttention(c.d_model, c.n_heads, c.n_heads, qkv_bias=True, out_bias=True),
                FeedForward(c.d_model, 4 * c.d_model, gelu_tanh),
                partial(LayerNorm, eps=c.eps),
            )
            for _ in range(c.n_layers)
        ]
        super().__init__(c.vocab, c.d_model, blocks, final_norm, tied=True, windows=windows)
        self.positions = nn.Embedding(c.max_positions, c.d_model)

    def embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        if int(positions.max()) >= self.positions.num_embeddings:
            raise ValueError(f"learned positions end at {self.positions.num_embeddings - 1}")
        return self.tokens(ids) + self.positions(positions)


class GPT1(_LearnedPositionDecoder):
    """Post-LN without a final norm: the last block has already normalized."""

    def __init__(self, config: GPTConfig):
        super().__init__(config, PostLN, nn.Identity())


class GPT2(_LearnedPositionDecoder):
    """Pre-LN with a final norm."""

    def __init__(self, config: GPTConfig):
        super().__init__(config, PreLN, LayerNorm(config.d_model, config.eps))


class GPT3(_LearnedPositionDecoder):
    """GPT-2 with every second layer limited to the last ``window`` tokens.

    The report says "alternating dense and locally banded sparse"; it states neither the width nor which
    comes first. Here the first layer is full.
    """

    def __init__(self, config: GPTConfig, window: int):
        windows = [None if n % 2 == 0 else window for n in range(config.n_layers)]
        super().__init__(config, PreLN, LayerNorm(config.d_model, config.eps), windows)

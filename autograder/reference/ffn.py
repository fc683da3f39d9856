"""Position-wise feed-forward layers, plain and gated, and how wide they are.

Sources: arXiv:1706.03762 section 3.3 (plain), arXiv:1612.08083 (GLU), arXiv:2002.05202 (its variants).

Convention: the *gate* is the branch that goes through the activation; the *up* branch stays linear.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from autograder.reference.activations import gelu, identity, relu, sigmoid, silu

Activation = Callable[[Tensor], Tensor]

GATED_VARIANTS: dict[str, Activation] = {
    "glu": sigmoid,
    "reglu": relu,
    "geglu": gelu,
    "swiglu": silu,
    "bilinear": identity,
}
"""Name of a gated layer -> the activation of its gate."""


class FeedForward(nn.Module):
    """down_proj(activation(up_proj(x))), x (..., d_model) -> (..., d_model)."""

    def __init__(self, d_model: int, d_ff: int, activation: Activation = relu, bias: bool = True):
        super().__init__()
        self.activation = activation
        self.up_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.down_proj = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(self.activation(self.up_proj(x)))


class GatedFeedForward(nn.Module):
    """down_proj(activation(gate_proj(x)) ⊙ up_proj(x)), x (..., d_model) -> (..., d_model).

    The activation names the layer, see GATED_VARIANTS; no bias unless asked for, as in LLaMA.
    """

    def __init__(self, d_model: int, d_ff: int, activation: Activation = silu, bias: bool = False):
        super().__init__()
        self.activation = activation
        self.gate_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.up_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.down_proj = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x))


def ffn_parameters(d_model: int, d_ff: int, bias: bool = True) -> int:
    """Parameters of FeedForward: two matrices, and d_ff + d_model biases if ``bias``."""
    return 2 * d_model * d_ff + (d_ff + d_model if bias else 0)


def gated_ffn_parameters(d_model: int, d_ff: int, bias: bool = False) -> int:
    """Parameters of GatedFeedForward: three matrices, and 2·d_ff + d_model biases if ``bias``."""
    return 3 * d_model * d_ff + (2 * d_ff + d_model if bias else 0)


def ffn_flops(tokens: int, d_model: int, d_ff: int, matrices: int = 2) -> int:
    """FLOPs of the matrix products, 2 per multiply-add; matrices is 2 for plain, 3 for gated."""
    return 2 * tokens * matrices * d_model * d_ff


def matched_hidden_size(d_model: int, multiple_of: int = 1) -> int:
    """Width that gives a gated layer the parameters of a plain one of width 4·d_model.

    Three matrices instead of two: ⅔·4·d_model rounded down, then up to a multiple. As in LLaMA's
    published code: d_model 4096 gives 10922, and 11008 with multiple_of 256.
    Raises: ValueError when an argument is not positive.
    """
    if d_model < 1 or multiple_of < 1:
        raise ValueError(f"d_model and multiple_of must be positive, got {d_model} and {multiple_of}")
    width = 8 * d_model // 3
    return -(-width // multiple_of) * multiple_of


def dead_units(hidden: Tensor) -> Tensor:
    """Which hidden units are exactly 0 for every token.

    Args: hidden (..., d_ff), outputs of the activation over a data set. Returns: (d_ff,) boolean.
    """
    return (hidden.reshape(-1, hidden.shape[-1]) == 0).all(dim=0)


def gate_saturation(gate: Tensor, margin: float = 0.05) -> Tensor:
    """Share of sigmoid gates within ``margin`` of 0 or of 1.

    Args: gate (...), values in [0, 1]. Returns: scalar float32 in [0, 1].
    """
    return ((gate < margin) | (gate > 1 - margin)).to(torch.float32).mean()

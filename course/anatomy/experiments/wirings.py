"""Stacks of small Transformer blocks, wired by the learner's own functions, for the experiments of unit 03.

The sublayers are causal self-attention with 4 heads and a ReLU feed-forward layer of width 4·d_model. The functions
that are passed in decide where inputs are normalized and where outputs are added.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Functions = Mapping[str, Callable[..., Tensor]]  # the learner's, by their names in WIRINGS


@dataclass(frozen=True)
class Wiring:
    """The learner's function that wires a block, the number of norms per sublayer, their kind, and whether the stack
    ends with a final norm (needed if the stream itself is never normalized)."""

    function: str
    norms: int
    kind: type
    final: bool


WIRINGS = {
    "Post-LN": Wiring("post_ln", 1, nn.LayerNorm, False),
    "Pre-LN": Wiring("pre_ln", 1, nn.LayerNorm, True),
    "sandwich": Wiring("sandwich", 2, nn.LayerNorm, True),
    "pre+post": Wiring("sandwich", 2, nn.RMSNorm, True),
    "norm inside": Wiring("norm_inside", 1, nn.RMSNorm, True),
    "DeepNorm": Wiring("deepnorm", 1, nn.LayerNorm, False),
    "parallel": Wiring("parallel", 1, nn.LayerNorm, True),
}


class SelfAttention(nn.Module):
    """Causal self-attention, (B, T, d_model) → (B, T, d_model)."""

    def __init__(self, d_model: int, n_heads: int = 4):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            p(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    """Two matrices with a ReLU between them, (B, T, d_model) → (B, T, d_model)."""

    def __init__(self, d_model: int):
        super().__init__()
        self.up_proj, self.down_proj = nn.Linear(d_model, 4 * d_model), nn.Linear(4 * d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(torch.relu(self.up_proj(x)))


def _normal(std):
    return lambda w: nn.init.normal_(w, std=std)


INITS = {
    "Xavier": nn.init.xavier_normal_,
    "normal 0.02": _normal(0.02),
    "He": nn.init.kaiming_normal_,
    "twice Xavier": lambda w: nn.init.xavier_normal_(w, gain=2.0),
}
SCALED = ("v_proj", "o_proj", "up_proj", "down_proj")


class Block(nn.Module):
    """One layer: attention and feed-forward, connected to the stream by ``step``, one of the learner's functions.

    alpha: factor of the residual, only for DeepNorm.
    """

    def __init__(self, step: Callable[..., Tensor], wiring: Wiring, d_model: int, alpha: float | None = None):
        super().__init__()
        self.step, self.wiring = step, wiring
        self.extra = () if alpha is None else (alpha,)
        self.attention, self.ffn = SelfAttention(d_model), FeedForward(d_model)
        count = wiring.norms if wiring.function == "parallel" else 2 * wiring.norms
        self.norms = nn.ModuleList(wiring.kind(d_model) for _ in range(count))

    def forward(self, x: Tensor) -> Tensor:
        n = self.wiring.norms
        if self.wiring.function == "parallel":
            return self.step(x, self.attention, self.ffn, *self.norms)
        x = self.step(x, self.attention, *self.norms[:n], *self.extra)
        return self.step(x, self.ffn, *self.norms[n:], *self.extra)


def build(
    functions: Functions,
    name: str,
    depth: int,
    d_model: int,
    init: str = "Xavier",
    seed: int = 0,
    scale: tuple[float, float] | None = None,
) -> nn.ModuleList:
    """Builds the layers of a stack; weights depend only on ``seed``, biases are 0.

    Args:
        functions: mapping with the wiring's function, e.g. ``{"post_ln": post_ln}``.
        name: a key of WIRINGS. init: a key of INITS.
        scale: (α, β), needed by DeepNorm: α goes to the function, β shrinks value, output and feed-forward weights.

    Returns:
        nn.ModuleList of ``depth`` Blocks, and a norm after them if the wiring needs one.

    Raises:
        ValueError: DeepNorm without its scale, or a different wiring with one.
    """
    wiring = WIRINGS[name]
    if (name == "DeepNorm") != (scale is not None):
        raise ValueError("DeepNorm needs scale=(α, β), and no other wiring takes it")
    alpha, beta = scale if scale is not None else (None, 1.0)
    torch.manual_seed(seed)
    layers = nn.ModuleList(Block(functions[wiring.function], wiring, d_model, alpha) for _ in range(depth))
    for key, p in layers.named_parameters():
        if p.dim() == 2:
            INITS[init](p)
            if key.split(".")[-2] in SCALED:
                p.data.mul_(beta)
        elif key.endswith("bias"):
            nn.init.zeros_(p)
    if wiring.final:
        layers.append(wiring.kind(d_model))
    return layers


def run(layers: Iterable[nn.Module], x: Tensor) -> Tensor:
    """Applies all layers to x, one after the other."""
    for layer in layers:
        x = layer(x)
    return x

"""A small scaling law: which size of a decoder is the best for a budget of FLOPs?

As in the second approach of the Chinchilla paper (arXiv:2203.15556), sizes compete at a fixed budget C. A model of N
parameters gets the D tokens that C = 6·N·D leaves. N counts the table of tokens once, because the table is the head
too and costs arithmetic only there.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..language import training
from . import Recorded, one_thread
from . import recorded as load

Config = Mapping[str, Any]
WIDTHS = (8, 16, 32, 64, 128)
BUDGETS = (4e10, 1e11, 2.5e11, 6.25e11)  # FLOPs
LAYERS, ROWS, CONTEXT = 2, 8, 64  # a step reads rows · context tokens


def configuration(c: Config, width: int) -> dict[str, Any]:
    """Returns a configuration of the same kind as ``c`` with two layers of this width, and heads of 8 or 16 columns."""
    head = 8 if width < 64 else 16
    own = {"d_model": width, "d_embedding": width, "n_layers": LAYERS, "d_ff": 8 * round(width / 3)}
    heads = {"n_heads": width // head, "n_kv_heads": width // head, "head_dim": head, "rotary_dim": head}
    return {**c, **own, **heads, "query_scale": head}


def size(model: nn.Module) -> int:
    """Number of parameters; a table that is the head as well counts once."""
    return sum(p.numel() for p in model.parameters())


def steps_for(budget: float, parameters: int) -> int:
    """Steps that a budget of FLOPs leaves for a model of this size, one at least."""
    return max(1, round(budget / (6 * parameters * ROWS * CONTEXT)))


@one_thread
def train(
    build: Callable[[Config], nn.Module],
    c: Config,
    ids: Tensor,
    steps: int,
    rate: float,
    seed: int = 0,
    device: str = "cpu",
) -> nn.Module:
    """Trains a decoder from scratch on a text, ids (N,) int64: a short warm-up, then linear decay to 0."""
    from .breaking import fresh

    model = fresh(build(c), seed).to(device)
    generator, adam = torch.Generator().manual_seed(seed), training.optimizer(model, rate)
    model.train()
    for step in range(steps):
        x, y = training.batch(ids, ROWS, CONTEXT, generator)
        rate_now = training.learning_rate(step, steps, rate, max(1, steps // 10))
        training.update(model, adam, x.to(device), y.to(device), rate_now)
    return model.eval()


def lowest(sizes: Sequence[float], losses: Sequence[float]) -> float:
    """The size at which a curve of losses is lowest.

    It is the lowest point of the parabola, over log N, through the smallest loss and its two neighbors. If the smallest
    loss is at an end, it is the size at that end: then the curve does not say where its minimum lies.
    """
    at = min(range(len(losses)), key=losses.__getitem__)
    if at in (0, len(losses) - 1):
        return sizes[at]
    (a, b, c), (u, v, w) = (math.log(sizes[i]) for i in (at - 1, at, at + 1)), losses[at - 1 : at + 2]
    left, right = (b - a) * (v - w), (b - c) * (v - u)
    return math.exp(b - ((b - a) * left - (b - c) * right) / (2 * (left - right)))


def recorded() -> Recorded:
    """Recorded runs: rows with budget, width, parameters, tokens, seed, rate and loss (held out, nats per token)."""
    return load("scaling_law")

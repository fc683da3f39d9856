"""A small scaling law: which size of the growing character model is the best for a budget of FLOPs?

As in the second approach of the Chinchilla paper (arXiv:2203.15556), sizes compete at a fixed budget C: a model of N
parameters reads the D characters that C = 6·N·D leaves. N counts all parameters, the tables of characters and positions
too.
"""

import math
from collections.abc import Sequence
from typing import Any

from . import Recorded, growing
from . import recorded as load

GRID = {  # budget in FLOPs → widths that compete for it
    4e10: (6, 8, 12, 16, 24),
    1e11: (8, 12, 16, 24, 32),
    2.5e11: (12, 16, 24, 32, 48),
    6.25e11: (16, 24, 32, 48, 64),
}
LAYERS, CONTEXT = 2, 32
RATE = 0.2  # divided by the width: narrow models learn at higher rates


def model(width: int, steps: int, seed: int = 0, rate: float = RATE) -> growing.Grown:
    """The growing model with two layers of this width, trained for some steps of 512 characters."""
    heads = max(1, width // 16)
    sizes = {"d_model": width, "layers": LAYERS, "n_heads": heads, "context": CONTEXT}
    return growing.grow(steps=steps, seed=seed, lr=rate / width, **sizes)


def steps_for(budget: float, parameters: int) -> int:
    """Steps of 512 characters that a budget of FLOPs leaves for a model of this size; one at least."""
    return max(1, round(budget / (6 * parameters * growing.BATCH * CONTEXT)))


def run(budget: float, width: int, seed: int = 0, rate: float = RATE) -> dict[str, Any]:
    """Spends a budget on one width: parameters, characters read, and held-out loss in nats per character."""
    parameters = model(width, steps=1).parameters
    steps = steps_for(budget, parameters)
    loss = model(width, steps, seed, rate).loss
    read = steps * growing.BATCH * CONTEXT
    return {
        "budget": budget,
        "width": width,
        "seed": seed,
        "parameters": parameters,
        "characters": read,
        "loss": round(loss, 4),
    }


def lowest(sizes: Sequence[float], losses: Sequence[float]) -> float:
    """The size at which losses at one budget are lowest; sizes rise.

    It is the lowest point of the parabola, over log N, through the smallest loss and its two neighbors. If the smallest
    loss is at an end, it is the size at that end: then the losses do not show where their minimum lies.
    """
    at = min(range(len(losses)), key=losses.__getitem__)
    if at in (0, len(losses) - 1):
        return sizes[at]
    a, b, c = (math.log(sizes[i]) for i in (at - 1, at, at + 1))
    u, v, w = losses[at - 1 : at + 2]
    left, right = (b - a) * (v - w), (b - c) * (v - u)
    return math.exp(b - ((b - a) * left - (b - c) * right) / (2 * (left - right)))


def best_sizes(rows: Sequence[Recorded]) -> dict[float, float]:
    """Budget → size with the lowest loss, from the runs of one seed."""
    found = {}
    for budget in sorted({row["budget"] for row in rows}):
        here = sorted((row for row in rows if row["budget"] == budget), key=lambda row: row["parameters"])
        found[budget] = lowest([row["parameters"] for row in here], [row["loss"] for row in here])
    return found


def recorded() -> Recorded:
    """Recorded runs: rows with budget, width, seed, parameters, characters read, and loss (held out, nats)."""
    return load("scaling_law")

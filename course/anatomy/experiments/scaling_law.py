"""A small scaling law: which size of the growing character model is the best for a budget of FLOPs?

As in the second approach of the Chinchilla paper (arXiv:2203.15556), sizes compete at a fixed budget C: a model of N
parameters reads the D characters that C = 6·N·D leaves. N counts all parameters, the tables of characters and positions
too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import Recorded, growing

GRID = {  # budget in FLOPs → widths that compete for it
    1e10: (4, 8, 12, 16, 24),
    2.5e10: (8, 12, 16, 24, 32),
    6.25e10: (8, 12, 16, 24, 32),
    1.5625e11: (12, 16, 24, 32, 48),
}
LIVE = {4e9: (4, 8, 16)}  # what a learner trains
LAYERS, HEADS, CONTEXT = 2, 4, 32
RATE = 0.2  # divided by the width: narrow models learn at higher rates


def model(width: int, steps: int, seed: int = 0, rate: float = RATE, device: str = "cpu") -> growing.Grown:
    """The growing model with two layers of this width, a multiple of 4, trained for some steps of 512 characters."""
    sizes = {"d_model": width, "layers": LAYERS, "n_heads": HEADS, "context": CONTEXT}
    return growing.grow(steps=steps, seed=seed, lr=rate / width, device=device, **sizes)


def steps_for(budget: float, parameters: int) -> int:
    """Steps of 512 characters that a budget of FLOPs leaves for a model of this size; one at least."""
    return max(1, round(budget / (6 * parameters * growing.BATCH * CONTEXT)))


def run(budget: float, width: int, seed: int = 0, rate: float = RATE, device: str = "cpu") -> dict[str, Any]:
    """Spends a budget on one width: parameters, characters read, and held-out loss in nats per character."""
    parameters = model(width, steps=1).parameters
    steps = steps_for(budget, parameters)
    loss = model(width, steps, seed, rate, device).loss
    read = steps * growing.BATCH * CONTEXT
    return {
        "budget": budget,
        "width": width,
        "seed": seed,
        "parameters": parameters,
        "characters": read,
        "loss": round(loss, 4),
    }


@dataclass(frozen=True)
class Lowest:
    """Where the losses of one budget are lowest: a size and its loss, read off a parabola.

    edge: the smallest loss belongs to the smallest or largest size; then size and loss are its own, and nobody knows
    where the minimum lies. sizes, losses: points along the parabola, none at an edge.
    """

    size: float
    loss: float
    edge: bool = False
    sizes: tuple[float, ...] = ()
    losses: tuple[float, ...] = ()


def lowest(sizes: Sequence[float], losses: Sequence[float], points: int = 25) -> Lowest:
    """The lowest point of the parabola, over log N, through the smallest loss and its two neighbors; sizes rise."""
    at = min(range(len(losses)), key=losses.__getitem__)
    if at in (0, len(losses) - 1):
        return Lowest(sizes[at], losses[at], edge=True)
    near = np.log(sizes[at - 1 : at + 2])
    around = near - near[1]  # near 0 the fit loses no digits
    bend, slope, middle = np.polyfit(around, losses[at - 1 : at + 2], 2)
    there = -slope / (2 * bend)
    along = np.linspace(around[0], around[-1], points)
    return Lowest(
        size=float(np.exp(near[1] + there)),
        loss=float(middle + slope * there / 2),
        sizes=tuple(np.exp(near[1] + along).tolist()),
        losses=tuple(np.polyval((bend, slope, middle), along).tolist()),
    )


def curves(rows: Sequence[Recorded]) -> dict[float, tuple[list[int], list[float]]]:
    """Budget → (sizes, losses) of one seed's runs; budgets and sizes rise."""
    found: dict[float, tuple[list[int], list[float]]] = {}
    for row in sorted(rows, key=lambda row: (row["budget"], row["parameters"])):
        sizes, losses = found.setdefault(row["budget"], ([], []))
        sizes.append(row["parameters"])
        losses.append(row["loss"])
    return found


def bowls(rows: Sequence[Recorded]) -> dict[float, Lowest]:
    """Budget → the lowest point of its curve, from the runs of one seed."""
    return {budget: lowest(*curve) for budget, curve in curves(rows).items()}

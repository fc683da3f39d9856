"""Does a stack of blocks learn without warm-up? A copying task: name the token two positions back.

There are sixteen tokens, so a model that has learned nothing has loss ln 16 = 2.77. Training uses Adam, with Xavier
weights.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..system.translation import _
from . import Recorded, one_thread
from . import recorded as load
from .wirings import Functions, build, run

VOCABULARY, BACK, T, BATCH, D_MODEL = 16, 2, 12, 32, 32


class Copier(nn.Module):
    """Token vectors, learned positions, a stack of blocks, one logit per token: (B, T) int64 → (B, T, 16)."""

    def __init__(
        self, functions: Functions, name: str, depth: int, seed: int = 0, scale: tuple[float, float] | None = None
    ):
        super().__init__()
        self.layers = build(functions, name, depth, D_MODEL, seed=seed, scale=scale)
        self.tokens, self.places = nn.Embedding(VOCABULARY, D_MODEL), nn.Embedding(T, D_MODEL)
        self.head = nn.Linear(D_MODEL, VOCABULARY)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(run(self.layers, self.embed(ids)))

    def embed(self, ids: Tensor) -> Tensor:
        """Input of the first block, (B, T, 32)."""
        return self.tokens(ids) + self.places.weight

    def loss(self, ids: Tensor) -> Tensor:
        """Cross-entropy, in nats, of the token two positions back, at positions 2, 3, …"""
        return F.cross_entropy(self(ids)[:, BACK:].flatten(0, 1), ids[:, :-BACK].flatten())


def endless(
    functions: Functions,
    name: str,
    depth: int,
    rate: Callable[[int], float],
    seed: int = 0,
    scale: tuple[float, float] | None = None,
    device: str = "cpu",
    factor: float = 1.0,
) -> Iterator[tuple[Copier, float]]:
    """Trains without end and yields (model, loss in nats) after every step; see ``train``."""
    model = Copier(functions, name, depth, seed, scale).to(device)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0)
    for step in itertools.count():
        optimizer.param_groups[0]["lr"] = rate(step)
        loss = model.loss(torch.randint(0, VOCABULARY, (BATCH, T), generator=generator).to(device))
        optimizer.zero_grad()
        (factor * loss).backward()
        optimizer.step()
        yield model, loss.item()


@one_thread
def train(
    functions: Functions,
    name: str,
    depth: int,
    rate: Callable[[int], float],
    steps: int = 120,
    seed: int = 0,
    scale: tuple[float, float] | None = None,
    device: str = "cpu",
    factor: float = 1.0,
) -> tuple[Copier, list[float]]:
    """Trains one model; the same seed gives every wiring the same batches.

    rate: function step → learning rate, steps counted from 0. scale: DeepNorm's (α, β). factor: multiplies the loss
    before the backward pass, and so every gradient; the returned losses do not include it.

    Returns:
        (model, losses), one loss per step.
    """
    training = endless(functions, name, depth, rate, seed, scale, device, factor)
    models, losses = zip(*itertools.islice(training, steps), strict=True)
    return models[-1], list(losses)


@one_thread
def first_step(
    functions: Functions,
    name: str,
    depth: int,
    rate: float = 1e-3,
    seed: int = 0,
    scale: tuple[float, float] | None = None,
    device: str = "cpu",
    factor: float = 1.0,
) -> tuple[float, float]:
    """One step of Adam in a fresh model.

    Returns:
        (gradient, moved): norm of the last block's weight gradients, and how far the step moved the stack's output on
        its own batch, relative to the output's norm (Liu et al. 2020, arXiv:2004.08249, study this movement).
    """
    model = Copier(functions, name, depth, seed, scale).to(device)
    ids = torch.randint(0, VOCABULARY, (BATCH, T), generator=torch.Generator().manual_seed(40_000 + seed)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    before = run(model.layers, model.embed(ids)).detach()
    (factor * model.loss(ids)).backward()
    optimizer.step()
    with torch.no_grad():
        moved = ((run(model.layers, model.embed(ids)) - before).norm() / before.norm()).item()
    block = [layer for layer in model.layers if hasattr(layer, "attention")][-1]
    squares = [p.grad.double().square().sum().item() for p in block.parameters() if p.dim() == 2 and p.grad is not None]
    return sum(squares) ** 0.5, moved


def smooth(losses: Sequence[float], width: int = 10) -> list[float]:
    """Means of ``width`` consecutive losses, for a smoother curve."""
    return torch.tensor(losses).unfold(0, width, width).mean(-1).tolist()


def recorded() -> Recorded:
    """Recorded runs.

    Returns:
        dict with ``rows`` (each with wiring, depth, peak, warmup, factor, seed and losses, the mean of every 10 steps),
        ``first`` (each with wiring, depth, rate, factor, seed, and the results of ``first_step``: gradient, moved) and
        ``made`` (device, torch, date, command).

    Raises:
        MissingRecording: the file is missing.
    """
    data = load("warmup")
    for row in data["rows"]:
        row["losses"] = [float(v) for v in row["losses"].split()]
    return data


def words(data: Recorded) -> str:
    """Describes the recorded runs at the highest peak in a sentence: their final losses, by wiring and warm-up."""
    peak = max(r["peak"] for r in data["rows"])
    told = []
    for name, steps in dict.fromkeys((r["wiring"], r["warmup"]) for r in data["rows"]):
        ends = [
            r["losses"][-1]
            for r in data["rows"]
            if (r["wiring"], r["warmup"], r["peak"], r["factor"]) == (name, steps, peak, 1)
        ]
        one = _("{name} with warm-up {a:.3f} to {b:.3f}") if steps else _("{name} without warm-up {a:.3f} to {b:.3f}")
        told.append(one.format(name=name, a=min(ends), b=max(ends)))
    return _("Recorded losses after {steps} steps: {told}.").format(steps=data["steps"], told="; ".join(told))

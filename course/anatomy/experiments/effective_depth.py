"""How much does each layer change what flows through the stack, and how much is lost when one layer is skipped?"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..system.translation import _
from . import Recorded, one_thread
from . import recorded as load
from .warmup import BATCH, VOCABULARY, Copier, T
from .wirings import Functions, build


@torch.no_grad()
def streams(layers: Iterable[nn.Module], x: Tensor) -> Tensor:
    """Returns the input of the first block and the output of each block: (N + 1, B, T, d_model)."""
    found = [x]
    for layer in layers:
        if hasattr(layer, "attention"):
            found.append(layer(found[-1]))
    return torch.stack(found)


@one_thread
def fresh_streams(functions: Functions, name: str, depth: int, d_model: int = 64, seed: int = 0) -> Tensor:
    """``streams`` of an untrained stack on random input of root mean square 1, (N + 1, 4, 16, d_model)."""
    layers = build(functions, name, depth, d_model, seed=seed)
    generator = torch.Generator().manual_seed(20_000 + seed)
    return streams(layers, torch.randn(4, 16, d_model, generator=generator))


@torch.no_grad()
def losses_without(model: Copier, seed: int = 0) -> tuple[float, list[float]]:
    """Loss of a trained ``warmup.Copier`` on new sequences: unchanged, and with each block left out in turn.

    Returns:
        (loss, list of losses, first block first).
    """
    generator = torch.Generator().manual_seed(30_000 + seed)
    ids = torch.randint(0, VOCABULARY, (8 * BATCH, T), generator=generator).to(model.head.weight.device)
    whole, layers = model.loss(ids).item(), model.layers
    found = []
    for i, layer in enumerate(layers):
        if hasattr(layer, "attention"):
            model.layers = nn.ModuleList(other for j, other in enumerate(layers) if j != i)
            found.append(model.loss(ids).item())
    model.layers = layers
    return whole, found


def recorded() -> Recorded:
    """Recorded measurements.

    Returns:
        dict with ``fresh`` (wiring → depth as text → relative change per layer, one list per seed), ``trained`` (rows
        with wiring, layers, peak, seed, goal, step, change per layer, loss, and losses without each layer; each run is
        measured when its loss first falls below each goal, so rows with the same goal are about equally good) and
        ``made`` (device, torch, …).

    Raises:
        MissingRecording: the file is missing.
    """
    return load("effective_depth")


def late(row: dict[str, Any]) -> list[float]:
    """Factors by which a trained model's loss grows without each layer of its later half."""
    return [loss / row["loss"] for loss in row["without"][row["layers"] // 2 :]]


def words(rows: Sequence[dict[str, Any]]) -> str:
    """Describes, in a sentence, the deepest trained models at the highest rate, each at its lowest loss."""
    layers, peak = max(r["layers"] for r in rows), max(r["peak"] for r in rows)
    goal = min(r["goal"] for r in rows)
    told = []
    for name in dict.fromkeys(r["wiring"] for r in rows):
        mine = [r for r in rows if (r["wiring"], r["layers"], r["peak"], r["goal"]) == (name, layers, peak, goal)]
        losses = [loss for r in mine for loss in r["without"][layers // 2 :]]
        if losses:
            told.append(_("{name} {a:.2f} to {b:.2f}").format(name=name, a=min(losses), b=max(losses)))
    said = _(
        "Loss of models of {layers} layers, all trained to a loss below {goal:g}, with one layer left out. "
        "For a layer of the later half: {told}."
    )
    return said.format(layers=layers, goal=goal, told="; ".join(told))

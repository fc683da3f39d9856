"""How much does each layer change what flows through the stack, and how much is lost when one layer is skipped?"""

import torch
from torch import nn

from . import recorded as load
from .warmup import BATCH, VOCABULARY, T
from .wirings import build


@torch.no_grad()
def streams(layers, x):
    """What flows into the first block and out of each one: (N + 1, B, T, d_model)."""
    found = [x]
    for layer in layers:
        if hasattr(layer, "attention"):
            found.append(layer(found[-1]))
    return torch.stack(found)


def fresh_streams(functions, name, depth, d_model=64, seed=0):
    """``streams`` of an untrained stack on random input of root mean square 1, (N + 1, 4, 16, d_model)."""
    layers = build(functions, name, depth, d_model, seed=seed)
    generator = torch.Generator().manual_seed(20_000 + seed)
    return streams(layers, torch.randn(4, 16, d_model, generator=generator))


@torch.no_grad()
def losses_without(model, seed=0):
    """Loss of a trained ``warmup.Copier`` on new sequences: as it is, and with each block left out in turn.

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


def recorded():
    """Recorded measurements.

    Returns:
        dict with ``fresh`` (wiring → depth as text → relative change per layer, one list per seed), ``trained`` (rows
        with wiring, seed, change per layer, loss, and losses without each layer) and ``made`` (device, torch, …).

    Raises:
        MissingRecording: the file is not there.
    """
    return load("effective_depth")

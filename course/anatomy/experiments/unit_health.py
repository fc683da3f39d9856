"""Watches the hidden units of a small text model in training: which die, which come back, which gates are stuck.

The model is that of ``ffn_variants``. The learning rate is high on purpose: units die when training is too fast.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from . import one_thread
from .ffn_variants import LAPTOP, CharModel, Setting, train, windows

HIGH = replace(LAPTOP, lr=3e-2)
TOKENS = 4000


@one_thread
@torch.no_grad()
def collect(model: CharModel, module: str, tokens: int = TOKENS) -> list[Tensor]:
    """Inputs of the named module in each layer, on the first held-out tokens: list of (tokens, width).

    module: ``"down_proj"`` gives the hidden units after activation (and gate).
    """
    seen = []
    hooks = [
        getattr(layer, module).register_forward_pre_hook(lambda _, args: seen.append(args[0])) for layer in model.layers
    ]
    model(windows()[1][:tokens, :-1])
    for hook in hooks:
        hook.remove()
    return seen


@one_thread
def gates(model: CharModel, tokens: int = TOKENS) -> list[Tensor]:
    """Activated gates of each layer: list of (tokens, d_ff). The layers need ``gate_proj`` and ``activation``."""
    layers: Iterable[Any] = model.layers
    with torch.no_grad():
        return [
            layer.activation(layer.gate_proj(x))
            for layer, x in zip(layers, collect(model, "gate_proj", tokens), strict=True)
        ]


@one_thread
def deaths(
    make_layer: Callable[[int], nn.Module],
    dead_units: Callable[[Tensor], Tensor],
    seed: int = 0,
    setting: Setting = HIGH,
    every: int = 50,
) -> tuple[CharModel, list[int], Tensor]:
    """Trains one model and calls ``dead_units`` every ``every`` steps.

    Returns:
        (model, steps, dead): the trained model, list of steps, and (times, layers, d_ff) boolean.
    """
    steps, dead = [], []

    def look(step, model):
        if step % every == 0:
            steps.append(step)
            dead.append(torch.stack([dead_units(h) for h in collect(model, "down_proj")]))

    model, _ = train(make_layer, seed, setting, watch=look)
    look(setting.steps, model)
    return model, steps, torch.stack(dead)

"""How large is the gradient of each layer's weights in untrained stacks?"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import Recorded, one_thread
from . import recorded as load
from .wirings import Functions, build, run

DEPTHS = (6, 12, 24, 48, 96)
WIDTHS = (32, 64, 128, 256)
SEEDS = 3
B, T = 2, 16


def batch(d_model: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """A random input and a random target, both (2, 16, d_model) float32."""
    generator = torch.Generator().manual_seed(10_000 + seed)
    x, target = torch.randn(2, B, T, d_model, generator=generator)
    return x, target


def weight_gradients(layers: nn.ModuleList, x: Tensor, target: Tensor) -> list[float]:
    """Gradient norm of each block's weight matrices, for the mean squared error to the target.

    Returns:
        list of floats, first layer first; a norm at the end of the stack is left out.
    """
    with torch.enable_grad():
        for p in layers.parameters():
            p.grad = None
        F.mse_loss(run(layers, x), target).backward()
    blocks = [layer for layer in layers if hasattr(layer, "attention")]
    # If a wiring leaves a sublayer out, the weights of that sublayer have no gradient.
    grads = [[p.grad for p in b.parameters() if p.dim() == 2 and p.grad is not None] for b in blocks]
    return [sum(float(g.double().square().sum()) for g in each) ** 0.5 for each in grads]


@one_thread
def curve(
    functions: Functions,
    name: str,
    depth: int,
    d_model: int,
    init: str = "Xavier",
    seed: int = 0,
    scale: tuple[float, float] | None = None,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> list[float]:
    """``weight_gradients`` of a fresh stack; see ``wirings.build``. Weights are drawn on the CPU in float32."""
    layers = build(functions, name, depth, d_model, init, seed, scale).to(device, dtype)
    x, target = (t.to(device, dtype) for t in batch(d_model, seed))
    return weight_gradients(layers, x, target)


@torch.no_grad()
def stream(layers: Iterable[nn.Module], x: Tensor) -> list[float]:
    """RMS of the stream before the first of some layers and after each.

    Args:
        layers: those of a stack without the norm at its end. x: (B, T, d_model) float.

    Returns:
        list of floats, one more than layers.
    """
    streams = [x, *(x := layer(x) for layer in layers)]
    return [float(x.square().mean().sqrt()) for x in streams]


def recorded() -> Recorded:
    """Recorded curves.

    Returns:
        dict with ``curves`` (wiring → width → depth → one list per seed, Xavier weights), ``streams`` (the same, with
        one number more), ``inits`` (wiring → init → width → depth → one list per seed, for Post-LN and Pre-LN) and
        ``made`` (device, torch, date, command).
        Widths and depths are ints.

    Raises:
        MissingRecording: the file is missing.
    """
    data = load("gradient_flow")
    return {
        "made": data["made"],
        "curves": {n: _sizes(t) for n, t in data["curves"].items()},
        "streams": {n: _sizes(t) for n, t in data["streams"].items()},
        "inits": {n: {i: _sizes(t) for i, t in inits.items()} for n, inits in data["inits"].items()},
    }


def _sizes(table):
    # In the file, a curve is one string of numbers, which keeps the file short.
    return {
        int(w): {int(depth): [[float(v) for v in c.split()] for c in seeds] for depth, seeds in depths.items()}
        for w, depths in table.items()
    }

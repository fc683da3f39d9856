"""How long should a token take, how long does it take, and where does the difference go?

A token needs each weight once: it is read, multiplied and added. Both set a speed limit that no program can exceed. A
small model stays far below it. A *hollow* model finds the rest: it has as many layers and heads, but almost no numbers
in them, so that it calls the same functions and computes hardly anything.

Times are processor time of one thread, so that other programs do not distort them.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from ..system.translation import _, sentences
from . import one_thread
from .norm_bandwidth import best_time

Config = Mapping[str, Any]


class Machine(NamedTuple):
    """Speed of one core: bytes read per second, and floating-point operations per second of a large matrix product."""

    bytes_per_second: float
    flops_per_second: float


class Token(NamedTuple):
    """Seconds for one token: measured, for reading all weights, for computing with them, and measured on a hollow
    model, where nearly all time goes into calling functions."""

    measured: float
    reading: float
    computing: float
    hollow: float


@one_thread
def machine(nbytes: int, device: str = "cpu") -> Machine:
    """Measures one core in about a second: reading ``nbytes`` repeatedly, and a product of 512 × 512 matrices.

    ``nbytes`` should be the size of the weights, because data that fit into a cache are read several times faster.
    """
    weights, square = torch.ones(max(nbytes // 4, 1), device=device), torch.randn(512, 512).to(device)
    with torch.no_grad():
        return Machine(
            4 * weights.numel() / best_time(weights.sum, device),
            2 * 512**3 / best_time(lambda: square @ square, device),
        )


@one_thread
def seconds(call: Callable[[], object], tokens: int, repeats: int = 3) -> float:
    """Processor seconds per token of ``call()``, which generates ``tokens`` tokens; the shortest of all runs."""
    times = []
    for _run in range(repeats):
        start = time.thread_time()
        call()
        times.append(time.thread_time() - start)
    return min(times) / tokens


def hollow(c: Config) -> dict[str, Any]:
    """Returns a configuration with the same layers and heads, whose vectors are as short as possible."""
    sizes = {"head_dim": 2, "rotary_dim": 2, "d_model": 2 * c["n_heads"], "d_ff": 2 * c["n_heads"]}
    return {**c, **sizes, "d_embedding": sizes["d_model"], "query_scale": 2}


def weight_bytes(model: nn.Module) -> int:
    """Bytes of all parameters, each counted once."""
    return sum(p.nbytes for p in model.parameters())


def step(model: nn.Module, device: str = "cpu", past: int = 64) -> Callable[[], Tensor]:
    """Returns a function that computes the logits of one more token after ``past`` tokens."""
    ids = torch.zeros(1, past + 1, dtype=torch.int64, device=device)
    with torch.no_grad():
        _logits, kept = model(ids[:, :past])

    def once():
        with torch.no_grad():
            return model(ids[:, past:], past=kept)[0]

    return once


class _Calls(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += 1
        return function(*args, **(kwargs or {}))


def calls(call: Callable[[], object]) -> int:
    """Number of tensor operations in ``call()``, including views."""
    with torch.no_grad(), _Calls() as counting:
        call()
    return counting.count


def predicted(model: nn.Module, found: Machine) -> tuple[float, float]:
    """Lower bounds, in seconds per token: for reading all weights, and for multiplying and adding with each."""
    nbytes = weight_bytes(model)
    numbers = sum(p.numel() for p in model.parameters())
    return nbytes / found.bytes_per_second, 2 * numbers / found.flops_per_second


def verdict(token: Token) -> str:
    """One sentence on where a token's time goes; its words follow the numbers."""
    bound = max(token.reading, token.computing)
    share = token.hollow / token.measured
    if token.measured > 1.5 * bound:
        said = _("A token takes {ms:.2f} ms, {times:.0f} times what bytes and operations ask for ({bound:.3f} ms).")
    else:
        said = _("A token takes {ms:.2f} ms, about as long as what bytes and operations ask for ({bound:.3f} ms).")
    if share > 2 / 3:
        where = _("mostly calls")
    elif share < 1 / 3:
        where = _("mostly numbers")
    else:
        where = _("calls and numbers alike")
    hollow = _(
        "The hollow model, with the same calls and next to no numbers, takes {ms:.2f} ms, {share:.0%} of it: {where}."
    )
    return sentences(
        said.format(ms=1e3 * token.measured, times=token.measured / bound, bound=1e3 * bound),
        hollow.format(ms=1e3 * token.hollow, share=share, where=where),
    )

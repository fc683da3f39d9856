"""How long should a token take, how long does it take, and where does the difference go?

A token needs each weight once: to be fetched, and to be multiplied and added. Both give a speed that no program can
pass. A small model stays far below it. What is left is looked for with a *hollow* model: as many layers and heads, but
next to no numbers in them, so that the same functions are called and hardly anything is computed.

Times are processor time of one thread, which other programs do not spoil.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from . import one_thread
from .norm_bandwidth import best_time

Config = Mapping[str, Any]


class Machine(NamedTuple):
    """What one core does in a second: bytes read, and floating-point operations of a large matrix product."""

    bytes_per_second: float
    flops_per_second: float


class Token(NamedTuple):
    """Seconds for one token: measured, as reading all weights takes, as computing with them takes, and measured on a
    hollow model, where calling functions is nearly all there is."""

    measured: float
    reading: float
    computing: float
    hollow: float


@one_thread
def machine(nbytes: int, device: str = "cpu") -> Machine:
    """Measures one core in about a second: reading ``nbytes`` again and again, and a product of 512 × 512 matrices.

    So many bytes as the weights have, because what fits into a cache is read several times faster.
    """
    weights, square = torch.ones(max(nbytes // 4, 1), device=device), torch.randn(512, 512).to(device)
    with torch.no_grad():
        return Machine(
            4 * weights.numel() / best_time(weights.sum, device),
            2 * 512**3 / best_time(lambda: square @ square, device),
        )


@one_thread
def seconds(call: Callable[[], object], tokens: int, repeats: int = 3) -> float:
    """Processor seconds per token of ``call()``, which writes ``tokens`` of them: the shortest of several."""
    times = []
    for _ in range(repeats):
        start = time.thread_time()
        call()
        times.append(time.thread_time() - start)
    return min(times) / tokens


def hollow(c: Config) -> dict[str, Any]:
    """A configuration with the same layers and heads whose vectors are as short as can be."""
    sizes = {"head_dim": 2, "rotary_dim": 2, "d_model": 2 * c["n_heads"], "d_ff": 2 * c["n_heads"]}
    return {**c, **sizes, "d_embedding": sizes["d_model"], "query_scale": 2}


def weight_bytes(model: nn.Module) -> int:
    """Bytes of all parameters, each once."""
    return sum(p.nbytes for p in model.parameters())


def step(model: nn.Module, device: str = "cpu", past: int = 64) -> Callable[[], Tensor]:
    """A function that computes the logits of one more token behind ``past`` ones."""
    ids = torch.zeros(1, past + 1, dtype=torch.int64, device=device)
    with torch.no_grad():
        _, kept = model(ids[:, :past])

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
    """Number of tensor operations that ``call()`` asks for, views included."""
    with torch.no_grad(), _Calls() as counting:
        call()
    return counting.count


def predicted(model: nn.Module, found: Machine) -> tuple[float, float]:
    """Seconds that a token takes at least: to read all weights, and to multiply and add with each of them."""
    nbytes = weight_bytes(model)
    numbers = sum(p.numel() for p in model.parameters())
    return nbytes / found.bytes_per_second, 2 * numbers / found.flops_per_second


def verdict(token: Token) -> str:
    """One sentence on where a token's time goes; its words follow the numbers."""
    bound = max(token.reading, token.computing)
    share = token.hollow / token.measured
    rest = f"{token.measured / bound:.0f} times" if token.measured > 1.5 * bound else "about as long as"
    where = "mostly calls" if share > 2 / 3 else "mostly numbers" if share < 1 / 3 else "calls and numbers alike"
    return (
        f"A token takes {1e3 * token.measured:.2f} ms, {rest} what bytes and operations ask for "
        f"({1e3 * bound:.3f} ms). The hollow model, with the same calls and next to no numbers, takes "
        f"{1e3 * token.hollow:.2f} ms, {share:.0%} of it: {where}."
    )

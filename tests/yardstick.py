"""How slow the processor is now: limits on processor time are meant for an idle core, but tests rarely have one.

Two threads that share a core take up to twice the processor time that each takes alone, and other processors are
slower anyway. So a fixed training of a small network, like those in notebooks, is timed next to the code to judge.
"""

import time

import torch
from torch import nn

NOMINAL = 0.11  # seconds of processor time that ``_work`` takes on the idle core for which limits are written


def pace() -> float:
    """Factor by which work takes longer now than on that core; below 1.0 if the processor is faster."""
    begun = time.thread_time()
    _work()
    return (time.thread_time() - begun) / NOMINAL


def _work() -> None:
    g = torch.Generator().manual_seed(0)
    x = torch.randn(64, 64, generator=g)
    weights = [nn.Parameter(torch.randn(64, 64, generator=g) / 8) for _ in range(2)]
    optimizer = torch.optim.AdamW(weights)
    for _ in range(100):
        optimizer.zero_grad()
        loss = (nn.functional.gelu(x @ weights[0]) @ weights[1]).square().mean()
        loss.backward()
        optimizer.step()

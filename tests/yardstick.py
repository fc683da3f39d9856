"""How slow the processor is now: limits on processor time are meant for an idle core, but tests rarely have one.

Two threads that share a core take up to twice the processor time that each takes alone, and other processors are
slower anyway. So a fixed training is timed next to the code to judge, with matrices of the size that the notebooks'
trainings have: much smaller ones fit into a cache that no neighbor takes away, and would say that nothing is slower.
"""

import time

import torch
from torch import nn

NOMINAL = 0.1  # seconds of processor time that ``_work`` takes on the idle core for which limits are written
TOKENS, WIDTH, STEPS = 1024, 64, 24


def pace() -> float:
    """Factor by which work takes longer now than on that core; below 1.0 if the processor is faster."""
    begun = time.thread_time()
    _work()
    return (time.thread_time() - begun) / NOMINAL


def _work() -> None:
    g = torch.Generator().manual_seed(0)
    x = torch.randn(TOKENS, WIDTH, generator=g)
    shapes = (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)
    weights = [nn.Parameter(torch.randn(*shape, generator=g) / shape[0] ** 0.5) for shape in shapes]
    optimizer = torch.optim.AdamW(weights)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = (nn.functional.gelu(x @ weights[0]) @ weights[1]).square().mean()
        loss.backward()
        optimizer.step()

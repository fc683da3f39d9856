"""Does a window save time? Compares dense attention with a mask to attention that scores only nearby keys.

On the CPU the clock counts this thread's time only, so that other programs do not distort it; on CUDA, events measure.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

import torch
from torch import Tensor

from . import one_thread
from .norm_bandwidth import best_time

Layers = TypeVar("Layers")


@one_thread
def window_times(
    attention: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor],
    mask_of: Callable[[int, int], Tensor],
    local_attention: Callable[[Tensor, Tensor, Tensor, int], Tensor],
    lengths: Iterable[int],
    w: int,
    H: int = 2,
    D: int = 32,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    repeats: int = 3,
) -> list[dict[str, float]]:
    """Milliseconds of one causal window of w keys, dense and gathered, for each length.

    attention (q, k, v, mask), mask_of (T, w) and local_attention (q, k, v, w) are the learner's; q, k and v are (1, H,
    T, D). The mask is made before the clock starts.
    Returns: list of rows with T, dense, gathered and gap, the largest difference between the two results.
    """
    generator = torch.Generator().manual_seed(0)
    rows = []
    for T in lengths:
        q, k, v = torch.randn(3, 1, H, T, D, generator=generator).to(device, dtype)
        mask = mask_of(T, w).to(device)
        calls = {"dense": lambda: attention(q, k, v, mask), "gathered": lambda: local_attention(q, k, v, w)}
        with torch.no_grad():
            gap = (calls["dense"]() - calls["gathered"]()).abs().max().item()
            times = {name: best_time(call, device, repeats) * 1e3 for name, call in calls.items()}
        rows.append({"T": T, **times, "gap": gap})
    return rows


@one_thread
def influence(stack: Callable[[Tensor, Layers], Tensor], layers: Layers, x: Tensor) -> Tensor:
    """How strongly the last output of ``stack(x, layers)`` depends on each input: gradient norms, (T,).

    x (T, d) → one number per position, averaged over the output's features, exactly 0 where nothing reaches the output.
    """
    with torch.enable_grad():
        x = x.detach().clone().requires_grad_()
        last = stack(x, layers)[-1]
        rows = [torch.autograd.grad(feature, x, retain_graph=True)[0].norm(dim=-1) for feature in last]
    return torch.stack(rows).mean(0)

"""Measures a decoding step: reading H/G times fewer keys, copying them, or not storing any.

On the CPU the clock counts this thread's time only, so that other programs do not distort it; on CUDA, events measure.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from . import one_thread
from .norm_bandwidth import best_time


def read_grouped(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """One decoding step without a copy: the H/G queries of a group are the rows of one matrix.

    q (B, H, D), k and v (B, G, S, D) → (B, H, D).
    """
    B, H, D = q.shape
    rows = q.view(B, k.shape[1], -1, D)  # (B, G, H/G, D)
    return ((rows @ k.mT / D**0.5).softmax(-1) @ v).view(B, H, D)


@one_thread
def step_times(
    repeat_kv: Callable[[Tensor, int], Tensor],
    S: int,
    groups: Iterable[int],
    B: int = 1,
    H: int = 32,
    D: int = 64,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    repeats: int = 7,
) -> list[dict[str, float]]:
    """Milliseconds of one layer's attention in one decoding step, by number of key-value heads.

    repeat_kv (x, n) is the learner's function. ``copying`` is the time of that function alone, ``copied`` calls it and
    then attends, ``grouped`` reads the G heads without a copy.
    Returns: list of rows with G, bytes (keys and values), copying, copied and grouped.
    """
    generator = torch.Generator(device).manual_seed(0)  # on the device: a GPU's cache has billions of numbers
    # Once a block of up to 32 MB was freed, glibc keeps freed blocks up to that size instead of returning them to the
    # system at once. Without this line, fresh memory would cost more than the copy into it.
    torch.empty(31 * 2**20, dtype=torch.uint8)
    rows = []
    for G in groups:
        q, k, v = (
            torch.randn(*shape, generator=generator, device=device, dtype=dtype)
            for shape in ((B, H, D), (B, G, S, D), (B, G, S, D))
        )
        calls = {
            "copying": lambda: (repeat_kv(k, H // G), repeat_kv(v, H // G)),
            "copied": lambda: read_grouped(q, repeat_kv(k, H // G), repeat_kv(v, H // G)),
            "grouped": lambda: read_grouped(q, k, v),
        }
        with torch.no_grad():
            times = {name: best_time(call, device, repeats) * 1e3 for name, call in calls.items()}
        rows.append({"G": G, "bytes": k.nbytes + v.nbytes, **times})
    return rows


def writing_times(
    attend: Callable[[Tensor, Tensor, Tensor, Any], tuple[Tensor, Any]], lengths: Sequence[int], H: int = 8, D: int = 32
) -> list[dict[str, float]]:
    """Milliseconds to write n tokens one by one, without and with a past, for each n of ``lengths``.

    attend (q, k, v, past) → (result, past) is the learner's; without a past it receives the whole text at each step.
    """
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, H, max(lengths), D, generator=generator)
    return [{"n": n, **_write(attend, q, k, v, n)} for n in lengths]


@one_thread
def _write(attend, q, k, v, n):
    """Milliseconds ``without`` and ``with`` a past."""
    start = time.thread_time()
    for t in range(1, n + 1):
        attend(q[:, :, :t], k[:, :, :t], v[:, :, :t], None)
    middle, past = time.thread_time(), None
    for t in range(n):
        _, past = attend(q[:, :, t : t + 1], k[:, :, t : t + 1], v[:, :, t : t + 1], past)
    end = time.thread_time()
    return {"without": (middle - start) * 1e3, "with": (end - middle) * 1e3}

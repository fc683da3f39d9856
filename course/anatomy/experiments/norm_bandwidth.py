"""Is a norm limited by its operations or by its bytes? Times of norms next to a plain copy and a matrix product.

On the CPU the clock counts this thread's time only, so that other programs do not distort it; on CUDA, events measure.
"""

import time
from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F


def best_time(call: Callable[[], object], device: str = "cpu", repeats: int = 15) -> float:
    """Shortest time of ``call()`` in seconds, after two runs to warm up. The shortest, because noise only adds time."""
    call(), call()
    if not device.startswith("cuda"):
        times = []
        for _ in range(repeats):
            start = time.thread_time()
            call()
            times.append(time.thread_time() - start)
        return min(times)
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
    for before, after in events:
        before.record()
        call()
        after.record()
    torch.cuda.synchronize()
    return min(before.elapsed_time(after) for before, after in events) / 1e3


def measure(
    norms: Mapping[str, Callable[[Tensor, Tensor, Tensor], Tensor]],
    tokens: int,
    d: int,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    repeats: int = 15,
) -> dict[str, float]:
    """Nanoseconds per entry of x (tokens, d).

    norms: name → function (x, weight, bias) → tensor. For comparison, ``copy`` reads and writes every entry once,
    ``times 2`` does one operation per entry as well, ``x·x + x`` two, and ``matrix product`` 2·d.
    """
    generator = torch.Generator().manual_seed(0)
    x, square = (torch.randn(*shape, generator=generator).to(device, dtype) for shape in ((tokens, d), (d, d)))
    weight, bias = torch.ones(d, dtype=dtype, device=device), torch.zeros(d, dtype=dtype, device=device)
    out = torch.empty_like(x)
    calls: dict[str, Callable[[], object]] = {
        "copy": lambda: out.copy_(x),
        "times 2": lambda: torch.mul(x, 2.0, out=out),
        "x·x + x": lambda: torch.addcmul(x, x, x, out=out),
        "matrix product": lambda: torch.mm(x, square, out=out),
        "fused LayerNorm": lambda: F.layer_norm(x, (d,), weight, bias),
        **{name: partial(norm, x, weight, bias) for name, norm in norms.items()},
    }
    with torch.no_grad():
        return {name: best_time(call, device, repeats) / x.numel() * 1e9 for name, call in calls.items()}

"""What does a norm wait for: its operations, or its bytes? Times of norms beside a plain copy and a matrix product.

On the CPU the clock counts this thread's time only, so that other programs do not spoil it; on CUDA, events do.
"""

import time

import torch
from torch.nn import functional as F


def best_time(call, device="cpu", repeats=15):
    """Shortest time of ``call()`` in seconds, after two runs to warm up. The shortest, because noise only adds."""
    call(), call()
    if not device.startswith("cuda"):
        times = []
        for _ in range(repeats):
            start = time.thread_time()
            call()
            times.append(time.thread_time() - start)
        return min(times)
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
    for start, end in events:
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return min(start.elapsed_time(end) for start, end in events) / 1e3


def measure(norms, tokens, d, dtype=torch.float32, device="cpu", repeats=15):
    """Nanoseconds per entry of x (tokens, d).

    norms: name → function (x, weight, bias) → tensor. Beside them, ``copy`` reads and writes every entry once,
    ``times 2`` does one operation on the way, ``x·x + x`` two, and ``matrix product`` 2·d.
    """
    generator = torch.Generator().manual_seed(0)
    x, square = (torch.randn(*shape, generator=generator).to(device, dtype) for shape in ((tokens, d), (d, d)))
    weight, bias = torch.ones(d, dtype=dtype, device=device), torch.zeros(d, dtype=dtype, device=device)
    out = torch.empty_like(x)
    calls = {
        "copy": lambda: out.copy_(x),
        "times 2": lambda: torch.mul(x, 2.0, out=out),
        "x·x + x": lambda: torch.addcmul(x, x, x, out=out),
        "matrix product": lambda: torch.mm(x, square, out=out),
        "fused LayerNorm": lambda: F.layer_norm(x, (d,), weight, bias),
        **{name: (lambda norm=norm: norm(x, weight, bias)) for name, norm in norms.items()},
    }
    with torch.no_grad():
        return {name: best_time(call, device, repeats) / x.numel() * 1e9 for name, call in calls.items()}

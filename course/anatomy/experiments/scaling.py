"""Counts FLOPs by running: the cost of a training step per parameter, and of one request by architecture.

Models run on the meta device, which has shapes without numbers, so that any size takes milliseconds. Torch's own
counter adds up the matrix products (a multiplication and an addition count as two).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

HEADS = 12


class Layer(nn.Module):
    """A block of width d: attention (4·d²), cross-attention if asked for (4·d²), feed-forward 4·d wide (8·d²)."""

    def __init__(self, d: int, cross: bool = False):
        super().__init__()
        self.attention = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(4))
        self.cross = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(4)) if cross else None
        self.ffn = nn.Sequential(nn.Linear(d, 4 * d, bias=False), nn.GELU(), nn.Linear(4 * d, d, bias=False))

    def forward(self, x: Tensor, past: int = 0, memory: Tensor | None = None, stored: int = 0) -> Tensor:
        """x (B, T, d) on ``past`` stored tokens. memory (B, S, d) is projected; ``stored`` of its tokens are cached."""
        x = x + _attend(self.attention, x, x, past)
        if self.cross is not None:
            x = x + _attend(self.cross, x, memory, stored)
        return x + self.ffn(x)


def _attend(projections, x, source, stored):
    q, k, v, o = projections
    split = lambda t: t.unflatten(-1, (HEADS, -1)).transpose(1, 2)
    old = x.new_empty(x.shape[0], HEADS, stored, x.shape[2] // HEADS)
    new = [old if source is None else torch.cat([old, split(p(source))], 2) for p in (k, v)]
    weights = (split(q(x)) @ new[0].mT).softmax(-1)
    return o((weights @ new[1]).transpose(1, 2).flatten(2))


def flops(run: Callable[[], Any]) -> int:
    """FLOPs of the matrix products in ``run()``."""
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


def training_step(d: int = 768, layers: int = 4, length: int = 128, batch: int = 8) -> dict[str, float]:
    """One training step of a stack of decoder layers, counted.

    Returns: parameters N, tokens D, and forward, backward and recomputed (forward twice), each in FLOPs per N·D.
    """
    with torch.device("meta"):
        stack = nn.Sequential(*(Layer(d) for _ in range(layers)))
        x = torch.empty(batch, length, d, requires_grad=True)
    total, tokens = sum(p.numel() for p in stack.parameters()), batch * length
    results = []
    forward = flops(lambda: results.append(stack(x)))
    backward = flops(lambda: results[0].sum().backward())
    each = total * tokens
    return {
        "parameters": total,
        "tokens": tokens,
        "forward": forward / each,
        "backward": backward / each,
        "recomputed": (2 * forward + backward) / each,
    }


def architectures(source: int = 512, target: int = 128, d: int = 768, itemsize: int = 2) -> list[dict[str, Any]]:
    """Cost of one request, ``source`` tokens read and ``target`` written, in three models with equally many parameters.

    They have 28 layers in one stack, or 12 and 12 with cross-attention: 336·d² either way. FLOPs are counted by running
    one layer of each kind, since all layers of a stack cost the same; the cost grows linearly from the first step to
    the last. Rows: name, parameters, read and write (FLOPs), cache (bytes at the end). An encoder alone stores nothing:
    it reads everything again for each word that it writes.
    """
    with torch.device("meta"), torch.no_grad():
        plain, crossed = Layer(d), Layer(d, cross=True)
        text, token = torch.empty(1, source, d), torch.empty(1, 1, d)
        reading = flops(lambda: plain(text))
        ends = [28 * flops(partial(plain, token, past)) for past in (source, source + target - 1)]
        again = [28 * flops(partial(plain, torch.empty(1, n, d))) for n in range(source + 1, source + 3)]
        first = 12 * flops(lambda: crossed(token, 0, text))
        steps = [12 * flops(partial(crossed, token, past, None, source)) for past in (1, target - 1)]
    read, both = 28 * reading, 12 * reading
    count = lambda layers, kind: layers * sum(p.numel() for p in kind.parameters())
    per_token = 2 * d * itemsize
    return [
        {
            "name": "encoder-only",
            "parameters": count(28, plain),
            "read": read,
            "write": _rewritten(read, again, target),
            "cache": 0,
        },
        {
            "name": "decoder-only",
            "parameters": count(28, plain),
            "read": read,
            "write": target * sum(ends) // 2,
            "cache": 28 * (source + target) * per_token,
        },
        {
            "name": "encoder–decoder",
            "parameters": count(12, plain) + count(12, crossed),
            "read": both,
            "write": first + (target - 1) * sum(steps) // 2,
            "cache": 12 * (source + target) * per_token,
        },
    ]


def _rewritten(at, then, target):
    """Sum over n = 1 … target of the FLOPs of reading source + n tokens: a quadratic, given by three points."""
    slope, bend = then[0] - at, then[1] - 2 * then[0] + at
    return sum(at + n * slope + n * (n - 1) // 2 * bend for n in range(1, target + 1))

"""Attention, cache programs and mistakes that several exercises use."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.judge.spec import Program, Ref, Source


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Plain attention without any check, as a learner writes it."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(-1) @ v


def column(*numbers: float) -> Tensor:
    """A number per token: (1, 1, T, 1)."""
    return torch.tensor(numbers).reshape(1, 1, -1, 1)


def row_by_row(
    q: Tensor, k: Tensor, v: Tensor, past: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Each query with the slice of keys that it may see; no mask at all."""
    start = 0 if past is None else past[0].shape[-2]
    if past is not None:
        k, v = torch.cat([past[0], k], -2), torch.cat([past[1], v], -2)
    rows = []
    for t in range(q.shape[-2]):
        seen = slice(0, start + t + 1)
        weights = (q[..., t : t + 1, :] @ k[..., seen, :].mT / math.sqrt(q.shape[-1])).softmax(-1)
        rows.append(weights @ v[..., seen, :])
    return torch.cat(rows, -2), (k, v)


def trained(g: Source, D: int, Dv: int, dtype: torch.dtype) -> Program:
    """Two tokens, then three whose gradients are judged."""
    draw = lambda *shape: g.randn(*shape, dtype=dtype)
    three = lambda T: (draw(2, 3, T, D), draw(2, 3, T, D), draw(2, 3, T, Dv))
    return Program().call(*three(2)).call(*three(3), past=Ref(0, 1), grad=[0, 1, 2])


def feed(g: Source, plan: Sequence[int], B: int = 2, H: int = 3, D: int = 4, Dv: int = 5) -> Program:
    """A call for each number of tokens in ``plan``, each with what the one before returned as its past."""
    program = Program()
    for i, T in enumerate(plan):
        past: dict[str, Any] = {} if i == 0 else {"past": Ref(i - 1, 1)}
        program.call(g.randn(B, H, T, D), g.randn(B, H, T, D), g.randn(B, H, T, Dv), **past)
    return program

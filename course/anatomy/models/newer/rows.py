"""Padding for an attention layer that knows none: each text of a batch runs through it alone."""

from typing import Any

import torch
from torch import Tensor, nn

Stored = tuple[Tensor, ...]  # (B, 1, S, n) each, zeros at padding


def row_by_row(kind: Any) -> type[nn.Module]:
    """A subclass of a causal layer, with the arguments of unit 11's attention.

    Args: kind: a class whose ``forward(x, past)`` maps x (B, T, d_model) and what it stored of the earlier tokens,
    (B, S − T, n) each, to the result and what is stored of all. It counts positions from 0.
    """

    class RowByRow(kind):
        def forward(
            self, x: Tensor, mask: Tensor, positions: Tensor | None = None, past: Stored | None = None
        ) -> tuple[Tensor, Stored]:
            """x (B, T, d_model), mask (B, 1, T, S) → the same shape as x, 0 at padding, and what is stored."""
            real = mask[:, 0, -1]  # (B, S): the last token sees all that are no padding
            start = real.shape[1] - x.shape[1]
            if real.all():
                out, stored = super().forward(x, None if past is None else tuple(p[:, 0] for p in past))
                return out, tuple(s[:, None] for s in stored)
            out, kept = torch.zeros_like(x), list[Stored]()
            for row, seen in enumerate(real):
                before = None if past is None else tuple(p[row, :, seen[:start]] for p in past)
                some, stored = super().forward(x[row, seen[start:]][None], before)
                out[row, seen[start:]] = some[0]
                kept.append(tuple(_spread(s, seen) for s in stored))
            return out, tuple(torch.stack(one) for one in zip(*kept, strict=True))

    return RowByRow


def _spread(stored: Tensor, seen: Tensor) -> Tensor:
    """(1, tokens, n) → (1, S, n): the tokens at their places, zeros at padding."""
    whole = stored.new_zeros(1, len(seen), stored.shape[-1])
    whole[:, seen] = stored
    return whole

"""Trains a small language model live and measures it; works with any model that maps ids to logits.

A model is called as ``model(ids)``, ids (B, T) int64, and returns logits (B, T, vocab), alone or as the first entry of
a tuple.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..program.torch_settings import one_thread


def logits_of(model: nn.Module, ids: Tensor) -> Tensor:
    """Logits (B, T, vocab) of a model that returns them alone, or followed by caches."""
    out = model(ids)
    return out[0] if isinstance(out, tuple) else out


def batch(ids: Tensor, rows: int, context: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Random chunks of a text, and the same chunks shifted by one token as targets.

    Args: ids (N,) int64, N > context. Returns: two tensors (rows, context).
    """
    starts = torch.randint(len(ids) - context, (rows,), generator=generator)
    stretches = ids[starts[:, None] + torch.arange(context + 1)]  # (rows, context + 1)
    return stretches[:, :-1], stretches[:, 1:]


def optimizer(model: nn.Module, rate: float = 4e-3) -> torch.optim.Optimizer:
    """AdamW with weight decay for matrices, but not for vectors such as the norms' gains."""
    matrices = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    vectors = [p for p in model.parameters() if p.requires_grad and p.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98))


def learning_rate(step: int, steps: int, peak: float, warmup: int) -> float:
    """Rate at a step (from 0): linear warm-up for ``warmup`` steps, then linear decay to 0 at step ``steps``."""
    return peak * min((step + 1) / warmup, (steps - step) / max(1, steps - warmup))


def update(model: nn.Module, adam: torch.optim.Optimizer, x: Tensor, y: Tensor, rate: float) -> float:
    """One step, gradient clipped to norm 1. Args: x, y (B, T). Returns: the loss before the step, nats per token."""
    for group in adam.param_groups:
        group["lr"] = rate
    loss = F.cross_entropy(logits_of(model, x).flatten(0, 1), y.flatten())
    adam.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    adam.step()
    return loss.item()


@one_thread
def train(
    model: nn.Module,
    ids: Tensor,
    steps: int = 150,
    seed: int = 0,
    rows: int = 8,
    context: int = 128,
    rate: float = 4e-3,
    report: Callable[[int, float], None] | None = None,
) -> list[float]:
    """Trains ``model`` in place on a text for a fixed number of steps; the same seed gives the same run.

    Args:
        ids: (N,) int64.
        rows, context: a step reads rows · context tokens.
        rate: the highest learning rate.
        report: called with the number of steps done and the loss, after each tenth of the steps.

    Returns: the loss of each step, nats per token.
    """
    generator = torch.Generator().manual_seed(seed)
    adam, losses = optimizer(model, rate), []
    model.train()
    for step in range(steps):
        x, y = batch(ids, rows, context, generator)
        losses.append(update(model, adam, x, y, learning_rate(step, steps, rate, max(1, min(40, steps // 10)))))
        if report and (step + 1) % max(1, steps // 10) == 0:
            report(step + 1, losses[-1])
    model.eval()
    return losses


@one_thread
@torch.no_grad()
def bits_per_byte(model: nn.Module, ids: Tensor, n_bytes: int, context: int = 128, rows: int = 16) -> float:
    """The model's loss on a text, in bits per byte instead of per token.

    This makes models with different tokens, or with characters, comparable. The text is read in chunks of ``context``
    tokens, and the model sees nothing before the current chunk. The first token is given, all others are predicted.

    Args: ids (N,) int64; n_bytes, bytes of ids[1:]; rows, chunks per forward pass.
    """
    whole = (len(ids) - 1) // context
    x, y = (part[: whole * context].unflatten(0, (whole, context)) for part in (ids[:-1], ids[1:]))
    stretches = [*zip(x.split(rows), y.split(rows), strict=True)] if whole else []
    if (len(ids) - 1) % context:
        stretches.append((ids[None, whole * context : -1], ids[None, whole * context + 1 :]))
    nats = sum(
        F.cross_entropy(logits_of(model, x).flatten(0, 1).float(), y.flatten(), reduction="sum").item()
        for x, y in stretches
    )
    return nats / math.log(2) / n_bytes

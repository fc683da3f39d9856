"""Training a small language model live, and measuring it: on any model that maps ids to logits.

A model is called as ``model(ids)``, ids (B, T) int64, and gives logits (B, T, vocab), alone or as the first of a tuple.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..program.torch_settings import one_thread


def logits_of(model: nn.Module, ids: Tensor) -> Tensor:
    """Logits (B, T, vocab) of a model that returns them alone, or with caches behind them."""
    out = model(ids)
    return out[0] if isinstance(out, tuple) else out


def batch(ids: Tensor, rows: int, context: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Stretches of a text, drawn at random, and the same one token later: what to predict.

    Args: ids (N,) int64, N > context. Returns: two tensors (rows, context).
    """
    starts = torch.randint(len(ids) - context, (rows,), generator=generator)
    stretches = ids[starts[:, None] + torch.arange(context + 1)]  # (rows, context + 1)
    return stretches[:, :-1], stretches[:, 1:]


def optimizer(model: nn.Module, rate: float = 4e-3) -> torch.optim.Optimizer:
    """AdamW; matrices decay, gains of norms do not."""
    matrices = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    vectors = [p for p in model.parameters() if p.requires_grad and p.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98))


def learning_rate(step: int, steps: int, peak: float, warmup: int) -> float:
    """Rate at a step (from 0): up in a straight line for ``warmup`` steps, then down to 0 at step ``steps``."""
    return peak * min((step + 1) / warmup, (steps - step) / max(1, steps - warmup))


def update(model: nn.Module, adam: torch.optim.Optimizer, x: Tensor, y: Tensor, rate: float) -> float:
    """One step, the gradient clipped to length 1. Args: x, y (B, T). Returns: the loss before it, nats per token."""
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
    """Trains ``model`` in place on a text for a fixed number of steps: a seed gives the same run every time.

    Args: ids (N,) int64; rows and context, tokens per step; rate, the highest learning rate; report, called with the
    number of steps done and the loss after each tenth of them.
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
    """What the model pays for a text: its loss in bits, per byte instead of per token.

    So models with other tokens, or with characters, can be compared. The text is read in stretches of ``context``
    tokens, and the model sees nothing before the stretch it reads. The first token is given, all others are predicted.

    Args: ids (N,) int64; n_bytes, bytes of ids[1:]; rows, stretches at a time.
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

"""AdamW and Adam with an L2 penalty, parameter groups, clipping, warm-up.

The two decays differ in where λ·θ enters. Decoupled (AdamW), the weight shrinks by the factor 1 - η·λ,
whatever its gradients. As L2, λ·θ joins the gradient and is divided by √v with it: weights with large
gradients hardly decay. Neither is (1 - λ)·θ: the learning rate scales the decay in the usual code.

Sources: Kingma and Ba 2014, arXiv:1412.6980; Loshchilov and Hutter 2017, arXiv:1711.05101; warm-up and
cosine, Loshchilov and Hutter 2016, arXiv:1608.03983; clipping, Pascanu et al. 2012, arXiv:1211.5063.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn


class AdamState(NamedTuple):
    """First and second moment, shaped like the parameter, and the number of steps taken."""

    m: Tensor
    v: Tensor
    step: int


def adam_state(parameter: Tensor) -> AdamState:
    """State before the first step."""
    return AdamState(torch.zeros_like(parameter), torch.zeros_like(parameter), 0)


def _adam_direction(
    gradient: Tensor, state: AdamState, betas: tuple[float, float], eps: float
) -> tuple[Tensor, AdamState]:
    m = betas[0] * state.m + (1 - betas[0]) * gradient
    v = betas[1] * state.v + (1 - betas[1]) * gradient.square()
    step = state.step + 1
    # Both moments start at 0 and are too small at first: divide by the sum of their weights.
    m_hat, v_hat = m / (1 - betas[0] ** step), v / (1 - betas[1] ** step)
    return m_hat / (v_hat.sqrt() + eps), AdamState(m, v, step)


def adamw_step(
    parameter: Tensor,
    gradient: Tensor,
    state: AdamState,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
) -> tuple[Tensor, AdamState]:
    """θ ← (1 - η·λ)·θ - η·m̂/(√v̂ + ε). Returns the new parameter and state; nothing changes in place."""
    direction, state = _adam_direction(gradient, state, betas, eps)
    return (1 - lr * weight_decay) * parameter - lr * direction, state


def adam_l2_step(
    parameter: Tensor,
    gradient: Tensor,
    state: AdamState,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
) -> tuple[Tensor, AdamState]:
    """Adam on gradient + λ·θ, whose second term is the derivative of λ/2·‖θ‖². Arguments as in adamw_step."""
    direction, state = _adam_direction(gradient + weight_decay * parameter, state, betas, eps)
    return parameter - lr * direction, state


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Two groups for an optimizer: matrices decay; vectors (biases, norm gains) and embeddings do not.

    A tied parameter appears once, and counts as an embedding when any module that uses it is one. Frozen
    parameters are left out.
    Returns: [{"params": …, "weight_decay": weight_decay}, {"params": …, "weight_decay": 0.0}].
    """
    embeddings = {id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
    trained = [p for p in model.parameters() if p.requires_grad]
    decays = lambda p: p.dim() >= 2 and id(p) not in embeddings
    return [
        {"params": [p for p in trained if decays(p)], "weight_decay": weight_decay},
        {"params": [p for p in trained if not decays(p)], "weight_decay": 0.0},
    ]


def clip_by_global_norm(gradients: Iterable[Tensor], limit: float) -> tuple[list[Tensor], Tensor]:
    """Scale all gradients by one factor so that their joint 2-norm is at most ``limit``.

    Returns: the gradients and the norm before clipping (scalar). Raises: ValueError when limit <= 0.
    """
    if limit <= 0:
        raise ValueError(f"limit must be positive, got {limit}")
    gradients = list(gradients)
    norm = torch.stack([g.norm() for g in gradients]).norm()
    # max in the denominator, so that a norm of 0 divides by the limit instead of 0.
    factor = limit / torch.clamp(norm, min=limit)
    return [g * factor for g in gradients], norm


def warmup_cosine(step: int, peak: float, warmup: int, total: int, floor: float = 0.0) -> float:
    """Learning rate of step 0, 1, …: linear up to ``peak`` at step warmup, then a half cosine to ``floor``.

    Step s < warmup gets peak·(s + 1)/(warmup + 1), so that the first step already moves; from ``total``
    on it stays at floor. Raises: ValueError unless 0 <= warmup < total.
    """
    if not 0 <= warmup < total:
        raise ValueError(f"need 0 <= warmup < total, got {warmup} and {total}")
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    progress = min(1.0, (step - warmup) / (total - warmup))
    return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2

"""Routers of expert layers, and two ways to keep the experts evenly busy.

Sources: Fedus et al. 2021 (Switch), arXiv:2101.03961, for softmax routing, capacity and the loss; DeepSeek-V3,
arXiv:2412.19437, and Wang et al. 2024, arXiv:2408.15664, for the sigmoid router and the bias that is moved by hand.
"""

import torch
from torch import Tensor
from torch.nn import functional as F


def route(logits: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """logits (..., E) → (weights (..., k), chosen (..., k) int64), the largest weight first.

    The weights are softmax probabilities among all E experts, so they sum to less than 1, and a router that chooses a
    single expert still gets a gradient.
    """
    weights, chosen = logits.softmax(-1).topk(k, dim=-1)
    return weights, chosen


def route_biased(logits: Tensor, bias: Tensor, k: int, scale: float = 1.0) -> tuple[Tensor, Tensor]:
    """logits (..., E), bias (E,) → (weights (..., k) that sum to ``scale``, chosen (..., k) int64).

    The bias takes part in the choice only. Experts come in the order of their biased scores.
    """
    scores = logits.sigmoid()
    chosen = (scores + bias).topk(k, dim=-1).indices
    weights = scores.gather(-1, chosen)
    return scale * weights / weights.sum(-1, keepdim=True), chosen


def balance_loss(probabilities: Tensor, chosen: Tensor) -> Tensor:
    """probabilities (L, N, E) of L layers and N tokens, chosen (L, N, k) int64 → scalar, 1 where all is even.

    Per layer E·Σ share·mean probability, then the mean of the layers. Shares sum to 1; gradients flow through the
    probabilities alone, because counts have none.
    """
    _, N, E = probabilities.shape
    counts = F.one_hot(chosen, E).sum((1, 2)).to(probabilities.dtype)  # (L, E)
    share = counts / (N * chosen.shape[-1])
    return E * (share * probabilities.mean(1)).sum(-1).mean()


def balanced_bias(bias: Tensor, chosen: Tensor, rate: float = 0.001) -> Tensor:
    """bias (E,), chosen (..., k) int64 → the next bias (E,): up by ``rate`` below the mean load, down above it."""
    load = torch.bincount(chosen.flatten(), minlength=len(bias)).to(bias.dtype)
    return bias + rate * (load.mean() - load).sign()


def within_capacity(chosen: Tensor, n_experts: int, capacity: int) -> Tensor:
    """chosen (N, k) int64 → (N, k) bool: which choices find a place.

    Places go to all first choices in the order of the tokens, then to all second choices, and so on.
    """
    N, k = chosen.shape
    queue = chosen.T.flatten()
    place = F.one_hot(queue, n_experts).cumsum(0).gather(1, queue[:, None])  # counted from 1
    return (place <= capacity).reshape(k, N).T

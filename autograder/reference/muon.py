"""Muon: momentum whose matrix is brought near an orthogonal one before it is a step.

Source: Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/; the factor for tall matrices and the order of
momentum are those of ``torch.optim.Muon``.
"""

import math

from torch import Tensor

COEFFICIENTS = 3.4445, -4.7750, 2.0315


def orthogonalize(g: Tensor, rounds: int = 5, eps: float = 1e-7) -> Tensor:
    """g (m, n) → (m, n) with the same singular vectors, and singular values near 1 (about 0.7 to 1.2).

    Products are formed on the shorter side. A matrix of zeros stays one.
    """
    a, b, c = COEFFICIENTS
    tall = g.shape[0] > g.shape[1]
    x = g.T if tall else g
    x = x / x.norm().clamp(min=eps)
    for _ in range(rounds):
        s = x @ x.T
        x = a * x + (b * s + c * s @ s) @ x
    return x.T if tall else x


def muon_step(
    weight: Tensor, gradient: Tensor, momentum: Tensor, rate: float, beta: float = 0.95
) -> tuple[Tensor, Tensor]:
    """(next weight, next momentum), all (m, n), with Nesterov's look ahead and without weight decay."""
    momentum = beta * momentum + (1 - beta) * gradient
    ahead = beta * momentum + (1 - beta) * gradient
    m, n = weight.shape
    return weight - rate * math.sqrt(max(1, m / n)) * orthogonalize(ahead), momentum

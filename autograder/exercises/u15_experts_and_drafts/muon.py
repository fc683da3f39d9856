"""Muon: an orthogonalized step with momentum."""

from typing import Any

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import muon


def by_singular_values(g, rounds=5, eps=1e-7):
    """The polynomial on each singular value; dear, but the same."""
    a, b, c = muon.COEFFICIENTS
    x = g if g.shape[0] <= g.shape[1] else g.mT
    x = x / max(float(x.square().sum().sqrt()), eps)
    for _ in range(rounds):
        s = x @ x.mT
        x = torch.addmm(a * x, b * s + c * torch.matmul(s, s), x)
    return x if g.shape[0] <= g.shape[1] else x.mT


def step_by_lerp(weight, gradient, momentum, rate, beta=0.95):
    """Momentum and look ahead by lerp, as in PyTorch."""
    momentum = gradient.lerp(momentum, beta)
    update = by_singular_values(torch.lerp(gradient, momentum, beta))
    factor = max(1.0, weight.shape[0] / weight.shape[1]) ** 0.5
    return weight - update * (rate * factor), momentum


def _three(g: Source, m: int, n: int, **kwargs: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return g.randn(m, n, **kwargs), g.randn(m, n, **kwargs), g.randn(m, n, **kwargs)


def _again(g: Source) -> Program:
    """The same tensors twice: an answer that changes one in place gives another result."""
    three = _three(g, 3, 4)
    return call(*three, 0.1, fn="muon_step").call(*three, 0.1, fn="muon_step")


def _tiny(g: Source) -> Program:
    """Zeros, a norm just above the smallest divisor, and one below a large one."""
    program = call(torch.zeros(2, 3)).call(torch.diag(torch.tensor([1.2e-7, 0.5e-7])))
    return program.call(0.1 * g.uniform(2, 3), eps=g.number(1.0, 2.0), rounds=2)


def _counted(g: Source) -> Program:
    """Right ways take about 70,000 operations, products of the longer side 20 times as many."""
    tall = call(g.randn(96, 4))
    return tall.within(work=170_000, because="X·Xᵀ of a tall matrix is made on its shorter side")


DECOMPOSED = changes(
    (by_singular_values, step_by_lerp),
    """
largest_value: float(x.square().sum().sqrt()) → float(torch.linalg.matrix_norm(x, 2))
    The matrix is divided by its largest singular value, which takes a decomposition. Divide by the root of the sum of
    all squares.
""",
)
MISTAKES = DECOMPOSED + changes(
    (muon.orthogonalize, muon.muon_step),
    """
never_transposed: tall = g.shape[0] > g.shape[1] → tall = False
    X·Xᵀ of a tall matrix has its longer side. Transpose a matrix that has more rows than columns first, and back at
    the end.
not_back: return x.T if tall else x → return x if g.shape[0] != g.shape[1] and tall else x
    A tall matrix comes back transposed. Transpose the result once more.
not_divided: x = x / x.norm().clamp(min=eps) → pass
    The matrix is not divided by its norm, so large singular values explode. Divide before the first round.
largest_entry: x.norm() → x.abs().max()
    The matrix is divided by its largest entry. Singular values may still exceed 1: divide by the root of the sum of
    all squares.
rows_divided: x.norm() → x.norm(dim=-1, keepdim=True)
    Each row is divided by its own norm, which changes the directions. Divide the whole matrix by one number.
eps_added: x.norm().clamp(min=eps) → (x.norm() + eps)
    eps is added to the norm. It is the smallest number to divide by: clamp(min=eps).
no_eps: .clamp(min=eps) →
    A gradient of zeros gives 0 / 0. Divide by eps at least: clamp(min=eps).
one_round_fewer: range(rounds) → range(rounds - 1)
    One round is missing.
fixed_rounds: range(rounds) → range(5)
    There are always five rounds. Use rounds.
cubic: (b * s + c * s @ s) @ x → (b * s) @ x
    The term of the fifth power is missing: c · (X·Xᵀ)²·X.
terms_exchanged: (b * s + c * s @ s) → (c * s + b * s @ s)
    b and c are exchanged: b belongs to (X·Xᵀ)·X, and c to (X·Xᵀ)²·X.
squares_by_entry: c * s @ s → c * s * s
    X·Xᵀ is squared entry by entry. (X·Xᵀ)² is a matrix product: s @ s.
linear_lost: x = a * x + (b → x = (b
    The linear term a · X is missing.
no_momentum: momentum = beta * momentum + (1 - beta) * gradient → momentum = gradient
    The momentum is the gradient of this step alone. Keep β of the old one, and add (1 − β) of the gradient.
momentum_summed: momentum = beta * momentum + (1 - beta) * gradient → momentum = beta * momentum + gradient
    The whole gradient is added to the momentum. Add (1 − β) of it.
not_ahead: orthogonalize(ahead) → orthogonalize(momentum)
    The step is made from the momentum itself. Look ahead first: the same line once more, with the new momentum.
ahead_summed: ahead = beta * momentum + (1 - beta) * gradient → ahead = beta * momentum + gradient
    What looks ahead takes the whole gradient. It is the same line once more: (1 − β) of the gradient.
ahead_kept: orthogonalize(ahead), momentum → orthogonalize(ahead), ahead
    What looks ahead comes back as the momentum. Return the momentum before that.
betas_exchanged: momentum = beta * momentum + (1 - beta) * gradient → momentum = (1 - beta) * momentum + beta * gradient
    β and 1 − β are exchanged in the momentum: most of the old one stays.
orthogonal_momentum: orthogonalize(ahead), momentum → orthogonalize(ahead), orthogonalize(momentum)
    The orthogonalized matrix is kept as the momentum. Only the step is orthogonalized.
not_orthogonal: orthogonalize(ahead) → ahead
    The step is not orthogonalized in muon_step.
uphill: weight - rate → weight + rate
    The weight moves along the gradient. Move against it.
factor_lost: math.sqrt(max(1, m / n)) * →
    The factor √max(1, rows/columns) is missing.
factor_reversed: m / n → n / m
    The factor has columns over rows. It is √max(1, rows/columns).
factor_below_one: math.sqrt(max(1, m / n)) → math.sqrt(m / n)
    For wide matrices the factor is below 1. It is 1 at least.
no_root: math.sqrt(max(1, m / n)) → max(1, m / n)
    The factor has no root: √max(1, rows/columns).
""",
)

EXERCISE = Exercise(
    id="muon.step",
    title="Muon",
    points=3,
    difficulty=3,
    minutes=15,
    extension=True,
    reference=(muon.orthogonalize, muon.muon_step),
    alternatives=[(by_singular_values, step_by_lerp)],
    forbidden=("svd", "Muon"),
    forbidden_message="Bring the singular values near 1 by the polynomial; no decomposition is needed.",
    cases=[
        Case(
            "diagonal",
            "3 and 4 on the diagonal: each singular value goes through the polynomial",
            lambda g: call(torch.diag(torch.tensor([3.0, 4.0])), rounds=1),
        ),
        Case("wide", "three rows and five columns", lambda g: call(g.randn(3, 5)), weight=2),
        Case("tall", "six rows and two columns, in float64", lambda g: call(g.randn(6, 2, dtype=torch.float64))),
        Case(
            "rounds",
            "three rounds on a small gradient",
            lambda g: call(g.randn(4, 4, scale=0.01, dtype=torch.float64), rounds=3),
        ),
        Case(
            "zeros",
            "zeros stay zeros, a norm just above the smallest divisor divides, and a large eps damps a small gradient",
            _tiny,
            weight=0.5,
        ),
        Case("cost", "96 rows and 4 columns: the work is that of the shorter side", _counted),
        Case("step", "a step of a wide matrix", lambda g: call(*_three(g, 3, 5), 0.1, fn="muon_step"), weight=2),
        Case(
            "tall step",
            "a step of seven rows and two columns, in float64, with another β",
            lambda g: call(*_three(g, 7, 2, dtype=torch.float64), 0.05, beta=g.number(0.5, 0.9), fn="muon_step"),
        ),
        Case("twice", "the same tensors twice: nothing is changed in place", _again),
    ],
    mutants=MISTAKES,
    unasked="""
an optimizer's step is not trained through
    gradient of orthogonalize
    gradient of muon_step
""",
    equivalent="""
moved by hand, from counts, or made of whole numbers: nothing is trained through it
    9f45af7fee solution, result: return x.T if g.shape[0] > g.shape[1] else x: result detach
    a69a54182d solution, result: return (weight - rate * math.sqrt(max(1, m / n)) * orthogonalize(ahea…: result detach
the order of the loop changes nothing, since each turn is on its own or makes the same step
    599c42d960 solution, reversed: range(rounds) reversed
    fb1c40cf7f alternative (by_singular_values, step_by_lerp), reversed: range(rounds) reversed
a matrix with one row more than columns gives the same, transposed or not
    b3381d5e05 solution, window: g.shape[1] + 1 in g.shape[0] > g.shape[1]
    99317ab0dd solution, window: g.shape[1] + 1 in g.shape[0] > g.shape[1]
    dfa62d47f8 alternative (by_singular_values, step_by_lerp), window: g.shape[1] + 1 in g.shape[0] <= g.shape[1]
    74827e7899 alternative (by_singular_values, step_by_lerp), window: g.shape[1] + 1 in g.shape[0] <= g.shape[1]
equal in value: it divides evenly, has one axis, has converged, or is converted anyway
    b4e3e3de25 solution, in_place: .clamp → .clamp_ in x.norm().clamp(min=eps)
    95ec52d00b solution, swapped: c * s @ s → s @ (c * s)
    dca8218ef1 alternative (by_singular_values, step_by_lerp), call: float(x.square().sum().sqrt()) → its argument
""",
)

"""The slopes of sigmoid, SiLU and GELU by hand."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import activations as ref

from .shared import cumulative, instead, t

SLOPES = (ref.sigmoid_derivative, ref.silu_derivative, ref.gelu_derivative)


def density(x):
    return torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def sigmoid_plain(x):
    return torch.sigmoid(x) * (1 - torch.sigmoid(x))


def by_autograd(function):
    """The slope that autograd finds."""

    def slope(x):
        with torch.enable_grad():
            y = x.detach().clone().requires_grad_(True)
            return torch.autograd.grad(function(y).sum(), y)[0]

    return slope


EXERCISE = Exercise(
    id="activation.derivatives",
    unit="04-ffn-and-gating",
    title="Three slopes by hand",
    points=3,
    difficulty=3,
    minutes=18,
    extension=True,
    signature="sigmoid_prime(x)",
    targets=("sigmoid_prime", "silu_prime", "gelu_prime"),
    reference=SLOPES,
    alternatives=[
        (
            sigmoid_plain,
            lambda x: torch.sigmoid(x) * (1 + x * (1 - torch.sigmoid(x))),
            lambda x: cumulative(x) + x * density(x),
        ),
        tuple(by_autograd(f) for f in (torch.sigmoid, lambda x: x * torch.sigmoid(x), lambda x: x * cumulative(x))),
    ],
    cases=[
        Case("sigmoid", "the sigmoid is steepest at 0, with slope 1/4", lambda g: call(t(0, 2))),
        Case(
            "silu",
            "SiLU has slope 1/2 at 0, and 0 at its lowest point −1.2785",
            lambda g: Program().call(t(0, -1.2784645), fn="silu_prime"),
        ),
        Case("gelu", "GELU has slope 1/2 at 0 and 1.0833 at 1", lambda g: Program().call(t(0, 1), fn="gelu_prime")),
        Case("flat", "the sigmoid is flat at ±100: slope 0, not NaN", lambda g: call(t(-100, 100)), weight=0.5),
        Case("random sigmoid", "random values, sigmoid", lambda g: call(g.randn(3, 4, scale=2.0))),
        Case("random silu", "random values, SiLU", lambda g: Program().call(g.randn(3, 4, scale=2.0), fn="silu_prime")),
        Case("random gelu", "random values, GELU", lambda g: Program().call(g.randn(3, 4, scale=1.5), fn="gelu_prime")),
    ],
    mutants=[
        Mutant(
            "one_inside",
            instead(SLOPES, 0, lambda x: torch.sigmoid(x) * torch.sigmoid(1 - x)),
            "f(x)·f(1 − x) puts the 1 inside the sigmoid. The slope is f(x)·(1 − f(x)).",
        ),
        Mutant(
            "exp_overflow",
            instead(SLOPES, 0, lambda x: torch.exp(-x) / (1 + torch.exp(-x)) ** 2),
            "e^(−x) overflows at −100 and ∞/∞ is NaN. Write the slope with f(x) itself: f(1 − f).",
        ),
        Mutant(
            "silu_is_sigmoid",
            instead(SLOPES, 1, sigmoid_plain),
            "This is the slope of the sigmoid alone. SiLU is x·σ(x): use the product rule, which gives two terms.",
        ),
        Mutant(
            "silu_gate_only",
            instead(SLOPES, 1, torch.sigmoid),
            "SiLU is a product x·f(x), so its slope has two terms. Yours is the first alone, f(x).",
        ),
        Mutant(
            "silu_second_term_only",
            instead(SLOPES, 1, lambda x: x * sigmoid_plain(x)),
            "SiLU is a product x·f(x), so its slope has two terms. Yours is the second alone, x·f′(x).",
        ),
        Mutant(
            "silu_lost_x",
            instead(SLOPES, 1, lambda x: torch.sigmoid(x) + sigmoid_plain(x)),
            "In the second term of SiLU's slope the factor x is missing: f(x) + x·f′(x).",
        ),
        Mutant(
            "gelu_cumulative_only",
            instead(SLOPES, 2, cumulative),
            "The slope of x·Φ(x) has two terms. Yours is Φ(x) alone; x·φ(x) is missing.",
        ),
        Mutant(
            "gelu_second_term_only",
            instead(SLOPES, 2, lambda x: x * density(x)),
            "The slope of x·Φ(x) has two terms. Yours is x·φ(x) alone; Φ(x) is missing.",
        ),
        Mutant(
            "gelu_lost_x",
            instead(SLOPES, 2, lambda x: cumulative(x) + density(x)),
            "In GELU's slope the density is multiplied by x: Φ(x) + x·φ(x).",
        ),
        Mutant(
            "density_without_root",
            instead(SLOPES, 2, lambda x: cumulative(x) + x * torch.exp(-x * x / 2) / (2 * math.pi)),
            "The normal density is e^(−x²/2)/√(2π). With 1/(2π) its area is 0.4 instead of 1.",
        ),
    ],
)

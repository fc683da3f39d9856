"""Swish with its slider β."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import activations as ref

from .shared import t

EXERCISE = Exercise(
    id="activation.swish",
    unit="04-ffn-and-gating",
    title="Swish and its slider β",
    points=1,
    difficulty=1,
    minutes=6,
    signature="swish(x, beta=1.0)",
    reference=ref.swish,
    alternatives=[
        lambda x, beta=1.0: x / (1 + torch.exp(-beta * x)),
        lambda x, beta=1.0: 0.5 * x * (1 + torch.tanh(beta * x / 2)),
    ],
    forbidden=("silu", "silu_"),
    forbidden_message="torch.sigmoid is enough.",
    cases=[
        Case("beta one", "β = 1 by default: SiLU of −1, 0 and 1", lambda g: call(t(-1, 0, 1))),
        Case("beta zero", "β = 0 leaves x/2, a straight line", lambda g: call(t(-4, -1, 3), beta=0.0)),
        Case("beta large", "β = 200 is almost ReLU", lambda g: call(t(-0.5, -0.02, 0.02, 0.5), beta=200.0)),
        Case("large input", "inputs of ±1000 give 0 and 1000, never NaN", lambda g: call(t(-1000, 1000))),
        Case(
            "random",
            "random values and a random β",
            lambda g: call(g.randn(4, 5, scale=2.0), g.number(1.5, 3.0)),
            weight=2,
        ),
    ],
    mutants=[
        Mutant(
            "beta_ignored",
            lambda x, beta=1.0: x * torch.sigmoid(x),
            "β is ignored: it multiplies x inside the sigmoid.",
        ),
        Mutant(
            "beta_outside",
            lambda x, beta=1.0: beta * x * torch.sigmoid(x),
            "β multiplies the result. It belongs inside the sigmoid only: x·σ(βx).",
        ),
        Mutant(
            "beta_everywhere",
            lambda x, beta=1.0: beta * x * torch.sigmoid(beta * x),
            "β stands in front as well: only the x inside the sigmoid gets it.",
        ),
        Mutant(
            "only_sigmoid",
            lambda x, beta=1.0: torch.sigmoid(beta * x),
            "This is σ(βx), the gate alone. Multiply it by x.",
        ),
        Mutant(
            "overflowing_ratio",
            lambda x, beta=1.0: x * torch.exp(beta * x) / (1 + torch.exp(beta * x)),
            "e^(βx) overflows for large inputs and ∞/∞ is NaN. Use torch.sigmoid, or 1/(1 + e^(−βx)).",
        ),
        Mutant(
            "tanh_gate",
            lambda x, beta=1.0: x * torch.tanh(beta * x),
            "The gate of Swish is the sigmoid, between 0 and 1. Yours is the tanh.",
        ),
        Mutant(
            "gate_turned",
            lambda x, beta=1.0: x * torch.sigmoid(-beta * x),
            "The gate closes where it should open: a minus is missing or one too many. σ(z) = 1/(1 + e^(−z)).",
        ),
    ],
)

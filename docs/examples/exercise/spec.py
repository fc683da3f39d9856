"""Hard swish: the sigmoid of Swish replaced by three straight lines."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call


def hard_swish(x):
    """x · min(max(x + 3, 0), 6) / 6, elementwise, any shape (arXiv:1905.02244)."""
    return x * (x + 3).clamp(0, 6) / 6


EXERCISE = Exercise(
    id="activation.hard_swish",
    title="Swish from straight lines",
    points=1,
    difficulty=1,
    minutes=6,
    extension=True,
    reference=hard_swish,
    alternatives=[
        lambda x: x * ((x + 3).clamp(min=0) - (x - 3).clamp(min=0)) / 6,
        lambda x: x * torch.minimum(torch.maximum(x / 6 + 0.5, torch.zeros_like(x)), torch.ones_like(x)),
    ],
    forbidden=("hardswish", "hardsigmoid", "hardtanh", "relu6"),
    forbidden_message="clamp is enough.",
    cases=[
        Case("middle", "at 1 the gate is 4/6, and at −1 it is 2/6", lambda g: call(torch.tensor([-1.0, 0.0, 1.0]))),
        Case(
            "outside",
            "left of −3 the gate is 0, right of 3 it is 1",
            lambda g: call(torch.tensor([-100.0, -3.0, 3.0, 100.0])),
        ),
        Case(
            "random", "random values on both sides of the corners", lambda g: call(g.randn(4, 5, scale=4.0)), weight=2
        ),
        Case(
            "gradients",
            "gradients flow back to float64 values, and the result is float64",
            lambda g: call(g.randn(4, 5, scale=4.0, dtype=torch.float64), grad=[0]),
        ),
    ],
    mutants=changes(
        hard_swish,
        """
gate_alone: x * (x + 3) → (x + 3)
    This is the gate alone, between 0 and 1. Multiply it by x.
no_upper_corner: clamp(0, 6) → clamp(min=0)
    Your gate grows beyond 1 right of x = 3: cut x + 3 off at 6 as well as at 0.
not_divided: .clamp(0, 6) / 6 → .clamp(0, 6)
    Your gate reaches 6. Divide by 6, so that large inputs pass as they are.
not_shifted: (x + 3) → x
    Your gate is 0 at x = 0. It should be ½ there, as that of Swish is: add 3 before you cut off.
""",
    ),
)

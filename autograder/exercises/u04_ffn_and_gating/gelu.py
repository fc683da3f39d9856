"""GELU, exact and by tanh."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import activations as ref

from .shared import cumulative, t

GELUS = (ref.gelu, ref.gelu_tanh)
SQRT_2_OVER_PI = math.sqrt(2 / math.pi)


def tanh_form(x, constant=SQRT_2_OVER_PI, inner=lambda x: x + 0.044715 * x**3):
    return 0.5 * x * (1 + torch.tanh(constant * inner(x)))


EXERCISE = Exercise(
    id="activation.gelu",
    unit="04-ffn-and-gating",
    title="GELU, exact and by tanh",
    points=2,
    difficulty=2,
    minutes=12,
    signature="gelu(x)",
    targets=("gelu", "gelu_tanh"),
    reference=GELUS,
    alternatives=[
        (lambda x: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))), tanh_form),
        # ½(1 + tanh u) is sigmoid(2u).
        (lambda x: x * torch.special.ndtr(x), lambda x: x * torch.sigmoid(2 * SQRT_2_OVER_PI * (x + 0.044715 * x**3))),
    ],
    forbidden=("gelu",),
    forbidden_message="torch.erf and torch.tanh are enough.",
    cases=[
        Case("exact", "GELU of 1 is Φ(1) = 0.8413, and of −1 it is −0.1587", lambda g: call(t(-1, 0, 1))),
        Case(
            "tanh",
            "the tanh form at the same points: 0.8412 and −0.1588",
            lambda g: Program().call(t(-1, 0, 1), fn="gelu_tanh"),
        ),
        Case(
            "gap",
            "at 2.7 the two forms differ most, by 0.0005",
            lambda g: Program().call(t(2.7, -2.7)).call(t(2.7, -2.7), fn="gelu_tanh"),
        ),
        Case(
            "tails",
            "far from 0: identity on the right, 0 on the left, no NaN",
            lambda g: Program().call(t(60, -60)).call(t(60, -60), fn="gelu_tanh"),
            weight=0.5,
        ),
        Case("random", "random values, exact form", lambda g: call(g.randn(3, 7, scale=2.0))),
        Case(
            "random tanh",
            "random values, tanh form",
            lambda g: Program().call(g.randn(3, 7, scale=2.0), fn="gelu_tanh"),
        ),
    ],
    mutants=[
        Mutant(
            "wrong_constant",
            (ref.gelu, lambda x: tanh_form(x, 2 / math.sqrt(math.pi))),
            "Inside the tanh stands √(2/π) = 0.798, not 2/√π = 1.128: the root covers the 2 as well.",
        ),
        Mutant(
            "erf_of_x",
            (lambda x: 0.5 * x * (1 + torch.erf(x)), ref.gelu_tanh),
            "Φ(x) is ½(1 + erf(x/√2)): the division by √2 inside erf is missing.",
        ),
        Mutant(
            "density",
            (lambda x: x * torch.exp(-x * x / 2) / math.sqrt(2 * math.pi), ref.gelu_tanh),
            "Your gelu multiplies x by the normal density φ(x). It needs the cumulative Φ(x).",
        ),
        Mutant(
            "cumulative", (cumulative, ref.gelu_tanh), "This is Φ(x), the probability to keep x. GELU is x times it."
        ),
        Mutant(
            "square_for_cube",
            (ref.gelu, lambda x: tanh_form(x, inner=lambda x: x + 0.044715 * x**2)),
            "The small term inside the tanh is 0.044715·x³. Yours is x².",
        ),
        Mutant(
            "cube_of_all",
            (ref.gelu, lambda x: tanh_form(x, inner=lambda x: x + (0.044715 * x) ** 3)),
            "Only x is cubed inside the tanh, not 0.044715: write 0.044715 * x**3.",
        ),
        Mutant(
            "one_missing",
            (ref.gelu, lambda x: 0.5 * x * torch.tanh(SQRT_2_OVER_PI * (x + 0.044715 * x**3))),
            "The tanh form needs 1 + tanh(…): without the 1, negative inputs come out positive.",
        ),
        Mutant(
            "sigmoid_form",
            (lambda x: x * torch.sigmoid(1.702 * x), ref.gelu_tanh),
            "x·σ(1.702x) is a third, coarser form (off by up to 0.02). The exact one uses erf.",
        ),
        Mutant(
            "same_twice",
            (tanh_form, tanh_form),
            "Both functions are the tanh form. The exact gelu uses erf; they differ by up to 0.0005.",
        ),
        Mutant(
            "exact_twice",
            (ref.gelu, ref.gelu),
            "Both functions are the exact form. gelu_tanh is the approximation with tanh.",
        ),
    ],
)

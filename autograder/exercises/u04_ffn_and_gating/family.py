"""ReLU, leaky ReLU, ELU and squared ReLU."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import activations as ref

from .shared import instead, t

FAMILY = (ref.relu, ref.leaky_relu, ref.elu, ref.squared_relu)

FAMILY_BY_CLAMP = (
    lambda x: x.clamp(min=0),
    lambda x, slope=0.01: x.clamp(min=0) + slope * x.clamp(max=0),
    lambda x, alpha=1.0: x.clamp(min=0) + alpha * torch.expm1(x.clamp(max=0)),
    lambda x: x.clamp(min=0).square(),
)

FAMILY_BY_WHERE = (
    lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
    lambda x, slope=0.01: torch.where(x > 0, x, slope * x),
    lambda x, alpha=1.0: torch.where(x > 0, x, alpha * (torch.exp(x) - 1)),
    lambda x: x * x * (x > 0),
)


def family_all(g: Source) -> Program:
    x = g.randn(2, 3, 5, scale=2.0)
    return (
        Program()
        .call(x)
        .call(x, fn="leaky_relu", slope=g.number(0.1, 0.4))
        .call(x, fn="elu", alpha=g.number(0.5, 2.0))
        .call(x, fn="squared_relu")
    )


EXERCISE = Exercise(
    id="activation.family",
    unit="04-ffn-and-gating",
    title="Four activations with a corner",
    points=2,
    difficulty=1,
    minutes=10,
    signature="relu(x)",
    targets=("relu", "leaky_relu", "elu", "squared_relu"),
    reference=FAMILY,
    alternatives=[FAMILY_BY_CLAMP, FAMILY_BY_WHERE],
    forbidden=("relu", "relu_", "leaky_relu", "elu", "threshold", "hardtanh"),
    forbidden_message="Comparisons, clamp, maximum, where and exp are enough.",
    cases=[
        Case("relu", "ReLU of −2, 0 and 3 is 0, 0 and 3", lambda g: call(t(-2, 0, 3))),
        Case(
            "leaky",
            "leaky ReLU of −2 and 3 with the default slope 0.01",
            lambda g: Program().call(t(-2, 3), fn="leaky_relu"),
        ),
        Case(
            "leaky slope",
            "the slope belongs to the negative side, even one larger than 1",
            lambda g: Program().call(t(-2, -0.5, 0.5, 3), fn="leaky_relu", slope=g.number(1.5, 3.0, digits=6)),
        ),
        Case("elu", "ELU of −1 is 1/e − 1, and 2 stays 2", lambda g: Program().call(t(-1, 2), fn="elu")),
        Case(
            "elu alpha",
            "alpha scales the negative side of ELU only",
            lambda g: Program().call(t(-3, -1, 0.5, 2), fn="elu", alpha=g.number(0.3, 0.8, digits=7)),
        ),
        Case(
            "elu large", "ELU of 200 is 200 although e²⁰⁰ overflows", lambda g: Program().call(t(200, -200), fn="elu")
        ),
        Case(
            "squared", "squared ReLU of −2 is 0 and of 3 is 9", lambda g: Program().call(t(-2, 0, 3), fn="squared_relu")
        ),
        Case("all", "all four on a random tensor of three axes", family_all, weight=2),
    ],
    mutants=[
        Mutant(
            "relu_is_abs",
            instead(FAMILY, 0, torch.abs),
            "Your relu turns negative inputs into positive ones. They should become 0.",
        ),
        Mutant(
            "leaky_max",
            instead(FAMILY, 1, lambda x, slope=0.01: torch.maximum(x, slope * x)),
            "max(x, slope·x) is leaky ReLU only for slopes below 1. Decide by the sign of x instead.",
        ),
        Mutant(
            "leaky_slope_fixed",
            instead(FAMILY, 1, lambda x, slope=0.01: torch.where(x > 0, x, 0.01 * x)),
            "Your leaky_relu always uses 0.01. Use the argument slope.",
        ),
        Mutant(
            "leaky_sign",
            instead(FAMILY, 1, lambda x, slope=0.01: torch.where(x > 0, x, -slope * x)),
            "The negative side of your leaky_relu points up: multiply x by slope, without a minus.",
        ),
        Mutant(
            "elu_zero_times_inf",
            instead(FAMILY, 2, lambda x, alpha=1.0: (x > 0) * x + (x <= 0) * alpha * (torch.exp(x) - 1)),
            "Multiplying by a mask does not hide an overflow: 0·∞ is NaN. Choose with torch.where.",
        ),
        Mutant(
            "elu_without_minus_one",
            instead(FAMILY, 2, lambda x, alpha=1.0: torch.where(x > 0, x, alpha * torch.exp(x))),
            "Your elu jumps at 0: the negative side is alpha·(e^x − 1), and the − 1 is missing.",
        ),
        Mutant(
            "elu_alpha_inside",
            instead(FAMILY, 2, lambda x, alpha=1.0: torch.where(x > 0, x, torch.expm1(alpha * x.clamp(max=0)))),
            "In elu, alpha multiplies (e^x − 1). It does not stand inside the exponential.",
        ),
        Mutant(
            "elu_alpha_ignored",
            instead(FAMILY, 2, lambda x, alpha=1.0: ref.elu(x)),
            "Your elu ignores alpha: the negative side is alpha·(e^x − 1).",
        ),
        Mutant(
            "elu_one_in_exponent",
            instead(FAMILY, 2, lambda x, alpha=1.0: torch.where(x > 0, x, alpha * torch.exp(x - 1))),
            "In elu the 1 is subtracted from e^x, not from x: alpha·(e^x − 1).",
        ),
        Mutant(
            "square_of_everything",
            instead(FAMILY, 3, torch.square),
            "Your squared_relu squares negative inputs too. Cut them to 0 first, then square.",
        ),
    ],
)

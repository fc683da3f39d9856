"""ReLU, leaky ReLU, ELU and squared ReLU."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import activations as ref

from .shared import double, instead, t

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
    lambda x, alpha=1.0: torch.where(x > 0, x, alpha * (torch.exp(torch.minimum(x, torch.zeros_like(x))) - 1)),
    lambda x: x * x * (x > 0),
)


def relu_in_place(x):
    x[x < 0] = 0
    return x


def family_all(g: Source) -> Program:
    x = g.randn(2, 3, 5, scale=2.0)
    return (
        Program()
        .call(x)
        .call(x, fn="leaky_relu", slope=g.number(0.1, 0.4))
        .call(x, fn="elu", alpha=g.number(0.5, 2.0))
        .call(x, fn="squared_relu")
    )


def family_in_float64(g: Source) -> Program:
    x = double(g, 4, 3, scale=5.0)
    return (
        Program()
        .call(x)
        .call(x, fn="leaky_relu")
        .call(x, fn="elu", alpha=g.number(0.5, 2.0))
        .call(x, fn="squared_relu")
    )


def family_in_half(g: Source) -> Program:
    """All four in half precision, whose dtype stays."""
    x = g.randn(2, 5, dtype=torch.float16)
    return Program().call(x).call(x, fn="leaky_relu").call(x, fn="elu").call(x, fn="squared_relu")


def family_gradients(g: Source) -> Program:
    x = [g.randn(2, 5, scale=2.0) for _ in range(4)]
    return (
        Program()
        .call(x[0], grad=[0])
        .call(x[1], fn="leaky_relu", slope=g.number(0.1, 0.4), grad=[0])
        .call(x[2], fn="elu", alpha=g.number(0.5, 2.0), grad=[0])
        .call(x[3], fn="squared_relu", grad=[0])
    )


EXERCISE = Exercise(
    id="activation.family",
    title="Four activations with a corner",
    points=2,
    difficulty=2,
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
        Case("float64", "all four in float64, leaky ReLU with its default slope", family_in_float64),
        Case("half", "all four in float16: so are the results", family_in_half, weight=0.5, rounding=4),
        Case("gradients", "the gradients of all four", family_gradients),
        Case(
            "elu gradient far out",
            "the gradient of ELU at 100 and at −100 is a number",
            lambda g: Program().call(t(100, -100, g.number(60, 150), -1), fn="elu", alpha=g.number(0.5, 0.9), grad=[0]),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "relu_is_abs",
            instead(FAMILY, 0, torch.abs),
            "Your relu turns negative inputs into positive ones. They should become 0.",
        ),
        Mutant(
            "relu_turned",
            instead(FAMILY, 0, lambda x: x.clamp(max=0)),
            "Your relu keeps the negative side and cuts the positive one to 0. It is the other way round.",
        ),
        Mutant(
            "relu_in_place",
            instead(FAMILY, 0, relu_in_place),
            "Your relu writes zeros into x, which is still the caller's tensor. Make a new one, with torch.where or "
            "x.clamp(min=0).",
        ),
        Mutant(
            "leaky_default",
            instead(FAMILY, 1, lambda x, slope=0.1: torch.where(x > 0, x, slope * x)),
            "The default slope of your leaky_relu is 0.1. It is 0.01.",
        ),
        Mutant(
            "leaky_everywhere",
            instead(FAMILY, 1, lambda x, slope=0.01: slope * x),
            "Your leaky_relu multiplies the positive side by slope as well. Positive inputs stay as they are.",
        ),
        Mutant(
            "leaky_is_relu",
            instead(FAMILY, 1, lambda x, slope=0.01: ref.relu(x)),
            "Your leaky_relu is 0 on the negative side. It is slope·x there.",
        ),
        Mutant(
            "leaky_adds_slope",
            instead(FAMILY, 1, lambda x, slope=0.01: torch.where(x > 0, x, x - slope)),
            "On the negative side of your leaky_relu x is shifted by slope. Multiply it: slope·x.",
        ),
        Mutant(
            "elu_nan_gradient",
            instead(FAMILY, 2, lambda x, alpha=1.0: torch.where(x > 0, x, alpha * (torch.exp(x) - 1))),
            "The numbers are right, but the gradient at large x is NaN: the branch not taken has overflowed, and 0·∞ "
            "is NaN. Keep x ≤ 0 inside exp: x.clamp(max=0).",
        ),
        Mutant(
            "elu_minus_one_outside",
            instead(FAMILY, 2, lambda x, alpha=1.0: torch.where(x > 0, x, alpha * torch.exp(x.clamp(max=0)) - 1)),
            "In elu, alpha multiplies the difference, the 1 as well: alpha·(e^x − 1). Parentheses are missing.",
        ),
        Mutant(
            "elu_turned",
            instead(FAMILY, 2, lambda x, alpha=1.0: torch.where(x > 0, x, alpha * (1 - torch.exp(x.clamp(max=0))))),
            "The negative side of your elu points up: it is alpha·(e^x − 1), not alpha·(1 − e^x).",
        ),
        Mutant(
            "elu_alpha_everywhere",
            instead(FAMILY, 2, lambda x, alpha=1.0: alpha * ref.elu(x)),
            "Your elu multiplies the positive side by alpha as well. Positive inputs stay as they are.",
        ),
        Mutant(
            "elu_minus_x",
            instead(FAMILY, 2, lambda x, alpha=1.0: torch.where(x > 0, x, alpha * (torch.exp(-x) - 1))),
            "In elu the exponent has the wrong sign: e^x − 1 lies between −1 and 0 for negative x.",
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
            "doubled",
            instead(FAMILY, 3, lambda x: 2 * ref.relu(x)),
            "Your squared_relu doubles. The square of 3 is 9: relu(x) ** 2.",
        ),
        Mutant(
            "relu_again",
            instead(FAMILY, 3, ref.relu),
            "Your squared_relu does not square: relu(x) ** 2.",
        ),
        Mutant(
            "square_with_sign",
            instead(FAMILY, 3, lambda x: x * x.abs()),
            "Your squared_relu keeps the negative side as −x². Cut negative inputs to 0 first, then square.",
        ),
        Mutant(
            "square_of_everything",
            instead(FAMILY, 3, torch.square),
            "Your squared_relu squares negative inputs too. Cut them to 0 first, then square.",
        ),
        Mutant(
            "elu_lost_bracket",
            instead(FAMILY, 2, lambda x, alpha=1.0: torch.where(x > 0, x, alpha * torch.exp(x) - 1)),
            "alpha multiplies e^x alone in your elu: write alpha·(e^x − 1). Then keep x ≤ 0 inside exp, so "
            "that no gradient is NaN.",
        ),
        Mutant(
            "elu_upward",
            instead(FAMILY, 2, lambda x, alpha=1.0: torch.where(x > 0, x, alpha * (1 - torch.exp(x)))),
            "Your elu has 1 − e^x where e^x − 1 is asked for. Then keep x ≤ 0 inside exp, so that no gradient is NaN.",
        ),
        Mutant(
            "elu_without_alpha",
            instead(FAMILY, 2, lambda x, alpha=1.0: torch.where(x > 0, x, torch.exp(x) - 1)),
            "alpha is not used in your elu: alpha·(e^x − 1). Then keep x ≤ 0 inside exp, so that no gradient is NaN.",
        ),
        Mutant(
            "elu_one_in_clamped_exponent",
            instead(FAMILY, 2, lambda x, alpha=1.0: torch.where(x > 0, x, alpha * torch.exp(x.clamp(max=0) - 1))),
            "In elu the 1 stands in the exponent, e^(x − 1). Subtract it outside of exp: alpha·(e^x − 1).",
        ),
        Mutant(
            "elu_clamped_without_minus_one",
            instead(FAMILY, 2, lambda x, alpha=1.0: torch.where(x > 0, x, alpha * torch.exp(x.clamp(max=0)))),
            "The − 1 is missing in your elu: the negative side is alpha·(e^x − 1), and reaches 0 at 0.",
        ),
        Mutant(
            "elu_everywhere",
            instead(FAMILY, 2, lambda x, alpha=1.0: alpha * (torch.exp(x) - 1)),
            "Your elu uses alpha·(e^x − 1) on both sides. Positive inputs stay x: choose with torch.where.",
        ),
        Mutant(
            "leaky_exchanged",
            instead(FAMILY, 1, lambda x, slope=0.01: torch.where(x > 0, slope * x, x)),
            "The sides of your leaky_relu are exchanged: x stays where it is positive, and slope·x is for the others.",
        ),
        Mutant(
            "leaky_divides",
            instead(FAMILY, 1, lambda x, slope=0.01: torch.where(x > 0, x, x / slope)),
            "Your leaky_relu divides the negative side by slope. Multiply: slope·x.",
        ),
        Mutant(
            "leaky_constant",
            instead(FAMILY, 1, lambda x, slope=0.01: torch.where(x > 0, x, slope)),
            "The negative side of your leaky_relu is the number slope itself. It is slope·x.",
        ),
        Mutant(
            "leaky_constant_below",
            instead(FAMILY, 1, lambda x, slope=0.01: torch.where(x > 0, x, -slope)),
            "The negative side of your leaky_relu is the number −slope. It is slope·x, which depends on x.",
        ),
        Mutant(
            "leaky_min",
            instead(FAMILY, 1, lambda x, slope=0.01: torch.minimum(x, slope * x)),
            "min(x, slope·x) takes the wrong side for slopes below 1. Decide by the sign of x.",
        ),
        Mutant(
            "leaky_added",
            instead(FAMILY, 1, lambda x, slope=0.01: x.clamp(min=0) + slope * x),
            "Your leaky_relu adds slope·x on the positive side as well. There x stays as it is.",
        ),
        Mutant(
            "relu_as_step",
            instead(FAMILY, 0, lambda x: (x > 0).to(x.dtype)),
            "Your relu gives 1 for positive inputs. It gives x itself there.",
        ),
        Mutant(
            "relu_sign",
            instead(FAMILY, 0, lambda x: (-x).clamp(min=0)),
            "Your relu gives −x on the negative side and 0 on the positive one. Keep x where it is positive.",
        ),
        Mutant(
            "square_halved",
            instead(FAMILY, 3, lambda x: ref.relu(x) ** 2 / 2),
            "Your squared_relu halves the square. relu(x) ** 2 is all.",
        ),
    ],
)

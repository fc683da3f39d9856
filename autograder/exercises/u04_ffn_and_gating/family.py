"""ReLU, leaky ReLU, ELU and squared ReLU."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import activations as ref

from .shared import double, t

FAMILY = (ref.relu, ref.leaky_relu, ref.elu, ref.squared_relu)

FAMILY_BY_CLAMP = (
    lambda x: x.clamp(min=0),
    lambda x, slope=0.01: x.clamp(min=0) + slope * x.clamp(max=0),
    lambda x, alpha=1.0: x.clamp(min=0) + alpha * torch.expm1(x.clamp(max=0)),
    lambda x: x.clamp(min=0).square(),
)


def relu(x):
    return torch.where(x > 0, x, torch.zeros_like(x))


def leaky_relu(x, slope=0.01):
    return torch.where(x > 0, x, slope * x)


def elu(x, alpha=1.0):
    return torch.where(x > 0, x, alpha * (torch.exp(x.clamp(max=0)) - 1))


def squared_relu(x):
    return x * x * (x > 0)


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


MISTAKES = changes(
    (relu, leaky_relu, elu, squared_relu),
    """
relu_is_abs: torch.zeros_like(x) → -x
    Your relu turns negative inputs into positive ones. They should become 0.
relu_turned: x > 0, x, torch.zeros_like(x) → x < 0, x, torch.zeros_like(x)
    Your relu keeps the negative side and cuts the positive one to 0. It is the other way round.
relu_in_place: return torch.where(x > 0, x, torch.zeros_like(x)) → x[x < 0] = 0; return x
    Your relu writes zeros into x, which is still the caller's tensor. Make a new one, with torch.where or
    x.clamp(min=0).
leaky_default: slope=0.01 → slope=0.1
    The default slope of your leaky_relu is 0.1. It is 0.01.
leaky_everywhere: torch.where(x > 0, x, slope * x) → slope * x
    Your leaky_relu multiplies the positive side by slope as well. Positive inputs stay as they are.
leaky_is_relu: slope * x → 0.0
    Your leaky_relu is 0 on the negative side. It is slope·x there.
leaky_adds_slope: slope * x → x - slope
    On the negative side of your leaky_relu x is shifted by slope. Multiply it: slope·x.
elu_nan_gradient: x.clamp(max=0) → x
    The numbers are right, but the gradient at large x is NaN: the branch not taken has overflowed, and 0·∞ is NaN.
    Keep x ≤ 0 inside exp: x.clamp(max=0).
elu_minus_one_outside: (torch.exp(x.clamp(max=0)) - 1) → torch.exp(x.clamp(max=0)) - 1
    In elu, alpha multiplies the difference, the 1 as well: alpha·(e^x − 1). Parentheses are missing.
elu_turned: (torch.exp(x.clamp(max=0)) - 1) → (1 - torch.exp(x.clamp(max=0)))
    The negative side of your elu points up: it is alpha·(e^x − 1), not alpha·(1 − e^x).
elu_alpha_everywhere: torch.where(x > 0, x, alpha * ( → alpha * torch.where(x > 0, x, (
    Your elu multiplies the positive side by alpha as well. Positive inputs stay as they are.
elu_minus_x: x.clamp(max=0) → -x
    In elu the exponent has the wrong sign: e^x − 1 lies between −1 and 0 for negative x.
leaky_max: torch.where(x > 0, x, slope * x) → torch.maximum(x, slope * x)
    max(x, slope·x) is leaky ReLU only for slopes below 1. Decide by the sign of x instead.
leaky_slope_fixed: slope * x → 0.01 * x
    Your leaky_relu always uses 0.01. Use the argument slope.
leaky_sign: slope * x → -slope * x
    The negative side of your leaky_relu points up: multiply x by slope, without a minus.
elu_zero_times_inf: torch.where(x > 0, x, alpha * ( → (x > 0) * x + ((x <= 0) * alpha * ( ; x.clamp(max=0) → x
    Multiplying by a mask does not hide an overflow: 0·∞ is NaN. Choose with torch.where.
elu_without_minus_one: (torch.exp(x.clamp(max=0)) - 1) → torch.exp(x)
    Your elu jumps at 0: the negative side is alpha·(e^x − 1), and the − 1 is missing.
elu_alpha_inside: alpha * (torch.exp(x.clamp(max=0)) - 1) → torch.expm1(alpha * x.clamp(max=0))
    In elu, alpha multiplies (e^x − 1). It does not stand inside the exponential.
elu_alpha_ignored: alpha * (torch → (torch
    Your elu ignores alpha: the negative side is alpha·(e^x − 1).
elu_one_in_exponent: (torch.exp(x.clamp(max=0)) - 1) → torch.exp(x - 1)
    In elu the 1 is subtracted from e^x, not from x: alpha·(e^x − 1).
doubled: x * x * (x > 0) → 2 * x * (x > 0)
    Your squared_relu doubles. The square of 3 is 9: relu(x) ** 2.
relu_again: x * x * (x > 0) → x * (x > 0)
    Your squared_relu does not square: relu(x) ** 2.
square_with_sign: x * x * (x > 0) → x * x.abs()
    Your squared_relu keeps the negative side as −x². Cut negative inputs to 0 first, then square.
square_of_everything: x * x * (x > 0) → x * x
    Your squared_relu squares negative inputs too. Cut them to 0 first, then square.
elu_lost_bracket: (torch.exp(x.clamp(max=0)) - 1) → torch.exp(x) - 1
    alpha multiplies e^x alone in your elu: write alpha·(e^x − 1). Then keep x ≤ 0 inside exp, so that no gradient
    is NaN.
elu_upward: (torch.exp(x.clamp(max=0)) - 1) → (1 - torch.exp(x))
    Your elu has 1 − e^x where e^x − 1 is asked for. Then keep x ≤ 0 inside exp, so that no gradient is NaN.
elu_without_alpha: alpha * (torch.exp(x.clamp(max=0)) - 1) → torch.exp(x) - 1
    alpha is not used in your elu: alpha·(e^x − 1). Then keep x ≤ 0 inside exp, so that no gradient is NaN.
elu_one_in_clamped_exponent: x.clamp(max=0)) - 1 → x.clamp(max=0) - 1)
    In elu the 1 stands in the exponent, e^(x − 1). Subtract it outside of exp: alpha·(e^x − 1).
elu_clamped_without_minus_one: (torch.exp(x.clamp(max=0)) - 1) → torch.exp(x.clamp(max=0))
    The − 1 is missing in your elu: the negative side is alpha·(e^x − 1), and reaches 0 at 0.
elu_everywhere: torch.where(x > 0, x, alpha * (torch.exp(x.clamp(max=0)) - 1)) → alpha * (torch.exp(x) - 1)
    Your elu uses alpha·(e^x − 1) on both sides. Positive inputs stay x: choose with torch.where.
leaky_exchanged: x, slope * x → slope * x, x
    The sides of your leaky_relu are exchanged: x stays where it is positive, and slope·x is for the others.
leaky_divides: slope * x → x / slope
    Your leaky_relu divides the negative side by slope. Multiply: slope·x.
leaky_constant: slope * x → slope
    The negative side of your leaky_relu is the number slope itself. It is slope·x.
leaky_constant_below: slope * x → -slope
    The negative side of your leaky_relu is the number −slope. It is slope·x, which depends on x.
leaky_min: torch.where(x > 0, x, slope * x) → torch.minimum(x, slope * x)
    min(x, slope·x) takes the wrong side for slopes below 1. Decide by the sign of x.
leaky_added: torch.where(x > 0, x, slope * x) → x.clamp(min=0) + slope * x
    Your leaky_relu adds slope·x on the positive side as well. There x stays as it is.
relu_as_step: return torch.where(x > 0, x, torch.zeros_like(x)) → return (x > 0).to(x.dtype)
    Your relu gives 1 for positive inputs. It gives x itself there.
relu_sign: x > 0, x, torch.zeros_like(x) → x < 0, -x, torch.zeros_like(x)
    Your relu gives −x on the negative side and 0 on the positive one. Keep x where it is positive.
square_halved: x * x * (x > 0) → x * x * (x > 0) / 2
    Your squared_relu halves the square. relu(x) ** 2 is all.
""",
)

EXERCISE = Exercise(
    id="activation.family",
    title="Four activations with a corner",
    points=2,
    difficulty=2,
    minutes=10,
    reference=FAMILY,
    alternatives=[FAMILY_BY_CLAMP, (relu, leaky_relu, elu, squared_relu)],
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
    mutants=MISTAKES,
    equivalent="""
both branches give 0 at 0, and the text names no slope for the corner
    3af4d91543 solution, compare: x > 0 → x >= 0
    10ee269ac7 solution, compare: x > 0 → x >= 0
    2ef06710b1 alternative (relu, leaky_relu, elu, squared_relu), compare: x > 0 → x >= 0
    1eedab653c alternative (relu, leaky_relu, elu, squared_relu), compare: x > 0 → x >= 0
    2e3f58626a alternative (relu, leaky_relu, elu, squared_relu), compare: x > 0 → x >= 0
    6c13821628 alternative (relu, leaky_relu, elu, squared_relu), compare: x > 0 → x >= 0
what is clamped at 1 in place of 0 stands in the branch that is not taken there
    d504cc977b solution, constant: 0 → 1 in max=0
what is clamped at 1 instead of 0 belongs to the branch that is not taken there
    66b1dd5689 alternative (relu, leaky_relu, elu, squared_relu), constant: 0 → 1 in max=0
""",
)

"""The slopes of sigmoid, SiLU and GELU by hand."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import activations as ref

from .shared import cumulative, double, instead, t

SLOPES = (ref.sigmoid_derivative, ref.silu_derivative, ref.gelu_derivative)


def density(x):
    return torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def sigmoid_plain(x):
    return torch.sigmoid(x) * (1 - torch.sigmoid(x))


def tanh_form_prime(x):
    """The slope of GELU's tanh form."""
    root = math.sqrt(2 / math.pi)
    th = torch.tanh(root * (x + 0.044715 * x**3))
    return 0.5 * (1 + th) + 0.5 * x * (1 - th * th) * root * (1 + 3 * 0.044715 * x * x)


EXERCISE = Exercise(
    id="activation.derivatives",
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
    ],
    forbidden=("autograd",),
    forbidden_message="The chain rule and the product rule are enough.",
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
        Case(
            "flat silu",
            "SiLU at ±100: slopes 0 and 1, not NaN",
            lambda g: Program().call(t(-100, 100), fn="silu_prime"),
            weight=0.5,
        ),
        Case(
            "flat gelu",
            "GELU at ±100: slopes 0 and 1, not NaN",
            lambda g: Program().call(t(-100, 100), fn="gelu_prime"),
            weight=0.5,
        ),
        Case(
            "float64",
            "all three in float64",
            lambda g: (
                Program()
                .call(double(g, 5, scale=5.0))
                .call(double(g, 5, scale=5.0), fn="silu_prime")
                .call(double(g, 5, scale=5.0), fn="gelu_prime")
            ),
        ),
        Case(
            "curvature",
            "a slope is a function too: gradients flow through all three, also at ±100",
            lambda g: (
                Program()
                .call(torch.cat([g.randn(4), t(-100, 100)]), grad=[0])
                .call(torch.cat([g.randn(4), t(-100, 100)]), fn="silu_prime", grad=[0])
                .call(torch.cat([g.randn(4), t(-100, 100)]), fn="gelu_prime", grad=[0])
            ),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "one_inside",
            instead(SLOPES, 0, lambda x: torch.sigmoid(x) * torch.sigmoid(1 - x)),
            "f(x)·f(1 − x) puts the 1 inside the sigmoid. The slope is f(x)·(1 − f(x)).",
        ),
        Mutant(
            "plus_inside",
            instead(SLOPES, 0, lambda x: torch.sigmoid(x) * (1 + torch.sigmoid(x))),
            "The slope of the sigmoid is f·(1 − f), with a minus: it is at most 1/4.",
        ),
        Mutant(
            "as_tanh",
            instead(SLOPES, 0, lambda x: 1 - torch.sigmoid(x) ** 2),
            "1 − f² is the slope of tanh in terms of its output. The sigmoid's is f·(1 − f).",
        ),
        Mutant(
            "one_factor",
            instead(SLOPES, 0, lambda x: 1 - torch.sigmoid(x)),
            "A factor is missing: the slope of the sigmoid is f·(1 − f).",
        ),
        Mutant(
            "input_for_output",
            instead(SLOPES, 0, lambda x: x * (1 - x)),
            "f·(1 − f) is meant with the sigmoid's output f, not with x.",
        ),
        Mutant(
            "exp_overflow_right",
            instead(SLOPES, 0, lambda x: torch.exp(x) / (1 + torch.exp(x)) ** 2),
            "e^x overflows at 100 and ∞/∞ is NaN. Write the slope with f(x) itself: f(1 − f).",
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
            "silu_gate_again",
            instead(SLOPES, 1, lambda x: torch.sigmoid(x) + x * torch.sigmoid(x)),
            "In the second term of SiLU's slope stands f itself. The product rule asks for f′ = f·(1 − f) there.",
        ),
        Mutant(
            "silu_minus",
            instead(SLOPES, 1, lambda x: torch.sigmoid(x) - x * sigmoid_plain(x)),
            "The two terms of SiLU's slope are added: f + x·f·(1 − f).",
        ),
        Mutant(
            "silu_f_twice",
            instead(SLOPES, 1, lambda x: torch.sigmoid(x) + torch.sigmoid(x) * (x * torch.sigmoid(x))),
            "In the second term one factor is f in place of 1 − f: it is x·f·(1 − f).",
        ),
        Mutant(
            "silu_itself",
            instead(SLOPES, 1, lambda x: x * torch.sigmoid(x)),
            "This is SiLU itself, x·f. Its slope is f + x·f·(1 − f); without the parentheses it is SiLU again.",
        ),
        Mutant(
            "gelu_tanh_form",
            instead(SLOPES, 2, tanh_form_prime),
            "This is the slope of GELU's tanh form. The exact GELU is asked for: Φ(x) + x·φ(x) with erf.",
        ),
        Mutant(
            "gelu_terms_mixed",
            instead(SLOPES, 2, lambda x: x * cumulative(x) + density(x)),
            "The x stands with the wrong term. The slope is Φ(x) + x·φ(x).",
        ),
        Mutant(
            "gelu_minus",
            instead(SLOPES, 2, lambda x: cumulative(x) - x * density(x)),
            "The two terms of GELU's slope are added: Φ(x) + x·φ(x).",
        ),
        Mutant(
            "gelu_itself",
            instead(SLOPES, 2, lambda x: x * cumulative(x)),
            "This is GELU itself. Its slope is asked for: Φ(x) + x·φ(x).",
        ),
        Mutant(
            "density_wide",
            instead(SLOPES, 2, lambda x: cumulative(x) + x * torch.exp(-x * x) / math.sqrt(2 * math.pi)),
            "The exponent of the normal density is −x²/2. Yours is −x².",
        ),
        Mutant(
            "density_unscaled",
            instead(SLOPES, 2, lambda x: cumulative(x) + x * torch.exp(-x * x / 2)),
            "The normal density is e^(−x²/2)/√(2π): the division by √(2π) is missing.",
        ),
        Mutant(
            "cumulative_of_x",
            instead(SLOPES, 2, lambda x: 0.5 * (1 + torch.erf(x)) + x * density(x)),
            "Φ(x) is ½(1 + erf(x/√2)): the division by √2 inside erf is missing.",
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
        Mutant(
            "input_for_second",
            instead(SLOPES, 0, lambda x: torch.sigmoid(x) * (1 - x)),
            "The second factor of the sigmoid's slope is 1 − f. Yours is 1 − x.",
        ),
        Mutant(
            "falling",
            instead(SLOPES, 0, lambda x: -sigmoid_plain(x)),
            "The sigmoid rises, so its slope is positive: f·(1 − f). Yours has the opposite sign.",
        ),
        Mutant(
            "output_squared",
            instead(SLOPES, 0, lambda x: torch.sigmoid(x) ** 2),
            "This is f². The slope of the sigmoid is f·(1 − f).",
        ),
        Mutant(
            "sigmoid_times_x",
            instead(SLOPES, 0, lambda x: x * sigmoid_plain(x)),
            "x is a factor too many: the slope of the sigmoid is f·(1 − f).",
        ),
        Mutant(
            "silu_lost_f",
            instead(SLOPES, 1, lambda x: torch.sigmoid(x) + x * (1 - torch.sigmoid(x))),
            "In the second term of SiLU's slope a factor f is missing: f + x·f·(1 − f).",
        ),
        Mutant(
            "silu_terms_mixed",
            instead(SLOPES, 1, lambda x: x * torch.sigmoid(x) + sigmoid_plain(x)),
            "The x stands with the wrong term: SiLU's slope is f + x·f·(1 − f).",
        ),
        Mutant(
            "silu_one_minus_x",
            instead(SLOPES, 1, lambda x: torch.sigmoid(x) + x * torch.sigmoid(x) * (1 - x)),
            "The last factor of SiLU's slope is 1 − f. Yours is 1 − x.",
        ),
        Mutant(
            "silu_lost_bracket",
            instead(SLOPES, 1, lambda x: (1 + x) * sigmoid_plain(x)),
            "1 − f multiplies the first term as well. It belongs to the second alone: f + x·f·(1 − f).",
        ),
        Mutant(
            "silu_plus_inside",
            instead(SLOPES, 1, lambda x: torch.sigmoid(x) + x * torch.sigmoid(x) * (1 + torch.sigmoid(x))),
            "The slope of the sigmoid inside SiLU's is f·(1 − f), with a minus. Yours has 1 + f.",
        ),
        Mutant(
            "silu_one_inside",
            instead(SLOPES, 1, lambda x: torch.sigmoid(x) + x * torch.sigmoid(x) * torch.sigmoid(1 - x)),
            "f(1 − x) puts the 1 inside the sigmoid. The second term of SiLU's slope is x·f(x)·(1 − f(x)).",
        ),
        Mutant(
            "gelu_value_for_cumulative",
            instead(SLOPES, 2, lambda x: x * cumulative(x) + x * density(x)),
            "The first term of GELU's slope is Φ(x). Yours is gelu(x), which is x·Φ(x).",
        ),
        Mutant(
            "gelu_density_only",
            instead(SLOPES, 2, lambda x: density(x)),
            "This is the density φ(x) alone. The slope of x·Φ(x) is Φ(x) + x·φ(x).",
        ),
        Mutant(
            "gelu_as_sigmoid",
            instead(SLOPES, 2, lambda x: cumulative(x) + x * cumulative(x) * (1 - cumulative(x))),
            "Φ·(1 − Φ) is a rule for the sigmoid. The slope of Φ is the density φ: Φ(x) + x·φ(x).",
        ),
        Mutant(
            "gelu_slope_of_density",
            instead(SLOPES, 2, lambda x: cumulative(x) - x * x * density(x)),
            "The second term has the slope of the density, −x·φ(x), as its factor. It is x times φ(x) itself.",
        ),
        Mutant(
            "gelu_half_missing",
            instead(SLOPES, 2, lambda x: 1 + torch.erf(x / math.sqrt(2)) + x * density(x)),
            "Φ(x) is ½(1 + erf(x/√2)): the ½ is missing in the first term of GELU's slope.",
        ),
        Mutant(
            "gelu_one_missing",
            instead(SLOPES, 2, lambda x: 0.5 * torch.erf(x / math.sqrt(2)) + x * density(x)),
            "Φ(x) is ½(1 + erf(x/√2)): the 1 is missing in the first term of GELU's slope.",
        ),
        Mutant(
            "density_rises",
            instead(SLOPES, 2, lambda x: cumulative(x) + x * torch.exp(x * x / 2) / math.sqrt(2 * math.pi)),
            "The density grows with |x|, and overflows: its exponent is −x²/2. Note that (-x)**2 is x².",
        ),
        Mutant(
            "density_not_squared",
            instead(SLOPES, 2, lambda x: cumulative(x) + x * torch.exp(-x / 2) / math.sqrt(2 * math.pi)),
            "The exponent of the normal density is −x²/2. Yours is −x/2: the square is missing.",
        ),
        Mutant(
            "density_narrow",
            instead(SLOPES, 2, lambda x: cumulative(x) + x * torch.exp(-((x / 2) ** 2)) / math.sqrt(2 * math.pi)),
            "The exponent of the normal density is −x²/2. Yours is −x²/4: only x is squared.",
        ),
        Mutant(
            "density_root_of_two",
            instead(SLOPES, 2, lambda x: cumulative(x) + x * torch.exp(-x * x / 2) / (math.sqrt(2) * math.pi)),
            "The density is divided by √2·π. The root covers the π as well: √(2π).",
        ),
        Mutant(
            "density_root_without_two",
            instead(SLOPES, 2, lambda x: cumulative(x) + x * torch.exp(-x * x / 2) / math.sqrt(math.pi)),
            "The density is divided by √π. It is √(2π).",
        ),
        Mutant(
            "density_multiplied",
            instead(SLOPES, 2, lambda x: cumulative(x) + x * torch.exp(-x * x / 2) * math.sqrt(2 * math.pi)),
            "The density is multiplied by √(2π). Divide by it, so that its area is 1.",
        ),
        Mutant(
            "density_lost_bracket",
            instead(SLOPES, 2, lambda x: cumulative(x) + x * torch.exp(-x * x / 2) / math.sqrt(2) * math.pi),
            "The π multiplies in place of dividing. It stands under the root: / math.sqrt(2 * math.pi).",
        ),
    ],
)

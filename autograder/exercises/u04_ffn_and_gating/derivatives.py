"""The slopes of sigmoid, SiLU and GELU by hand."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, call
from autograder.reference import activations as ref

from .shared import double, t

SLOPES = (ref.sigmoid_derivative, ref.silu_derivative, ref.gelu_derivative)


def sigmoid_prime(x):
    f = torch.sigmoid(x)
    return f * (1 - f)


def silu_prime(x):
    f = torch.sigmoid(x)
    return f + x * f * (1 - f)


def gelu_prime(x):
    cumulative = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
    density = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return cumulative + x * density


MISTAKES = changes(
    (sigmoid_prime, silu_prime, gelu_prime),
    """
one_inside: return f * (1 - f) → return f * torch.sigmoid(1 - x)
    f(x)·f(1 − x) puts the 1 inside the sigmoid. The slope is f(x)·(1 − f(x)).
plus_inside: return f * (1 - f) → return f * (1 + f)
    The slope of the sigmoid is f·(1 − f), with a minus: it is at most 1/4.
as_tanh: return f * (1 - f) → return 1 - f**2
    1 − f² is the slope of tanh in terms of its output. The sigmoid's is f·(1 − f).
one_factor: return f * (1 - f) → return 1 - f
    A factor is missing: the slope of the sigmoid is f·(1 − f).
input_for_output: return f * (1 - f) → return x * (1 - x)
    f·(1 − f) is meant with the sigmoid's output f, not with x.
exp_overflow_right: return f * (1 - f) → return torch.exp(x) / (1 + torch.exp(x)) ** 2
    e^x overflows at 100 and ∞/∞ is NaN. Write the slope with f(x) itself: f(1 − f).
exp_overflow: return f * (1 - f) → return torch.exp(-x) / (1 + torch.exp(-x)) ** 2
    e^(−x) overflows at −100 and ∞/∞ is NaN. Write the slope with f(x) itself: f(1 − f).
silu_is_sigmoid: f + x * f * (1 - f) → f * (1 - f)
    This is the slope of the sigmoid alone. SiLU is x·σ(x): use the product rule, which gives two terms.
silu_gate_only: f + x * f * (1 - f) → f
    SiLU is a product x·f(x), so its slope has two terms. Yours is the first alone, f(x).
silu_second_term_only: f + x * f * (1 - f) → x * f * (1 - f)
    SiLU is a product x·f(x), so its slope has two terms. Yours is the second alone, x·f′(x).
silu_lost_x: f + x * f * (1 - f) → f + f * (1 - f)
    In the second term of SiLU's slope the factor x is missing: f(x) + x·f′(x).
silu_gate_again: x * f * (1 - f) → x * f
    In the second term of SiLU's slope stands f itself. The product rule asks for f′ = f·(1 − f) there.
silu_minus: f + x * f * (1 - f) → f - x * f * (1 - f)
    The two terms of SiLU's slope are added: f + x·f·(1 − f).
silu_f_twice: x * f * (1 - f) → x * f * f
    In the second term one factor is f in place of 1 − f: it is x·f·(1 − f).
silu_itself: f + x * f * (1 - f) → x * f
    This is SiLU itself, x·f. Its slope is f + x·f·(1 − f); without the parentheses it is SiLU again.
gelu_tanh_form: cumulative = 0.5 * (1 + torch.erf(x / math.sqrt(2))) → root = math.sqrt(2 / math.pi)
; density = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi) → th = torch.tanh(root * (x + 0.044715 * x**3))
; cumulative + x * density → 0.5 * (1 + th) + 0.5 * x * (1 - th * th) * root * (1 + 3 * 0.044715 * x * x)
    This is the slope of GELU's tanh form. The exact GELU is asked for: Φ(x) + x·φ(x) with erf.
gelu_terms_mixed: cumulative + x * density → x * cumulative + density
    The x stands with the wrong term. The slope is Φ(x) + x·φ(x).
gelu_minus: cumulative + x * density → cumulative - x * density
    The two terms of GELU's slope are added: Φ(x) + x·φ(x).
gelu_itself: cumulative + x * density → x * cumulative
    This is GELU itself. Its slope is asked for: Φ(x) + x·φ(x).
density_wide: -x * x / 2 → -x * x
    The exponent of the normal density is −x²/2. Yours is −x².
density_unscaled: / math.sqrt(2 * math.pi) →
    The normal density is e^(−x²/2)/√(2π): the division by √(2π) is missing.
cumulative_of_x: torch.erf(x / math.sqrt(2)) → torch.erf(x)
    Φ(x) is ½(1 + erf(x/√2)): the division by √2 inside erf is missing.
gelu_cumulative_only: cumulative + x * density → cumulative
    The slope of x·Φ(x) has two terms. Yours is Φ(x) alone; x·φ(x) is missing.
gelu_second_term_only: cumulative + x * density → x * density
    The slope of x·Φ(x) has two terms. Yours is x·φ(x) alone; Φ(x) is missing.
gelu_lost_x: cumulative + x * density → cumulative + density
    In GELU's slope the density is multiplied by x: Φ(x) + x·φ(x).
density_without_root: math.sqrt(2 * math.pi) → (2 * math.pi)
    The normal density is e^(−x²/2)/√(2π). With 1/(2π) its area is 0.4 instead of 1.
input_for_second: return f * (1 - f) → return f * (1 - x)
    The second factor of the sigmoid's slope is 1 − f. Yours is 1 − x.
falling: return f * (1 - f) → return -f * (1 - f)
    The sigmoid rises, so its slope is positive: f·(1 − f). Yours has the opposite sign.
output_squared: return f * (1 - f) → return f**2
    This is f². The slope of the sigmoid is f·(1 − f).
sigmoid_times_x: return f * (1 - f) → return x * f * (1 - f)
    x is a factor too many: the slope of the sigmoid is f·(1 − f).
silu_lost_f: x * f * (1 - f) → x * (1 - f)
    In the second term of SiLU's slope a factor f is missing: f + x·f·(1 − f).
silu_terms_mixed: f + x * f * (1 - f) → x * f + f * (1 - f)
    The x stands with the wrong term: SiLU's slope is f + x·f·(1 − f).
silu_one_minus_x: x * f * (1 - f) → x * f * (1 - x)
    The last factor of SiLU's slope is 1 − f. Yours is 1 − x.
silu_lost_bracket: f + x * f * (1 - f) → (f + x * f) * (1 - f)
    1 − f multiplies the first term as well. It belongs to the second alone: f + x·f·(1 − f).
silu_plus_inside: x * f * (1 - f) → x * f * (1 + f)
    The slope of the sigmoid inside SiLU's is f·(1 − f), with a minus. Yours has 1 + f.
silu_one_inside: x * f * (1 - f) → x * f * torch.sigmoid(1 - x)
    f(1 − x) puts the 1 inside the sigmoid. The second term of SiLU's slope is x·f(x)·(1 − f(x)).
gelu_value_for_cumulative: cumulative + x * density → x * cumulative + x * density
    The first term of GELU's slope is Φ(x). Yours is gelu(x), which is x·Φ(x).
gelu_density_only: cumulative + x * density → density
    This is the density φ(x) alone. The slope of x·Φ(x) is Φ(x) + x·φ(x).
gelu_as_sigmoid: x * density → x * cumulative * (1 - cumulative)
    Φ·(1 − Φ) is a rule for the sigmoid. The slope of Φ is the density φ: Φ(x) + x·φ(x).
gelu_slope_of_density: cumulative + x * density → cumulative - x * x * density
    The second term has the slope of the density, −x·φ(x), as its factor. It is x times φ(x) itself.
gelu_half_missing: 0.5 * (1 + torch.erf(x / math.sqrt(2))) → 1 + torch.erf(x / math.sqrt(2))
    Φ(x) is ½(1 + erf(x/√2)): the ½ is missing in the first term of GELU's slope.
gelu_one_missing: 1 + torch.erf → torch.erf
    Φ(x) is ½(1 + erf(x/√2)): the 1 is missing in the first term of GELU's slope.
density_rises: -x * x / 2 → x * x / 2
    The density grows with |x|, and overflows: its exponent is −x²/2. Note that (-x)**2 is x².
density_not_squared: -x * x / 2 → -x / 2
    The exponent of the normal density is −x²/2. Yours is −x/2: the square is missing.
density_narrow: -x * x / 2 → -((x / 2) ** 2)
    The exponent of the normal density is −x²/2. Yours is −x²/4: only x is squared.
density_root_of_two: math.sqrt(2 * math.pi) → (math.sqrt(2) * math.pi)
    The density is divided by √2·π. The root covers the π as well: √(2π).
density_root_without_two: math.sqrt(2 * math.pi) → math.sqrt(math.pi)
    The density is divided by √π. It is √(2π).
density_multiplied: / math.sqrt(2 * math.pi) → * math.sqrt(2 * math.pi)
    The density is multiplied by √(2π). Divide by it, so that its area is 1.
density_lost_bracket: math.sqrt(2 * math.pi) → math.sqrt(2) * math.pi
    The π multiplies in place of dividing. It stands under the root: / math.sqrt(2 * math.pi).
""",
)

EXERCISE = Exercise(
    id="activation.derivatives",
    title="Three slopes by hand",
    points=3,
    difficulty=3,
    minutes=18,
    extension=True,
    reference=SLOPES,
    alternatives=[(sigmoid_prime, silu_prime, gelu_prime)],
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
    mutants=MISTAKES,
)

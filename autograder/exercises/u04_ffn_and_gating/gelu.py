"""GELU, exact and by tanh."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, call
from autograder.reference import activations as ref

from .shared import double, t

GELUS = (ref.gelu, ref.gelu_tanh)
SQRT_2_OVER_PI = math.sqrt(2 / math.pi)


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def gelu_tanh(x):
    inner = x + 0.044715 * x**3
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * inner))


MISTAKES = changes(
    (gelu, gelu_tanh),
    """
wrong_constant: math.sqrt(2 / math.pi) → 2 / math.sqrt(math.pi)
    Inside the tanh stands √(2/π) = 0.798, not 2/√π = 1.128: the root covers the 2 as well.
erf_of_x: torch.erf(x / math.sqrt(2)) → torch.erf(x)
    Φ(x) is ½(1 + erf(x/√2)): the division by √2 inside erf is missing.
density: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))) → x * torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    Your gelu multiplies x by the normal density φ(x). It needs the cumulative Φ(x).
cumulative: 0.5 * x * (1 + torch.erf → 0.5 * (1 + torch.erf
    This is Φ(x), the probability to keep x. GELU is x times it.
square_for_cube: x**3 → x**2
    The small term inside the tanh is 0.044715·x³. Yours is x².
cube_of_all: 0.044715 * x**3 → (0.044715 * x) ** 3
    Only x is cubed inside the tanh, not 0.044715: write 0.044715 * x**3.
one_missing: 1 + torch.tanh → torch.tanh
    The tanh form needs 1 + tanh(…): without the 1, negative inputs come out positive.
sigmoid_form: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))) → x * torch.sigmoid(1.702 * x)
    x·σ(1.702x) is a third, coarser form (off by up to 0.02). The exact one uses erf.
half_missing: 0.5 * x * (1 + torch.tanh → x * (1 + torch.tanh
    The ½ in front of the tanh form is missing: far to the right it gives 2x.
half_missing_exact: 0.5 * x * (1 + torch.erf → x * (1 + torch.erf
    Φ(x) is ½(1 + erf(x/√2)): the ½ is missing, and far to the right your gelu gives 2x.
one_missing_exact: 1 + torch.erf → torch.erf
    Φ(x) is ½(1 + erf(x/√2)): without the 1, negative inputs come out positive.
root_outside: torch.erf(x / math.sqrt(2)) → torch.erf(x) / math.sqrt(2)
    The √2 divides x, inside erf. Yours divides what erf gives.
times_root: x / math.sqrt(2) → x * math.sqrt(2)
    Inside erf, x is divided by √2. Yours multiplies.
divided_by_two: x / math.sqrt(2) → x / 2
    Inside erf, x is divided by √2 = 1.414, not by 2.
reflected: 1 + torch.erf → 1 - torch.erf
    This keeps negative inputs and drops positive ones. Φ(x) is ½(1 + erf(x/√2)), with a plus.
sigmoid_for_tanh: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * inner)) → x * torch.sigmoid(1.702 * x)
    gelu_tanh is x·σ(1.702x), a third and coarser form. The one asked for has a tanh of the given polynomial.
constant_missing: math.sqrt(2 / math.pi) * inner → inner
    The factor √(2/π) in front of the inner polynomial is missing.
constant_without_root: math.sqrt(2 / math.pi) → 2 / math.pi
    In front of the inner polynomial stands √(2/π) = 0.798, not 2/π = 0.637.
constant_of_density: math.sqrt(2 / math.pi) → math.sqrt(math.pi / 2)
    The fraction is upside down: √(2/π) = 0.798, not √(π/2) = 1.253.
cube_forgotten: x + 0.044715 * x**3 → x
    The small term is missing: inside the tanh stands x + 0.044715·x³.
cube_subtracted: x + 0.044715 * x**3 → x - 0.044715 * x**3
    The small term inside the tanh is added: x + 0.044715·x³.
same_twice: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))) → gelu_tanh(x)
    Both functions are the tanh form. The exact gelu uses erf; they differ by up to 0.0005.
exact_twice: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * inner)) → gelu(x)
    Both functions are the exact form. gelu_tanh is the approximation with tanh.
gate_cut_off: torch.erf(x / math.sqrt(2)) → torch.erf(x.detach() / math.sqrt(2))
    The numbers of gelu are right, but no gradient passes Φ(x): it was cut off (math.erf, .item(), .tolist(),
    detach). torch.erf takes tensors.
tanh_cut_off: math.sqrt(2 / math.pi) * inner) → math.sqrt(2 / math.pi) * inner).detach()
    The numbers of gelu_tanh are right, but no gradient passes the tanh: it was cut off (math.tanh, .item(),
    detach). torch.tanh takes tensors.
constant_outside: torch.tanh(math.sqrt(2 / math.pi) * inner) → math.sqrt(2 / math.pi) * torch.tanh(inner)
    √(2/π) multiplies what tanh gives. It belongs inside, in front of the polynomial: tanh(√(2/π) · inner).
constant_on_first_term: torch.tanh(math.sqrt(2 / math.pi) * inner) → torch.tanh(inner)
; inner = x + → inner = math.sqrt(2 / math.pi) * x +
    √(2/π) multiplies x alone. It multiplies the whole polynomial, the cube as well: √(2/π) · (x + 0.044715·x³).
root_of_two_only: math.sqrt(2 / math.pi) → math.sqrt(2) / math.pi
    In front of the polynomial stands √2/π = 0.450. The root covers the π as well: √(2/π) = 0.798.
constant_multiplied: math.sqrt(2 / math.pi) → math.sqrt(2 * math.pi)
    In front of the polynomial stands √(2π) = 2.507. It is the root of a fraction: √(2/π) = 0.798.
constant_halved: math.sqrt(2 / math.pi) → 1 / math.sqrt(2 * math.pi)
    1/√(2π) = 0.399 belongs to the density. In front of the polynomial stands √(2/π) = 0.798.
root_of_product: math.sqrt(2 / math.pi) → math.sqrt(2) * math.pi
    In front of the polynomial stands √2·π = 4.443. It is the root of a fraction: √(2/π) = 0.798.
tanh_gate_only: 0.5 * x * (1 + torch.tanh → 0.5 * (1 + torch.tanh
    gelu_tanh lacks the factor x in front: this is the probability to keep x. Multiply by x.
tanh_reflected: 1 + torch.tanh → 1 - torch.tanh
    gelu_tanh keeps negative inputs and drops positive ones: it is 1 + tanh(…), with a plus.
inner_in_front: 0.5 * x * (1 + torch.tanh → 0.5 * inner * (1 + torch.tanh
    The polynomial stands in front as well. There it is ½·x; inner belongs inside the tanh only.
erf_for_tanh: torch.tanh → torch.erf
    gelu_tanh uses erf. With this polynomial and √(2/π) goes torch.tanh.
tanh_lost_bracket: (1 + torch.tanh(math.sqrt(2 / math.pi) * inner)) → 1 + torch.tanh(math.sqrt(2 / math.pi) * inner)
    A bracket is missing in gelu_tanh: ½·x multiplies the whole (1 + tanh(…)), not the 1 alone.
lost_bracket: (1 + torch.erf(x / math.sqrt(2))) → 1 + torch.erf(x / math.sqrt(2))
    A bracket is missing in gelu: ½·x multiplies the whole (1 + erf(…)), not the 1 alone.
tanh_for_erf: torch.erf → torch.tanh
    Your gelu uses tanh of x/√2. The exact form has erf there.
silu: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))) → x * torch.sigmoid(x)
    x·σ(x) is SiLU. GELU is x·Φ(x), with Φ(x) = ½(1 + erf(x/√2)).
root_of_two_pi: x / math.sqrt(2) → x / math.sqrt(2 * math.pi)
    Inside erf, x is divided by √(2π). It is √2 alone; √(2π) belongs to the density.
""",
)

EXERCISE = Exercise(
    id="activation.gelu",
    title="GELU, exact and by tanh",
    points=2,
    difficulty=2,
    minutes=12,
    reference=GELUS,
    alternatives=[
        (gelu, gelu_tanh),
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
        Case(
            "float64",
            "both forms in float64",
            lambda g: Program().call(double(g, 2, 5, scale=5.0)).call(double(g, 2, 5, scale=5.0), fn="gelu_tanh"),
        ),
        Case(
            "gradients",
            "the gradients of both forms, at random inputs and at ±60",
            lambda g: (
                Program()
                .call(torch.cat([g.randn(6, scale=2.0), t(60, -60)]), grad=[0])
                .call(torch.cat([g.randn(6, scale=2.0), t(60, -60)]), fn="gelu_tanh", grad=[0])
            ),
        ),
    ],
    mutants=MISTAKES,
)

"""GELU, exact and by tanh."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import activations as ref

from .shared import cumulative, double, t

GELUS = (ref.gelu, ref.gelu_tanh)
SQRT_2_OVER_PI = math.sqrt(2 / math.pi)


def tanh_form(x, constant=SQRT_2_OVER_PI, inner=lambda x: x + 0.044715 * x**3):
    return 0.5 * x * (1 + torch.tanh(constant * inner(x)))


EXERCISE = Exercise(
    id="activation.gelu",
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
            "half_missing",
            (ref.gelu, lambda x: 2 * tanh_form(x)),
            "The ½ in front of the tanh form is missing: far to the right it gives 2x.",
        ),
        Mutant(
            "half_missing_exact",
            (lambda x: x * (1 + torch.erf(x / math.sqrt(2))), ref.gelu_tanh),
            "Φ(x) is ½(1 + erf(x/√2)): the ½ is missing, and far to the right your gelu gives 2x.",
        ),
        Mutant(
            "one_missing_exact",
            (lambda x: 0.5 * x * torch.erf(x / math.sqrt(2)), ref.gelu_tanh),
            "Φ(x) is ½(1 + erf(x/√2)): without the 1, negative inputs come out positive.",
        ),
        Mutant(
            "root_outside",
            (lambda x: 0.5 * x * (1 + torch.erf(x) / math.sqrt(2)), ref.gelu_tanh),
            "The √2 divides x, inside erf. Yours divides what erf gives.",
        ),
        Mutant(
            "times_root",
            (lambda x: 0.5 * x * (1 + torch.erf(x * math.sqrt(2))), ref.gelu_tanh),
            "Inside erf, x is divided by √2. Yours multiplies.",
        ),
        Mutant(
            "divided_by_two",
            (lambda x: 0.5 * x * (1 + torch.erf(x / 2)), ref.gelu_tanh),
            "Inside erf, x is divided by √2 = 1.414, not by 2.",
        ),
        Mutant(
            "reflected",
            (lambda x: 0.5 * x * (1 - torch.erf(x / math.sqrt(2))), ref.gelu_tanh),
            "This keeps negative inputs and drops positive ones. Φ(x) is ½(1 + erf(x/√2)), with a plus.",
        ),
        Mutant(
            "sigmoid_for_tanh",
            (ref.gelu, lambda x: x * torch.sigmoid(1.702 * x)),
            "gelu_tanh is x·σ(1.702x), a third and coarser form. The one asked for has a tanh of the given polynomial.",
        ),
        Mutant(
            "constant_missing",
            (ref.gelu, lambda x: tanh_form(x, 1.0)),
            "The factor √(2/π) in front of the inner polynomial is missing.",
        ),
        Mutant(
            "constant_without_root",
            (ref.gelu, lambda x: tanh_form(x, 2 / math.pi)),
            "In front of the inner polynomial stands √(2/π) = 0.798, not 2/π = 0.637.",
        ),
        Mutant(
            "constant_of_density",
            (ref.gelu, lambda x: tanh_form(x, math.sqrt(math.pi / 2))),
            "The fraction is upside down: √(2/π) = 0.798, not √(π/2) = 1.253.",
        ),
        Mutant(
            "cube_forgotten",
            (ref.gelu, lambda x: tanh_form(x, inner=lambda x: x)),
            "The small term is missing: inside the tanh stands x + 0.044715·x³.",
        ),
        Mutant(
            "cube_subtracted",
            (ref.gelu, lambda x: tanh_form(x, inner=lambda x: x - 0.044715 * x**3)),
            "The small term inside the tanh is added: x + 0.044715·x³.",
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
        Mutant(
            "gate_cut_off",
            (lambda x: x * cumulative(x.detach()), ref.gelu_tanh),
            "The numbers of gelu are right, but no gradient passes Φ(x): it was cut off (math.erf, .item(), "
            ".tolist(), detach). torch.erf takes tensors.",
        ),
        Mutant(
            "tanh_cut_off",
            (ref.gelu, lambda x: 0.5 * x * (1 + torch.tanh(SQRT_2_OVER_PI * (x + 0.044715 * x**3)).detach())),
            "The numbers of gelu_tanh are right, but no gradient passes the tanh: it was cut off (math.tanh, "
            ".item(), detach). torch.tanh takes tensors.",
        ),
        Mutant(
            "constant_outside",
            (ref.gelu, lambda x: 0.5 * x * (1 + SQRT_2_OVER_PI * torch.tanh(x + 0.044715 * x**3))),
            "√(2/π) multiplies what tanh gives. It belongs inside, in front of the polynomial: tanh(√(2/π) · inner).",
        ),
        Mutant(
            "constant_on_first_term",
            (ref.gelu, lambda x: tanh_form(x, 1.0, lambda x: SQRT_2_OVER_PI * x + 0.044715 * x**3)),
            "√(2/π) multiplies x alone. It multiplies the whole polynomial, the cube as well: √(2/π) · (x + "
            "0.044715·x³).",
        ),
        Mutant(
            "root_of_two_only",
            (ref.gelu, lambda x: tanh_form(x, math.sqrt(2) / math.pi)),
            "In front of the polynomial stands √2/π = 0.450. The root covers the π as well: √(2/π) = 0.798.",
        ),
        Mutant(
            "constant_multiplied",
            (ref.gelu, lambda x: tanh_form(x, math.sqrt(2 * math.pi))),
            "In front of the polynomial stands √(2π) = 2.507. It is the root of a fraction: √(2/π) = 0.798.",
        ),
        Mutant(
            "constant_halved",
            (ref.gelu, lambda x: tanh_form(x, 1 / math.sqrt(2 * math.pi))),
            "1/√(2π) = 0.399 belongs to the density. In front of the polynomial stands √(2/π) = 0.798.",
        ),
        Mutant(
            "root_of_product",
            (ref.gelu, lambda x: tanh_form(x, math.sqrt(2) * math.pi)),
            "In front of the polynomial stands √2·π = 4.443. It is the root of a fraction: √(2/π) = 0.798.",
        ),
        Mutant(
            "tanh_gate_only",
            (ref.gelu, lambda x: 0.5 * (1 + torch.tanh(SQRT_2_OVER_PI * (x + 0.044715 * x**3)))),
            "gelu_tanh lacks the factor x in front: this is the probability to keep x. Multiply by x.",
        ),
        Mutant(
            "tanh_reflected",
            (ref.gelu, lambda x: 0.5 * x * (1 - torch.tanh(SQRT_2_OVER_PI * (x + 0.044715 * x**3)))),
            "gelu_tanh keeps negative inputs and drops positive ones: it is 1 + tanh(…), with a plus.",
        ),
        Mutant(
            "inner_in_front",
            (ref.gelu, lambda x: tanh_form(x) * (1 + 0.044715 * x**2)),
            "The polynomial stands in front as well. There it is ½·x; inner belongs inside the tanh only.",
        ),
        Mutant(
            "erf_for_tanh",
            (ref.gelu, lambda x: 0.5 * x * (1 + torch.erf(SQRT_2_OVER_PI * (x + 0.044715 * x**3)))),
            "gelu_tanh uses erf. With this polynomial and √(2/π) goes torch.tanh.",
        ),
        Mutant(
            "tanh_lost_bracket",
            (ref.gelu, lambda x: 0.5 * x + torch.tanh(SQRT_2_OVER_PI * (x + 0.044715 * x**3))),
            "A bracket is missing in gelu_tanh: ½·x multiplies the whole (1 + tanh(…)), not the 1 alone.",
        ),
        Mutant(
            "lost_bracket",
            (lambda x: 0.5 * x + torch.erf(x / math.sqrt(2)), ref.gelu_tanh),
            "A bracket is missing in gelu: ½·x multiplies the whole (1 + erf(…)), not the 1 alone.",
        ),
        Mutant(
            "tanh_for_erf",
            (lambda x: 0.5 * x * (1 + torch.tanh(x / math.sqrt(2))), ref.gelu_tanh),
            "Your gelu uses tanh of x/√2. The exact form has erf there.",
        ),
        Mutant(
            "silu",
            (lambda x: x * torch.sigmoid(x), ref.gelu_tanh),
            "x·σ(x) is SiLU. GELU is x·Φ(x), with Φ(x) = ½(1 + erf(x/√2)).",
        ),
        Mutant(
            "root_of_two_pi",
            (lambda x: 0.5 * x * (1 + torch.erf(x / math.sqrt(2 * math.pi))), ref.gelu_tanh),
            "Inside erf, x is divided by √(2π). It is √2 alone; √(2π) belongs to the density.",
        ),
    ],
)

"""Unit 04, first half: the activations themselves and their derivatives by hand."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import activations as ref

UNIT = "04-ffn-and-gating"
FAMILY = (ref.relu, ref.leaky_relu, ref.elu, ref.squared_relu)
GELUS = (ref.gelu, ref.gelu_tanh)
SLOPES = (ref.sigmoid_derivative, ref.silu_derivative, ref.gelu_derivative)


def instead(of, position, wrong):
    """The tuple ``of`` with one function replaced by a wrong one."""
    return (*of[:position], wrong, *of[position + 1 :])


def t(*values):
    """A float32 vector of the given numbers."""
    return torch.tensor(values, dtype=torch.float32)


# ---- piecewise activations --------------------------------------------------------------------------------

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


def family_all(g):
    x = g.randn(2, 3, 5, scale=2.0)
    return (
        Program()
        .call(x)
        .call(x, fn="leaky_relu", slope=g.number(0.1, 0.4))
        .call(x, fn="elu", alpha=g.number(0.5, 2.0))
        .call(x, fn="squared_relu")
    )


family = Exercise(
    id="activation.family",
    unit=UNIT,
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
            lambda g: Program().call(t(-2, -0.5, 0.5, 3), fn="leaky_relu", slope=g.number(1.5, 3.0)),
        ),
        Case("elu", "ELU of −1 is 1/e − 1, and 2 stays 2", lambda g: Program().call(t(-1, 2), fn="elu")),
        Case(
            "elu alpha",
            "alpha scales the negative side of ELU only",
            lambda g: Program().call(t(-3, -1, 0.5, 2), fn="elu", alpha=g.number(0.3, 0.8)),
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

# ---- GELU -------------------------------------------------------------------------------------------------

SQRT_2_OVER_PI = math.sqrt(2 / math.pi)


def density(x):
    return torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def cumulative(x):
    return 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def tanh_form(x, constant=SQRT_2_OVER_PI, inner=lambda x: x + 0.044715 * x**3):
    return 0.5 * x * (1 + torch.tanh(constant * inner(x)))


gelu = Exercise(
    id="activation.gelu",
    unit=UNIT,
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

# ---- Swish ------------------------------------------------------------------------------------------------

swish = Exercise(
    id="activation.swish",
    unit=UNIT,
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

# ---- slopes -----------------------------------------------------------------------------------------------


def sigmoid_plain(x):
    return torch.sigmoid(x) * (1 - torch.sigmoid(x))


def by_autograd(function):
    """The slope that autograd finds."""

    def slope(x):
        with torch.enable_grad():
            y = x.detach().clone().requires_grad_(True)
            return torch.autograd.grad(function(y).sum(), y)[0]

    return slope


derivatives = Exercise(
    id="activation.derivatives",
    unit=UNIT,
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
        tuple(by_autograd(f) for f in (torch.sigmoid, lambda x: x * torch.sigmoid(x), lambda x: x * cumulative(x))),
    ],
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
    ],
    mutants=[
        Mutant(
            "one_inside",
            instead(SLOPES, 0, lambda x: torch.sigmoid(x) * torch.sigmoid(1 - x)),
            "f(x)·f(1 − x) puts the 1 inside the sigmoid. The slope is f(x)·(1 − f(x)).",
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
    ],
)

# ---- softmax ----------------------------------------------------------------------------------------------


def jacobian_by_loop(p):
    """Entry by entry: p_i(δ_ij − p_j)."""
    n = p.shape[-1]
    rows = [torch.stack([p[..., i] * (int(i == j) - p[..., j]) for j in range(n)], -1) for i in range(n)]
    return torch.stack(rows, -2)


def one_row(p):
    """Right for a vector, mixes rows of a batch."""
    flat = p.reshape(-1, p.shape[-1])
    return torch.diag_embed(p) - flat.T @ flat


def probabilities(g, *shape):
    return torch.softmax(g.randn(*shape), -1)


softmax_jacobian = Exercise(
    id="activation.softmax_jacobian",
    unit=UNIT,
    title="The slope of softmax is a matrix",
    points=2,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="softmax_jacobian(p)",
    reference=ref.softmax_jacobian,
    alternatives=[
        jacobian_by_loop,
        lambda p: p[..., :, None] * (torch.eye(p.shape[-1], dtype=p.dtype) - p[..., None, :]),
    ],
    cases=[
        Case("two", "two entries of 0.5: 0.25 on the diagonal, −0.25 beside it", lambda g: call(t(0.5, 0.5))),
        Case("three", "unequal entries, and each row sums to 0", lambda g: call(t(0.7, 0.2, 0.1))),
        Case("sure", "one entry is 1: nothing moves any more, the matrix is 0", lambda g: call(t(1, 0, 0)), weight=0),
        Case(
            "batch", "six rows at once, each with its own matrix", lambda g: call(probabilities(g, 2, 3, 5)), weight=2
        ),
        Case("one row", "a batch of one row", lambda g: call(probabilities(g, 1, 4))),
    ],
    mutants=[
        Mutant(
            "diagonal_only",
            lambda p: torch.diag_embed(p * (1 - p)),
            "Only the diagonal is right. Raising one input also lowers the other outputs: −p_i·p_j.",
        ),
        Mutant(
            "no_diagonal",
            lambda p: -p[..., :, None] * p[..., None, :],
            "The diagonal lacks its + p_i: the matrix is diag(p) − p pᵀ.",
        ),
        Mutant(
            "plus",
            lambda p: torch.diag_embed(p) + p[..., :, None] * p[..., None, :],
            "The product p_i·p_j is subtracted: raising one input lowers the other outputs.",
        ),
        Mutant(
            "delta_forgotten",
            lambda p: p[..., :, None] * (1 - p[..., None, :]),
            "p_i(1 − p_j) holds on the diagonal only. Elsewhere the 1 is a 0.",
        ),
        Mutant(
            "sign",
            lambda p: p[..., :, None] * p[..., None, :] - torch.diag_embed(p),
            "Every entry has the wrong sign: it is diag(p) − p pᵀ.",
        ),
        Mutant(
            "rows_mixed",
            one_row,
            "The rows of a batch are mixed: pᵀp adds up over the batch. Use p[..., :, None] * p[..., None, :].",
        ),
        Mutant(
            "inner_product",
            lambda p: torch.diag_embed(p) - (p * p).sum(-1)[..., None, None],
            "p @ p.T of a vector is one number. Every pair is needed: p[..., :, None] * p[..., None, :].",
        ),
        Mutant(
            "identity",
            lambda p: torch.eye(p.shape[-1]) - p[..., :, None] * p[..., None, :],
            "The diagonal has a 1 in place of p_i: torch.diag_embed(p), not the identity.",
        ),
    ],
)

EXERCISES = [family, gelu, swish, derivatives, softmax_jacobian]

"""Swish with its slider β."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
from autograder.reference import activations as ref

from .shared import double, t

MISTAKES = changes(
    ref.swish,
    """
beta_ignored: sigmoid(beta * x) → sigmoid(x)
    β is ignored: it multiplies x inside the sigmoid.
beta_outside: x * sigmoid(beta * x) → beta * x * sigmoid(x)
    β multiplies the result. It belongs inside the sigmoid only: x·σ(βx).
beta_everywhere: x * sigmoid(beta * x) → beta * x * sigmoid(beta * x)
    β stands in front as well: only the x inside the sigmoid gets it.
only_sigmoid: x * sigmoid(beta * x) → sigmoid(beta * x)
    This is σ(βx), the gate alone. Multiply it by x.
overflowing_ratio: x * sigmoid(beta * x) → x * torch.exp(beta * x) / (1 + torch.exp(beta * x))
    e^(βx) overflows for large inputs and ∞/∞ is NaN. Use torch.sigmoid.
overflowing_gradient: x * sigmoid(beta * x) → x / (1 + torch.exp(-beta * x))
    The numbers are right, but far to the left e^(−βx) is infinite and the gradient is NaN. torch.sigmoid has a
    gradient everywhere.
gate_detached: sigmoid(beta * x) → sigmoid(beta * x).detach()
    The numbers are right, but no gradient passes the gate: it was cut off (detach, .data, no_grad). x counts in
    both factors.
in_place: x * sigmoid(beta * x) → x.mul_(sigmoid(beta * x))
    The product is written into x, which is still the caller's tensor. Return a new one, x * ….
beta_divides: sigmoid(beta * x) → sigmoid(x / (beta or 1e-12))
    β divides x. It multiplies: σ(βx), so β = 0 leaves half of x.
beta_added: sigmoid(beta * x) → sigmoid(x + beta)
    β is added to x inside the sigmoid. It multiplies: σ(βx).
added_gate: x * sigmoid(beta * x) → x + sigmoid(beta * x)
    The gate is added to x. It multiplies: x·σ(βx).
gate_is_input: x * sigmoid(beta * x) → beta * sigmoid(x)
    x stands inside the sigmoid only, and β in its place. Swish is x·σ(βx).
tanh_gate: sigmoid(beta * x) → tanh(beta * x)
    The gate of Swish is the sigmoid, between 0 and 1. Yours is the tanh.
gate_turned: sigmoid(beta * x) → sigmoid(-beta * x)
    The gate closes where it should open: a minus is missing or one too many. σ(z) = 1/(1 + e^(−z)).
beta_ignored_overflowing: x * sigmoid(beta * x) → x * (1 / (1 + torch.exp(-x)))
    β is not used: it belongs inside, σ(βx). Then use torch.sigmoid: the gradient of 1/(1 + e^(−z)) is NaN far to
    the left.
beta_outside_overflowing: x * sigmoid(beta * x) → beta * x * (1 / (1 + torch.exp(-x)))
    β stands in front; it belongs inside, x·σ(βx). Then use torch.sigmoid: the gradient of 1/(1 + e^(−z)) is NaN far
    to the left.
beta_twice_overflowing: x * sigmoid(beta * x) → beta * x * (1 / (1 + torch.exp(-beta * x)))
    β stands inside and in front: x·σ(βx). Then use torch.sigmoid: the gradient of 1/(1 + e^(−z)) is NaN far to the
    left.
only_gate_overflowing: x * sigmoid(beta * x) → 1 / (1 + torch.exp(-beta * x))
    The gate σ(βx) is returned alone: multiply it by x. Then use torch.sigmoid: the gradient of 1/(1 + e^(−z)) is
    NaN far to the left.
gate_turned_overflowing: x * sigmoid(beta * x) → x * (1 / (1 + torch.exp(beta * x)))
    The gate closes where it should open: a minus is one too many or missing. Then use torch.sigmoid, whose gradient
    is never NaN.
beta_divides_overflowing: x * sigmoid(beta * x) → x * (1 / (1 + torch.exp(-x / (beta or 1e-12))))
    β divides x. It multiplies: σ(βx). Then use torch.sigmoid: the gradient of 1/(1 + e^(−z)) is NaN far to the
    left.
zero_taken_for_missing: sigmoid(beta * x) → sigmoid((beta or 1.0) * x)
    Right but for β = 0, which counts as missing here and becomes 1. Use beta as it is: β = 0 gives x/2.
input_cut: return → x = x.clamp(-50, 50); return
    Large x are cut off before they are multiplied, so 1000 does not stay 1000. torch.sigmoid needs no clamp.
only_beta_inside: sigmoid(beta * x) → sigmoid(torch.as_tensor(beta, dtype=x.dtype))
    σ gets β alone, so every x is multiplied by the same number. Inside stands βx.
input_detached: x * sigmoid(beta * x) → x.detach() * sigmoid(beta * x)
    The numbers are right, but no gradient passes the x in front: it was cut off (detach, .data). x counts in both
    factors.
tanh_not_halved: x * sigmoid(beta * x) → 0.5 * x * (1 + tanh(beta * x))
    This is x·σ(2βx): a tanh that stands for the sigmoid gets half, σ(z) = ½(1 + tanh(z/2)).
""",
)

EXERCISE = Exercise(
    id="activation.swish",
    title="Swish and its slider β",
    points=1,
    difficulty=1,
    minutes=6,
    reference=ref.swish,
    alternatives=[
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
        Case(
            "float64",
            "float64 and a negative β",
            lambda g: call(double(g, 3, 4, scale=5.0), beta=-g.number(0.5, 2.0)),
        ),
        Case(
            "gradient",
            "the gradient of x, which passes the gate as well",
            lambda g: call(g.randn(2, 6, scale=2.0), g.number(0.5, 3.0), grad=[0]),
        ),
        Case(
            "gradient far out",
            "the gradient at ±1000 is a number: 1 on the right, 0 on the left",
            lambda g: call(t(-1000, 1000, -g.number(200, 900), g.number(-2, 2)), grad=[0]),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
)

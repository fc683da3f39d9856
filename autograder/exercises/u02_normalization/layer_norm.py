"""LayerNorm over the last axis."""

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import norms as ref

from .shared import BUILT_IN, double, ones, t


def zeros(d: int) -> Tensor:
    return torch.zeros(d)


def with_var(x, weight, bias, eps=1e-5):
    """With torch's own variance, told to divide by d."""
    return weight * (x - x.mean(-1, keepdim=True)) * (x.var(-1, correction=0, keepdim=True) + eps).rsqrt() + bias


def row_by_row(x, weight, bias, eps=1e-5):
    """One token at a time, with mean and variance at once."""
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        variance, mean = torch.var_mean(row, correction=0)
        rows.append((row - mean) / (variance + eps) ** 0.5 * weight + bias)
    return torch.stack(rows).reshape(x.shape)


def by_matrix(x, weight, bias, eps=1e-5):
    """With the matrix I − 1/d that centers."""
    d = x.shape[-1]
    centered = x @ (torch.eye(d, dtype=x.dtype) - 1 / d)
    size = torch.sqrt(torch.einsum("...i,...i->...", centered, centered) / d + eps)
    return torch.addcmul(bias, centered / size[..., None], weight)


def one_flat_token(g: Source) -> Program:
    """Gradients, with a token whose variance is 0."""
    x = g.randn(2, 3, 4)
    x[0, 1] = g.integer(-5, 6)
    return call(x, g.randn(4), g.randn(4), grad=[0, 1, 2])


def layer_norm(x, weight, bias, eps=1e-5):
    centered = x - x.mean(-1, keepdim=True)
    variance = centered.pow(2).mean(-1, keepdim=True)
    normed = centered / torch.sqrt(variance + eps)
    return weight * normed + bias


MISTAKES = changes(
    layer_norm,
    """
unbiased: pow(2).mean(-1, keepdim=True) → pow(2).sum(-1, keepdim=True) / (x.shape[-1] - 1)
    The variance is divided by d − 1 (torch.var does that by default). LayerNorm divides by d.
eps_outside: sqrt(variance + eps) → sqrt(variance).add(eps)
    ε is added to the standard deviation. It stands inside the root: √(variance + ε).
deviation_plus_eps: torch.sqrt(variance + eps) → (x.std(-1, keepdim=True) + eps)
    Two things: x.std() divides by d − 1, and ε is added to the deviation. Use √(mean of squares + ε).
eps_fixed: variance + eps → variance + 1e-5
    The argument eps has no effect where it should: add eps itself, which may be any number, to the variance
    under the root.
eps_floor: (variance + eps) → (variance.clamp(min=eps))
    ε is a lower bound of the variance here. Add it to the variance, under the root: √(variance + ε).
cancelling: centered.pow(2).mean(-1, keepdim=True) → (x**2).mean(-1, keepdim=True) - x.mean(-1, keepdim=True)**2
    mean(x²) − mean(x)² is the difference of two large numbers, and rounding eats it up. Take the mean square of
    the centered vector.
no_eps: variance + eps → variance
    ε is missing: equal entries give 0/0. Add it to the variance, inside the root.
sum: pow(2).mean → pow(2).sum
    The squares are added up. The variance is their mean: divide by d.
squares_of_x: centered.pow(2) → x.pow(2)
    The squares are those of x. The variance is the mean square of the centered vector.
divides_by_variance: torch.sqrt(variance + eps) → (variance + eps)
    The centered vector is divided by the variance. Take the square root of (variance + ε) first.
keepdim_lost: pow(2).mean(-1, keepdim=True) → pow(2).mean(-1)
    The variance has lost its last axis, so it lines up with another one or does not fit: keepdim=True.
not_centered: x - x.mean(-1, keepdim=True) → x
    The mean is not subtracted: this is RMSNorm with a bias. Center each token first.
whole_tensor: x - x.mean(-1, keepdim=True) → x - x.mean() ; pow(2).mean(-1, keepdim=True) → pow(2).mean()
    One mean and variance for the whole tensor. Each token, a row of the last axis, has its own.
two_axes: x - x.mean(-1, keepdim=True) → x - x.mean(axes, keepdim=True)
; centered.pow(2).mean(-1, keepdim=True) → centered.pow(2).mean(axes, keepdim=True)
; centered = → axes = tuple(range(x.ndim))[-2:]; centered =
    The statistics run over the last two axes, that is over the tokens too. Each token has its own: axis −1.
first_axis: x - x.mean(-1, keepdim=True) → x - x.mean(0) ; pow(2).mean(-1, keepdim=True) → pow(2).mean(0)
    The statistics run over the first axis, that is over the batch. LayerNorm runs over the last one.
no_bias: normed + bias → normed
    The bias is not added.
no_weight: weight * normed → normed
    The weight is not used.
bare: weight * normed + bias → normed
    Weight and bias are not used: y·weight + bias comes last.
bias_scaled: weight * normed + bias → weight * (normed + bias)
    The bias is multiplied by the weight. Scale first, then add: y·weight + bias.
one_variance: pow(2).mean(-1, keepdim=True) → pow(2).mean()
    The variance is one mean over all tokens. Each token has its own: mean(-1, keepdim=True).
variance_first_axis: pow(2).mean(-1, keepdim=True) → pow(2).mean(0, keepdim=True)
    The mean of the squares runs over the first axis. Each token has its own: mean(-1, keepdim=True).
variance_two_axes: pow(2).mean(-1, keepdim=True) → pow(2).mean(tuple(range(x.ndim))[-2:], keepdim=True)
    The variance runs over the tokens as well. Each token has its own: mean(-1, keepdim=True).
variance_detached: pow(2).mean(-1, keepdim=True) → pow(2).mean(-1, keepdim=True).detach()
    The numbers are right, but the deviation is cut off (detach, no_grad, .data). It depends on x, and the
    gradient has to flow through it.
mean_detached: x - x.mean(-1, keepdim=True) → x - x.mean(-1, keepdim=True).detach()
    The numbers are right, but the mean is cut off (detach, no_grad, .data). It depends on x, and the gradient
    has to flow through it.
statistics_detached: x.mean(-1, keepdim=True) → x.mean(-1, keepdim=True).detach()
; pow(2).mean(-1, keepdim=True) → pow(2).mean(-1, keepdim=True).detach()
    The numbers are right, but mean and deviation are cut off (detach, no_grad, .data). The gradient of x has to
    flow through both.
numerator_not_centered: normed = centered → normed = x
    The deviation is right, but x itself is divided by it. Divide the centered vector.
multiplied: centered / torch.sqrt → centered * torch.sqrt
    The centered vector is multiplied by √(variance + ε). Divide by sqrt, or multiply by rsqrt.
mean_then_square: centered.pow(2).mean(-1, keepdim=True) → centered.mean(-1, keepdim=True).pow(2)
    The mean is taken before the square. The mean of a centered vector is 0: square first, then average.
mean_of_sizes: pow(2) → abs() ; torch.sqrt(variance + eps) → (variance + eps)
    The centered vector is divided by its mean size |x − μ|. Square, average, then take the root.
mean_of_sizes_squared: pow(2).mean(-1, keepdim=True) → abs().mean(-1, keepdim=True).pow(2)
    The mean of |x − μ| stands in place of the deviation. Square first, average then, and take the root last.
no_eps_unbiased: torch.sqrt(variance + eps) → x.std(-1, keepdim=True)
    Two things: the variance is divided by d − 1 (torch does that by default), and ε is missing. Use √(mean of
    squares + ε).
unbiased_eps_fixed: torch.sqrt(variance + eps) → torch.sqrt(x.var(-1, keepdim=True) + 1e-5)
    Two things: the variance divides by d − 1, and ε stands as a number. Divide by d, and use the argument eps.
eps_in_result: variance + eps → variance ; + bias → + eps + bias
    ε is added to the result. It stands inside the root: torch.sqrt(variance + eps), with brackets.
sum_eps_outside: pow(2).mean → pow(2).sum ; sqrt(variance + eps) → sqrt(variance).add(eps)
    The centered vector is divided by its length plus ε. Take the mean of the squares, add ε, then the root.
weight_and_bias_exchanged: weight * normed + bias → bias * normed + weight
    Weight and bias have changed places: the weight multiplies, the bias is added.
weight_added: weight * normed → weight + normed
    The weight is added. It multiplies each entry: y·weight + bias.
root_keepdim_lost_on_mean: x.mean(-1, keepdim=True) → x.mean(-1)
; centered.pow(2).mean(-1, keepdim=True) → x.var(-1, correction=0, keepdim=True)
    The mean has lost its last axis, so other tokens' means are subtracted, or the shapes do not fit:
    keepdim=True.
""",
)

EXERCISE = Exercise(
    id="norm.layer_norm",
    title="LayerNorm",
    points=2,
    difficulty=2,
    minutes=12,
    reference=ref.layer_norm,
    alternatives=[with_var, row_by_row, by_matrix],
    forbidden=BUILT_IN,
    forbidden_message="A mean, a root and arithmetic are enough.",
    cases=[
        Case(
            "by hand",
            "1, 3, 5 has mean 3 and variance 8/3: it becomes −1.225, 0, 1.225",
            lambda g: call(t(1, 3, 5), ones(3), zeros(3)),
        ),
        Case(
            "weight and bias",
            "weight and bias act entry by entry, after the normalization",
            lambda g: call(t(1, 3, 5), t(1, 2, 3), t(10, 20, 30)),
        ),
        Case("large eps", "with ε = 1 the root is √(8/3 + 1)", lambda g: call(t(1, 3, 5), ones(3), zeros(3), eps=1.0)),
        Case(
            "equal entries",
            "7, 7, 7, 7 has no spread: it becomes the bias, not NaN",
            lambda g: call(t(7, 7, 7, 7), ones(4), t(0.5, 0, -0.5, 1)),
        ),
        Case(
            "tokens",
            "each token has its own mean: 1, 3, 5 and 10, 30, 50 come out alike",
            lambda g: call(t([1, 3, 5], [10, 30, 50]), ones(3), zeros(3)),
        ),
        Case(
            "square",
            "four tokens of four numbers, so that a wrong axis cannot hide behind a shape error",
            lambda g: call(g.randn(4, 4, scale=3.0) + g.randn(4, 1), g.randn(4), g.randn(4)),
        ),
        Case(
            "batch",
            "shape (2, 3, 5) with random weight and bias",
            lambda g: call(g.randn(2, 3, 5, scale=2.0) + 4, g.randn(5), g.randn(5)),
            weight=2,
        ),
        Case(
            "offset",
            "float32 entries near 10,000 that differ by a few units: their squares lie 8 apart",
            lambda g: call(10_000.0 + g.integers(-6, 7, 3, 8), g.randn(8), g.randn(8)),
        ),
        Case(
            "small spread",
            "entries that differ by thousandths, where the default ε = 1e-5 counts",
            lambda g: call(g.randn(3, 8, scale=4e-3), g.randn(8), g.randn(8)),
            weight=0.5,
        ),
        Case(
            "double",
            "float64 input and another ε: the result is float64",
            lambda g: call(*double(g, (2, 3, 6), 6, 6), eps=g.number(0.1, 0.9)),
            weight=0.5,
        ),
        Case(
            "gradients",
            "gradients of x, weight and bias; one token has equal entries, and its gradient is not NaN",
            one_flat_token,
        ),
    ],
    mutants=MISTAKES,
)

"""LayerNorm over the last axis."""

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import norms as ref

from .shared import BUILT_IN, double, ones, t


def zeros(d: int) -> Tensor:
    return torch.zeros(d)


def layer(
    center=lambda x: x - x.mean(-1, keepdim=True),
    spread=lambda c: c.pow(2).mean(-1, keepdim=True),
    scale=lambda variance, eps: torch.sqrt(variance + eps),
    finish=lambda y, w, b: y * w + b,
):
    """A layer_norm whose steps are given."""

    def layer_norm(x, weight, bias, eps=1e-5):
        centered = center(x)
        return finish(centered / scale(spread(centered), eps), weight, bias)

    return layer_norm


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


def cancelling(x, weight, bias, eps=1e-5):
    """mean(x²) − mean(x)², two large numbers whose difference is small."""
    mean = x.mean(-1, keepdim=True)
    return weight * (x - mean) / torch.sqrt((x**2).mean(-1, keepdim=True) - mean**2 + eps) + bias


def over_two_axes(x, weight, bias, eps=1e-5):
    axes = tuple(range(x.ndim))[-2:]
    return (x - x.mean(axes, keepdim=True)) / torch.sqrt(x.var(axes, correction=0, keepdim=True) + eps) * weight + bias


def one_flat_token(g: Source) -> Program:
    """Gradients, with a token whose variance is 0."""
    x = g.randn(2, 3, 4)
    x[0, 1] = g.integer(-5, 6)
    return call(x, g.randn(4), g.randn(4), grad=[0, 1, 2])


def over_first_axis(x, weight, bias, eps=1e-5):
    return (x - x.mean(0)) / torch.sqrt(x.var(0, correction=0) + eps) * weight + bias


def statistics_detached(x, weight, bias, eps=1e-5):
    fixed = x.detach()
    deviation = torch.sqrt(fixed.var(-1, correction=0, keepdim=True) + eps)
    return weight * (x - fixed.mean(-1, keepdim=True)) / deviation + bias


def eps_in_result(x, weight, bias, eps=1e-5):
    centered = x - x.mean(-1, keepdim=True)
    return weight * centered / torch.sqrt(centered.pow(2).mean(-1, keepdim=True)) + eps + bias


EXERCISE = Exercise(
    id="norm.layer_norm",
    title="LayerNorm",
    points=2,
    difficulty=2,
    minutes=12,
    signature="layer_norm(x, weight, bias, eps=1e-5)",
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
    mutants=[
        Mutant(
            "unbiased",
            layer(spread=lambda c: c.pow(2).sum(-1, keepdim=True) / (c.shape[-1] - 1)),
            "The variance is divided by d − 1 (torch.var does that by default). LayerNorm divides by d.",
        ),
        Mutant(
            "eps_outside",
            layer(scale=lambda variance, eps: torch.sqrt(variance) + eps),
            "ε is added to the standard deviation. It stands inside the root: √(variance + ε).",
        ),
        Mutant(
            "deviation_plus_eps",
            lambda x, weight, bias, eps=1e-5: (
                weight * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) + bias
            ),
            "Two things: x.std() divides by d − 1, and ε is added to the deviation. Use √(mean of squares + ε).",
        ),
        Mutant(
            "eps_fixed",
            lambda x, weight, bias, eps=1e-5: layer()(x, weight, bias),
            "The argument eps has no effect where it should: add eps itself, which may be any number, to the "
            "variance under the root.",
        ),
        Mutant(
            "eps_floor",
            layer(scale=lambda variance, eps: torch.sqrt(variance.clamp(min=eps))),
            "ε is a lower bound of the variance here. Add it to the variance, under the root: √(variance + ε).",
        ),
        Mutant(
            "cancelling",
            cancelling,
            "mean(x²) − mean(x)² is the difference of two large numbers, and rounding eats it up. Take the mean square "
            "of the centered vector.",
        ),
        Mutant(
            "no_eps",
            layer(scale=lambda variance, eps: torch.sqrt(variance)),
            "ε is missing: equal entries give 0/0. Add it to the variance, inside the root.",
        ),
        Mutant(
            "sum",
            layer(spread=lambda c: c.pow(2).sum(-1, keepdim=True)),
            "The squares are added up. The variance is their mean: divide by d.",
        ),
        Mutant(
            "squares_of_x",
            lambda x, weight, bias, eps=1e-5: (
                weight * (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps) + bias
            ),
            "The squares are those of x. The variance is the mean square of the centered vector.",
        ),
        Mutant(
            "divides_by_variance",
            layer(scale=lambda variance, eps: variance + eps),
            "The centered vector is divided by the variance. Take the square root of (variance + ε) first.",
        ),
        Mutant(
            "keepdim_lost",
            layer(spread=lambda c: c.pow(2).mean(-1)),
            "The variance has lost its last axis, so it lines up with another one or does not fit: keepdim=True.",
        ),
        Mutant(
            "not_centered",
            layer(center=lambda x: x),
            "The mean is not subtracted: this is RMSNorm with a bias. Center each token first.",
        ),
        Mutant(
            "whole_tensor",
            lambda x, weight, bias, eps=1e-5: (x - x.mean()) / torch.sqrt(x.var(correction=0) + eps) * weight + bias,
            "One mean and variance for the whole tensor. Each token, a row of the last axis, has its own.",
        ),
        Mutant(
            "two_axes",
            over_two_axes,
            "The statistics run over the last two axes, that is over the tokens too. Each token has its own: axis −1.",
        ),
        Mutant(
            "first_axis",
            over_first_axis,
            "The statistics run over the first axis, that is over the batch. LayerNorm runs over the last one.",
        ),
        Mutant("no_bias", layer(finish=lambda y, w, b: y * w), "The bias is not added."),
        Mutant("no_weight", layer(finish=lambda y, w, b: y + b), "The weight is not used."),
        Mutant("bare", layer(finish=lambda y, w, b: y), "Weight and bias are not used: y·weight + bias comes last."),
        Mutant(
            "bias_scaled",
            layer(finish=lambda y, w, b: (y + b) * w),
            "The bias is multiplied by the weight. Scale first, then add: y·weight + bias.",
        ),
        Mutant(
            "one_variance",
            layer(spread=lambda c: c.pow(2).mean()),
            "The variance is one mean over all tokens. Each token has its own: mean(-1, keepdim=True).",
        ),
        Mutant(
            "variance_first_axis",
            layer(spread=lambda c: c.pow(2).mean(0, keepdim=True)),
            "The mean of the squares runs over the first axis. Each token has its own: mean(-1, keepdim=True).",
        ),
        Mutant(
            "variance_two_axes",
            layer(spread=lambda c: c.pow(2).mean(tuple(range(c.ndim))[-2:], keepdim=True)),
            "The variance runs over the tokens as well. Each token has its own: mean(-1, keepdim=True).",
        ),
        Mutant(
            "variance_detached",
            layer(spread=lambda c: c.pow(2).mean(-1, keepdim=True).detach()),
            "The numbers are right, but the deviation is cut off (detach, no_grad, .data). It depends on x, and the "
            "gradient has to flow through it.",
        ),
        Mutant(
            "mean_detached",
            layer(center=lambda x: x - x.mean(-1, keepdim=True).detach()),
            "The numbers are right, but the mean is cut off (detach, no_grad, .data). It depends on x, and the "
            "gradient "
            "has to flow through it.",
        ),
        Mutant(
            "statistics_detached",
            statistics_detached,
            "The numbers are right, but mean and deviation are cut off (detach, no_grad, .data). The gradient of x has "
            "to flow through both.",
        ),
        Mutant(
            "numerator_not_centered",
            lambda x, weight, bias, eps=1e-5: (
                weight * x / torch.sqrt(x.var(-1, correction=0, keepdim=True) + eps) + bias
            ),
            "The deviation is right, but x itself is divided by it. Divide the centered vector.",
        ),
        Mutant(
            "multiplied",
            layer(scale=lambda variance, eps: torch.rsqrt(variance + eps)),
            "The centered vector is multiplied by √(variance + ε). Divide by sqrt, or multiply by rsqrt.",
        ),
        Mutant(
            "mean_then_square",
            layer(spread=lambda c: c.mean(-1, keepdim=True).pow(2)),
            "The mean is taken before the square. The mean of a centered vector is 0: square first, then average.",
        ),
        Mutant(
            "mean_of_sizes",
            layer(spread=lambda c: c.abs().mean(-1, keepdim=True), scale=lambda size, eps: size + eps),
            "The centered vector is divided by its mean size |x − μ|. Square, average, then take the root.",
        ),
        Mutant(
            "mean_of_sizes_squared",
            layer(spread=lambda c: c.abs().mean(-1, keepdim=True).pow(2)),
            "The mean of |x − μ| stands in place of the deviation. Square first, average then, and take the root last.",
        ),
        Mutant(
            "no_eps_unbiased",
            layer(
                spread=lambda c: c.pow(2).sum(-1, keepdim=True) / (c.shape[-1] - 1),
                scale=lambda variance, eps: torch.sqrt(variance),
            ),
            "Two things: the variance is divided by d − 1 (torch does that by default), and ε is missing. Use "
            "√(mean of squares + ε).",
        ),
        Mutant(
            "unbiased_eps_fixed",
            lambda x, weight, bias, eps=1e-5: (
                weight * (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + 1e-5) + bias
            ),
            "Two things: the variance divides by d − 1, and ε stands as a number. Divide by d, and use the argument "
            "eps.",
        ),
        Mutant(
            "eps_in_result",
            eps_in_result,
            "ε is added to the result. It stands inside the root: torch.sqrt(variance + eps), with brackets.",
        ),
        Mutant(
            "sum_eps_outside",
            layer(
                spread=lambda c: c.pow(2).sum(-1, keepdim=True), scale=lambda variance, eps: torch.sqrt(variance) + eps
            ),
            "The centered vector is divided by its length plus ε. Take the mean of the squares, add ε, then the root.",
        ),
        Mutant(
            "weight_and_bias_exchanged",
            layer(finish=lambda y, w, b: y * b + w),
            "Weight and bias have changed places: the weight multiplies, the bias is added.",
        ),
        Mutant(
            "weight_added",
            layer(finish=lambda y, w, b: y + w + b),
            "The weight is added. It multiplies each entry: y·weight + bias.",
        ),
        Mutant(
            "root_keepdim_lost_on_mean",
            lambda x, weight, bias, eps=1e-5: (
                weight * (x - x.mean(-1)) / torch.sqrt(x.var(-1, correction=0, keepdim=True) + eps) + bias
            ),
            "The mean has lost its last axis, so other tokens' means are subtracted, or the shapes do not fit: "
            "keepdim=True.",
        ),
    ],
)

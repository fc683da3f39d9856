"""LayerNorm over the last axis."""

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import norms as ref

from .shared import BUILT_IN, ones, t


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
    """One token at a time."""
    rows = [
        (r - r.sum() / len(r)) / ((r * r).mean() - r.mean() ** 2 + eps) ** 0.5 * weight + bias
        for r in x.reshape(-1, x.shape[-1])
    ]
    return torch.stack(rows).reshape(x.shape)


def over_first_axis(x, weight, bias, eps=1e-5):
    return (x - x.mean(0)) / torch.sqrt(x.var(0, correction=0) + eps) * weight + bias


EXERCISE = Exercise(
    id="norm.layer_norm",
    unit="02-normalization",
    title="LayerNorm",
    points=2,
    difficulty=2,
    minutes=12,
    signature="layer_norm(x, weight, bias, eps=1e-5)",
    reference=ref.layer_norm,
    alternatives=[layer(), with_var, row_by_row],
    forbidden=BUILT_IN,
    forbidden_message="mean, sqrt and arithmetic are enough.",
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
            "7, 7, 7 has no spread: it becomes the bias, not NaN",
            lambda g: call(t(7, 7, 7), ones(3), t(0.5, 0, -0.5)),
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
    ],
)

"""The gradients of LayerNorm by hand."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import norms as ref

from .shared import double, ones, t


def parts(grad, x, weight, eps):
    centered = x - x.mean(-1, keepdim=True)
    inverse = torch.rsqrt(centered.pow(2).mean(-1, keepdim=True) + eps)
    return centered * inverse, inverse, grad * weight


def mean(v):
    return v.mean(-1, keepdim=True)


def total(v):
    return v.flatten(0, -2).sum(0)


def backward(
    dx=lambda x_hat, inverse, g: inverse * (g - mean(g) - x_hat * mean(g * x_hat)),
    dweight=lambda grad, x_hat: total(grad * x_hat),
    dbias=total,
):
    """A layer_norm_backward whose parts are given."""

    def layer_norm_backward(grad, x, weight, eps=1e-5):
        x_hat, inverse, g = parts(grad, x, weight, eps)
        return dx(x_hat, inverse, g), dweight(grad, x_hat), dbias(grad)

    return layer_norm_backward


def by_jacobian(grad, x, weight, eps=1e-5):
    """With each token's Jacobian (I − 1/d − x̂x̂ᵀ/d)/σ as a matrix."""
    x_hat, inverse, g = parts(grad, x, weight, eps)
    d = x.shape[-1]
    matrix = torch.eye(d, dtype=x.dtype) - (1 + x_hat[..., :, None] * x_hat[..., None, :]) / d
    return inverse * torch.einsum("...ij,...j->...i", matrix, g), total(grad * x_hat), total(grad)


def weight_last(grad, x, weight, eps=1e-5):
    dx, dweight, dbias = backward()(grad, x, torch.ones_like(weight), eps)
    return weight * dx, dweight, dbias


def weight_forgotten(grad, x, weight, eps=1e-5):
    return backward()(grad, x, torch.ones_like(weight), eps)


def by_moments(grad, x, weight, eps=1e-5):
    """dx as a straight line in x for each token: a·g + b·x + c."""
    d = x.shape[-1]
    variance, mu = torch.var_mean(x, -1, correction=0, keepdim=True)
    a = (variance + eps) ** -0.5
    g = grad * weight
    b = -(a**3) * ((g * x).sum(-1, keepdim=True) - mu * g.sum(-1, keepdim=True)) / d
    c = -b * mu - a * g.sum(-1, keepdim=True) / d
    return a * g + b * x + c, torch.einsum("ti,ti->i", flat(grad), flat((x - mu) * a)), flat(grad).sum(0)


def flat(v):
    return v.reshape(-1, v.shape[-1])


def random(g: Source, *shape: int, eps: float = 1e-5) -> Program:
    return call(g.randn(*shape), g.randn(*shape, scale=2.0) + 1, g.randn(shape[-1]), eps=eps)


def last_step(wrong_dx):
    """A mutant: ``wrong_dx(x_hat, inverse, g, grad)`` gives dx, the rest is right."""

    def layer_norm_backward(grad, x, weight, eps=1e-5):
        x_hat, inverse, g = parts(grad, x, weight, eps)
        return wrong_dx(x_hat, inverse, g, grad), total(grad * x_hat), total(grad)

    return layer_norm_backward


EXERCISE = Exercise(
    id="norm.backward",
    title="The gradient of LayerNorm by hand",
    points=3,
    difficulty=4,
    minutes=25,
    signature="layer_norm_backward(grad, x, weight, eps=1e-5)",
    reference=ref.layer_norm_backward,
    alternatives=[by_jacobian, by_moments],
    forbidden=("autograd",),
    forbidden_message="The three formulas are what is asked for.",
    cases=[
        Case(
            "by hand",
            "x = 1, 3, 5 and grad = 0, 1, 0: the middle is pulled up, its neighbors down",
            lambda g: call(t([0, 1, 0]), t([1, 3, 5]), ones(3)),
        ),
        Case(
            "a shift is lost",
            "grad = 1, 1, 1 asks for a shift of x, which LayerNorm takes out: token 0 stays",
            lambda g: call(t([1, 1, 1], [0, 1, 0]), t([1, 3, 5], [1, 3, 5]), ones(3)),
        ),
        Case(
            "a scale is lost",
            "grad = −2, 0, 2 asks for a larger x, which LayerNorm takes out: dx is almost 0",
            lambda g: call(t([-2, 0, 2]), t([1, 3, 5]), ones(3), eps=1e-3),
        ),
        Case(
            "weight",
            "the weight multiplies the gradient before the two projections",
            lambda g: call(t([1, 0, 0]), t([1, 3, 5]), t(2, 3, 4)),
        ),
        Case("tokens", "dweight and dbias add up over six tokens", lambda g: random(g, 2, 3, 5), weight=2),
        Case("large eps", "ε = 1 changes the standard deviation", lambda g: random(g, 4, 4, eps=1.0)),
        Case(
            "small spread",
            "entries of x that differ by thousandths, where the default ε = 1e-5 counts",
            lambda g: call(g.randn(3, 6), g.randn(3, 6, scale=4e-3), g.randn(6)),
            weight=0.5,
        ),
        Case(
            "one token",
            "a batch of one token, shape (1, 1, 5)",
            lambda g: random(g, 1, 1, 5),
            weight=0.5,
        ),
        Case(
            "double",
            "float64 inputs and another ε: all three gradients are float64",
            lambda g: call(*double(g, (2, 3, 4), (2, 3, 4), 4), eps=g.number(0.1, 0.9)),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "statistics_constant",
            backward(lambda x_hat, inverse, g: inverse * g),
            "Mean and variance are treated as constants. They depend on x: subtract mean(g) and x̂·mean(g·x̂).",
        ),
        Mutant(
            "no_mean_term",
            backward(lambda x_hat, inverse, g: inverse * (g - x_hat * mean(g * x_hat))),
            "The term mean(g) is missing: dx should not change the mean of x.",
        ),
        Mutant(
            "no_projection",
            backward(lambda x_hat, inverse, g: inverse * (g - mean(g))),
            "The term x̂·mean(g·x̂) is missing: dx should not change the size of x.",
        ),
        Mutant(
            "mean_added",
            backward(lambda x_hat, inverse, g: inverse * (g + mean(g) - x_hat * mean(g * x_hat))),
            "The term mean(g) is added. Both projections take something away: g − mean(g) − x̂·mean(g·x̂).",
        ),
        Mutant(
            "projection_added",
            backward(lambda x_hat, inverse, g: inverse * (g - mean(g) + x_hat * mean(g * x_hat))),
            "The term x̂·mean(g·x̂) is added. Both projections take something away: g − mean(g) − x̂·mean(g·x̂).",
        ),
        Mutant(
            "negative",
            backward(lambda x_hat, inverse, g: -inverse * (g - mean(g) - x_hat * mean(g * x_hat))),
            "dx has the opposite sign. Give the gradient itself: (g − mean(g) − x̂·mean(g·x̂))/σ.",
        ),
        Mutant(
            "scaled_twice",
            backward(lambda x_hat, inverse, g: inverse**2 * (g - mean(g) - x_hat * mean(g * x_hat))),
            "dx is divided by the variance. Divide once by its root √(variance + ε).",
        ),
        Mutant(
            "sum_for_mean",
            backward(lambda x_hat, inverse, g: inverse * (g - mean(g) - x_hat * (g * x_hat).sum(-1, keepdim=True))),
            "The projection on x̂ takes the sum of g·x̂. It is the mean, because x̂ has length √d.",
        ),
        Mutant(
            "x_hat_forgotten",
            backward(lambda x_hat, inverse, g: inverse * (g - mean(g) - mean(g * x_hat))),
            "mean(g·x̂) is a number per token. The direction that it removes is x̂: subtract x̂·mean(g·x̂).",
        ),
        Mutant(
            "x_for_x_hat",
            lambda grad, x, weight, eps=1e-5: backward(
                lambda x_hat, inverse, g: inverse * (g - mean(g) - x * mean(g * x_hat))
            )(grad, x, weight, eps),
            "The projection uses x. It runs along the normalized x̂: subtract x̂·mean(g·x̂).",
        ),
        Mutant(
            "one_mean",
            backward(lambda x_hat, inverse, g: inverse * (g - g.mean() - x_hat * (g * x_hat).mean())),
            "The two means run over all tokens. Each token has its own: mean(-1, keepdim=True).",
        ),
        Mutant(
            "not_scaled",
            backward(lambda x_hat, inverse, g: g - mean(g) - x_hat * mean(g * x_hat)),
            "dx is not divided by the standard deviation √(variance + ε).",
        ),
        Mutant("weight_forgotten", weight_forgotten, "dx does not use the weight: g is grad·weight."),
        Mutant(
            "weight_last",
            weight_last,
            "The weight is multiplied at the end. It belongs into g = grad·weight, before the projections.",
        ),
        Mutant(
            "dweight_without_x",
            backward(dweight=lambda grad, x_hat: total(grad)),
            "dweight is the sum of grad. The weight multiplies x̂, so it is the sum of grad·x̂.",
        ),
        Mutant(
            "dweight_weighted",
            lambda grad, x, weight, eps=1e-5: backward(dweight=lambda grad, x_hat: total(grad * weight * x_hat))(
                grad, x, weight, eps
            ),
            "dweight contains the weight. That factor belongs to g, for dx alone: dweight is the sum of grad·x̂.",
        ),
        Mutant(
            "dweight_of_x",
            lambda grad, x, weight, eps=1e-5: backward(dweight=lambda grad, x_hat: total(grad * x))(
                grad, x, weight, eps
            ),
            "dweight is the sum of grad·x. The weight multiplies the normalized x̂: sum grad·x̂.",
        ),
        Mutant(
            "exchanged",
            lambda grad, x, weight, eps=1e-5: (lambda dx, dweight, dbias: (dx, dbias, dweight))(
                *backward()(grad, x, weight, eps)
            ),
            "dweight and dbias have changed places: return dx, dweight, dbias in this order.",
        ),
        Mutant(
            "first_axis",
            backward(dweight=lambda grad, x_hat: (grad * x_hat).sum(0), dbias=lambda grad: grad.sum(0)),
            "dweight and dbias are summed over the first axis alone. Sum over all axes but the last.",
        ),
        Mutant(
            "averaged",
            backward(
                dweight=lambda grad, x_hat: (grad * x_hat).flatten(0, -2).mean(0),
                dbias=lambda grad: grad.flatten(0, -2).mean(0),
            ),
            "dweight and dbias are means over the tokens. Every token adds its share: take sums.",
        ),
        Mutant(
            "not_summed",
            backward(dweight=lambda grad, x_hat: grad * x_hat, dbias=lambda grad: grad),
            "dweight and dbias keep the shape of x. All tokens share one weight: sum over them, shape (d,).",
        ),
        Mutant(
            "inverse_on_first_term",
            backward(lambda x_hat, inverse, g: inverse * g - mean(g) - x_hat * mean(g * x_hat)),
            "Brackets are missing: 1/σ multiplies g alone. It multiplies the whole difference.",
        ),
        Mutant(
            "inverse_not_on_scale",
            backward(lambda x_hat, inverse, g: inverse * (g - mean(g)) - x_hat * mean(g * x_hat)),
            "The term x̂·mean(g·x̂) stands outside the brackets. 1/σ multiplies it as well.",
        ),
        Mutant(
            "divided_by_inverse",
            backward(lambda x_hat, inverse, g: (g - mean(g) - x_hat * mean(g * x_hat)) / inverse),
            "dx is divided by inverse, which is 1/σ already. Multiply by it.",
        ),
        Mutant(
            "shift_sum",
            backward(lambda x_hat, inverse, g: inverse * (g - g.sum(-1, keepdim=True) - x_hat * mean(g * x_hat))),
            "The sum of g is subtracted. Take its mean over the last axis.",
        ),
        Mutant(
            "both_sums",
            backward(
                lambda x_hat, inverse, g: (
                    inverse * (g - g.sum(-1, keepdim=True) - x_hat * (g * x_hat).sum(-1, keepdim=True))
                )
            ),
            "Both terms are sums. They are means over the last axis: divide by d.",
        ),
        Mutant(
            "both_added",
            backward(lambda x_hat, inverse, g: inverse * (g + mean(g) + x_hat * mean(g * x_hat))),
            "Both terms are added. They take something away: g − mean(g) − x̂·mean(g·x̂).",
        ),
        Mutant(
            "grad_in_shift",
            last_step(lambda x_hat, inverse, g, grad: inverse * (g - mean(grad) - x_hat * mean(g * x_hat))),
            "The mean of grad is subtracted. It is the mean of g = grad·weight.",
        ),
        Mutant(
            "grad_in_scale",
            last_step(lambda x_hat, inverse, g, grad: inverse * (g - mean(g) - x_hat * mean(grad * x_hat))),
            "The last term takes mean(grad·x̂). It is mean(g·x̂), with g = grad·weight.",
        ),
        Mutant(
            "grad_in_both",
            last_step(lambda x_hat, inverse, g, grad: inverse * (g - mean(grad) - x_hat * mean(grad * x_hat))),
            "Both means are taken of grad. They belong to g = grad·weight.",
        ),
        Mutant(
            "g_only_in_means",
            last_step(lambda x_hat, inverse, g, grad: inverse * (grad - mean(g) - x_hat * mean(g * x_hat))),
            "The means are subtracted from grad. Subtract them from g = grad·weight.",
        ),
        Mutant(
            "x_hat_inside_mean",
            backward(lambda x_hat, inverse, g: inverse * (g - mean(g) - mean(x_hat * g * x_hat))),
            "x̂ stands inside the mean. Take mean(g·x̂) first, then multiply by x̂: x_hat * (g * x_hat).mean(…).",
        ),
        Mutant(
            "centered_for_x_hat",
            backward(lambda x_hat, inverse, g: inverse * (g - mean(g) - x_hat / inverse * mean(g * x_hat / inverse))),
            "The last term uses the centered x, undivided. It runs along x̂ = centered · inverse: x̂·mean(g·x̂).",
        ),
        Mutant(
            "keepdim_lost",
            backward(lambda x_hat, inverse, g: inverse * (g - g.mean(-1) - x_hat * (g * x_hat).mean(-1))),
            "The means have lost their last axis, so they line up with another one or do not fit: keepdim=True.",
        ),
        Mutant(
            "means_over_tokens",
            backward(lambda x_hat, inverse, g: inverse * (g - g.mean(0, True) - x_hat * (g * x_hat).mean(0, True))),
            "The means run over the first axis, that is over other tokens. Each token has its own: axis −1.",
        ),
        Mutant(
            "dweight_first_axis",
            backward(dweight=lambda grad, x_hat: (grad * x_hat).sum(0)),
            "dweight is summed over the first axis alone. Sum over all axes but the last, as dbias does.",
        ),
        Mutant(
            "dweight_not_summed",
            backward(dweight=lambda grad, x_hat: grad * x_hat),
            "dweight keeps the shape of x. All tokens share one weight: sum over them, as dbias does.",
        ),
        Mutant(
            "dweight_averaged",
            backward(dweight=lambda grad, x_hat: (grad * x_hat).flatten(0, -2).mean(0)),
            "dweight is a mean over the tokens. Every token adds its share: take the sum, as dbias does.",
        ),
        Mutant(
            "dweight_last_axis",
            backward(dweight=lambda grad, x_hat: (grad * x_hat).sum(-1)),
            "dweight is summed over the features. Sum over the tokens: (d,) remains.",
        ),
        Mutant(
            "dweight_centered",
            lambda grad, x, weight, eps=1e-5: backward(
                dweight=lambda grad, x_hat: total(grad * (x - x.mean(-1, keepdim=True)))
            )(grad, x, weight, eps),
            "dweight is the sum of grad·centered. The weight multiplies x̂, which is divided by the deviation.",
        ),
    ],
)

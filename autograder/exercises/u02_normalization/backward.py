"""The gradients of LayerNorm by hand."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import norms as ref

from .shared import ones, t


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


def by_autograd(grad, x, weight, eps=1e-5):
    """What autograd finds."""
    with torch.enable_grad():
        leaves = [v.detach().clone().requires_grad_() for v in (x, weight, torch.zeros_like(weight))]
        ref.layer_norm(*leaves, eps).backward(grad)
    return tuple(v.grad for v in leaves)


def by_jacobian(grad, x, weight, eps=1e-5):
    """With each token's Jacobian (I − 1/d − x̂x̂ᵀ/d)/σ as a matrix."""
    x_hat, inverse, g = parts(grad, x, weight, eps)
    d = x.shape[-1]
    matrix = torch.eye(d, dtype=x.dtype) - 1 / d - x_hat[..., :, None] * x_hat[..., None, :] / d
    return inverse * (matrix @ g[..., None]).squeeze(-1), total(grad * x_hat), total(grad)


def weight_last(grad, x, weight, eps=1e-5):
    dx, dweight, dbias = backward()(grad, x, torch.ones_like(weight), eps)
    return weight * dx, dweight, dbias


def weight_forgotten(grad, x, weight, eps=1e-5):
    return backward()(grad, x, torch.ones_like(weight), eps)


def random(g: Source, *shape: int, eps: float = 1e-5) -> Program:
    return call(g.randn(*shape), g.randn(*shape, scale=2.0) + 1, g.randn(shape[-1]), eps=eps)


EXERCISE = Exercise(
    id="norm.backward",
    unit="02-normalization",
    title="The gradient of LayerNorm by hand",
    points=3,
    difficulty=4,
    minutes=25,
    signature="layer_norm_backward(grad, x, weight, eps=1e-5)",
    reference=ref.layer_norm_backward,
    alternatives=[backward(), by_autograd, by_jacobian],
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
    ],
)

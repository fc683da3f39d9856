"""The gradients of LayerNorm by hand."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import norms as ref

from .shared import double, ones, t


def parts(grad, x, weight, eps):
    centered = x - x.mean(-1, keepdim=True)
    inverse = torch.rsqrt(centered.pow(2).mean(-1, keepdim=True) + eps)
    return centered * inverse, inverse, grad * weight


def total(v):
    return v.flatten(0, -2).sum(0)


def by_jacobian(grad, x, weight, eps=1e-5):
    """With each token's Jacobian (I − 1/d − x̂x̂ᵀ/d)/σ as a matrix."""
    x_hat, inverse, g = parts(grad, x, weight, eps)
    d = x.shape[-1]
    matrix = torch.eye(d, dtype=x.dtype) - (1 + x_hat[..., :, None] * x_hat[..., None, :]) / d
    return inverse * torch.einsum("...ij,...j->...i", matrix, g), total(grad * x_hat), total(grad)


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


MISTAKES = changes(
    ref.layer_norm_backward,
    """
statistics_constant: (g - g.mean(dim=-1, keepdim=True) - x_hat * (g * x_hat).mean(dim=-1, keepdim=True)) → g
    Mean and variance are treated as constants. They depend on x: subtract mean(g) and x̂·mean(g·x̂).
no_mean_term: - g.mean(dim=-1, keepdim=True) →
    The term mean(g) is missing: dx should not change the mean of x.
no_projection: - x_hat * (g * x_hat).mean(dim=-1, keepdim=True) →
    The term x̂·mean(g·x̂) is missing: dx should not change the size of x.
mean_added: g - g.mean → g + g.mean
    The term mean(g) is added. Both projections take something away: g − mean(g) − x̂·mean(g·x̂).
projection_added: - x_hat * (g → + x_hat * (g
    The term x̂·mean(g·x̂) is added. Both projections take something away: g − mean(g) − x̂·mean(g·x̂).
negative: dx = inverse_std → dx = -inverse_std
    dx has the opposite sign. Give the gradient itself: (g − mean(g) − x̂·mean(g·x̂))/σ.
scaled_twice: dx = inverse_std → dx = inverse_std**2
    dx is divided by the variance. Divide once by its root √(variance + ε).
sum_for_mean: (g * x_hat).mean → (g * x_hat).sum
    The projection on x̂ takes the sum of g·x̂. It is the mean, because x̂ has length √d.
x_hat_forgotten: x_hat * (g * x_hat) → (g * x_hat)
    mean(g·x̂) is a number per token. The direction that it removes is x̂: subtract x̂·mean(g·x̂).
x_for_x_hat: x_hat * (g * x_hat) → x * (g * x_hat)
    The projection uses x. It runs along the normalized x̂: subtract x̂·mean(g·x̂).
one_mean: g.mean(dim=-1, keepdim=True) → g.mean() ; (g * x_hat).mean(dim=-1, keepdim=True) → (g * x_hat).mean()
    The two means run over all tokens. Each token has its own: mean(-1, keepdim=True).
not_scaled: dx = inverse_std * → dx =
    dx is not divided by the standard deviation √(variance + ε).
weight_forgotten: g = grad * weight → g = grad
    dx does not use the weight: g is grad·weight.
weight_last: g = grad * weight → g = grad ; dx = inverse_std → dx = weight * inverse_std
    The weight is multiplied at the end. It belongs into g = grad·weight, before the projections.
dweight_without_x: _sum_over(grad * x_hat → _sum_over(grad
    dweight is the sum of grad. The weight multiplies x̂, so it is the sum of grad·x̂.
dweight_weighted: _sum_over(grad * x_hat → _sum_over(grad * weight * x_hat
    dweight contains the weight. That factor belongs to g, for dx alone: dweight is the sum of grad·x̂.
dweight_of_x: _sum_over(grad * x_hat → _sum_over(grad * x
    dweight is the sum of grad·x. The weight multiplies the normalized x̂: sum grad·x̂.
exchanged: _sum_over(grad * x_hat, tokens), →
; _sum_over(grad, tokens) → _sum_over(grad, tokens), _sum_over(grad * x_hat, tokens)
    dweight and dbias have changed places: return dx, dweight, dbias in this order.
first_axis: tokens = tuple(range(x.dim() - 1)) → tokens = (0,)
    dweight and dbias are summed over the first axis alone. Sum over all axes but the last.
averaged: _sum_over(grad * x_hat, tokens) → (grad * x_hat).mean(tokens) ; _sum_over(grad, tokens) → grad.mean(tokens)
    dweight and dbias are means over the tokens. Every token adds its share: take sums.
not_summed: _sum_over(grad * x_hat, tokens) → grad * x_hat ; _sum_over(grad, tokens) → grad
    dweight and dbias keep the shape of x. All tokens share one weight: sum over them, shape (d,).
inverse_on_first_term: (g - g.mean → g - g.mean ; keepdim=True)) → keepdim=True)
    Brackets are missing: 1/σ multiplies g alone. It multiplies the whole difference.
inverse_not_on_scale: keepdim=True) - x_hat → keepdim=True)) - x_hat
; (g * x_hat).mean(dim=-1, keepdim=True)) → (g * x_hat).mean(dim=-1, keepdim=True)
    The term x̂·mean(g·x̂) stands outside the brackets. 1/σ multiplies it as well.
divided_by_inverse: dx = inverse_std → dx = 1 / inverse_std
    dx is divided by inverse, which is 1/σ already. Multiply by it.
shift_sum: g.mean → g.sum
    The sum of g is subtracted. Take its mean over the last axis.
both_sums: g.mean → g.sum ; (g * x_hat).mean → (g * x_hat).sum
    Both terms are sums. They are means over the last axis: divide by d.
both_added: g - g.mean → g + g.mean ; - x_hat * (g → + x_hat * (g
    Both terms are added. They take something away: g − mean(g) − x̂·mean(g·x̂).
grad_in_shift: g - g.mean → g - grad.mean
    The mean of grad is subtracted. It is the mean of g = grad·weight.
grad_in_scale: (g * x_hat).mean → (grad * x_hat).mean
    The last term takes mean(grad·x̂). It is mean(g·x̂), with g = grad·weight.
grad_in_both: g - g.mean → g - grad.mean ; (g * x_hat).mean → (grad * x_hat).mean
    Both means are taken of grad. They belong to g = grad·weight.
g_only_in_means: g - g.mean → grad - g.mean
    The means are subtracted from grad. Subtract them from g = grad·weight.
x_hat_inside_mean: x_hat * (g * x_hat).mean → (x_hat * g * x_hat).mean
    x̂ stands inside the mean. Take mean(g·x̂) first, then multiply by x̂: x_hat * (g * x_hat).mean(…).
centered_for_x_hat: x_hat * (g * x_hat).mean → centered * (g * centered).mean
    The last term uses the centered x, undivided. It runs along x̂ = centered · inverse: x̂·mean(g·x̂).
keepdim_lost: g.mean(dim=-1, keepdim=True) → g.mean(-1) ; (g * x_hat).mean(dim=-1, keepdim=True) → (g * x_hat).mean(-1)
    The means have lost their last axis, so they line up with another one or do not fit: keepdim=True.
means_over_tokens: g.mean(dim=-1 → g.mean(dim=0 ; (g * x_hat).mean(dim=-1 → (g * x_hat).mean(dim=0
    The means run over the first axis, that is over other tokens. Each token has its own: axis −1.
dweight_first_axis: _sum_over(grad * x_hat, tokens) → (grad * x_hat).sum(0)
    dweight is summed over the first axis alone. Sum over all axes but the last, as dbias does.
dweight_not_summed: _sum_over(grad * x_hat, tokens) → grad * x_hat
    dweight keeps the shape of x. All tokens share one weight: sum over them, as dbias does.
dweight_averaged: _sum_over(grad * x_hat, tokens) → (grad * x_hat).mean(tokens)
    dweight is a mean over the tokens. Every token adds its share: take the sum, as dbias does.
dweight_last_axis: _sum_over(grad * x_hat, tokens) → (grad * x_hat).sum(-1)
    dweight is summed over the features. Sum over the tokens: (d,) remains.
dweight_centered: _sum_over(grad * x_hat → _sum_over(grad * centered
    dweight is the sum of grad·centered. The weight multiplies x̂, which is divided by the deviation.
""",
)

EXERCISE = Exercise(
    id="norm.backward",
    title="The gradient of LayerNorm by hand",
    points=3,
    difficulty=4,
    minutes=25,
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
    mutants=MISTAKES,
    unasked="""
it is the backward pass; nothing asks for gradients of gradients
    gradient of layer_norm_backward
""",
    equivalent="""
The backward pass by hand is not trained through: no text asks for gradients of gradients.
    e09785027d solution, result: return (inverse * (g - shift - x_hat * scale), (grad * x_hat).flatten…: result detach
    57711d046e alternative by_jacobian, result: return (centered * inverse, inverse, grad * weight): result detach
    9c3060f87f alternative by_jacobian, result: return v.flatten(0, -2).sum(0): result detach
    b17e77691f alternative by_jacobian, result: return (inverse * torch.einsum('...ij,...j->...i', matrix, g), total(……
    ea7ced1d5f alternative by_moments, result: return (a * g + b * x + c, torch.einsum('ti,ti->i', flat(grad), flat(…:…
    f7b87adeeb alternative by_moments, result: return v.reshape(-1, v.shape[-1]): result detach
The matrix holds 0 and 1 exactly, and the next term brings it to the dtype of x.
    cb11f3d142 alternative by_jacobian, keyword: torch.eye(d, dtype=x.dtype) without dtype=x.dtype
The entries are multiplied: either order gives the same product.
    29bee78cb2 alternative by_moments, argument: torch.einsum('ti,ti->i', flat(grad), flat((x - mu) * a)): arguments 2…
""",
)

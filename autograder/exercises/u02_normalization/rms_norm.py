"""RMSNorm over the last axis."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import norms as ref

from .shared import BUILT_IN, double, ones, t


def by_norm(x, weight, eps=1e-6):
    """From the Euclidean length: mean square = length²/d."""
    return weight * x * torch.rsqrt(torch.linalg.vector_norm(x, dim=-1, keepdim=True) ** 2 / x.shape[-1] + eps)


def by_einsum(x, weight, eps=1e-6):
    inverse = (torch.einsum("...i,...i->...", x, x) / x.shape[-1] + eps) ** -0.5
    return torch.einsum("...i,i,...->...i", x, weight, inverse)


def one_empty_token(g: Source) -> Program:
    """Gradients, with a token of zeros."""
    x = g.randn(2, 3, 4)
    x[0, 1] = 0
    return call(x, g.randn(4), grad=[0, 1])


MISTAKES = changes(
    ref.rms_norm,
    """
sum: square().mean → square().sum
    You divide by √(sum of squares), the length. RMS takes the mean of the squares: off by √d.
eps_outside: work * torch.rsqrt( → work / (torch.sqrt( ; keepdim=True) + eps → keepdim=True)) + eps
    ε is added after the root. It stands inside: √(mean of squares + ε).
eps_fixed: + eps → + 1e-6
    ε stands in your code as a number. Use the argument eps, which may be another.
eps_floor: keepdim=True) + eps → keepdim=True).clamp(min=eps)
    ε is a lower bound of the mean square here. Add it, inside the root: √(mean of squares + ε).
mean_of_sizes: work * torch.rsqrt(work.square() → work / (work.abs()
    x is divided by the mean of |x|. RMS squares first: the root of the mean of the squares.
no_eps: + eps →
    ε is missing: a vector of zeros gives 0/0. Add it inside the root.
centered: work = _upcast(x) → work = x - x.mean(-1, keepdim=True)
    The mean is subtracted: this is LayerNorm without a bias. RMSNorm does not look at the mean.
keepdim_lost: (dim=-1, keepdim=True) → (dim=-1)
    The mean has lost its last axis, so it lines up with another one or does not fit: keepdim=True.
deviation: work.square().mean(dim=-1, keepdim=True) → work.var(dim=-1, correction=0, keepdim=True)
    x is divided by its standard deviation. The root mean square is taken about 0, not about the mean.
no_root: work * torch.rsqrt( → work / (
    x is divided by the mean square. Take the root first.
no_weight: weight.to(x.dtype) * normed → normed
    The weight is not used.
one_plus_weight: weight.to(x.dtype) * → (1 + weight.to(x.dtype)) *
    You multiply by 1 + weight, as Gemma does. Here the weight itself is the factor.
two_axes: dim=-1 → dim=tuple(range(x.ndim))[-2:]
    The mean runs over the last two axes, that is over the tokens too. Each token has its own: axis −1.
first_axis: dim=-1, keepdim=True → dim=0
    The mean of the squares runs over the first axis, that is over the batch. RMSNorm runs over the last one.
whole_tensor: mean(dim=-1, keepdim=True) → mean()
    One size for the whole tensor. Each token, that is each row of the last axis, has its own.
mean_of_sizes_squared: work.square().mean(dim=-1, keepdim=True) → work.abs().mean(dim=-1, keepdim=True).square()
    The mean of |x| stands in place of the root mean square. Square first, average then, and take the root last.
eps_floor_of_root: work * torch.rsqrt( → work / torch.sqrt( ; keepdim=True) + eps) → keepdim=True)).clamp(min=eps)
    ε is a lower bound of the root here. Add it to the mean square, inside: √(mean of squares + ε).
detached: + eps) → + eps).detach()
    The numbers are right, but the root is cut off (detach, no_grad, .data). It depends on x, and the gradient has
    to flow through it.
mean_then_square: work.square().mean(dim=-1, keepdim=True) → work.mean(dim=-1, keepdim=True).square()
    The mean is taken before the square, so signs cancel. Square first, then average.
square_forgotten: work.square().mean → work.mean
    The root is taken of the mean of x, which may be negative. Square the entries first.
multiplied: torch.rsqrt → torch.sqrt
    x is multiplied by its root mean square. Divide by sqrt, or multiply by rsqrt.
weight_first: work = _upcast(x) → work = weight * x ; weight.to(x.dtype) * normed → normed
    The weight is applied before the size is taken. Normalize x itself, and multiply by the weight at the end.
weight_added: weight.to(x.dtype) * → weight.to(x.dtype) +
    The weight is added. It multiplies each entry.
eps_in_result: + eps → ; * normed → * normed + eps
    ε is added to the result. It stands inside the root: torch.sqrt(mean of squares + eps), with brackets.
sum_eps_outside: work * torch.rsqrt( → work / (torch.sqrt(
; mean(dim=-1, keepdim=True) + eps → sum(dim=-1, keepdim=True)) + eps
    x is divided by its length plus ε. Take the mean of the squares, add ε, then the root.
divides_by_tokens: mean(dim=-1, keepdim=True) → sum(dim=-1, keepdim=True) / len(x)
    The sum of the squares is divided by the length of the first axis. The entries of a token are x.shape[-1].
axis_one: dim=-1 → dim=1
    The mean runs over axis 1, which is the last one only for shape (T, d). Use axis −1: the shape is (..., d).
two_axes_only: (dim=-1, keepdim=True) → (dim=-1)[:, None]
    The lost axis comes back as axis 1, which is right for shape (T, d) alone. Use keepdim=True: the shape is (...,
    d).
axis_back_at_one: (dim=-1, keepdim=True) → (dim=-1).unsqueeze(1)
    unsqueeze(1) puts the lost axis back as axis 1, which fits shape (T, d) alone. Use keepdim=True.
""",
)

EXERCISE = Exercise(
    id="norm.rms_norm",
    title="RMSNorm",
    points=2,
    difficulty=2,
    minutes=10,
    reference=ref.rms_norm,
    alternatives=[by_norm, by_einsum],
    forbidden=BUILT_IN,
    forbidden_message="A mean, a root and arithmetic are enough.",
    cases=[
        Case(
            "by hand",
            "1, 3, 5 has mean square 35/3: it becomes 0.293, 0.878, 1.464",
            lambda g: call(t(1, 3, 5), ones(3)),
        ),
        Case("weight", "the weight acts entry by entry", lambda g: call(t(1, 3, 5), t(1, 10, 100))),
        Case("large eps", "with ε = 1 the root is √(35/3 + 1)", lambda g: call(t(1, 3, 5), ones(3), eps=1.0)),
        Case(
            "zeros",
            "a vector of zeros stays zero, and is not NaN",
            lambda g: call(torch.zeros(2, 4), ones(4)),
            weight=0,
        ),
        Case(
            "tokens",
            "each token has its own size: 1, 3, 5 and 100, 300, 500 come out alike",
            lambda g: call(t([1, 3, 5], [100, 300, 500]), ones(3)),
        ),
        Case(
            "square",
            "four tokens of four numbers",
            lambda g: call(g.randn(4, 4, scale=3.0) + 2 * g.randn(4, 1), g.randn(4)),
        ),
        Case(
            "batch",
            "shape (2, 3, 64): the mean of 64 squares, not their sum",
            lambda g: call(g.randn(2, 3, 64, scale=2.0) + 1, g.randn(64)),
            weight=2,
        ),
        Case(
            "small",
            "entries near 0.001, where the default ε = 1e-6 counts",
            lambda g: call(g.randn(3, 8, scale=1e-3), g.randn(8)),
            weight=0.5,
        ),
        Case(
            "double",
            "float64 input and another ε: the result is float64",
            lambda g: call(*double(g, (2, 3, 6), 6), eps=g.number(0.1, 0.9)),
            weight=0.5,
        ),
        Case(
            "gradients",
            "gradients of x and weight; one token is all zeros, and its gradient is not NaN",
            one_empty_token,
        ),
    ],
    mutants=MISTAKES,
)

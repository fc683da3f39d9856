"""RMSNorm over the last axis."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import norms as ref

from .shared import BUILT_IN, ones, rms, t


def by_norm(x, weight, eps=1e-6):
    """From the Euclidean length: mean square = length²/d."""
    return weight * x * torch.rsqrt(torch.linalg.vector_norm(x, dim=-1, keepdim=True) ** 2 / x.shape[-1] + eps)


EXERCISE = Exercise(
    id="norm.rms_norm",
    unit="02-normalization",
    title="RMSNorm",
    points=2,
    difficulty=2,
    minutes=10,
    signature="rms_norm(x, weight, eps=1e-6)",
    reference=ref.rms_norm,
    alternatives=[
        rms(),
        by_norm,
        lambda x, weight, eps=1e-6: torch.einsum(
            "...i,...->...i", x * weight, (torch.einsum("...i,...i->...", x, x) / x.shape[-1] + eps) ** -0.5
        ),
    ],
    forbidden=BUILT_IN,
    forbidden_message="mean, sqrt and arithmetic are enough.",
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
    ],
    mutants=[
        Mutant(
            "sum",
            rms(lambda x, eps: torch.sqrt(x.pow(2).sum(-1, keepdim=True) + eps)),
            "You divide by √(sum of squares), the length. RMS takes the mean of the squares: off by √d.",
        ),
        Mutant(
            "eps_outside",
            rms(lambda x, eps: torch.sqrt(x.pow(2).mean(-1, keepdim=True)) + eps),
            "ε is added after the root. It stands inside: √(mean of squares + ε).",
        ),
        Mutant(
            "eps_fixed",
            lambda x, weight, eps=1e-6: rms()(x, weight),
            "ε stands in your code as a number. Use the argument eps, which may be another.",
        ),
        Mutant(
            "no_eps",
            rms(lambda x, eps: torch.sqrt(x.pow(2).mean(-1, keepdim=True))),
            "ε is missing: a vector of zeros gives 0/0. Add it inside the root.",
        ),
        Mutant(
            "centered",
            lambda x, weight, eps=1e-6: (
                weight * (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, correction=0, keepdim=True) + eps)
            ),
            "The mean is subtracted: this is LayerNorm without a bias. RMSNorm does not look at the mean.",
        ),
        Mutant(
            "keepdim_lost",
            rms(lambda x, eps: torch.sqrt(x.pow(2).mean(-1) + eps)),
            "The mean has lost its last axis, so it lines up with another one or does not fit: keepdim=True.",
        ),
        Mutant(
            "deviation",
            rms(lambda x, eps: torch.sqrt(x.var(-1, correction=0, keepdim=True) + eps)),
            "x is divided by its standard deviation. The root mean square is taken about 0, not about the mean.",
        ),
        Mutant(
            "no_root",
            rms(lambda x, eps: x.pow(2).mean(-1, keepdim=True) + eps),
            "x is divided by the mean square. Take the root first.",
        ),
        Mutant("no_weight", rms(finish=lambda y, w: y), "The weight is not used."),
        Mutant(
            "one_plus_weight",
            rms(finish=lambda y, w: y * (1 + w)),
            "You multiply by 1 + weight, as Gemma does. Here the weight itself is the factor.",
        ),
        Mutant(
            "whole_tensor",
            rms(lambda x, eps: torch.sqrt(x.pow(2).mean() + eps)),
            "One size for the whole tensor. Each token, that is each row of the last axis, has its own.",
        ),
    ],
)

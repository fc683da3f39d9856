"""LayerNorm made of RMSNorm."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import norms as ref

from .shared import double, t


def from_rms(x, eps=1e-5):
    """LayerNorm without weight and bias, by centering and RMSNorm."""
    return ref.rms_norm(x - x.mean(-1, keepdim=True), None, eps)


def by_sum(x, eps=1e-5):
    centered = x - x.sum(-1, keepdim=True) / x.shape[-1]
    return centered * ((centered * centered).mean(-1, keepdim=True) + eps) ** -0.5


def difference_of_norms(x, eps=1e-5):
    return ref.rms_norm(x, None, eps) - ref.rms_norm(x.mean(-1, keepdim=True).expand_as(x), None, eps)


EXERCISE = Exercise(
    id="norm.from_rms",
    title="LayerNorm is RMSNorm of the centered vector",
    points=1,
    difficulty=1,
    minutes=5,
    signature="layer_norm_from_rms(x, eps=1e-5)",
    reference=from_rms,
    alternatives=[
        lambda x, eps=1e-5: ref.layer_norm(x, None, None, eps),
        by_sum,
    ],
    cases=[
        Case("by hand", "1, 3, 5 centered is −2, 0, 2; its RMS is √(8/3)", lambda g: call(t(1, 3, 5))),
        Case("eps", "ε is handed on", lambda g: call(t(1, 3, 5), eps=1.0)),
        Case(
            "square",
            "three tokens of three numbers, each with its own mean",
            lambda g: call(g.randn(3, 3) + 3 * g.randn(3, 1)),
        ),
        Case("batch", "shape (2, 3, 5)", lambda g: call(g.randn(2, 3, 5) + 3 * g.randn(2, 3, 1))),
        Case(
            "double",
            "float64 entries near 0.003: the result is float64, and the default ε = 1e-5 counts",
            lambda g: call(3e-3 * double(g, (2, 3, 6))[0]),
            weight=0.5,
        ),
        Case(
            "gradients",
            "the gradient of x flows through the centering and the root",
            lambda g: call(g.randn(2, 3, 4), grad=[0]),
        ),
    ],
    mutants=[
        Mutant(
            "not_centered",
            lambda x, eps=1e-5: ref.rms_norm(x, None, eps),
            "This is RMSNorm alone. Subtract each token's mean first.",
        ),
        Mutant(
            "centered_after",
            lambda x, eps=1e-5: (y := ref.rms_norm(x, None, eps)) - y.mean(-1, keepdim=True),
            "The mean is subtracted after RMSNorm, so the size was taken about 0. Center first.",
        ),
        Mutant(
            "eps_lost",
            lambda x, eps=1e-5: from_rms(x, 1e-6),
            "eps is not handed on to rms_norm, which then uses its own default.",
        ),
        Mutant(
            "one_mean",
            lambda x, eps=1e-5: ref.rms_norm(x - x.mean(), None, eps),
            "One mean for all tokens. Use x.mean(-1, keepdim=True).",
        ),
        Mutant(
            "first_axis",
            lambda x, eps=1e-5: ref.rms_norm(x - x.mean(0), None, eps),
            "The mean runs over the first axis. Each token loses its own mean: x.mean(-1, keepdim=True).",
        ),
        Mutant(
            "median",
            lambda x, eps=1e-5: ref.rms_norm(x - x.median(-1, keepdim=True).values, None, eps),
            "The median is subtracted. Centering takes the mean away, so that the entries add up to 0.",
        ),
        Mutant(
            "keepdim_lost",
            lambda x, eps=1e-5: ref.rms_norm(x - x.mean(-1), None, eps),
            "Without keepdim=True the means are subtracted along the wrong axis, or the shapes do not fit.",
        ),
        Mutant(
            "eps_as_weight",
            lambda x, eps=1e-5: eps * ref.rms_norm(x - x.mean(-1, keepdim=True)),
            "eps is handed on in the place of the weight. rms_norm wants a weight of ones first: "
            "rms_norm(…, torch.ones(d), eps).",
        ),
        Mutant(
            "difference_of_norms",
            difference_of_norms,
            "x and its mean are normalized apart. A norm of a difference is no difference of norms: subtract first, "
            "then call rms_norm once.",
        ),
        Mutant(
            "eps_fixed",
            lambda x, eps=1e-5: from_rms(x),
            "ε stands in your code as a number. Hand on the argument eps, which may be another.",
        ),
        Mutant(
            "mean_added",
            lambda x, eps=1e-5: ref.rms_norm(x + x.mean(-1, keepdim=True), None, eps),
            "The mean is added. Centering subtracts it: x − mean.",
        ),
        Mutant(
            "mean_detached",
            lambda x, eps=1e-5: ref.rms_norm(x - x.mean(-1, keepdim=True).detach(), None, eps),
            "The numbers are right, but the mean is cut off (detach, no_grad, .data). It depends on x, and the "
            "gradient "
            "has to flow through it.",
        ),
        Mutant(
            "sum_subtracted",
            lambda x, eps=1e-5: ref.rms_norm(x - x.sum(-1, keepdim=True), None, eps),
            "The sum of the entries is subtracted. Centering takes their mean away.",
        ),
        Mutant(
            "two_axes",
            lambda x, eps=1e-5: ref.rms_norm(x - x.mean(tuple(range(x.ndim))[-2:], keepdim=True), None, eps),
            "The mean runs over the tokens of a sentence as well. Each token loses its own: x.mean(-1, keepdim=True).",
        ),
        Mutant(
            "ones_for_tokens",
            lambda x, eps=1e-5: from_rms(x, eps) * torch.ones(x.shape[0]),
            "The weight has as many ones as the first axis is long. It needs one for each feature: x.shape[-1].",
        ),
        Mutant(
            "mean_of_norm",
            lambda x, eps=1e-5: x - ref.rms_norm(x, None, eps).mean(-1, keepdim=True),
            "x minus a mean of its norm is not normalized. Subtract the mean of x, and hand the rest to rms_norm.",
        ),
    ],
)

"""LayerNorm made of RMSNorm."""

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
from autograder.reference import norms as ref

from .shared import double, t


def from_rms(x, eps=1e-5):
    """LayerNorm without weight and bias, by centering and RMSNorm."""
    return ref.rms_norm(x - x.mean(-1, keepdim=True), None, eps)


def by_sum(x, eps=1e-5):
    centered = x - x.sum(-1, keepdim=True) / x.shape[-1]
    return centered * ((centered * centered).mean(-1, keepdim=True) + eps) ** -0.5


MISTAKES = changes(
    from_rms,
    """
not_centered: x - x.mean(-1, keepdim=True) → x
    This is RMSNorm alone. Subtract each token's mean first.
centered_after: return ref.rms_norm(x - x.mean(-1, keepdim=True) → y = ref.rms_norm(x
; None, eps) → None, eps); return y - y.mean(-1, keepdim=True)
    The mean is subtracted after RMSNorm, so the size was taken about 0. Center first.
eps_lost: None, eps → None
    eps is not handed on to rms_norm, which then uses its own default.
one_mean: x.mean(-1, keepdim=True) → x.mean()
    One mean for all tokens. Use x.mean(-1, keepdim=True).
first_axis: x.mean(-1, keepdim=True) → x.mean(0)
    The mean runs over the first axis. Each token loses its own mean: x.mean(-1, keepdim=True).
median: x.mean(-1, keepdim=True) → x.median(-1, keepdim=True).values
    The median is subtracted. Centering takes the mean away, so that the entries add up to 0.
keepdim_lost: x.mean(-1, keepdim=True) → x.mean(-1)
    Without keepdim=True the means are subtracted along the wrong axis, or the shapes do not fit.
eps_as_weight: ref.rms_norm → eps * ref.rms_norm ; , None, eps →
    eps is handed on in place of the weight. rms_norm wants a weight of ones first: rms_norm(…, torch.ones(d),
    eps).
difference_of_norms: x - x.mean(-1, keepdim=True) → x, None, eps) - ref.rms_norm(x.mean(-1, keepdim=True).expand_as(x)
    x and its mean are normalized apart. A norm of a difference is no difference of norms: subtract first, then call
    rms_norm once.
eps_fixed: None, eps → None, 1e-5
    ε stands in your code as a number. Hand on the argument eps, which may be another.
mean_added: x - x.mean → x + x.mean
    The mean is added. Centering subtracts it: x − mean.
mean_detached: x.mean(-1, keepdim=True) → x.mean(-1, keepdim=True).detach()
    The numbers are right, but the mean is cut off (detach, no_grad, .data). It depends on x, and the gradient has
    to flow through it.
sum_subtracted: x - x.mean → x - x.sum
    The sum of the entries is subtracted. Centering takes their mean away.
two_axes: x.mean(-1, keepdim=True) → x.mean(tuple(range(x.ndim))[-2:], keepdim=True)
    The mean runs over the tokens of a sentence as well. Each token loses its own: x.mean(-1, keepdim=True).
ones_for_tokens: None, eps) → None, eps) * x.new_ones(x.shape[0])
    The weight has as many ones as the first axis is long. It needs one for each feature: x.shape[-1].
mean_of_norm: ref.rms_norm(x - x.mean(-1, keepdim=True) → x - ref.rms_norm(x
; None, eps) → None, eps).mean(-1, keepdim=True)
    x minus a mean of its norm is not normalized. Subtract the mean of x, and hand the rest to rms_norm.
""",
)

EXERCISE = Exercise(
    id="norm.from_rms",
    title="LayerNorm is RMSNorm of the centered vector",
    points=1,
    difficulty=1,
    minutes=5,
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
    mutants=MISTAKES,
)

"""LayerNorm made of RMSNorm."""

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import norms as ref

from .shared import rms, t


def from_rms(x, eps=1e-5):
    """LayerNorm without weight and bias, by centering and RMSNorm."""
    return ref.rms_norm(x - x.mean(-1, keepdim=True), None, eps)


EXERCISE = Exercise(
    id="norm.from_rms",
    unit="02-normalization",
    title="LayerNorm is RMSNorm of the centered vector",
    points=1,
    difficulty=1,
    minutes=5,
    signature="layer_norm_from_rms(x, eps=1e-5)",
    reference=from_rms,
    alternatives=[
        lambda x, eps=1e-5: ref.layer_norm(x, None, None, eps),
        lambda x, eps=1e-5: rms()(x - x.sum(-1, keepdim=True) / x.shape[-1], 1.0, eps),
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
            "keepdim_lost",
            lambda x, eps=1e-5: ref.rms_norm(x - x.mean(-1), None, eps),
            "Without keepdim=True the means are subtracted along the wrong axis, or the shapes do not fit.",
        ),
    ],
)

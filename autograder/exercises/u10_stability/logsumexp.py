"""The log of a sum of exponentials."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import stability as ref

INF = math.inf


def lse_by_where(x, dim=-1):
    """The peak is replaced where it is infinite."""
    peak = x.amax(dim=dim, keepdim=True)
    peak = torch.where(torch.isfinite(peak), peak, torch.zeros_like(peak))
    return (peak + (x.float() - peak).exp().sum(dim, keepdim=True).log()).squeeze(dim).to(x.dtype)


def lse_by_lists(x, dim=-1):
    """Python numbers, one slice at a time."""

    def one(row):
        peak = max(row)
        return peak if math.isinf(peak) else peak + math.log(sum(math.exp(v - peak) for v in row))

    rows = x.movedim(dim, -1)
    sums = [one(r.tolist()) for r in rows.reshape(-1, rows.shape[-1])]
    return torch.tensor(sums).reshape(rows.shape[:-1]).to(x.dtype)


def lse_plain(x, dim=-1):
    return torch.log(torch.exp(x).sum(dim=dim))


def lse_unshifted(x, dim=-1):
    return torch.log(torch.exp(x - x.amax(dim=dim, keepdim=True)).sum(dim=dim))


def lse_global(x, dim=-1):
    peak = x.max()
    return peak + torch.log(torch.exp(x - peak).sum(dim=dim))


def lse_last(x, dim=-1):
    return ref.logsumexp(x, -1)


def lse_nan(x, dim=-1):
    peak = x.amax(dim=dim, keepdim=True)
    return (peak + torch.log(torch.exp(x - peak).sum(dim=dim, keepdim=True))).squeeze(dim)


def lse_no_keepdim(x, dim=-1):
    peak = x.amax(dim=dim)
    peak = peak.masked_fill(peak == -INF, 0.0)
    return peak + torch.log(torch.exp(x - peak).sum(dim=dim))


def lse_squeezed(x, dim=-1):
    peak = x.amax(dim=dim, keepdim=True)
    return (peak + torch.log(torch.exp(x - peak).sum(dim=dim, keepdim=True))).squeeze()


def lse_mean(x, dim=-1):
    return ref.logsumexp(x, dim) - math.log(x.shape[dim])


EXERCISE = Exercise(
    id="stability.logsumexp",
    unit="10-stability",
    title="The log of a sum of exponentials",
    points=2,
    difficulty=2,
    minutes=10,
    signature="logsumexp(x, dim=-1)",
    reference=ref.logsumexp,
    alternatives=[lse_by_where, lse_by_lists],
    forbidden=("logsumexp", "logaddexp", "log_softmax", "softmax", "softplus"),
    forbidden_message="Use exp, a maximum, a sum and log.",
    cases=[
        Case(
            "by hand",
            "ln 3 and 0 have exponentials 3 and 1, and ln 4 is 1.386; two zeros give ln 2",
            lambda g: call(torch.tensor([[math.log(3), 0.0], [0.0, 0.0]])),
        ),
        Case("other axis", "with dim=0 the columns are added up", lambda g: call(g.randn(4, 3), dim=0)),
        Case(
            "one row",
            "one row of three: dim disappears, the axis of the rows stays, and the shape is (1,)",
            lambda g: call(g.randn(1, 3)),
        ),
        Case(
            "overflow",
            "scores near 1000, whose exponentials do not exist in float32",
            lambda g: call(1000 + g.randn(2, 5)),
        ),
        Case(
            "far apart",
            "two rows that lie 4000 apart",
            lambda g: call(torch.tensor([[2000.0, 2001.0], [-2000.0, -2001.0]])),
        ),
        Case(
            "empty",
            "a row of minus infinities has sum 0, and log 0 is minus infinity",
            lambda g: call(torch.tensor([[-INF, -INF], [0.5, -INF]])),
        ),
    ],
    mutants=[
        Mutant(
            "global",
            lse_global,
            "One maximum serves the whole tensor, so slices far below it sum to 0. Take the maximum along dim.",
        ),
        Mutant(
            "plain",
            lse_plain,
            "exp overflows before log can bring the number back. Take the maximum out of the "
            "sum first, and add it again after the log.",
        ),
        Mutant(
            "unshifted",
            lse_unshifted,
            "The maximum was taken out and never came back. Add it after the log: log(e^m · sum) = m + log(sum).",
        ),
        Mutant(
            "last_axis",
            lse_last,
            "The sum runs over the last axis whatever dim says. Use dim in the maximum and in the sum.",
        ),
        Mutant(
            "nan_row",
            lse_nan,
            "Right for finite rows. Where the maximum is -inf, -inf minus -inf is NaN: use 0 "
            "as the shift of such a row.",
        ),
        Mutant(
            "no_keepdim",
            lse_no_keepdim,
            "The maximum has lost its axis, so it is subtracted along another one, or "
            "does not fit at all. Take it with keepdim=True, and drop the axis at the end.",
        ),
        Mutant("squeezes_all", lse_squeezed, "All axes of size 1 disappear. Only dim should: squeeze(dim)."),
        Mutant("mean", lse_mean, "This is the log of the mean. The number of entries must not divide the sum."),
    ],
)

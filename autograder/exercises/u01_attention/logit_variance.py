"""How widely scores spread as heads get wider."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call


def logit_variance(q, k):
    """(variance of all q·k, variance of all q·k/√D) as floats; population variance."""
    raw = q @ k.T
    scaled = raw / math.sqrt(q.shape[-1])
    return raw.var(unbiased=False).item(), scaled.var(unbiased=False).item()


def variance_by_moments(q, k):
    """E[s²] − E[s]², and the second number from the first."""
    s = torch.einsum("td,sd->ts", q.double(), k.double())
    before = (s**2).mean() - s.mean() ** 2
    return float(before), float(before / q.shape[-1])


def variance_by_loop(q, k):
    """Python lists all the way."""
    raw = [float(a.double() @ b.double()) for a in q for b in k]
    mean = sum(raw) / len(raw)
    before = sum((r - mean) ** 2 for r in raw) / len(raw)
    return [before, before / q.shape[1]]


MISTAKES = changes(
    logit_variance,
    """
rows_averaged: raw.var(unbiased=False) → raw.var(-1, unbiased=False).mean()
; scaled.var(unbiased=False) → scaled.var(-1, unbiased=False).mean()
    The variance is taken row by row and then averaged. The rows differ in their means too: take one variance over
    all scores.
order: raw.var(unbiased=False).item(), scaled → scaled.var(unbiased=False).item(), raw
    The two numbers stand in the wrong order: the raw scores come first, then those divided by √D.
variance_over_root: scaled.var(unbiased=False).item() → raw.var(unbiased=False).item() / math.sqrt(q.shape[-1])
    The second number is the first divided by √D. Dividing the scores by √D divides their variance by (√D)² = D.
standard_deviation: raw.var → raw.std ; scaled.var → scaled.std
    These are standard deviations. The variance is the mean of the squared distances from the mean, without a root.
sample_variance: raw.var(unbiased=False) → raw.var() ; scaled.var(unbiased=False) → scaled.var()
    This divides by n − 1. Here the variance is the plain mean of the squared distances: var(unbiased=False).
mean_of_squares: raw.var(unbiased=False) → (raw**2).mean() ; scaled.var(unbiased=False) → (scaled**2).mean()
    This is the mean of the squares. Subtract the mean of the scores before squaring.
own_rows_only: q @ k.T → (q * k).sum(-1)
    Query i meets only key i here. Attention scores every query against every key: q @ k.T.
divided_by_d: math.sqrt(q.shape[-1]) → q.shape[-1]
    The scores are divided by D before the second variance. Divide them by √D.
divided_by_n: q.shape[-1] → raw.shape[0]
    The number of queries is taken for D. D is the size of one query, q.shape[-1].
divided_by_m: q.shape[-1] → raw.shape[1]
    The number of keys is taken for D. D is the size of one query, q.shape[-1], not raw.shape[-1].
first_pairs: q @ k.T → (q[: len(k)] * k[: len(q)]).sum(-1)
    Query i meets only key i here, up to the shorter of the two. Attention scores every query against every key: use
    all of raw.
sample_second: scaled.var(unbiased=False) → scaled.var()
    The second variance divides by n − 1, the first one is right. Take unbiased=False in both.
sample_first: raw.var(unbiased=False) → raw.var()
    The first variance divides by n − 1, the second one is right. Take unbiased=False in both.
multiplied: raw / math → raw * math
    The second number has grown: the scores are multiplied by √D. Divide them by √D.
not_scaled: scaled.var → raw.var
    Both numbers are the variance of the raw scores. Divide the scores by √D before the second one.
sum_of_squares: raw.var(unbiased=False) → ((raw - raw.mean()) ** 2).sum()
; scaled.var(unbiased=False) → ((scaled - scaled.mean()) ** 2).sum()
    The squared distances are added up and not averaged. Divide their sum by the count of all scores.
sample_deviation: raw.var(unbiased=False) → raw.std() ; scaled.var(unbiased=False) → scaled.std()
    These are standard deviations, and with n − 1. The variance has no root: var(unbiased=False).
second_is_deviation: scaled.var → scaled.std
    The second number is a standard deviation. Both are variances: leave out the root.
sample_rows: raw.var(unbiased=False) → raw.var(-1).mean() ; scaled.var(unbiased=False) → scaled.var(-1).mean()
    The variance is taken row by row, with n − 1, and then averaged. Take one over all scores, with unbiased=False.
columns_averaged: raw.var(unbiased=False) → raw.var(0, unbiased=False).mean()
; scaled.var(unbiased=False) → scaled.var(0, unbiased=False).mean()
    The variance is taken key by key and then averaged. The columns differ in their means too: take one variance
    over all scores.
sample_over_root: raw.var(unbiased=False) → raw.var()
; scaled.var(unbiased=False).item() → raw.var().item() / math.sqrt(q.shape[-1])
    Both divide by n − 1, and the second is the first divided by √D. Take unbiased=False; scores that are divided by
    √D have a variance divided by D.
sample_and_d: math.sqrt(q.shape[-1]) → q.shape[-1] ; raw.var(unbiased=False) → raw.var()
; scaled.var(unbiased=False) → scaled.var()
    Both divide by n − 1, and the second one scales the scores by D. Take unbiased=False, and divide the scores by
    √D.
""",
)

EXERCISE = Exercise(
    id="attention.logit_variance",
    title="How far scores spread",
    points=2,
    difficulty=2,
    minutes=8,
    extension=True,
    reference=logit_variance,
    alternatives=[variance_by_moments, variance_by_loop],
    cases=[
        Case(
            "by hand",
            "scores 2 and 6 have mean 4 and variance 4; divided by √4 they are 1 and 3, variance 1",
            lambda g: call(
                torch.tensor([[2.0, 0.0, 0.0, 0.0]]), torch.tensor([[1.0, 5.0, 0.0, 0.0], [3.0, 0.0, 5.0, 0.0]])
            ),
            rtol=1e-4,
        ),
        Case(
            "all pairs", "3 queries and 5 keys make 15 scores", lambda g: call(g.randn(3, 6), g.randn(5, 6)), rtol=1e-4
        ),
        Case(
            "as many",
            "4 queries and 4 keys make 16 scores, not 4",
            lambda g: call(g.randn(4, 9), 2 * g.randn(4, 9)),
            rtol=1e-4,
        ),
        Case(
            "off center",
            "queries and keys around 1: the mean of the scores is not 0",
            lambda g: call(1 + g.randn(6, 3), 1 + g.randn(7, 3)),
            rtol=1e-4,
        ),
        Case(
            "float64",
            "queries and keys of eight numbers in float64",
            lambda g: call(*(g.randn(n, 8, dtype=torch.float64) for n in (5, 3))),
            rtol=1e-9,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
the variance is over all scores, so their arrangement does not matter
    0cf4cbe256 alternative variance_by_moments, argument: torch.einsum('td,sd->ts', q.double(), k.double()): arguments…
    cf0ec3313b alternative variance_by_moments, einsum: output of 'td,sd->ts' transposed
    9f729b5ffd alternative variance_by_loop, swapped: a.double() @ b.double() → b.double() @ a.double()
""",
)

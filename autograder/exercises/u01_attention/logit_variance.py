"""How widely scores spread as heads get wider."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call


def logit_variance(q, k):
    """(variance of all q·k, variance of all q·k/√D) as floats; population variance."""
    raw = q @ k.T
    return raw.var(unbiased=False).item(), (raw / math.sqrt(q.shape[-1])).var(unbiased=False).item()


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


def _two(measure):
    def wrong(q, k):
        raw = q @ k.T
        scaled = raw / math.sqrt(q.shape[-1])
        return measure(raw).item(), measure(scaled).item()

    return wrong


def own_rows_only(q, k):
    raw = (q * k).sum(-1)
    return raw.var(unbiased=False).item(), (raw / math.sqrt(q.shape[-1])).var(unbiased=False).item()


EXERCISE = Exercise(
    id="attention.logit_variance",
    unit="01-attention",
    title="How far scores spread",
    points=2,
    difficulty=2,
    minutes=8,
    extension=True,
    signature="logit_variance(q, k)",
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
    ],
    mutants=[
        Mutant(
            "variance_over_root",
            lambda q, k: (logit_variance(q, k)[0], logit_variance(q, k)[0] / math.sqrt(q.shape[-1])),
            "The second number is the first divided by √D. Dividing the scores by √D divides their variance by "
            "(√D)² = D.",
        ),
        Mutant(
            "standard_deviation",
            _two(lambda s: s.std(unbiased=False)),
            "These are standard deviations. The variance is the mean of the squared distances from the mean, "
            "without a root.",
        ),
        Mutant(
            "sample_variance",
            _two(lambda s: s.var()),
            "This divides by n − 1. Here the variance is the plain mean of the squared distances: var(unbiased=False).",
        ),
        Mutant(
            "mean_of_squares",
            _two(lambda s: (s**2).mean()),
            "This is the mean of the squares. Subtract the mean of the scores before squaring.",
        ),
        Mutant(
            "own_rows_only",
            own_rows_only,
            "Query i meets only key i here. Attention scores every query against every key: q @ k.T.",
        ),
        Mutant(
            "divided_by_d",
            lambda q, k: (logit_variance(q, k)[0], (q @ k.T / q.shape[-1]).var(unbiased=False).item()),
            "The scores are divided by D before the second variance. Divide them by √D.",
        ),
    ],
)

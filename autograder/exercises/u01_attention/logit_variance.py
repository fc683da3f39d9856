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


def first_pairs(q, k):
    n = min(len(q), len(k))
    return own_rows_only(q[:n], k[:n])


def _second(measure):
    """The first variance right, the second one a function of the raw scores and D."""

    def wrong(q, k):
        raw = q @ k.T
        return logit_variance(q, k)[0], float(measure(raw, q.shape[-1]))

    return wrong


def sample_first(q, k):
    return (q @ k.T).var().item(), logit_variance(q, k)[1]


EXERCISE = Exercise(
    id="attention.logit_variance",
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
        Case(
            "float64",
            "queries and keys of eight numbers in float64",
            lambda g: call(*(g.randn(n, 8, dtype=torch.float64) for n in (5, 3))),
            rtol=1e-9,
        ),
    ],
    mutants=[
        Mutant(
            "rows_averaged",
            _two(lambda s: s.var(-1, unbiased=False).mean()),
            "The variance is taken row by row and then averaged. The rows differ in their means too: take one variance "
            "over all scores.",
        ),
        Mutant(
            "order",
            lambda q, k: logit_variance(q, k)[::-1],
            "The two numbers stand in the wrong order: the raw scores come first, then those divided by √D.",
        ),
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
        Mutant(
            "divided_by_n",
            _second(lambda raw, D: raw.var(unbiased=False) / raw.shape[0]),
            "The number of queries is taken for D. D is the size of one query, q.shape[-1].",
        ),
        Mutant(
            "divided_by_m",
            _second(lambda raw, D: raw.var(unbiased=False) / raw.shape[1]),
            "The number of keys is taken for D. D is the size of one query, q.shape[-1], not raw.shape[-1].",
        ),
        Mutant(
            "first_pairs",
            first_pairs,
            "Query i meets only key i here, up to the shorter of the two. Attention scores every query against every "
            "key: use all of raw.",
        ),
        Mutant(
            "sample_second",
            _second(lambda raw, D: raw.var() / D),
            "The second variance divides by n − 1, the first one is right. Take unbiased=False in both.",
        ),
        Mutant(
            "sample_first",
            sample_first,
            "The first variance divides by n − 1, the second one is right. Take unbiased=False in both.",
        ),
        Mutant(
            "multiplied",
            _second(lambda raw, D: raw.var(unbiased=False) * D),
            "The second number has grown: the scores are multiplied by √D. Divide them by √D.",
        ),
        Mutant(
            "not_scaled",
            _second(lambda raw, D: raw.var(unbiased=False)),
            "Both numbers are the variance of the raw scores. Divide the scores by √D before the second one.",
        ),
        Mutant(
            "sum_of_squares",
            _two(lambda s: ((s - s.mean()) ** 2).sum()),
            "The squared distances are added up and not averaged. Divide their sum by the count of all scores.",
        ),
        Mutant(
            "sample_deviation",
            _two(lambda s: s.std()),
            "These are standard deviations, and with n − 1. The variance has no root: var(unbiased=False).",
        ),
        Mutant(
            "second_is_deviation",
            _second(lambda raw, D: (raw.var(unbiased=False) / D) ** 0.5),
            "The second number is a standard deviation. Both are variances: leave out the root.",
        ),
        Mutant(
            "sample_rows",
            _two(lambda s: s.var(-1).mean()),
            "The variance is taken row by row, with n − 1, and then averaged. Take one over all scores, with "
            "unbiased=False.",
        ),
        Mutant(
            "columns_averaged",
            _two(lambda s: s.var(0, unbiased=False).mean()),
            "The variance is taken key by key and then averaged. The columns differ in their means too: take one "
            "variance over all scores.",
        ),
        Mutant(
            "sample_over_root",
            lambda q, k: ((q @ k.T).var().item(), (q @ k.T).var().item() / math.sqrt(q.shape[-1])),
            "Both divide by n − 1, and the second is the first divided by √D. Take unbiased=False; scores that are "
            "divided by √D have a variance divided by D.",
        ),
        Mutant(
            "sample_and_d",
            lambda q, k: ((q @ k.T).var().item(), (q @ k.T / q.shape[-1]).var().item()),
            "Both divide by n − 1, and the second one scales the scores by D. Take unbiased=False, and divide the "
            "scores by √D.",
        ),
    ],
)

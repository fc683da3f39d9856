"""A mean difference of paired runs with its standard error."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call


def paired_difference(a, b):
    """Mean of a − b and its standard error, both floats; a, b (n,) with the same seed in the same place."""
    d = a.double() - b.double()
    return float(d.mean()), float(d.std() / math.sqrt(len(d)))


def paired_by_sums(a, b):
    """The same from sums."""
    d = (a - b).tolist()
    n, mean = len(d), sum(d) / len(d)
    return mean, math.sqrt(sum((x - mean) ** 2 for x in d) / (n - 1) / n)


def losses(g: Source, n: int) -> Program:
    shared = g.randn(n, scale=0.5) + 3
    return call(shared + g.randn(n, scale=0.1) + 0.2, shared + g.randn(n, scale=0.1))


def paired_by_variance(a, b):
    """The error as the root of a variance."""
    variance, mean = torch.var_mean(a - b)
    return float(mean), float((variance / len(a)) ** 0.5)


def two_seeds(g: Source) -> Program:
    a = g.randn(2) + 3
    return call(a, a + torch.tensor([g.number(0.5, 1.0), -g.number(0.1, 0.4)]))


def _close(g: Source, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    b = g.randn(n).double() + 3
    return b + 1e-9 * g.randn(n).double(), b


MISTAKES = changes(
    paired_difference,
    """
sign: float(d.mean()), float(d.std() / math.sqrt(len(d))) → -d.mean(), d.std() / math.sqrt(len(d))
    The sign is turned: the mean of a − b is asked for.
absolute: float(d.mean()), float(d.std() / math.sqrt(len(d))) → d.abs().mean(), d.std() / math.sqrt(len(d))
    The mean is taken of |a − b|. Keep the signs: differences both ways should cancel.
absolute_first: float(d.mean()), float(d.std() / math.sqrt(len(d))) → d.abs().mean(), d.abs().std() / math.sqrt(len(d))
    The differences lose their signs. Keep them, for the mean and for the spread: differences both ways should
    cancel.
less_one_twice: float(d.mean()), float(d.std() / math.sqrt(len(d))) → d.mean(), d.std() / math.sqrt(len(d) - 1)
    n − 1 is used twice. It belongs into the spread s; s is then divided by √n.
exchanged: float(d.mean()), float(d.std() / math.sqrt(len(d))) → d.std() / math.sqrt(len(d)), d.mean()
    The error comes first. Return the mean, then the error.
times_root: float(d.mean()), float(d.std() / math.sqrt(len(d))) → d.mean(), d.std() * math.sqrt(len(d))
    The spread is multiplied by √n. Divide: more seeds make the mean more certain.
squared_error: float(d.mean()), float(d.std() / math.sqrt(len(d))) → d.mean(), d.var() / len(d)
    This is the square of the error: the root is missing.
sum: float(d.mean()), float(d.std() / math.sqrt(len(d))) → d.sum(), d.std() / math.sqrt(len(d))
    The differences are added up. Take their mean.
median: float(d.mean()), float(d.std() / math.sqrt(len(d))) → d.median(), d.std() / math.sqrt(len(d))
    This is the median of the differences. The mean is asked for.
spread_of_one: d.std() → a.double().std()
    The spread is that of a. Take the spread of the differences a − b.
relative: a.double() - b.double() → (a.double() - b.double()) / b.double()
    The differences are divided by b. The bare a − b is asked for.
float32: a.double() - b.double() → a.float().double() - b.float().double()
    The losses are rounded to float32 before they are subtracted, and their difference gets lost. Subtract first.
variance: float(d.mean()), float(d.std() / math.sqrt(len(d))) → d.mean(), d.var() / math.sqrt(len(d))
    The variance is divided by √n. The error of the mean is the standard deviation divided by √n.
spread: float(d.mean()), float(d.std() / math.sqrt(len(d))) → d.mean(), d.std()
    This is the spread of single runs. The error of their mean is smaller by √n.
divides_by_n: float(d.mean()), float(d.std() / math.sqrt(len(d))) → d.mean(), d.std() / len(d)
    The spread is divided by n. The error of a mean shrinks with √n only.
biased: float(d.mean()), float(d.std() / math.sqrt(len(d))) → d.mean(), d.std(correction=0) / math.sqrt(len(d))
    The spread divides by n. With few seeds use n − 1, as torch.std does by default.
not_paired: d.std() / math.sqrt(len(d)) → (a.double().var() / len(a) + b.double().var() / len(b)).sqrt()
    The seeds are not paired: what both models share at a seed cancels only in a − b, seed by seed.
tensors: a.double() - b.double() → a - b
; float(d.mean()), float(d.std() / math.sqrt(len(d))) → d.mean(), d.std() / math.sqrt(len(d))
    The numbers are right, but they are tensors. Two Python floats are asked for: .item() on each.
spreads_subtracted: d.std() → (a.std() - b.std()).abs()
    The spreads of a and of b are subtracted. Subtract the losses first, seed by seed, then take the spread.
spreads_added: d.std() → (a.std() + b.std())
    The spreads of a and of b are added. Take the spread of the differences a − b, seed by seed.
spread_of_other: d.std() → b.double().std()
    The spread is that of b. Take the spread of the differences a − b.
biased_spread: float(d.mean()), float(d.std() / math.sqrt(len(d))) → d.mean(), d.std(correction=0)
    The spread divides by n, and √n is missing. Use n − 1 in the spread s; the error is s/√n.
confidence: float(d.mean()), float(d.std() / math.sqrt(len(d))) → d.mean(), 1.96 * d.std() / math.sqrt(len(d))
    The error is multiplied by 1.96, as for an interval. The standard error is s/√n itself.
mean_divided: float(d.mean()) → d.mean() / math.sqrt(len(d)) ; float(d.std() → (d.std()
    The mean is divided by √n as well. Only the spread is.
mean_only: float(d.mean()), float(d.std() / math.sqrt(len(d))) → d.mean()
    Only the mean comes back. Return the pair: mean, error.
around_zero: float(d.mean()) → d.mean() ; float(d.std() → ((d.square().sum() / (len(d) - 1)).sqrt()
    The spread is taken around 0. Subtract the mean of the differences before you square.
""",
)

EXERCISE = Exercise(
    id="ffn.paired_difference",
    title="A difference with its error bar",
    points=2,
    difficulty=2,
    minutes=10,
    reference=paired_difference,
    alternatives=[paired_by_sums, paired_by_variance],
    cases=[
        Case(
            "three seeds",
            "differences 2, 3 and 1: mean 2, standard error 1/√3 = 0.577",
            lambda g: call(torch.tensor([3.0, 5.0, 4.0]), torch.tensor([1.0, 2.0, 3.0])),
            rtol=1e-4,
        ),
        Case(
            "always the same",
            "one model is better by 0.5 at every seed: no doubt left, error 0",
            lambda g: call(torch.tensor([1.5, 3.5, 2.5, 9.5]), torch.tensor([1.0, 3.0, 2.0, 9.0])),
            rtol=1e-4,
        ),
        Case(
            "either way",
            "now one model is better and now the other: differences −1, −2 and 4.5, mean 0.5",
            lambda g: call(torch.tensor([1.0, 2.0, 6.0]), torch.tensor([2.0, 4.0, 1.5])),
            rtol=1e-4,
        ),
        Case(
            "two seeds",
            "two seeds, the fewest that have a spread, and either model is the better one",
            two_seeds,
            rtol=1e-3,
        ),
        Case(
            "float64",
            "five seeds in float64 whose losses differ by less than float32 can tell",
            lambda g: call(*_close(g, 5)),
            rtol=1e-3,
        ),
        Case("random", "six seeds whose losses rise and fall together", lambda g: losses(g, 6), rtol=1e-3, weight=2),
    ],
    mutants=MISTAKES,
    equivalent="""
float32 losses that are subtracted in float32 are off by one rounding step, far less than is judged
    efa04744a7 solution, call: a.double() → a
    09de445281 solution, call: b.double() → b
""",
)

"""A mean difference of paired runs with its standard error."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call


def paired_difference(a, b):
    """Mean of a − b and its standard error, both floats; a, b (n,) with the same seed in the same place."""
    d = a.double() - b.double()
    return float(d.mean()), float(d.std() / math.sqrt(len(d)))


def paired_by_sums(a, b):
    """The same from sums."""
    d = [float(x) - float(y) for x, y in zip(a, b, strict=True)]
    n, mean = len(d), sum(d) / len(d)
    return mean, math.sqrt(sum((x - mean) ** 2 for x in d) / (n - 1) / n)


def losses(g: Source, n: int) -> Program:
    shared = g.randn(n, scale=0.5) + 3
    return call(shared + g.randn(n, scale=0.1) + 0.2, shared + g.randn(n, scale=0.1))


def from_differences(summary):
    return lambda a, b: summary((a - b).double())


EXERCISE = Exercise(
    id="ffn.paired_difference",
    unit="04-ffn-and-gating",
    title="A difference with its error bar",
    points=2,
    difficulty=2,
    minutes=10,
    signature="paired_difference(a, b)",
    reference=paired_difference,
    alternatives=[paired_by_sums, from_differences(lambda d: (d.mean(), (d.var() / len(d)).sqrt()))],
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
        Case("random", "six seeds whose losses rise and fall together", lambda g: losses(g, 6), rtol=1e-3, weight=2),
    ],
    mutants=[
        Mutant(
            "sign",
            from_differences(lambda d: (-d.mean(), d.std() / math.sqrt(len(d)))),
            "The sign is turned: the mean of a − b is asked for.",
        ),
        Mutant(
            "absolute",
            from_differences(lambda d: (d.abs().mean(), d.std() / math.sqrt(len(d)))),
            "The mean is taken of |a − b|. Keep the signs: differences both ways should cancel.",
        ),
        Mutant(
            "variance",
            from_differences(lambda d: (d.mean(), d.var() / math.sqrt(len(d)))),
            "The variance is divided by √n. The error of the mean is the standard deviation divided by √n.",
        ),
        Mutant(
            "spread",
            from_differences(lambda d: (d.mean(), d.std())),
            "This is the spread of single runs. The error of their mean is smaller by √n.",
        ),
        Mutant(
            "divides_by_n",
            from_differences(lambda d: (d.mean(), d.std() / len(d))),
            "The spread is divided by n. The error of a mean shrinks with √n only.",
        ),
        Mutant(
            "biased",
            from_differences(lambda d: (d.mean(), d.std(correction=0) / math.sqrt(len(d)))),
            "The spread divides by n. With few seeds use n − 1, as torch.std does by default.",
        ),
        Mutant(
            "not_paired",
            lambda a, b: (float((a - b).mean()), float((a.double().var() / len(a) + b.double().var() / len(b)).sqrt())),
            "The seeds are not paired: what both models share at a seed cancels only in a − b, seed by seed.",
        ),
    ],
)

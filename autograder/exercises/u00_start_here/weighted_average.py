"""A mean of rows in which each row counts as often as its weight says."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call


def weighted_average(values, weights):
    """Σ w·v / Σ w over the first axis: values (T, D), weights (T,) → (D,)."""
    return weights @ values / weights.sum()


def by_loop(values, weights):
    """The same, one row at a time."""
    total = torch.zeros_like(values[0])
    for v, w in zip(values, weights, strict=True):
        total = total + w * v
    return total / sum(weights)


def by_einsum(values, weights):
    """The same with normalized weights and einsum."""
    return torch.einsum("t,td->d", weights / weights.sum(), values)


EXERCISE = Exercise(
    id="start.weighted_average",
    unit="00-start-here",
    title="A weighted average",
    points=1,
    difficulty=1,
    minutes=5,
    signature="weighted_average(values, weights)",
    reference=weighted_average,
    alternatives=[by_loop, by_einsum],
    cases=[
        Case(
            "two rows",
            "weights 1 and 3 on two rows: the second row counts three times as much",
            lambda g: call(torch.tensor([[0.0, 10.0], [4.0, 20.0]]), torch.tensor([1.0, 3.0])),
        ),
        Case(
            "not normalized",
            "multiplying every weight by 10 changes nothing",
            lambda g: call(torch.tensor([[2.0], [6.0]]), torch.tensor([10.0, 30.0])),
        ),
        Case(
            "square",
            "three rows of three columns, so that a wrong axis cannot hide behind a shape error",
            lambda g: call(g.randn(3, 3), g.uniform(3, low=0.1)),
        ),
        Case(
            "random",
            "five rows of four columns with random weights",
            lambda g: call(g.randn(5, 4), g.uniform(5, low=0.1)),
            weight=2,
        ),
        Case(
            "one row",
            "a single row is its own average, whatever its weight",
            lambda g: call(g.randn(1, 3), torch.tensor([0.2])),
            weight=0,
        ),
    ],
    mutants=[
        Mutant(
            "plain_mean", lambda values, weights: values.mean(0), "This is the plain mean: the weights are ignored."
        ),
        Mutant(
            "not_divided",
            lambda values, weights: weights @ values,
            "This is the weighted sum. Divide it by the sum of the weights.",
        ),
        Mutant(
            "divided_by_count",
            lambda values, weights: weights @ values / len(weights),
            "The weighted sum is divided by the number of rows. Divide by the sum of the weights instead.",
        ),
        Mutant(
            "wrong_axis",
            lambda values, weights: values @ weights / weights.sum(),
            "The weights multiply the columns. Each weight belongs to a row of values.",
        ),
        Mutant(
            "softmax_weights",
            lambda values, weights: torch.softmax(weights, 0) @ values,
            "The weights went through a softmax. Here they are used as they are: divide by their sum.",
        ),
    ],
)

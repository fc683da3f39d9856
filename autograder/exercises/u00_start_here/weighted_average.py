"""A mean of rows in which each row counts as often as its weight says."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call


def weighted_average(values, weights):
    """Σ w·v / Σ w over the first axis: values (T, D), weights (T,) → (D,)."""
    return weights @ values / weights.sum()


def by_loop(values, weights):
    """The same, one row at a time."""
    return sum(weights[t] * values[t] for t in range(len(weights))) / sum(weights)


def by_einsum(values, weights):
    """The same with normalized weights and einsum."""
    return torch.einsum("t,td->d", weights / weights.sum(), values)


MISTAKES = changes(
    weighted_average,
    """
plain_mean: weights @ values / weights.sum() → values.mean(0)
    This is the plain mean: the weights are ignored.
not_divided: / weights.sum() →
    This is the weighted sum. Divide it by the sum of the weights.
divided_by_count: weights.sum() → len(weights)
    The weighted sum is divided by the number of rows. Divide by the sum of the weights instead.
wrong_axis: weights @ values → values @ weights
    The weights multiply the columns. Each weight belongs to a row of values.
weights_along_columns: weights @ values → (values * weights).sum(0)
    values * weights lays the weights along the columns. Give them an axis first, weights[:, None], or write weights
    @ values.
divided_by_largest: weights.sum() → weights.max()
    The weighted sum is divided by the largest weight. Divide it by the sum of the weights.
divided_by_all: weights.sum() → (weights.sum() * values.shape[1])
    The weighted sum is divided by the weights of all columns together. Each column has the same weights: divide by
    their sum.
softmax_weights: weights @ values / weights.sum() → torch.softmax(weights, 0) @ values
    The weights went through a softmax. Here they are used as they are: divide by their sum.
sum_over_columns: weights @ values → (values * weights[:, None]).sum(1)
    The sum runs over the columns of each row, so a number per word is left. Add up the rows, with .sum(0): a number
    per column is left.
kept_axis: weights @ values → weights[None] @ values
    The numbers are right, but the axis of words is still there, with size 1. Sum without keepdim, or take row 0 of
    the result: its shape is (D,).
one_number: weights @ values → (values * weights[:, None]).sum()
    The sum runs over rows and columns, so one number is left. Sum over the rows only, with .sum(0).
last_row_missing: weights @ values → weights[:-1] @ values[:-1]
    The last row is left out of the sum, though its weight is in the divisor. Let the sum run to the last row:
    range(len(weights)).
first_row_missing: weights @ values → weights[1:] @ values[1:]
    The first row is left out of the sum, though its weight is in the divisor. Rows count from 0.
three_rows: weights @ values / weights.sum() → weights[:3] @ values[:3] / weights[:3].sum()
    Only the first three rows are averaged, as many as the example has. There may be any number of rows: take
    len(weights).
three_rows_summed: weights @ values → weights[:3] @ values[:3]
    Only the first three rows are summed, as many as the example has, and divided by all the weights. There may be
    any number of rows: take len(weights).
divided_twice: weights.sum() → weights.sum() ** 2
    This is divided by the sum of the weights twice. Once is enough: weights / weights.sum() sums to 1.
averaged_again: weights.sum() → weights.sum() / len(weights)
    The weighted average is divided by the number of rows as well. Weights that sum to 1 need a sum over the rows,
    not a mean.
divided_by_norm: weights.sum() → weights.norm()
    The weighted sum is divided by the length of the weight vector, a root of squares. Divide it by the plain sum of
    the weights.
weights_squared: weights @ values → weights**2 @ values
    The weights are multiplied in twice. Each row is multiplied by its weight once, then the sum is divided.
divided_by_values: weights.sum() → values.sum(0)
    The weighted sum is divided by the sum of the values. Divide it by the sum of the weights.
detached: weights @ values / weights.sum() → (weights @ values / weights.sum()).detach()
    The numbers are right, but no gradient can flow back: the result was cut off from values and weights. Stay with
    torch operations on them, without .item(), detach or torch.tensor(…).
through_numpy: weights @ values → torch.from_numpy(weights.numpy() @ values.numpy()
; weights.sum() → weights.numpy().sum())
    NumPy takes no tensor that needs a gradient, and no gradient would come back from it. Write the same with torch
    operations on values and weights.
sum_plus_millionth: weights.sum() → (weights.sum() + 1e-6)
    A millionth is added to the sum of the weights, so the average comes out a little too close to 0. Divide by the
    sum as it is.
sum_plus_tiny: weights.sum() → (weights.sum() + 1e-8)
    A tiny number, 1e-8, is added to the sum of the weights, and the average is no longer exact. Divide by the sum
    as it is.
""",
)

EXERCISE = Exercise(
    id="start.weighted_average",
    title="A weighted average",
    points=1,
    difficulty=1,
    minutes=5,
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
            "gradients",
            "values and weights in float64: the average is float64, and gradients flow back to both",
            lambda g: call(g.randn(3, 2, dtype=torch.float64), g.uniform(3, low=0.1, dtype=torch.float64), grad=[0, 1]),
        ),
        Case(
            "one row",
            "a single row is its own average, whatever its weight",
            lambda g: call(g.randn(1, 3), torch.tensor([0.2])),
            weight=0,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
a sum of rows does not depend on their order
    eb3e083ae6 alternative by_loop, reversed: range(len(weights)) reversed
""",
)

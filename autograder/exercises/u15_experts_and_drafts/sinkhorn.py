"""A doubly stochastic matrix by the Sinkhorn iteration."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference.wide_residual import doubly_stochastic


def in_logarithms(logits, rounds=20):
    """Subtracts logarithms of sums, and takes the exponential last."""
    for _ in range(rounds):
        logits = logits - logits.logsumexp(-1, keepdim=True)
        logits = logits - logits.logsumexp(-2, keepdim=True)
    return logits.exp()


def by_factors(logits, rounds=20):
    """Keeps factors for rows and columns beside one matrix."""
    start = logits.softmax(-1)
    columns = torch.ones_like(start[..., :1, :])
    for _ in range(rounds):
        rows = 1 / (start * columns).sum(-1, keepdim=True)
        columns = 1 / (start * rows).sum(-2, keepdim=True)
    return rows * start * columns


def _softmax_alone(logits, rounds=20):
    return logits.softmax(-1)


def _both_softmax(logits, rounds=20):
    x = logits
    for _ in range(rounds):
        x = x.softmax(-1).softmax(-2)
    return x


def _rows_last(logits, rounds=20):
    x = logits.softmax(-2)
    x = x / x.sum(-1, keepdim=True)
    for _ in range(rounds - 1):
        x = x / x.sum(-2, keepdim=True)
        x = x / x.sum(-1, keepdim=True)
    return x


def doubly(logits, rounds=20):
    """The reference with names for rows and columns, in which mistakes are easier to write."""
    x = logits.softmax(-1)
    x = x / x.sum(-2, keepdim=True)
    for _ in range(rounds - 1):
        rows = x.sum(-1, keepdim=True)
        x = x / rows
        columns = x.sum(-2, keepdim=True)
        x = x / columns
    return x


MISTAKES = [
    Mutant(
        "softmax_alone",
        _softmax_alone,
        "This is a softmax of the rows alone, and the columns don't sum to 1. Divide by the sums of the columns, and "
        "repeat.",
    ),
    Mutant(
        "softmax_repeated",
        _both_softmax,
        "A softmax is taken again in each round, which makes all entries alike. It is only the first division: after "
        "that divide by plain sums.",
    ),
    Mutant(
        "rows_last",
        _rows_last,
        "Each round divides the columns first and the rows last. Rows come first, so at the end it is the columns that "
        "sum to 1 exactly.",
    ),
    *changes(
        doubly,
        """
one_round: range(rounds - 1) → range(0)
    After the first round nothing changes any more, so the rows don't sum to 1. Divide the rows again, and then the
    columns, rounds − 1 times.
one_more: range(rounds - 1) → range(rounds)
    One round too many: the softmax and the first division of the columns are the first round.
one_fewer: range(rounds - 1) → range(rounds - 2)
    One round too few. Behind the first round, rounds − 1 more follow.
fixed: range(rounds - 1) → range(19)
    The argument rounds changes nothing. Make as many rounds as it says.
second_softmax: x / x.sum(-2, keepdim=True) → x.softmax(-2)
    The columns go through a second softmax. Only the first division of the rows is one: divide the columns by their
    sums.
rows_alone: x = x / columns → pass
    After the first round only the rows are divided. Each round divides the columns, too.
exponential: logits.softmax(-1) → logits.exp() / logits.exp().sum(-1, keepdim=True)
    Large logits give NaN. An exponential overflows, or a whole row becomes 0 / 0. The exponential and its first
    division by the rows are a softmax of each row, which does neither.
at_once: rows = x.sum(-1, keepdim=True) → rows = x.sum(-1, keepdim=True); old = x
; columns = x.sum(-2, keepdim=True) → columns = old.sum(-2, keepdim=True)
    The sums of the columns are taken before the rows are divided. Divide the rows first, then sum the columns anew.
rows_not_kept: x / x.sum(-2, keepdim=True) → x / x.sum(-2, keepdim=True).mT
    The sums of the columns divide the rows. Keep the axis that was summed: sum(-2, keepdim=True).
whole: x / x.sum(-2, keepdim=True) → x / x.sum((-2, -1), keepdim=True)
    The first round divides by the sum of the whole matrix instead of the sums of the columns.
transposed: return x → return x.mT
    The matrix comes back transposed.
first_axis: rows = x.sum(-1, keepdim=True) → rows = x.sum(0, keepdim=True)
    The sums run over the first axis, which may be a batch. Rows and columns are the last two axes: −1 and −2.
detached: logits.softmax(-1) → logits.detach().softmax(-1)
    No gradient reaches the logits, so a model could not learn to mix.
""",
    ),
]

EXERCISE = Exercise(
    id="streams.sinkhorn",
    title="Rows and columns that sum to 1",
    points=1,
    difficulty=2,
    minutes=8,
    extension=True,
    reference=doubly_stochastic,
    alternatives=[in_logarithms, by_factors],
    cases=[
        Case(
            "by hand",
            "exponentials (1, 3) and (1, 1), one round: rows (0.33, 0.6) and (0.67, 0.4)",
            lambda g: call(torch.tensor([[1.0, 3.0], [1.0, 1.0]]).log(), rounds=1),
        ),
        Case(
            "two rounds",
            "a matrix of three rows, two rounds",
            lambda g: call(g.randn(3, 3, scale=2.0), rounds=2),
            weight=2,
        ),
        Case("twenty", "four streams, in float64", lambda g: call(g.randn(4, 4, scale=2.0, dtype=torch.float64))),
        Case(
            "tokens",
            "matrices for two texts of three tokens, three rounds",
            lambda g: call(g.randn(2, 3, 4, 4), rounds=3),
        ),
        Case(
            "large",
            "logits near 1,000 and near −1,000 in the same matrix: no infinity, no NaN",
            lambda g: call(g.randn(3, 3) + torch.tensor([[1000.0], [-1000.0], [0.0]]), rounds=2),
        ),
        Case(
            "gradients",
            "the gradient reaches the logits, in float64",
            lambda g: call(g.randn(2, 3, 3, dtype=torch.float64), rounds=4, grad=[0]),
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
the order of the loop changes nothing, since each turn is on its own or makes the same step
    455e089b15 solution, reversed: range(rounds - 1) reversed
    df33435804 alternative in_logarithms, reversed: range(rounds) reversed
    b1b24e88c8 alternative by_factors, reversed: range(rounds) reversed
a factor common to all rows cancels when the columns are divided
    6934b04882 solution, name: sum → mean in x.sum(-1, keepdim=True)
    7778e57539 alternative by_factors, constant: 1 → 2 in 1 / (start * columns).sum(-1, keepdim=True)
    f83fdb9bad alternative by_factors, name: sum → mean in (start * columns).sum(-1, keepdim=True)
equal in value: it divides evenly, has one axis, has converged, or is converted anyway
    5b162cb65a alternative by_factors, slice: without 1 in start[..., :1, :]
""",
)

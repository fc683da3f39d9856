"""Key heads averaged from multi-head to grouped-query."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import gqa


def pool_by_loop(weight, n_heads, n_kv_heads):
    """Group by group."""
    if n_heads % n_kv_heads:
        raise ValueError("G must divide H")
    heads = weight.chunk(n_heads)
    n = n_heads // n_kv_heads
    return torch.cat([sum(heads[i * n : (i + 1) * n]) / n for i in range(n_kv_heads)])


def pool_by_matrix(weight, n_heads, n_kv_heads):
    """A matrix that averages heads."""
    if n_heads % n_kv_heads:
        raise ValueError("G must divide H")
    n = n_heads // n_kv_heads
    pool = torch.eye(n_kv_heads, dtype=weight.dtype).repeat_interleave(n, dim=1) / n
    rest = weight.reshape(n_heads, -1)
    return (pool @ rest).reshape(-1, *weight.shape[1:])


def _pool(view, reduce):
    def wrong(weight, n_heads, n_kv_heads):
        n, D = n_heads // n_kv_heads, weight.shape[0] // n_heads
        out = reduce(weight.reshape(*view(n_kv_heads, n, D), *weight.shape[1:]))
        return out.reshape(n_kv_heads * D, *weight.shape[1:])

    return wrong


heads_in_rows = lambda G, n, D: (G, n, D)


def _for_matrices(view, join=lambda w: w.flatten(0, 1)):
    def wrong(weight, n_heads, n_kv_heads):
        if n_heads % n_kv_heads:
            raise ValueError("G must divide H")
        return join(view(weight, n_kv_heads, n_heads // n_kv_heads).mean(1))

    return wrong


def _unpacked(weight, G, n):
    rows, d_model = weight.shape
    return weight.reshape(G, n, rows // (G * n), d_model)


def _check_inverted(weight, n_heads, n_kv_heads):
    if n_kv_heads % n_heads:
        raise ValueError("G must divide H")
    return _pool(heads_in_rows, lambda w: w.mean(1))(weight, n_heads, n_kv_heads)


def _over_groups(weight, n_heads, n_kv_heads):
    return weight.unflatten(0, (n_kv_heads, n_heads // n_kv_heads, -1)).mean(0).flatten(0, 1)


def _not_joined(weight, n_heads, n_kv_heads):
    return weight.unflatten(0, (n_kv_heads, n_heads // n_kv_heads, -1)).mean(1)


def _by_heads(weight, n_heads, n_kv_heads):
    return weight.unflatten(0, (n_kv_heads, n_heads // n_kv_heads, -1)).sum(1).flatten(0, 1) / n_heads


def _one_row_each(weight, n_heads, n_kv_heads):
    n = n_heads // n_kv_heads
    return torch.stack([weight[g * n : (g + 1) * n].mean(0) for g in range(n_kv_heads)])


def _flat(weight, n_heads, n_kv_heads):
    return weight.reshape(n_kv_heads, n_heads // n_kv_heads, -1).mean(1)


EXERCISE = Exercise(
    id="cache.pool_heads",
    title="From multi-head to grouped-query",
    points=2,
    difficulty=2,
    minutes=10,
    extension=True,
    signature="pool_heads(weight, n_heads, n_kv_heads)",
    reference=gqa.mean_pool_heads,
    alternatives=[pool_by_loop, pool_by_matrix],
    cases=[
        Case(
            "by hand",
            "four heads of one row, 0, 2, 10 and 20, pooled into two: 1 and 15",
            lambda g: call(torch.tensor([[0.0], [2.0], [10.0], [20.0]]), 4, 2),
        ),
        Case(
            "wide heads",
            "6 heads of 3 rows become 2 heads of 3 rows, d_model 5",
            lambda g: call(g.randn(18, 5), 6, 2),
            weight=2,
        ),
        Case(
            "one head left", "4 heads of 2 rows become one: multi-query attention", lambda g: call(g.randn(8, 7), 4, 1)
        ),
        Case("bias", "a bias of 6 heads with 2 numbers each becomes 3 heads", lambda g: call(g.randn(12), 6, 3)),
        Case("nothing to do", "4 heads stay 4 heads", lambda g: call(g.randn(8, 3), 4, 4), weight=0),
        Case(
            "square",
            "a square matrix in float64, 6 heads of 2 rows: rows are pooled, not columns",
            lambda g: call(g.randn(12, 12, dtype=torch.float64), 6, 3),
        ),
        Case(
            "more heads",
            "2 heads cannot be pooled into 4: ValueError",
            lambda g: call(g.randn(8, 3), 2, 4),
            weight=0.25,
        ),
        Case(
            "does not fit",
            "6 heads cannot be pooled into 4: ValueError",
            lambda g: call(g.randn(12, 3), 6, 4),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "summed",
            _pool(heads_in_rows, lambda w: w.sum(1)),
            "The heads of a group are added. Divide by their number: the paper pools with the mean.",
        ),
        Mutant(
            "first",
            _pool(heads_in_rows, lambda w: w[:, 0]),
            "Each group keeps its first head and drops the others. Take the mean of the group.",
        ),
        Mutant(
            "strided",
            _pool(lambda G, n, D: (n, G, D), lambda w: w.mean(0)),
            "Heads 0, G, 2G, … are pooled. Query heads 0 to H/G − 1 share a group, so their keys are pooled: "
            "neighbors.",
        ),
        Mutant(
            "rows",
            _pool(lambda G, n, D: (G, D, n), lambda w: w.mean(2)),
            "Neighboring rows are averaged, inside one head. Average whole heads: row d of each head with row d of "
            "the next.",
        ),
        Mutant(
            "whole_group",
            lambda weight, n_heads, n_kv_heads: weight.unflatten(0, (n_kv_heads, -1)).mean(1),
            "Each group comes out as a single row: all its rows are averaged. A head has D rows, which stay apart; "
            "average over the heads alone.",
        ),
        Mutant(
            "by_groups",
            lambda weight, n_heads, n_kv_heads: _pool(heads_in_rows, lambda w: w.sum(1) / n_kv_heads)(
                weight, n_heads, n_kv_heads
            ),
            "The sum of a group is divided by the number of groups. Divide by the number of heads in it, "
            "n_heads / n_kv_heads.",
        ),
        Mutant(
            "columns",
            lambda weight, n_heads, n_kv_heads: (
                weight.unflatten(-1, (n_kv_heads, n_heads // n_kv_heads, -1)).mean(-2).flatten(-2)
            ),
            "The columns are pooled. A head owns rows of the matrix, the first axis; every column stays.",
        ),
        Mutant(
            "largest",
            _pool(heads_in_rows, lambda w: w.amax(1)),
            "The largest entry of each group is kept. Take the mean.",
        ),
        Mutant(
            "unchecked",
            lambda weight, n_heads, n_kv_heads: torch.stack(
                [
                    h.mean(0)
                    for h in weight.reshape(n_heads, -1, *weight.shape[1:]).split(max(1, n_heads // n_kv_heads))
                ][:n_kv_heads]
            ).flatten(0, 1),
            "Pooling is right where it fits. Raise a ValueError when n_kv_heads does not divide n_heads.",
        ),
        Mutant(
            "matrix_only",
            _for_matrices(_unpacked),
            "A bias is not pooled: only two axes are expected. Change the first axis alone, with unflatten(0, …), and "
            "leave whatever follows as it is.",
        ),
        Mutant(
            "second_axis_read",
            _for_matrices(lambda w, G, n: w.reshape(G, n, -1, w.shape[1])),
            "A bias has no second axis, which is read here. Change the first axis alone, with unflatten(0, …), and "
            "leave whatever follows as it is.",
        ),
        Mutant(
            "bias_as_column",
            _for_matrices(lambda w, G, n: w.reshape(G, n, -1, w[0].numel()), lambda w: w.reshape(-1, w.shape[-1])),
            "A bias comes out as a matrix of one column. Change the first axis alone: (H · D) becomes (G · D).",
        ),
        Mutant(
            "over_groups",
            _over_groups,
            "The mean runs over the groups instead of the heads inside a group. View the rows as (G, H/G, D) and "
            "average over axis 1.",
        ),
        Mutant(
            "not_joined",
            _not_joined,
            "The groups and the rows of a head are still two axes. Join them: (G · D, d_model).",
        ),
        Mutant(
            "by_heads",
            _by_heads,
            "The sum of a group is divided by all heads. Divide by the number of heads in the group, "
            "n_heads / n_kv_heads.",
        ),
        Mutant(
            "last",
            _pool(heads_in_rows, lambda w: w[:, -1]),
            "Each group keeps its last head and drops the others. Take the mean of the group.",
        ),
        Mutant(
            "check_inverted",
            _check_inverted,
            "The check is the wrong way round and refuses what fits. n_kv_heads must divide n_heads: raise when "
            "n_heads % n_kv_heads is not 0.",
        ),
        Mutant(
            "one_row_each",
            _one_row_each,
            "Heads are taken for single rows. Head h owns the D rows from hD on: cut and average whole heads.",
        ),
        Mutant(
            "flat",
            _flat,
            "Each group comes out as one long row. Its D rows belong below each other: (G · D, d_model).",
        ),
    ],
)

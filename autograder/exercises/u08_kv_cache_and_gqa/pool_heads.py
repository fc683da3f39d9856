"""Key heads averaged from multi-head to grouped-query."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
from autograder.reference import gqa


def pool_by_loop(weight, n_heads, n_kv_heads):
    """Group by group."""
    if n_heads % n_kv_heads:
        raise ValueError("G must divide H")
    n, D = n_heads // n_kv_heads, weight.shape[0] // n_heads
    groups = weight.reshape(n_kv_heads, n, D, *weight.shape[1:])
    return torch.cat([sum(group) / n for group in groups])


def pool_by_matrix(weight, n_heads, n_kv_heads):
    """A matrix that averages heads."""
    if n_heads % n_kv_heads:
        raise ValueError("G must divide H")
    n = n_heads // n_kv_heads
    pool = torch.eye(n_kv_heads, dtype=weight.dtype).repeat_interleave(n, dim=1) / n
    rest = weight.reshape(n_heads, -1)
    return (pool @ rest).reshape(-1, *weight.shape[1:])


MISTAKES = changes(
    pool_by_loop,
    """
summed: sum(group) / n → sum(group) ; raise →
    The heads of a group are added. Divide by their number: the paper pools with the mean.
first: sum(group) / n → group[0] ; raise →
    Each group keeps its first head and drops the others. Take the mean of the group.
strided: reshape(n_kv_heads, n, D → reshape(n, n_kv_heads, D ; in groups → in groups.transpose(0, 1) ; raise →
    Heads 0, G, 2G, … are pooled. Query heads 0 to H/G − 1 share a group, so their keys are pooled: neighbors.
rows: reshape(n_kv_heads, n, D → reshape(n_kv_heads, D, n ; sum(group) / n → group.mean(1) ; raise →
    Neighboring rows are averaged, inside one head. Average whole heads: row d of each head with row d of the next.
whole_group: reshape(n_kv_heads, n, D, *weight.shape[1:]) → unflatten(0, (n_kv_heads, -1))
; torch.cat([sum(group) / n for group in groups]) → groups.mean(1) ; raise →
    Each group comes out as a single row: all its rows are averaged. A head has D rows, which stay apart; average
    over the heads alone.
by_groups: sum(group) / n → sum(group) / n_kv_heads ; raise →
    The sum of a group is divided by the number of groups. Divide by the number of heads in it, n_heads /
    n_kv_heads.
columns: reshape(n_kv_heads, n, D, *weight.shape[1:]) → unflatten(-1, (n_kv_heads, n, -1))
; torch.cat([sum(group) / n for group in groups]) → groups.mean(-2).flatten(-2) ; raise →
    The columns are pooled. A head owns rows of the matrix, the first axis; every column stays.
largest: sum(group) / n → group.amax(0) ; raise →
    The largest entry of each group is kept. Take the mean.
unchecked: reshape(n_kv_heads, n, D, *weight.shape[1:]) → unflatten(0, (n_heads, D)).split(max(1, n))[:n_kv_heads]
; sum(group) / n → group.mean(0) ; raise →
    Pooling is right where it fits. Raise a ValueError when n_kv_heads does not divide n_heads.
matrix_only: groups = → rows, d_model = weight.shape; groups =
    A bias is not pooled: only two axes are expected. Change the first axis alone, with unflatten(0, …), and leave
    whatever follows as it is.
second_axis_read: *weight.shape[1:] → weight.shape[1]
    A bias has no second axis, which is read here. Change the first axis alone, with unflatten(0, …), and leave
    whatever follows as it is.
bias_as_column: *weight.shape[1:] → weight[0].numel()
    A bias comes out as a matrix of one column. Change the first axis alone: (H · D) becomes (G · D).
over_groups: reshape(n_kv_heads, n, D, *weight.shape[1:]) → unflatten(0, (n_kv_heads, n, -1))
; torch.cat([sum(group) / n for group in groups]) → groups.mean(0).flatten(0, 1) ; raise →
    The mean runs over the groups instead of the heads inside a group. View the rows as (G, H/G, D) and average over
    axis 1.
not_joined: reshape(n_kv_heads, n, D, *weight.shape[1:]) → unflatten(0, (n_kv_heads, n, -1))
; torch.cat → torch.stack ; raise →
    The groups and the rows of a head are still two axes. Join them: (G · D, d_model).
by_heads: reshape(n_kv_heads, n, D, *weight.shape[1:]) → unflatten(0, (n_kv_heads, n, -1))
; sum(group) / n → sum(group) / n_heads ; raise →
    The sum of a group is divided by all heads. Divide by the number of heads in the group, n_heads / n_kv_heads.
last: sum(group) / n → group[-1] ; raise →
    Each group keeps its last head and drops the others. Take the mean of the group.
check_inverted: n_heads % n_kv_heads → n_kv_heads % n_heads
    The check is the wrong way round and refuses what fits. n_kv_heads must divide n_heads: raise when n_heads %
    n_kv_heads is not 0.
one_row_each: weight.reshape(n_kv_heads, n, D, *weight.shape[1:]) → [weight[g * n :][:n] for g in range(n_kv_heads)]
; torch.cat([sum(group) / n → torch.stack([group.mean(0) ; raise →
    Heads are taken for single rows. Head h owns the D rows from hD on: cut and average whole heads.
flat: n, D, *weight.shape[1:] → n, -1 ; torch.cat → torch.stack ; raise →
    Each group comes out as one long row. Its D rows belong below each other: (G · D, d_model).
""",
)

EXERCISE = Exercise(
    id="cache.pool_heads",
    title="From multi-head to grouped-query",
    points=2,
    difficulty=2,
    minutes=10,
    extension=True,
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
    mutants=MISTAKES,
    unasked="""
a checkpoint is converted once, before training goes on with the new weights
    gradient of pool_heads
""",
    equivalent="""
a checkpoint is converted once, before training goes on with the new weights
    7840e3cb01 solution, result: return weight.unflatten(0, (n_kv_heads, n_heads // n_kv_heads, -1)).m…: result detach
    d293f56221 alternative pool_by_matrix, result: return (pool @ rest).reshape(-1, *weight.shape[1:]): result detach
    8f178cf21b alternative pool_by_loop, result: return torch.cat([sum(group) / n for group in groups]): result detach
what does not divide evenly has raised an error already
    e22715d3e6 solution, arithmetic: n_heads // n_kv_heads rounded up
    ab3822f967 alternative pool_by_matrix, arithmetic: n_heads // n_kv_heads rounded up
    5b7f3f4ba2 alternative pool_by_loop, arithmetic: n_heads // n_kv_heads rounded up
    b111cdd873 alternative pool_by_loop, arithmetic: weight.shape[0] // n_heads rounded up
""",
)

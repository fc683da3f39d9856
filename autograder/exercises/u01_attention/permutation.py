"""What another order of the words does to scores and results."""

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Source, call


def after_permutation(scores, out, perm):
    """scores (T, T), out (T, D), perm (T,) → both as attention gives them for x[perm]."""
    return scores[perm][:, perm], out[perm]


def by_matrix(scores, out, perm):
    """P S Pᵀ and P out."""
    P = torch.eye(len(perm), dtype=scores.dtype)[perm]
    return P @ scores @ P.T, P @ out


def by_loop(scores, out, perm):
    """Entry by entry."""
    T = len(perm)
    s, o = torch.empty_like(scores), torch.empty_like(out)
    for i in range(T):
        o[i] = out[perm[i]]
        for j in range(T):
            s[i, j] = scores[perm[i], perm[j]]
    return s, o


def _cycle(g: Source, T: int) -> Tensor:
    """A random permutation made of one cycle through all places: for T > 2 it never equals its inverse."""
    order = torch.randperm(T, generator=g.generator)
    perm = torch.empty(T, dtype=torch.int64)
    perm[order] = order.roll(-1)
    return perm


MISTAKES = changes(
    after_permutation,
    """
rows_only: [:, perm] →
    Only the rows of the scores are reordered. The keys move as well as the queries: reorder the columns too.
columns_only: scores[perm][:, perm] → scores[:, perm]
    Only the columns of the scores are reordered. The queries move as well as the keys: reorder the rows too.
inverse: return → perm = perm.argsort(); return
    This sends old word i to place perm[i]. Here it is the other way round: place i holds old word perm[i], so index
    with perm itself.
out_fixed: out[perm] → out
    The scores are right, but the outputs stay where they were. Each output row belongs to a word and moves with it.
nothing_moves: scores[perm][:, perm], out[perm] → scores, out
    Both results are unchanged, so the words did not move. What moves with a word: its row of scores, its column of
    scores, its output row.
paired_index: scores[perm][:, perm] → scores[perm, perm]
    scores[perm, perm] picks single entries (0 with 0, 1 with 1, …), here the diagonal. Index the rows, then the
    columns: two steps.
inverse_columns: [:, perm] → [:, perm.argsort()]
    The rows are in the new order, the columns in its inverse. Index the columns with perm itself.
inverse_rows: scores[perm] → scores[perm.argsort()]
    The columns are in the new order, the rows of the scores in its inverse. Index the rows with perm itself.
inverse_scores: scores[perm][:, perm] → scores[perm.argsort()][:, perm.argsort()]
    The outputs are right, but the scores are in the inverse order. Place i holds old word perm[i]: read row and
    column perm[i], do not write to them.
inverse_out: out[perm] → out[perm.argsort()]
    The scores are right, but the outputs are in the inverse order. Row i of the new outputs is old row perm[i]:
    read from perm[i], do not write to it.
scores_fixed: scores[perm][:, perm] → scores
    The outputs are right, but the scores stay where they were. Each word takes its row and its column along.
out_columns: out[perm] → out[:, perm]
    The columns of the outputs are indexed with perm, and they are numbers, not words. Reorder the rows alone:
    out[perm].
transposed: [:, perm] → [:, perm].T
    The new scores are transposed: rows are queries and columns are keys, before and after.
rows_twice: [:, perm] → [perm]
    The rows are reordered twice and the columns not at all. The second index belongs to the columns:
    scores[perm][:, perm].
rows_fixed_out: [:, perm], out[perm] → , out
    Only the rows of the scores are reordered. Their columns move as well, and so do the rows of the outputs.
columns_fixed_out: scores[perm][:, perm], out[perm] → scores[:, perm], out
    Only the columns of the scores are reordered. Their rows move as well, and so do the rows of the outputs.
order: scores[perm][:, perm], out[perm] → out[perm], scores[perm][:, perm]
    The two results stand in the wrong order: the scores come first, then the outputs.
detached: scores[perm][:, perm], out[perm] → scores.detach()[perm][:, perm], out.detach()[perm]
    The numbers are right, but no gradient can flow back: a result was cut off from its input. Index the tensors,
    without .item(), tolist or torch.tensor(…).
""",
)

EXERCISE = Exercise(
    id="attention.permutation",
    title="What a new word order does",
    points=2,
    difficulty=2,
    minutes=10,
    extension=True,
    reference=after_permutation,
    alternatives=[by_matrix, by_loop],
    cases=[
        Case(
            "three words",
            "place 0 now holds old word 1, place 1 old word 2, place 2 old word 0",
            lambda g: call(
                torch.arange(9.0).reshape(3, 3), torch.tensor([[10.0], [20.0], [30.0]]), torch.tensor([1, 2, 0])
            ),
        ),
        Case(
            "random",
            "five words of three columns in a random order that is not its own inverse",
            lambda g: call(g.randn(5, 5), g.randn(5, 3), _cycle(g, 5)),
            weight=2,
        ),
        Case(
            "gradients",
            "gradients flow back to scores and outputs of four words in float64",
            lambda g: call(
                g.randn(4, 4, dtype=torch.float64), g.randn(4, 2, dtype=torch.float64), _cycle(g, 4), grad=[0, 1]
            ),
        ),
        Case(
            "same order",
            "the order 0, 1, 2 changes nothing",
            lambda g: call(g.randn(3, 3), g.randn(3, 2), torch.arange(3)),
            weight=0,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
the loop fills independent entries, in any order
    4c463a4c48 alternative by_loop, reversed: range(T) reversed
    58dec0ba37 alternative by_loop, reversed: range(T) reversed
""",
)

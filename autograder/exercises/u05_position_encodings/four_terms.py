"""Transformer-XL's four terms of a score."""

import math

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Source, call
from autograder.reference.positions import transformer_xl as xl


def four_terms_apart(q, k, r, u, v):
    """Four products, added at the end; the shift by an index."""
    ac = q @ k.mT + (u[:, None] @ k.mT)
    bd = q @ r.mT + (v[:, None] @ r.mT)
    return (ac + xl.relative_shift_by_gather(bd)) / math.sqrt(q.shape[-1])


def four_terms_by_pairs(q, k, r, u, v):
    """One distance vector per pair: r[i - j] picked out first."""
    T, S = q.shape[-2], k.shape[-2]
    at = torch.arange(S) - torch.arange(T)[:, None] + T - 1
    pairs = r[:, at]  # (H, T, S, D)
    content = torch.einsum("bhtd,bhsd->bhts", q + u[:, None], k)
    return (content + torch.einsum("bhtd,htsd->bhts", q + v[:, None], pairs)) / q.shape[-1] ** 0.5


def _xl(g: Source, B: int, H: int, T: int, S: int, D: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    shapes = (B, H, T, D), (B, H, S, D), (H, T + S - 1, D), (H, D), (H, D)
    return [g.randn(*shape, dtype=dtype) for shape in shapes]


MISTAKES = changes(
    xl.transformer_xl_scores,
    """
u_and_v_swapped: (q + u[:, None]) @ k → (q + v[:, None]) @ k ; (q + v[:, None]) @ r → (q + u[:, None]) @ r
    u and v are exchanged. u meets the keys (content), v meets the distances (r).
not_shifted: position = relative_shift( → position = ( ; r.transpose(-2, -1)) → r.transpose(-2, -1))[..., :S]
    The position scores are cut off instead of shifted. Column c of every row stands for the same distance: use
    relative_shift.
reversed_distances: r.transpose → r.flip(-2).transpose
    The distances are read in reverse. Row 0 of r is the farthest past, and relative_shift expects that order.
no_u: (q + u[:, None]) → q
    The term u · k is missing: what every query thinks of a token.
no_v: (q + v[:, None]) → q
    The term v · r is missing: what every query thinks of a distance.
no_query_in_position: q + v[:, None] → 0 * q + v[:, None]
    The term q · r is missing: the query's own token asks for distances too.
position_not_scaled: (content + position) / → position + content /
    The position terms are not divided by √D. All four terms are added first and then scaled.
divided_by_d: math.sqrt(q.shape[-1]) → q.shape[-1]
    The sum is divided by D. Scores are divided by its root, √D.
no_query_in_content: q + u[:, None] → 0 * q + u[:, None]
    The term q · k is missing: the query's own token meets the keys too.
position_with_u: q + v[:, None] → q + u[:, None] + v[:, None]
    The position part holds u as well: q has been changed on the way. It is (q + u) · k and (q + v) · r, each from
    the same q.
reshaped_keys: k.transpose(-2, -1) → k.reshape(*k.shape[:-2], k.shape[-1], S)
    The keys are reshaped, which mixes up their entries. Exchange the last two axes: k.transpose(-2, -1).
unscaled: / math.sqrt(q.shape[-1]) →
    The sum is not divided by √D.
u_for_both: q + v[:, None] → q + u[:, None]
    u stands in both terms. u meets the keys (content), v meets the distances (r).
u_without_axis: u[:, None] → u
    u is added without an axis for the queries, so heads line up with positions. Write u[:, None], which is (H, 1,
    D).
no_axes: u[:, None] → u ; v[:, None] → v
    A vector per head is added without an axis for the queries, so heads line up with positions. Write u[:, None]
    and v[:, None], which are (H, 1, D).
content_not_scaled: (content + position) / → content + position /
    The terms with the keys are not divided by √D: brackets are missing. Add all four terms first, then divide.
root_of_2d: math.sqrt(q.shape[-1]) → math.sqrt(2 * q.shape[-1])
    The sum is divided by √(2D). Transformer-XL divides by √D, however many terms are added.
root_of_4d: math.sqrt(q.shape[-1]) → math.sqrt(4 * q.shape[-1])
    The sum is divided by √(4D). Transformer-XL divides by √D, however many terms are added.
scaled_by_length: math.sqrt(q.shape[-1]) → math.sqrt(T)
    The number of queries T stands under the root. D is the size of the vectors, the last axis: √D.
no_u_and_v: (q + u[:, None]) → q ; (q + v[:, None]) → q
    The terms u · k and v · r are missing. They are added to the query before the two products: q + u and q + v.
no_position: (content + position) → content
    The position terms are missing: add the shifted products of q + v with r.
only_constants: q + u[:, None] → 0 * q.detach() + u[:, None] ; q + v[:, None] → 0 * q.detach() + v[:, None]
    The queries themselves are missing. It is (q + u) · k and (q + v) · r: four products in all.
v_for_both: q + u[:, None] → q + v[:, None]
    v stands in both terms. u meets the keys (content), v meets the distances (r).
added_to_keys: (q + u[:, None]) @ k. → q @ (k + u[:, None]). ; (q + v[:, None]) @ r. → q @ (r + v[:, None]).
    u and v are added to the keys and distances. They stand in for the query: (q + u) · k and (q + v) · r.
reshaped_distances: r.transpose(-2, -1) → r.reshape(len(r), r.shape[-1], T + S - 1)
    The distance vectors are reshaped, which mixes up their entries. Exchange the last two axes: r.transpose(-2,
    -1).
both_reshaped: k.transpose(-2, -1) → k.reshape(*k.shape[:-2], k.shape[-1], S)
; r.transpose(-2, -1) → r.reshape(len(r), r.shape[-1], T + S - 1)
    Keys and distances are reshaped, which mixes up their entries. Exchange the last two axes with transpose(-2,
    -1).
softmax: (content + position) → ((content + position) ; math.sqrt(q.shape[-1]) → math.sqrt(q.shape[-1])).softmax(-1)
    These are weights, after a softmax. Return the scores themselves.
last_columns: position = relative_shift( → position = ( ; r.transpose(-2, -1)) → r.transpose(-2, -1))[..., T - 1 :]
    Every query gets the last columns of the position scores. Only the first query does: use relative_shift.
""",
)

EXERCISE = Exercise(
    id="position.four_terms",
    title="Transformer-XL's four terms",
    points=2,
    difficulty=3,
    minutes=15,
    extension=True,
    reference=xl.transformer_xl_scores,
    alternatives=[four_terms_apart, four_terms_by_pairs],
    cases=[
        Case(
            "by hand",
            "q = 2, u = 1, v = 3, D = 1: (2 + 1)·1 + (2 + 3)·10 = 53 and (2 + 1)·3 + (2 + 3)·20 = 109",
            lambda g: call(
                torch.full((1, 1, 1, 1), 2.0),
                torch.tensor([[[[1.0], [3.0]]]]),
                torch.tensor([[[10.0], [20.0]]]),
                torch.ones(1, 1),
                torch.full((1, 1), 3.0),
            ),
        ),
        Case("square", "two sentences, three heads, four positions", lambda g: call(*_xl(g, 2, 3, 4, 4, 5)), weight=2),
        Case(
            "with memory", "three queries and three keys of memory before them", lambda g: call(*_xl(g, 1, 2, 3, 6, 4))
        ),
        Case(
            "double",
            "float64, one query and three keys of memory before it",
            lambda g: call(*_xl(g, 2, 3, 1, 4, 2, torch.float64)),
        ),
        Case(
            "gradients",
            "gradients of all five inputs: u and v are trained too",
            lambda g: call(*_xl(g, 1, 2, 3, 4, 3), grad=[0, 1, 2, 3, 4]),
        ),
        Case(
            "positions only",
            "zero keys leave the two position terms",
            lambda g: call(
                g.randn(1, 2, 3, 4), torch.zeros(1, 2, 3, 4), g.randn(2, 5, 4), g.randn(2, 4), g.randn(2, 4)
            ),
        ),
    ],
    mutants=MISTAKES,
)

"""Transformer-XL's four terms of a score."""

import math

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Source, call
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


def position_with_u(q, k, r, u, v):
    q = q + u[:, None]
    content = q @ k.mT
    q = q + v[:, None]
    return (content + xl.relative_shift(q @ r.mT)) / math.sqrt(q.shape[-1])


def _reshaped(x):
    return x.reshape(*x.shape[:-2], x.shape[-1], x.shape[-2])


def _terms(shift=xl.relative_shift, keep=(1, 1, 1, 1), swapped=False, root=lambda D: (math.sqrt(D), math.sqrt(D))):
    """Four-term scores with one part changed; keep: content, position, u, v."""

    def wrong(q, k, r, u, v):
        u, v = (v, u) if swapped else (u, v)
        content = (keep[0] * q + keep[2] * u[:, None]) @ k.mT
        position = shift((keep[1] * q + keep[3] * v[:, None]) @ r.mT)
        a, b = root(q.shape[-1])
        return content / a + position / b

    return wrong


def _xl(g: Source, B: int, H: int, T: int, S: int, D: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    shapes = (B, H, T, D), (B, H, S, D), (H, T + S - 1, D), (H, D), (H, D)
    return [g.randn(*shape, dtype=dtype) for shape in shapes]


def _four(for_words, k, for_distances, r):
    """Scores of two queries, one that meets the keys and one that meets the distances."""
    return (for_words @ k.mT + xl.relative_shift(for_distances @ r.mT)) / math.sqrt(for_words.shape[-1])


EXERCISE = Exercise(
    id="position.four_terms",
    title="Transformer-XL's four terms",
    points=2,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="transformer_xl_scores(q, k, r, u, v)",
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
        Case("square", "two sentences, three heads, four places", lambda g: call(*_xl(g, 2, 3, 4, 4, 5)), weight=2),
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
    mutants=[
        Mutant(
            "u_and_v_swapped",
            _terms(swapped=True),
            "u and v are exchanged. u meets the keys (content), v meets the distances (r).",
        ),
        Mutant(
            "not_shifted",
            _terms(shift=lambda x: x[..., : x.shape[-1] - x.shape[-2] + 1]),
            "The position scores are cut off instead of shifted. Column c of every row stands for the same "
            "distance: use relative_shift.",
        ),
        Mutant(
            "reversed_distances",
            _terms(shift=lambda x: xl.relative_shift(x.flip(-1))),
            "The distances are read in reverse. Row 0 of r is the farthest past, and relative_shift expects that "
            "order.",
        ),
        Mutant(
            "no_u",
            lambda q, k, r, u, v: _four(q, k, q + v[:, None], r),
            "The term u · k is missing: what every query thinks of a word.",
        ),
        Mutant(
            "no_v",
            lambda q, k, r, u, v: _four(q + u[:, None], k, q, r),
            "The term v · r is missing: what every query thinks of a distance.",
        ),
        Mutant(
            "no_query_in_position",
            _terms(keep=(1, 0, 1, 1)),
            "The term q · r is missing: the query's own word asks for distances too.",
        ),
        Mutant(
            "position_not_scaled",
            _terms(root=lambda D: (math.sqrt(D), 1.0)),
            "The position terms are not divided by √D. All four terms are added first and then scaled.",
        ),
        Mutant(
            "divided_by_d",
            _terms(root=lambda D: (D, D)),
            "The sum is divided by D. Scores are divided by its root, √D.",
        ),
        Mutant(
            "no_query_in_content",
            _terms(keep=(0, 1, 1, 1)),
            "The term q · k is missing: the query's own word meets the keys too.",
        ),
        Mutant(
            "position_with_u",
            position_with_u,
            "The position part holds u as well: q has been changed on the way. It is (q + u) · k and (q + v) · r, each "
            "from the same q.",
        ),
        Mutant(
            "reshaped_keys",
            lambda q, k, r, u, v: xl.transformer_xl_scores(q, _reshaped(k).mT, r, u, v),
            "The keys are reshaped, which mixes up their entries. Exchange the last two axes: k.transpose(-2, -1).",
        ),
        Mutant("unscaled", _terms(root=lambda D: (1.0, 1.0)), "The sum is not divided by √D."),
        Mutant(
            "u_for_both",
            lambda q, k, r, u, v: xl.transformer_xl_scores(q, k, r, u, u),
            "u stands in both terms. u meets the keys (content), v meets the distances (r).",
        ),
        Mutant(
            "u_without_axis",
            lambda q, k, r, u, v: _four(q + u, k, q + v[:, None], r),
            "u is added without an axis for the queries, so heads line up with positions. Write u[:, None], which is "
            "(H, 1, D).",
        ),
        Mutant(
            "no_axes",
            lambda q, k, r, u, v: _four(q + u, k, q + v, r),
            "A vector per head is added without an axis for the queries, so heads line up with places. Write u[:, "
            "None] and v[:, None], which are (H, 1, D).",
        ),
        Mutant(
            "content_not_scaled",
            _terms(root=lambda D: (1.0, math.sqrt(D))),
            "The terms with the keys are not divided by √D: brackets are missing. Add all four terms first, then "
            "divide.",
        ),
        Mutant(
            "root_of_2d",
            _terms(root=lambda D: (math.sqrt(2 * D), math.sqrt(2 * D))),
            "The sum is divided by √(2D). Transformer-XL divides by √D, however many terms are added.",
        ),
        Mutant(
            "root_of_4d",
            _terms(root=lambda D: (math.sqrt(4 * D), math.sqrt(4 * D))),
            "The sum is divided by √(4D). Transformer-XL divides by √D, however many terms are added.",
        ),
        Mutant(
            "scaled_by_length",
            lambda q, k, r, u, v: xl.transformer_xl_scores(q, k, r, u, v) * math.sqrt(q.shape[-1] / q.shape[-2]),
            "The number of queries T stands under the root. D is the size of the vectors, the last axis: √D.",
        ),
        Mutant(
            "no_u_and_v",
            lambda q, k, r, u, v: _four(q, k, q, r),
            "The terms u · k and v · r are missing. They are added to the query before the two products: q + u and q "
            "+ v.",
        ),
        Mutant(
            "no_position",
            lambda q, k, r, u, v: (q + u[:, None]) @ k.mT / math.sqrt(q.shape[-1]),
            "The position terms are missing: add the shifted products of q + v with r.",
        ),
        Mutant(
            "only_constants",
            lambda q, k, r, u, v: _four(u[:, None] + 0 * q.detach(), k, v[:, None] + 0 * q.detach(), r),
            "The queries themselves are missing. It is (q + u) · k and (q + v) · r: four products in all.",
        ),
        Mutant(
            "v_for_both",
            lambda q, k, r, u, v: xl.transformer_xl_scores(q, k, r, v, v),
            "v stands in both terms. u meets the keys (content), v meets the distances (r).",
        ),
        Mutant(
            "added_to_keys",
            lambda q, k, r, u, v: _four(q, k + u[:, None], q, r + v[:, None]),
            "u and v are added to the keys and distances. They stand in for the query: (q + u) · k and (q + v) · r.",
        ),
        Mutant(
            "reshaped_distances",
            lambda q, k, r, u, v: xl.transformer_xl_scores(q, k, _reshaped(r).mT, u, v),
            "The distance vectors are reshaped, which mixes up their entries. Exchange the last two axes: "
            "r.transpose(-2, -1).",
        ),
        Mutant(
            "both_reshaped",
            lambda q, k, r, u, v: xl.transformer_xl_scores(q, _reshaped(k).mT, _reshaped(r).mT, u, v),
            "Keys and distances are reshaped, which mixes up their entries. Exchange the last two axes with "
            "transpose(-2, -1).",
        ),
        Mutant(
            "softmax",
            lambda q, k, r, u, v: xl.transformer_xl_scores(q, k, r, u, v).softmax(-1),
            "These are weights, after a softmax. Return the scores themselves.",
        ),
        Mutant(
            "last_columns",
            _terms(shift=lambda x: x[..., x.shape[-2] - 1 :]),
            "Every query gets the last columns of the position scores. Only the first query does: use relative_shift.",
        ),
    ],
)

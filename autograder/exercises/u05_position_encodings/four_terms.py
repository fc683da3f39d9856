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


def _terms(shift=xl.relative_shift, keep=(1, 1, 1, 1), swapped=False, root=lambda D: (math.sqrt(D), math.sqrt(D))):
    """Four-term scores with one part changed; keep: content, position, u, v."""

    def wrong(q, k, r, u, v):
        u, v = (v, u) if swapped else (u, v)
        content = (keep[0] * q + keep[2] * u[:, None]) @ k.mT
        position = shift((keep[1] * q + keep[3] * v[:, None]) @ r.mT)
        a, b = root(q.shape[-1])
        return content / a + position / b

    return wrong


def _xl(g: Source, B: int, H: int, T: int, S: int, D: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    return g.randn(B, H, T, D), g.randn(B, H, S, D), g.randn(H, T + S - 1, D), g.randn(H, D), g.randn(H, D)


EXERCISE = Exercise(
    id="position.four_terms",
    unit="05-position-encodings",
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
        Mutant("no_u", _terms(keep=(1, 1, 0, 1)), "The term u · k is missing: what every query thinks of a word."),
        Mutant("no_v", _terms(keep=(1, 1, 1, 0)), "The term v · r is missing: what every query thinks of a distance."),
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
        Mutant("unscaled", _terms(root=lambda D: (1.0, 1.0)), "The sum is not divided by √D."),
        Mutant(
            "u_for_both",
            lambda q, k, r, u, v: xl.transformer_xl_scores(q, k, r, u, u),
            "u stands in both terms. u meets the keys (content), v meets the distances (r).",
        ),
    ],
)

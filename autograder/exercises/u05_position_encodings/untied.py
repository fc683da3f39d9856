"""TUPE's untied scores of words and positions."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference.positions import tupe


def tupe_scores(q, k, pos_q, pos_k):
    """Both products, each divided by √(2D)."""
    return tupe.tupe_scores(q, k, tupe.tupe_position_scores(pos_q, pos_k))


def tupe_side_by_side(q, k, pos_q, pos_k):
    """Words and positions side by side: one product of vectors of size 2D."""
    long = lambda x, p: torch.cat([x, p.expand_as(x)], dim=-1)
    a, b = long(q, pos_q), long(k, pos_k)
    return a @ b.mT / math.sqrt(a.shape[-1])


def _tupe(content, position, tied=False):
    def wrong(q, k, pos_q, pos_k):
        D = q.shape[-1]
        if tied:
            return (q + pos_q) @ (k + pos_k).mT / math.sqrt(content * D)
        return q @ k.mT / math.sqrt(content * D) + pos_q @ pos_k.mT / math.sqrt(position * D)

    return wrong


EXERCISE = Exercise(
    id="position.untied",
    unit="05-position-encodings",
    title="TUPE: untied positions",
    points=1,
    difficulty=1,
    minutes=6,
    extension=True,
    signature="tupe_scores(q, k, pos_q, pos_k)",
    reference=tupe_scores,
    alternatives=[
        tupe_side_by_side,
        lambda q, k, pos_q, pos_k: (q @ k.mT + pos_q @ pos_k.mT) / (2 * q.shape[-1]) ** 0.5,
    ],
    cases=[
        Case(
            "by hand",
            "D = 2, so both products are divided by 2: words 6, positions 4, together (6 + 4)/2 = 5",
            lambda g: call(
                torch.tensor([[[[3.0, 0.0]]]]),
                torch.tensor([[[[2.0, 7.0]]]]),
                torch.tensor([[[0.0, 4.0]]]),
                torch.tensor([[[9.0, 1.0]]]),
            ),
        ),
        Case(
            "random",
            "two sentences, three heads, five places",
            lambda g: call(g.randn(2, 3, 5, 4), g.randn(2, 3, 5, 4), g.randn(3, 5, 4), g.randn(3, 5, 4)),
            weight=2,
        ),
    ],
    mutants=[
        Mutant(
            "tied",
            _tupe(2, 2, tied=True),
            "Words and positions are added before the product, which brings in word–position terms. Untied means "
            "two products, added as scores.",
        ),
        Mutant(
            "scaled_by_d",
            _tupe(1, 1),
            "Both products are divided by √D. Two terms of equal size are added, so TUPE divides by √(2D).",
        ),
        Mutant("words_unscaled_share", _tupe(1, 2), "Only the positions are divided by √(2D). Both products are."),
        Mutant(
            "no_positions",
            lambda q, k, pos_q, pos_k: q @ k.mT / math.sqrt(2 * q.shape[-1]),
            "The position product is missing.",
        ),
    ],
)

"""TUPE's untied scores of tokens and positions."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
from autograder.reference.positions import tupe


def tupe_scores(q, k, pos_q, pos_k):
    """Both products, each divided by √(2D)."""
    return tupe.tupe_scores(q, k, tupe.tupe_position_scores(pos_q, pos_k))


def tupe_side_by_side(q, k, pos_q, pos_k):
    """Tokens and positions side by side: one product of vectors of size 2D."""
    long = lambda x, p: torch.cat([x, p.expand_as(x)], dim=-1)
    a, b = long(q, pos_q), long(k, pos_k)
    return a @ b.mT / math.sqrt(a.shape[-1])


def tupe_added(q, k, pos_q, pos_k):
    """The sum of both products, divided at the end."""
    return (q @ k.mT + pos_q @ pos_k.mT) / (2 * q.shape[-1]) ** 0.5


MISTAKES = changes(
    tupe_added,
    """
tied: q @ k.mT + pos_q @ pos_k.mT → (q + pos_q) @ (k + pos_k).mT
    Tokens and positions are added before the product, which brings in token–position terms. Untied means two
    products, added as scores.
scaled_by_d: (2 * q.shape[-1]) → q.shape[-1]
    Both products are divided by √D. Two terms of equal size are added, so TUPE divides by √(2D).
words_unscaled_share: (q @ k.mT + pos_q @ pos_k.mT) → q @ k.mT / q.shape[-1] ** 0.5 + pos_q @ pos_k.mT
    Only the position product is divided by √(2D). Divide both by it.
positions_unscaled_share: (q @ k.mT + → q @ k.mT / (2 * q.shape[-1]) ** 0.5 +
; pos_k.mT) / (2 * q.shape[-1]) → pos_k.mT / q.shape[-1]
    Only the token product is divided by √(2D). Divide both by it.
no_root: ** 0.5 →
    The sum is divided by 2D. Divide by its root, √(2D).
averaged: (2 * q.shape[-1]) → 2 / q.shape[-1]
    The sum is divided by 2√D. The 2 stands under the root as well: √(2D).
unscaled: / (2 * q.shape[-1]) ** 0.5 →
    The sum is not divided. Two terms of equal size are added, so TUPE divides by √(2D).
scaled_by_length: q.shape[-1] → q.shape[-2]
    The number of tokens T stands under the root. D is the size of the vectors, the last axis: √(2D).
positions_turned: pos_q @ pos_k.mT → pos_k @ pos_q.mT
    The position product is turned: pos_q belongs to the query, the row, and pos_k to the key, the column.
words_turned: (q @ k.mT → (k @ q.mT
    The token product is turned: q gives the rows and k the columns, q @ k.transpose(-2, -1).
softmax: (q @ k.mT → ((q @ k.mT ; ** 0.5 → ** 0.5).softmax(-1)
    These are weights, after a softmax. Return the scores themselves.
reshaped_keys: q @ k.mT → q @ k.reshape(*k.shape[:-2], k.shape[-1], -1)
; pos_k.mT → pos_k.reshape(*pos_k.shape[:-2], pos_k.shape[-1], -1)
    The keys are reshaped, which mixes up their entries. Exchange the last two axes: k.transpose(-2, -1).
no_words: q @ k.mT + pos_q @ pos_k.mT → (pos_q @ pos_k.mT).expand(*q.shape[:-1], q.shape[-2])
    The token product is missing.
no_positions: + pos_q @ pos_k.mT →
    The position product is missing.
words_unscaled: (q @ k.mT + pos_q @ pos_k.mT) → q @ k.mT + pos_q @ pos_k.mT
    Only the position product is divided: brackets are missing. Add both products first, then divide the sum by
    √(2D).
positions_unscaled: (q @ k.mT + pos_q @ pos_k.mT) / → pos_q @ pos_k.mT + q @ k.mT /
    The position product is not divided. Add both products first, then divide the sum by √(2D).
query_meets_position: pos_q @ → q @
    The query's token meets the key's position. The second product is of positions alone: pos_q with pos_k.
key_meets_position: @ pos_k.mT → @ k.mT
    The query's position meets the key's token. The second product is of positions alone: pos_q with pos_k.
both_mixed: q @ k.mT + pos_q @ pos_k.mT → q @ pos_k.mT + pos_q @ k.mT
    Tokens meet positions here. Untied means that tokens meet tokens and positions meet positions: q with k, pos_q
    with pos_k.
three_terms: (2 * → (3 *
    The sum is divided by √(3D), as in DeBERTa. TUPE adds two terms and divides by √(2D).
subtracted: + pos_q → - pos_q
    The position product is subtracted. Both products are added.
all_four: q @ k.mT + pos_q @ pos_k.mT → (q + pos_q) @ (k + pos_k).mT ; (2 * → (4 *
    Tokens and positions are added before the product, which makes four terms, divided by √(4D). Untied means two
    products, added as scores.
multiplied: + pos_q @ pos_k.mT → * (pos_q @ pos_k.mT)
    The two products are multiplied. They are added as scores.
both_turned: (q @ k.mT + pos_q @ pos_k.mT) → (q @ k.mT + pos_q @ pos_k.mT).mT
    Both products are transposed. Queries are the rows, keys the columns: q @ k.transpose(-2, -1).
""",
)

EXERCISE = Exercise(
    id="position.untied",
    title="TUPE: untied positions",
    points=1,
    difficulty=1,
    minutes=6,
    extension=True,
    reference=tupe_scores,
    alternatives=[tupe_side_by_side, tupe_added],
    cases=[
        Case(
            "by hand",
            "D = 2, so both products are divided by 2: tokens 6, positions 4, together (6 + 4)/2 = 5",
            lambda g: call(
                torch.tensor([[[[3.0, 0.0]]]]),
                torch.tensor([[[[2.0, 7.0]]]]),
                torch.tensor([[[0.0, 4.0]]]),
                torch.tensor([[[9.0, 1.0]]]),
            ),
        ),
        Case(
            "random",
            "two sentences, three heads, five positions",
            lambda g: call(g.randn(2, 3, 5, 4), g.randn(2, 3, 5, 4), g.randn(3, 5, 4), g.randn(3, 5, 4)),
            weight=2,
        ),
        Case(
            "double",
            "float64, one sentence and one head of size 8",
            lambda g: call(*(g.randn(*shape, dtype=torch.float64) for shape in ((1, 1, 3, 8),) * 2 + ((1, 3, 8),) * 2)),
            weight=0.5,
        ),
        Case(
            "gradients",
            "gradients of tokens and of positions",
            lambda g: call(
                g.randn(2, 2, 3, 4), g.randn(2, 2, 3, 4), g.randn(2, 3, 4), g.randn(2, 3, 4), grad=[0, 1, 2, 3]
            ),
        ),
    ],
    mutants=MISTAKES,
)

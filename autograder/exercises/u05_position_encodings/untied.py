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


def _rescaled(factor):
    """The right scores times factor(T, D)."""
    return lambda q, k, pos_q, pos_k: tupe_scores(q, k, pos_q, pos_k) * factor(*q.shape[-2:])


def _reshaped(x):
    return x.reshape(*x.shape[:-2], x.shape[-1], x.shape[-2])


def _tupe(content, position, tied=False):
    def wrong(q, k, pos_q, pos_k):
        D = q.shape[-1]
        if tied:
            return (q + pos_q) @ (k + pos_k).mT / math.sqrt(content * D)
        return q @ k.mT / math.sqrt(content * D) + pos_q @ pos_k.mT / math.sqrt(position * D)

    return wrong


EXERCISE = Exercise(
    id="position.untied",
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
        Case(
            "double",
            "float64, one sentence and one head of size 8",
            lambda g: call(*(g.randn(*shape, dtype=torch.float64) for shape in ((1, 1, 3, 8),) * 2 + ((1, 3, 8),) * 2)),
            weight=0.5,
        ),
        Case(
            "gradients",
            "gradients of words and of positions",
            lambda g: call(
                g.randn(2, 2, 3, 4), g.randn(2, 2, 3, 4), g.randn(2, 3, 4), g.randn(2, 3, 4), grad=[0, 1, 2, 3]
            ),
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
            "positions_unscaled_share",
            _tupe(2, 1),
            "Only the words are divided by √(2D). Both products are.",
        ),
        Mutant(
            "no_root",
            _rescaled(lambda T, D: 1 / math.sqrt(2 * D)),
            "The sum is divided by 2D. Divide by its root, √(2D).",
        ),
        Mutant(
            "averaged",
            _rescaled(lambda T, D: 0.5**0.5),
            "The sum is divided by 2√D. The 2 stands under the root as well: √(2D).",
        ),
        Mutant(
            "unscaled",
            _rescaled(lambda T, D: math.sqrt(2 * D)),
            "The sum is not divided. Two terms of equal size are added, so TUPE divides by √(2D).",
        ),
        Mutant(
            "scaled_by_length",
            _rescaled(lambda T, D: math.sqrt(D / T)),
            "The number of words T stands under the root. D is the size of the vectors, the last axis: √(2D).",
        ),
        Mutant(
            "positions_turned",
            lambda q, k, pos_q, pos_k: tupe_scores(q, k, pos_k, pos_q),
            "The position product is turned: pos_q belongs to the query, the row, and pos_k to the key, the column.",
        ),
        Mutant(
            "words_turned",
            lambda q, k, pos_q, pos_k: tupe_scores(k, q, pos_q, pos_k),
            "The word product is turned: q gives the rows and k the columns, q @ k.transpose(-2, -1).",
        ),
        Mutant(
            "softmax",
            lambda q, k, pos_q, pos_k: tupe_scores(q, k, pos_q, pos_k).softmax(-1),
            "These are weights, after a softmax. Return the scores themselves.",
        ),
        Mutant(
            "reshaped_keys",
            lambda q, k, pos_q, pos_k: tupe_scores(q, _reshaped(k).mT, pos_q, _reshaped(pos_k).mT),
            "The keys are reshaped, which mixes up their entries. Exchange the last two axes: k.transpose(-2, -1).",
        ),
        Mutant(
            "no_words",
            lambda q, k, pos_q, pos_k: (pos_q @ pos_k.mT / math.sqrt(2 * q.shape[-1])).expand(
                *q.shape[:-1], q.shape[-2]
            ),
            "The word product is missing.",
        ),
        Mutant(
            "no_positions",
            lambda q, k, pos_q, pos_k: q @ k.mT / math.sqrt(2 * q.shape[-1]),
            "The position product is missing.",
        ),
        Mutant(
            "words_unscaled",
            lambda q, k, pos_q, pos_k: q @ k.mT + pos_q @ pos_k.mT / math.sqrt(2 * q.shape[-1]),
            "Only the position product is divided: brackets are missing. Add both products first, then divide the sum "
            "by √(2D).",
        ),
        Mutant(
            "positions_unscaled",
            lambda q, k, pos_q, pos_k: q @ k.mT / math.sqrt(2 * q.shape[-1]) + pos_q @ pos_k.mT,
            "The position product is not divided. Add both products first, then divide the sum by √(2D).",
        ),
        Mutant(
            "query_meets_position",
            lambda q, k, pos_q, pos_k: (q @ k.mT + q @ pos_k.mT) / math.sqrt(2 * q.shape[-1]),
            "The query's word meets the key's position. The second product is of positions alone: pos_q with pos_k.",
        ),
        Mutant(
            "key_meets_position",
            lambda q, k, pos_q, pos_k: (q @ k.mT + pos_q @ k.mT) / math.sqrt(2 * q.shape[-1]),
            "The query's position meets the key's word. The second product is of positions alone: pos_q with pos_k.",
        ),
        Mutant(
            "both_mixed",
            lambda q, k, pos_q, pos_k: (q @ pos_k.mT + pos_q @ k.mT) / math.sqrt(2 * q.shape[-1]),
            "Words meet positions here. Untied means that words meet words and positions meet positions: q with k, "
            "pos_q with pos_k.",
        ),
        Mutant(
            "three_terms",
            lambda q, k, pos_q, pos_k: tupe_scores(q, k, pos_q, pos_k) * (2 / 3) ** 0.5,
            "The sum is divided by √(3D), as in DeBERTa. TUPE adds two terms and divides by √(2D).",
        ),
        Mutant(
            "subtracted",
            lambda q, k, pos_q, pos_k: (q @ k.mT - pos_q @ pos_k.mT) / math.sqrt(2 * q.shape[-1]),
            "The position product is subtracted. Both products are added.",
        ),
        Mutant(
            "all_four",
            lambda q, k, pos_q, pos_k: (q + pos_q) @ (k + pos_k).mT / math.sqrt(4 * q.shape[-1]),
            "Words and positions are added before the product, which makes four terms, divided by √(4D). Untied means "
            "two products, added as scores.",
        ),
        Mutant(
            "multiplied",
            lambda q, k, pos_q, pos_k: (q @ k.mT) * (pos_q @ pos_k.mT) / math.sqrt(2 * q.shape[-1]),
            "The two products are multiplied. They are added as scores.",
        ),
        Mutant(
            "both_turned",
            lambda q, k, pos_q, pos_k: tupe_scores(q, k, pos_q, pos_k).mT,
            "Both products are transposed. Queries are the rows, keys the columns: q @ k.transpose(-2, -1).",
        ),
    ],
)

"""DeBERTa's three terms of a score."""

import math

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Source, call
from autograder.reference.positions import deberta


def deberta_by_pairs(qc, kc, kr, qr):
    """One position vector per pair."""
    d = deberta.deberta_index(qc.shape[-2], kr.shape[-2] // 2)
    c2c = torch.einsum("bhid,bhjd->bhij", qc, kc)
    c2p = torch.einsum("bhid,hijd->bhij", qc, kr[:, d])
    p2c = torch.einsum("bhjd,hijd->bhij", kc, qr[:, d.T])
    return (c2c + c2p + p2c) * (3 * qc.shape[-1]) ** -0.5


def deberta_by_loop(qc, kc, kr, qr):
    """Pair by pair, two loops."""
    T, rows = qc.shape[-2], kr.shape[-2]
    delta = lambda i, j: min(max(i - j + rows // 2, 0), rows - 1)
    columns = [
        [
            (qc[:, :, i] * kc[:, :, j]).sum(-1)
            + (qc[:, :, i] * kr[:, delta(i, j)]).sum(-1)
            + (kc[:, :, j] * qr[:, delta(j, i)]).sum(-1)
            for j in range(T)
        ]
        for i in range(T)
    ]
    return torch.stack([torch.stack(c, -1) for c in columns], -2) / math.sqrt(3 * qc.shape[-1])


def _deb(g: Source, B: int, H: int, T: int, D: int, k: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    return [g.randn(*shape, dtype=dtype) for shape in ((B, H, T, D), (B, H, T, D), (H, 2 * k, D), (H, 2 * k, D))]


MISTAKES = changes(
    deberta_by_pairs,
    """
scaled_by_d: (3 * qc.shape[-1]) → qc.shape[-1]
    The sum is divided by √D. Three terms are added, so DeBERTa divides by √(3D).
words_scaled_apart: (c2c + c2p + p2c) * → c2c * qc.shape[-1] ** -0.5 + (c2p + p2c) *
    The first term is divided by √D and only the others by √(3D). Add all three terms first, then divide the sum by
    √(3D).
released_index: qr[:, d.T] → qr[:, d]
    The third term uses δ(i, j). The released code does that too, but this exercise follows the paper's δ(j, i):
    from the key's side.
query_twice: "bhjd,hijd->bhij", kc → "bhid,hijd->bhij", qc
    The third term takes the query's content. It is position to content: the key's content kc meets the position
    query qr.
key_table_twice: qr[:, d.T] → kr[:, d.T]
    The third term uses kr. It is position to content: the key's content kc meets qr.
third_term_by_query: bhjd,hijd → bhid,hijd
    In the third term kc is taken at the query's position i. It belongs to the key: kc[j] meets qr[δ(j, i)], so the
    letters are bhjd, and queries stay the rows of the result.
no_third_term: c2p + p2c → c2p
    The third term is missing: the key's content against qr, position to content.
no_second_term: c2c + c2p → c2c + 0 * c2p
    The second term is missing: the query's content against kr, content to position.
position_to_position: + p2c) * (3 → + p2c + torch.einsum("hijd,hijd->hij", qr[:, d.T], kr[:, d])) * (4
    A fourth term, position to position, is added and counted. DeBERTa leaves it out and divides by √(3D).
fourth_term: + p2c → + p2c + torch.einsum("hijd,hijd->hij", qr[:, d.T], kr[:, d])
    A fourth term, position to position, is added. DeBERTa leaves it out: three terms, divided by √(3D).
scaled_by_length: 3 * qc.shape[-1] → 3 * qc.shape[-2]
    The number of tokens T stands under the root. D is the size of the vectors, the last axis: √(3D).
no_root: ** -0.5 → ** -1
    The sum is divided by 3D. Divide by its root, √(3D).
root_of_d_alone: (3 * qc.shape[-1]) ** -0.5 → qc.shape[-1] ** -0.5 / 3
    The sum is divided by 3√D. The 3 stands under the root as well: √(3D).
averaged: * (3 * qc.shape[-1]) ** -0.5 → / 3
    The mean of the three terms is taken. Their sum is divided by √(3D).
unscaled: * (3 * qc.shape[-1]) ** -0.5 →
    The sum is not divided. Three terms are added, so DeBERTa divides by √(3D).
third_term_turned: qr[:, d.T]) → qr[:, d.T]).mT
    The third term is transposed: queries and keys have changed places in it. Its rows are queries i, like those of
    the other terms.
reversed: kr.shape[-2] // 2) → kr.shape[-2] // 2).T
    δ is taken the other way round in both terms. δ(i, j) is i − j + k: query minus key.
only_third_scaled: (c2c + c2p + p2c) * → c2c + c2p + p2c *
    Only the third term is divided by √(3D): brackets are missing. Add all three terms first, then divide the sum.
third_not_scaled: c2p + p2c) → c2p) ; ** -0.5 → ** -0.5 + p2c
    The third term is not divided by √(3D). Add all three terms first, then divide the sum.
root_of_2d: (3 * → (2 *
    The sum is divided by √(2D). Three terms are added, so DeBERTa divides by √(3D).
root_of_4d: (3 * → (4 *
    The sum is divided by √(4D). Three terms are added, so DeBERTa divides by √(3D).
no_third_counted: c2p + p2c) * (3 → c2p) * (2
    The third term, position to content, is missing, and √(2D) counts only two. Add kc against qr and divide by
    √(3D).
no_content: c2c + c2p → c2p
    The first term is missing: the query's content against the key's content.
third_twice: + p2c → + 2 * p2c
    The third term is added twice. Each of the three terms counts once.
third_subtracted: + p2c → - p2c
    The third term is subtracted. All three terms are added.
softmax: (c2c + → ((c2c + ; ** -0.5 → ** -0.5).softmax(-1)
    These are weights, after a softmax. Return the scores themselves.
key_position_by_query_position: "bhjd,hijd->bhij", kc, → "hijd,hijd->hij", qr[:, d],
    The third term has no content in it. It is position to content: the key's content kc meets the position query qr.
""",
)

EXERCISE = Exercise(
    id="position.disentangled",
    title="DeBERTa's three terms",
    points=3,
    difficulty=4,
    minutes=20,
    extension=True,
    reference=deberta.deberta_scores,
    alternatives=[deberta_by_pairs, deberta_by_loop],
    cases=[
        Case(
            "by hand",
            "D = 3, so the sum is divided by 3: contents all 0 but qc, whose position terms are 3·row",
            lambda g: call(
                torch.tensor([[[[3.0, 0.0, 0.0], [3.0, 0.0, 0.0]]]]),
                torch.zeros(1, 1, 2, 3),
                torch.tensor([[[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [5.0, 0.0, 0.0], [7.0, 0.0, 0.0]]]),
                torch.zeros(1, 4, 3),
            ),
        ),
        Case(
            "position to content",
            "the same with kc and qr: only the third term is left",
            lambda g: call(
                torch.zeros(1, 1, 2, 3),
                torch.tensor([[[[3.0, 0.0, 0.0], [3.0, 0.0, 0.0]]]]),
                torch.zeros(1, 4, 3),
                torch.tensor([[[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [5.0, 0.0, 0.0], [7.0, 0.0, 0.0]]]),
            ),
        ),
        Case(
            "random",
            "two sentences, three heads, five positions, k = 3",
            lambda g: call(*_deb(g, 2, 3, 5, 4, 3)),
            weight=2,
        ),
        Case(
            "clipped",
            "seven positions, k = 2: most distances share the outer rows",
            lambda g: call(*_deb(g, 1, 2, 7, 3, 2)),
        ),
        Case(
            "double",
            "float64, k = 1: two rows for all distances",
            lambda g: call(*_deb(g, 1, 2, 4, 5, 1, torch.float64)),
        ),
        Case(
            "gradients",
            "gradients of all four inputs: the tables are trained too",
            lambda g: call(*_deb(g, 1, 2, 3, 2, 2), grad=[0, 1, 2, 3]),
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
the tables have 2k rows, an even number
    f50227d97b alternative deberta_by_pairs, arithmetic: kr.shape[-2] // 2 rounded up
    9936f4bb72 alternative deberta_by_loop, arithmetic: rows // 2 rounded up
""",
)

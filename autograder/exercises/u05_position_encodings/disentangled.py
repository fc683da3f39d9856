"""DeBERTa's three terms of a score."""

import math

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Source, call
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


def _deberta(terms=(1, 1, 1), scale=3, index=lambda d: d, p2c=None, extra=0.0):
    """Disentangled scores with one part changed."""

    def wrong(qc, kc, kr, qr):
        d = index(deberta.deberta_index(qc.shape[-2], kr.shape[-2] // 2))
        key_side = torch.einsum("bhid,hijd->bhij", qc, kr[:, d])
        query_side = p2c(qc, kc, qr, d) if p2c else torch.einsum("bhjd,hijd->bhij", kc, qr[:, d.T])
        both = torch.einsum("hijd,hijd->hij", qr[:, d.T], kr[:, d])
        total = terms[0] * qc @ kc.mT + terms[1] * key_side + terms[2] * query_side + extra * both
        return total / math.sqrt(scale * qc.shape[-1])

    return wrong


def _deb(g: Source, B: int, H: int, T: int, D: int, k: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    return [g.randn(*shape, dtype=dtype) for shape in ((B, H, T, D), (B, H, T, D), (H, 2 * k, D), (H, 2 * k, D))]


def _rescaled(factor):
    """The right scores times factor(T, D)."""
    return lambda qc, kc, kr, qr: deberta.deberta_scores(qc, kc, kr, qr) * factor(*qc.shape[-2:])


def _query_side(qc, kr):
    d = deberta.deberta_index(qc.shape[-2], kr.shape[-2] // 2)
    return torch.einsum("bhid,hijd->bhij", qc, kr[:, d])


def _scaled_apart(third):
    """Only the third term divided, or only the two others."""

    def wrong(qc, kc, kr, qr):
        root = math.sqrt(3 * qc.shape[-1])
        two = qc @ kc.mT + _query_side(qc, kr)
        last = deberta.deberta_scores(qc, kc, kr, qr) * root - two
        return two + last / root if third else two / root + last

    return wrong


EXERCISE = Exercise(
    id="position.disentangled",
    title="DeBERTa's three terms",
    points=3,
    difficulty=4,
    minutes=20,
    extension=True,
    signature="deberta_scores(qc, kc, kr, qr)",
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
            "two sentences, three heads, five places, k = 3",
            lambda g: call(*_deb(g, 2, 3, 5, 4, 3)),
            weight=2,
        ),
        Case(
            "clipped",
            "seven places, k = 2: most distances share the outer rows",
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
    mutants=[
        Mutant(
            "scaled_by_d",
            _deberta(scale=1),
            "The sum is divided by √D. Three terms are added, so DeBERTa divides by √(3D).",
        ),
        Mutant(
            "words_scaled_apart",
            lambda qc, kc, kr, qr: (
                deberta.deberta_scores(qc, kc, kr, qr) + qc @ kc.mT * ((1 - 3**-0.5) / math.sqrt(qc.shape[-1]))
            ),
            "The word product is divided by √D and only the others by √(3D). Add all three terms first, then divide "
            "the sum by √(3D).",
        ),
        Mutant(
            "released_index",
            _deberta(p2c=lambda qc, kc, qr, d: torch.einsum("bhjd,hijd->bhij", kc, qr[:, d])),
            "The third term uses δ(i, j). The released code does that too, but this exercise follows the paper's "
            "δ(j, i): from the key's side.",
        ),
        Mutant(
            "query_twice",
            _deberta(p2c=lambda qc, kc, qr, d: torch.einsum("bhid,hijd->bhij", qc, qr[:, d.T])),
            "The third term takes the query's content. It is position to content: the key's content kc meets the "
            "position query qr.",
        ),
        Mutant(
            "key_table_twice",
            lambda qc, kc, kr, qr: deberta.deberta_scores(qc, kc, kr, kr),
            "The third term uses kr. It is position to content: the key's content kc meets qr.",
        ),
        Mutant(
            "third_term_by_query",
            _deberta(p2c=lambda qc, kc, qr, d: torch.einsum("bhid,hijd->bhij", kc, qr[:, d.T])),
            "In the third term kc stands at the query's place i. It belongs to the key: kc[j] meets qr[δ(j, i)], so "
            "the letters are bhjd, and queries stay the rows of the result.",
        ),
        Mutant(
            "no_third_term",
            lambda qc, kc, kr, qr: (qc @ kc.mT + _query_side(qc, kr)) / math.sqrt(3 * qc.shape[-1]),
            "The third term is missing: the key's content against qr, position to content.",
        ),
        Mutant(
            "no_second_term",
            _deberta(terms=(1, 0, 1)),
            "The second term is missing: the query's content against kr, content to position.",
        ),
        Mutant(
            "position_to_position",
            _deberta(extra=1.0, scale=4),
            "A fourth term, position to position, is added and counted. DeBERTa leaves it out and divides by √(3D).",
        ),
        Mutant(
            "fourth_term",
            _deberta(extra=1.0),
            "A fourth term, position to position, is added. DeBERTa leaves it out: three terms, divided by √(3D).",
        ),
        Mutant(
            "scaled_by_length",
            _rescaled(lambda T, D: math.sqrt(D / T)),
            "The number of words T stands under the root. D is the size of the vectors, the last axis: √(3D).",
        ),
        Mutant(
            "no_root",
            _rescaled(lambda T, D: 1 / math.sqrt(3 * D)),
            "The sum is divided by 3D. Divide by its root, √(3D).",
        ),
        Mutant(
            "root_of_d_alone",
            _rescaled(lambda T, D: 3**-0.5),
            "The sum is divided by 3√D. The 3 stands under the root as well: √(3D).",
        ),
        Mutant(
            "averaged",
            _rescaled(lambda T, D: math.sqrt(3 * D) / 3),
            "The mean of the three terms is taken. Their sum is divided by √(3D).",
        ),
        Mutant(
            "unscaled",
            _rescaled(lambda T, D: math.sqrt(3 * D)),
            "The sum is not divided. Three terms are added, so DeBERTa divides by √(3D).",
        ),
        Mutant(
            "third_term_turned",
            _deberta(p2c=lambda qc, kc, qr, d: torch.einsum("bhjd,hijd->bhij", kc, qr[:, d.T]).mT),
            "The third term is transposed: queries and keys have changed places in it. Its rows are queries i, like "
            "those of the other terms.",
        ),
        Mutant(
            "reversed",
            _deberta(index=lambda d: d.T),
            "δ is taken the other way round in both terms. δ(i, j) is i − j + k: query minus key.",
        ),
        Mutant(
            "only_third_scaled",
            _scaled_apart(third=True),
            "Only the third term is divided by √(3D): brackets are missing. Add all three terms first, then divide "
            "the sum.",
        ),
        Mutant(
            "third_not_scaled",
            _scaled_apart(third=False),
            "The third term is not divided by √(3D). Add all three terms first, then divide the sum.",
        ),
        Mutant(
            "root_of_2d",
            _rescaled(lambda T, D: 1.5**0.5),
            "The sum is divided by √(2D). Three terms are added, so DeBERTa divides by √(3D).",
        ),
        Mutant(
            "root_of_4d",
            _rescaled(lambda T, D: 0.75**0.5),
            "The sum is divided by √(4D). Three terms are added, so DeBERTa divides by √(3D).",
        ),
        Mutant(
            "no_third_counted",
            lambda qc, kc, kr, qr: (qc @ kc.mT + _query_side(qc, kr)) / math.sqrt(2 * qc.shape[-1]),
            "The third term, position to content, is missing, and √(2D) counts only two. Add kc against qr and divide "
            "by √(3D).",
        ),
        Mutant(
            "no_content",
            lambda qc, kc, kr, qr: deberta.deberta_scores(qc, kc, kr, qr) - qc @ kc.mT / math.sqrt(3 * qc.shape[-1]),
            "The first term is missing: the query's word against the key's word.",
        ),
        Mutant(
            "third_twice",
            _deberta(terms=(1, 1, 2)),
            "The third term is added twice. Each of the three terms counts once.",
        ),
        Mutant(
            "third_subtracted", _deberta(terms=(1, 1, -1)), "The third term is subtracted. All three terms are added."
        ),
        Mutant(
            "softmax",
            lambda qc, kc, kr, qr: deberta.deberta_scores(qc, kc, kr, qr).softmax(-1),
            "These are weights, after a softmax. Return the scores themselves.",
        ),
        Mutant(
            "key_position_by_query_position",
            _deberta(p2c=lambda qc, kc, qr, d: torch.einsum("hijd,hijd->hij", qr[:, d.T], qr[:, d])),
            "The third term has no word in it. It is position to content: the key's content kc meets the position "
            "query qr.",
        ),
    ],
)

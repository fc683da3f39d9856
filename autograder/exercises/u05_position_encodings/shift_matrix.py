"""The matrix that moves every sinusoid by k positions."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference.positions import sinusoidal as ref

from .shared import half


def shift_matrix(k, d_model, base=10000.0):
    """float32, as the learner's."""
    return ref.shift_matrix(k, d_model, base).float()


def shift_by_filling(k, d_model, base=10000.0):
    """Four entries per pair, written into zeros."""
    M = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = k * base ** (-i / d_model)
        M[i, i] = M[i + 1, i + 1] = math.cos(a)
        M[i, i + 1], M[i + 1, i] = math.sin(a), -math.sin(a)
    return M


def shift_by_solving(k, d_model, base=10000.0):
    """The least-squares map from encodings to shifted encodings: no formula for the blocks at all."""
    p = torch.linspace(-40, 40, 16 * d_model, dtype=torch.float64)
    return torch.linalg.lstsq(ref.sinusoid(p, d_model, base), ref.sinusoid(p + k, d_model, base)).solution.T.float()


def half_split_shift(k, d_model, base=10000.0):
    a = k * base ** (-2 * half(d_model) / d_model)
    c, s = torch.diag(a.cos()), torch.diag(a.sin())
    return torch.cat([torch.cat([c, s], 1), torch.cat([-s, c], 1)]).float()


def all_plus(k, d_model, base=10000.0):
    M = shift_matrix(k, d_model, base)
    keep = torch.ones_like(M).triu()
    return M * keep + M.T * (1 - keep)


def one_block(k, d_model, base=10000.0):
    return torch.block_diag(*[shift_matrix(k, 2)] * (d_model // 2))


EXERCISE = Exercise(
    id="position.shift_matrix",
    unit="05-position-encodings",
    title="A shift is one matrix",
    points=2,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="shift_matrix(k, d_model, base=10000.0)",
    reference=shift_matrix,
    alternatives=[shift_by_filling, shift_by_solving],
    cases=[
        Case(
            "one pair",
            "k = 1 and 2 features: cosines 0.540 on the diagonal, sines 0.841 with signs + above and − below",
            lambda g: call(1, 2),
        ),
        Case(
            "two pairs",
            "base 100: the second pair turns by a tenth of the first, and zeros stand between the pairs",
            lambda g: call(2, 4, base=100.0),
        ),
        Case(
            "random",
            "four shifts of six features",
            lambda g: several(4, lambda p: p.call(g.integer(2, 40), 6)),
            weight=2,
        ),
        Case("backwards", "negative shifts go back", lambda g: several(4, lambda p: p.call(-g.integer(2, 40), 4))),
        Case(
            "another base",
            "the base is an argument",
            lambda g: call(g.integer(2, 6), 6, base=g.number(20, 60, digits=5)),
        ),
        Case("no shift", "k = 0 is the identity", lambda g: call(0, 4), weight=0),
    ],
    mutants=[
        Mutant(
            "backwards",
            lambda k, d_model, base=10000.0: shift_matrix(-k, d_model, base),
            "This matrix shifts by −k. sin(a + b) = cos b · sin a + sin b · cos a: the first row of a block is "
            "[cos b, sin b].",
        ),
        Mutant(
            "all_plus",
            all_plus,
            "Both sines have the same sign. cos(a + b) = cos a cos b − sin a sin b, so the second row of a block is "
            "[−sin b, cos b].",
        ),
        Mutant(
            "one_frequency",
            one_block,
            "Every pair turns by the same angle. Pair i has its own frequency: its angle is k · base^(−2i/d_model).",
        ),
        Mutant(
            "half_split",
            half_split_shift,
            "The matrix pairs feature i with i + d_model/2. In this table features 2i and 2i + 1 belong together: "
            "2×2 blocks along the diagonal.",
        ),
        Mutant(
            "base_fixed",
            lambda k, d_model, base=10000.0: shift_matrix(k, d_model),
            "The base is always 10000 here. Use the argument base.",
        ),
        Mutant(
            "halved",
            lambda k, d_model, base=10000.0: torch.block_diag(
                *[shift_matrix(k * base ** (-i / d_model), 2) for i in range(d_model // 2)]
            ),
            "The angle of pair i is k · base^(−i/d_model) here. The exponent is −2i/d_model, as in the table.",
        ),
    ],
)

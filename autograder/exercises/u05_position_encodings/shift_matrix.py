"""The matrix that moves every sinusoid by k positions."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference.positions import sinusoidal as ref

from .shared import MANY


def shift_matrix(k, d_model, base=10000.0):
    """float32, as the learner's."""
    return ref.shift_matrix(k, d_model, base).float()


def shift_by_diagonals(k, d_model, base=10000.0):
    """Three diagonals: cosines, sines above, minus sines below."""
    angles = [k * base ** ((c % 2 - c) / d_model) for c in range(d_model)]
    beside = torch.tensor([0.0 if c % 2 else math.sin(a) for c, a in enumerate(angles[:-1])])
    return torch.diag(torch.tensor(angles).cos()) + torch.diag(beside, 1) - torch.diag(beside, -1)


def shift_by_solving(k, d_model, base=10000.0):
    """The least-squares map from encodings to shifted encodings: no formula for the blocks at all."""
    before, after = ref.sinusoid(MANY, d_model, base), ref.sinusoid(MANY + k, d_model, base)
    return torch.linalg.lstsq(before, after).solution.T.float()


def shift_by_exponential(k, d_model, base=10000.0):
    """exp of k times the matrix of an endless small shift, all in float32."""
    beside = torch.tensor([0.0 if c % 2 else base ** (-c / d_model) for c in range(d_model - 1)])
    return torch.matrix_exp(k * (torch.diag(beside, 1) - torch.diag(beside, -1)))


def overlapping(k, d_model, base=10000.0):
    M = torch.zeros(d_model, d_model)
    for i in range(d_model // 2):
        a = k * base ** (-2 * i / d_model)
        M[i : i + 2, i : i + 2] = torch.tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]])
    return M


# The exponential of a matrix in float32 is off by up to 1e-4 of a small entry.
ROUNDING = 2e-4


MISTAKES = [
    *changes(
        shift_by_diagonals,
        """
backwards: [k * → [-k *
    This matrix shifts by −k. sin(a + b) = cos b · sin a + sin b · cos a: the first row of a block is [cos b, sin
    b].
all_plus: - torch.diag → + torch.diag
    Both sines have the same sign. cos(a + b) = cos a cos b − sin a sin b, so the second row of a block is [−sin b,
    cos b].
one_frequency: (c % 2 - c) → 0
    Every pair turns by the same angle. Pair i has its own frequency: its angle is k · base^(−2i/d_model).
""",
    ),
    Mutant(
        "overlapping",
        overlapping,
        "The blocks overlap: block i starts at row and column i. It covers rows and columns 2i and 2i + 1.",
    ),
    *changes(
        shift_by_diagonals,
        """
k_ignored: [k * → [1 *
    Every matrix shifts by 1. The angle of pair i is k times its frequency.
no_sign: [k * → [abs(k) *
    A negative shift is treated like a positive one. With k = −2 the matrix goes two positions back: keep the sign
    of k.
twice_two: (c % 2 - c) → 2 * (c % 2 - c)
    The exponent is −4i/d_model here: 2i is doubled once more. With i = 0, 1, 2, … the angle is k ·
    base^(−2i/d_model).
growing: (c % 2 - c) → (c - c % 2) ; torch.tensor(angles).cos() → torch.tensor([math.cos(a) for a in angles])
    Later pairs turn faster here. The exponent has a minus: the angle is k · base^(−2i/d_model).
double: angles[:-1])]) → angles[:-1])], dtype=torch.float64) ; tensor(angles) → tensor(angles, dtype=torch.float64)
    The numbers are right, in float64. Return float32: add .float() at the end.
half_split: return → order = torch.arange(d_model).view(-1, 2).T.flatten(); return (
; (beside, -1) → (beside, -1))[order][:, order]
    The matrix pairs feature i with i + d_model/2. In this table features 2i and 2i + 1 belong together: 2×2 blocks
    along the diagonal.
base_fixed: base ** → 10000.0 **
    The base is always 10000 here. Use the argument base.
halved: (c % 2 - c) → (c % 2 - c) / 2
    The angle of pair i is k · base^(−i/d_model) here. The exponent is −2i/d_model, as in the table.
sine_on_diagonal: math.sin(a) → math.cos(a) ; (angles).cos() → (angles).sin()
    Sine and cosine are exchanged. For a shift by 0 the matrix is the identity: cosines stand on the diagonal, sines
    beside it.
minus_on_cosine: torch.tensor(angles).cos() → torch.tensor([(-1) ** c * math.cos(a) for c, a in enumerate(angles)])
; - torch.diag → + torch.diag
    The minus stands before the cosine. The second row of a block is [−sin, cos]: cos(x + a) = −sin a · sin x + cos
    a · cos x.
columns_exchanged: math.sin(a) → math.cos(a)
; torch.tensor(angles).cos() → torch.tensor([(-1) ** c * math.sin(a) for c, a in enumerate(angles)])
; - torch.diag → + torch.diag
    The columns of each block are exchanged. The sine comes first in a pair, so its factor does: [cos, sin], then
    [−sin, cos].
all_minus: + torch.diag → - torch.diag
    Both sines have a minus. Only the lower one has it: [cos, sin], then [−sin, cos].
cosines_alone: + torch.diag(beside, 1) - torch.diag(beside, -1) →
    The sines beside the diagonal are missing. Each 2×2 block is [cos, sin], then [−sin, cos].
not_divided: / d_model →
    The exponent is not divided by d_model. The angle of pair i is k · base^(−2i/d_model).
power_divided: ((c % 2 - c) / d_model) → (c % 2 - c) / d_model
    d_model divides the power and not the exponent: brackets are missing. The angle is k * base ** (−2i / d_model).
counts_from_one: (c % 2 - c) → (c % 2 - c - 2)
    Pair i turns like pair i + 1. The first pair has frequency 1: its exponent is 0.
divided_by_k: [k * → [k and 1 / k *
    The frequency is divided by k. A longer shift turns further: the angle is k times the frequency.
""",
    ),
]

EXERCISE = Exercise(
    id="position.shift_matrix",
    title="A shift is one matrix",
    points=2,
    difficulty=3,
    minutes=15,
    extension=True,
    reference=shift_matrix,
    alternatives=[shift_by_diagonals, shift_by_solving, shift_by_exponential],
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
            lambda g: several(4, lambda p: p.call(g.integer(2, 21), 6)),
            weight=2,
            rtol=ROUNDING,
        ),
        Case(
            "eight features",
            "six shifts of eight features: the last pairs hardly turn",
            lambda g: several(6, lambda p: p.call(g.integer(8, 12), 8)),
            weight=0.5,
        ),
        Case(
            "backwards",
            "negative shifts go back",
            lambda g: several(4, lambda p: p.call(-g.integer(2, 21), 4)),
            rtol=ROUNDING,
        ),
        Case(
            "another base",
            "the base is an argument",
            lambda g: call(g.integer(2, 6), 6, base=g.number(20, 60, digits=5)),
            rtol=ROUNDING,
        ),
        Case("no shift", "k = 0 is the identity", lambda g: call(0, 4), weight=0),
    ],
    mutants=MISTAKES,
)

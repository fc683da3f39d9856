"""A projection that makes a head look back by a fixed distance."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several
from autograder.reference.positions import sinusoidal as ref

from .shared import MANY
from .shift_matrix import ROUNDING, shift_matrix


def looking_back(back, d_model, base=10000.0):
    """W_Q (d_model, d_model) with PE[p] W_Q = PE[p - back]: M_{-back}ᵀ, which is M_back."""
    return shift_matrix(back, d_model, base)


def by_solving(back, d_model, base=10000.0):
    """Least squares on many positions."""
    here, there = ref.sinusoid(MANY, d_model, base), ref.sinusoid(MANY - back, d_model, base)
    return torch.linalg.lstsq(here, there).solution.float()


def by_inverse(back, d_model, base=10000.0):
    """Undo the forward shift, then transpose twice over."""
    return torch.linalg.inv(shift_matrix(back, d_model, base).T)


MISTAKES = changes(
    looking_back,
    """
looks_ahead: shift_matrix(back → shift_matrix(-back
    This head looks ahead. The matrix for columns is that of −back, and for rows, x @ W, it is transposed: one of
    the two, the minus or the transpose, is missing.
stands_still: shift_matrix(back, d_model, base) → torch.eye(d_model)
    The identity scores the query's own position highest. W_Q must turn PE[p] into PE[p − back].
first_pair_only: shift_matrix(back, d_model → torch.block_diag(shift_matrix(back, 2
; , base) → , base), torch.eye(d_model - 2))
    Only the first pair of features is turned. Every pair turns by its own angle.
looks_away: return → return -
    The sign is wrong: the wanted position gets the lowest score instead of the highest.
one_too_far: shift_matrix(back → shift_matrix(back + 1
    This head looks one position too far back. W_Q must turn PE[p] into PE[p − back], for every p.
one_too_near: shift_matrix(back → shift_matrix(back - 1
    This head stops one position too early. W_Q must turn PE[p] into PE[p − back], for every p.
scaled: shift_matrix(back, d_model, base) → shift_matrix(back, d_model, base) / d_model**0.5
    The matrix is divided by √d_model, so PE[p] @ W_Q is too short. It must be PE[p − back] exactly: scaling belongs
    to the scores.
back_ignored: shift_matrix(back → shift_matrix(1
    This head always looks one position back. Pass the distance on: the shift is by back positions.
no_sign: shift_matrix(back → shift_matrix(abs(back)
    A negative distance is treated like a positive one. With back = −2 the head looks two positions ahead.
base_fixed: d_model, base) → d_model)
    The base is always 10000 here. Pass the argument base on.
rolled: shift_matrix(back, d_model, base) → torch.eye(d_model).roll(back, 0)
    The features of PE are rolled, which is no shift of the position. Each pair must be turned by its own angle:
    that is what shift_matrix does.
rolled_back: shift_matrix(back, d_model, base) → torch.eye(d_model).roll(-back, 0)
    The features of PE are moved by back columns, which is no shift of the position. Each pair must be turned by its
    own angle, as shift_matrix does.
minus_outside: shift_matrix(back → -shift_matrix(-back
    The minus belongs to the shift and not to the matrix: PE[p] @ W_Q points the other way. Take the matrix of −back
    and transpose it.
twice_two: d_model, base) → d_model, base**2)
    The exponent is −4i/d_model here: 2i is doubled once more. Call shift_matrix, or write base^(−2i/d_model) with i
    counting pairs.
halved: d_model, base) → d_model, base**0.5)
    The exponent is −i/d_model here. Call shift_matrix, or write base^(−2i/d_model) with i counting pairs.
one_frequency: shift_matrix(back, d_model, base) → torch.block_diag(*[shift_matrix(back, 2)] * (d_model // 2))
    Every pair turns by the same angle. Pair i has its own frequency: base^(−2i/d_model).
twice_back: shift_matrix(back → shift_matrix(2 * back
    This head looks twice as far back. W_Q alone turns PE[p] into PE[p − back]: apply the shift once.
halves: return → order = torch.arange(d_model).view(-1, 2).T.flatten(); return ; base) → base)[order][:, order]
    Feature i is paired with i + d_model/2. In this table features 2i and 2i + 1 belong together: call shift_matrix.
""",
)

EXERCISE = Exercise(
    id="position.looking_back",
    title="A head that looks back",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    reference=looking_back,
    alternatives=[by_solving, by_inverse],
    cases=[
        Case(
            "one step",
            "back = 1 with 2 features: PE[1] = [0.841, 0.540] must become PE[0] = [0, 1]",
            lambda g: call(1, 2),
        ),
        Case("three steps", "back = 3 with 4 features and base 100", lambda g: call(3, 4, base=100.0)),
        Case(
            "random",
            "four distances, six features",
            lambda g: several(4, lambda p: p.call(g.integer(2, 21), 6)),
            weight=2,
            rtol=ROUNDING,
        ),
        Case(
            "eight features",
            "six distances, eight features: the last pairs hardly turn",
            lambda g: several(6, lambda p: p.call(g.integer(8, 12), 8)),
            weight=0.5,
        ),
        Case(
            "another base",
            "the base is an argument",
            lambda g: call(g.integer(2, 6), 6, base=g.number(20, 60, digits=5)),
            rtol=ROUNDING,
        ),
        Case(
            "ahead",
            "a negative distance: this head looks ahead",
            lambda g: several(2, lambda p: p.call(-g.integer(2, 21), 4)),
            weight=0.5,
            rtol=ROUNDING,
        ),
    ],
    mutants=MISTAKES,
)

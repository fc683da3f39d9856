"""A projection that makes a head look back by a fixed distance."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference.positions import sinusoidal as ref

from .shift_matrix import shift_matrix


def looking_back(back, d_model, base=10000.0):
    """W_Q (d_model, d_model) with PE[p] W_Q = PE[p - back]: M_{-back}ᵀ, which is M_back."""
    return shift_matrix(back, d_model, base)


def by_solving(back, d_model, base=10000.0):
    """Least squares on many positions."""
    p = torch.linspace(-40, 40, 16 * d_model, dtype=torch.float64)
    return torch.linalg.lstsq(ref.sinusoid(p, d_model, base), ref.sinusoid(p - back, d_model, base)).solution.float()


def by_inverse(back, d_model, base=10000.0):
    """Undo the forward shift, then transpose twice over."""
    return torch.linalg.inv(shift_matrix(back, d_model, base).double().T.contiguous()).float()


def first_pair_only(back, d_model, base=10000.0):
    W = torch.eye(d_model)
    W[:2, :2] = shift_matrix(back, 2, base)
    return W


EXERCISE = Exercise(
    id="position.looking_back",
    unit="05-position-encodings",
    title="A head that looks back",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    signature="looking_back(back, d_model, base=10000.0)",
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
            lambda g: several(4, lambda p: p.call(g.integer(2, 40), 6)),
            weight=2,
        ),
        Case(
            "another base",
            "the base is an argument",
            lambda g: call(g.integer(2, 6), 6, base=g.number(20, 60, digits=5)),
        ),
    ],
    mutants=[
        Mutant(
            "looks_ahead",
            lambda back, d_model, base=10000.0: shift_matrix(-back, d_model, base),
            "This head looks ahead. The matrix for columns is that of −back, and for rows, x @ W, it is transposed: "
            "one of the two, the minus or the transpose, is missing.",
        ),
        Mutant(
            "stands_still",
            lambda back, d_model, base=10000.0: torch.eye(d_model),
            "The identity scores the query's own place highest. W_Q must turn PE[p] into PE[p − back].",
        ),
        Mutant(
            "first_pair_only",
            first_pair_only,
            "Only the first pair of features is turned. Every pair turns by its own angle.",
        ),
        Mutant(
            "looks_away",
            lambda back, d_model, base=10000.0: -shift_matrix(back, d_model, base),
            "The sign is wrong: the wanted place gets the lowest score instead of the highest.",
        ),
        Mutant(
            "base_fixed",
            lambda back, d_model, base=10000.0: shift_matrix(back, d_model),
            "The base is always 10000 here. Pass the argument base on.",
        ),
    ],
)

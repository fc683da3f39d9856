"""What a score knows of a distance: the profile of a score matrix, a head that looks back, the learned table."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference.positions import sinusoidal as ref

from .absolute import LEARNED, UNIT, shift_matrix


# --- profile -------------------------------------------------------------------------------------------------------
def distance_profile(scores):
    """scores (T, T) → mean (2T-1,) and spread (2T-1,) per relative position -(T-1) … T-1."""
    T = scores.shape[0]
    lines = [scores.diagonal(r) for r in range(1 - T, T)]
    return torch.stack([d.mean() for d in lines]), torch.stack([d.max() - d.min() for d in lines])


def profile_by_loop(scores):
    """Entries collected pair by pair."""
    T = scores.shape[0]
    found = {r: [] for r in range(1 - T, T)}
    for i in range(T):
        for j in range(T):
            found[j - i].append(scores[i, j])
    rows = [torch.stack(v) for v in found.values()]
    return torch.stack([r.sum() / len(r) for r in rows]), torch.stack([r.amax() - r.amin() for r in rows])


def profile_by_scatter(scores):
    """One scatter over j - i."""
    T = scores.shape[0]
    place = (torch.arange(T) - torch.arange(T)[:, None] + T - 1).flatten()
    reduce = lambda how: torch.zeros(2 * T - 1).scatter_reduce(0, place, scores.flatten(), how, include_self=False)
    return reduce("mean"), reduce("amax") - reduce("amin")


def _lines(scores, mean=torch.mean, spread=lambda d: d.max() - d.min()):
    T = scores.shape[0]
    lines = [scores.diagonal(r) for r in range(1 - T, T)]
    return torch.stack([mean(d) for d in lines]), torch.stack([spread(d) for d in lines])


PROFILE = Exercise(
    id="position.distance_profile",
    unit=UNIT,
    title="Score against distance",
    points=2,
    difficulty=2,
    minutes=12,
    extension=True,
    signature="distance_profile(scores)",
    reference=distance_profile,
    alternatives=[profile_by_loop, profile_by_scatter],
    cases=[
        Case(
            "by hand",
            "[[1, 2], [7, 5]]: key before query 7; same place 1 and 5, mean 3, spread 4; key after query 2",
            lambda g: call(torch.tensor([[1.0, 2.0], [7.0, 5.0]])),
        ),
        Case("random", "five places, nine distances", lambda g: call(g.randn(5, 5)), weight=2),
        Case(
            "distance only",
            "scores that depend on the distance alone: every spread is 0",
            lambda g: call(g.randn(13)[torch.arange(7) - torch.arange(7)[:, None] + 6]),
        ),
        Case("one place", "a single score has one distance, 0", lambda g: call(g.randn(1, 1)), weight=0.5),
    ],
    mutants=[
        Mutant(
            "reversed",
            lambda scores: tuple(t.flip(0) for t in distance_profile(scores)),
            "The order is reversed. The relative position is key minus query, so the first entry is the lower left "
            "corner: the last query and the first key.",
        ),
        Mutant(
            "deviation",
            lambda scores: _lines(scores, spread=lambda d: d.std(unbiased=False)),
            "The second result is a standard deviation. Here the spread is the largest score minus the smallest.",
        ),
        Mutant(
            "sums",
            lambda scores: _lines(scores, mean=torch.sum),
            "These are sums along the diagonals. Diagonals differ in length, so take means.",
        ),
        Mutant(
            "other_diagonals",
            lambda scores: distance_profile(scores.flip(0)),
            "These lines run from bottom left to top right. Pairs of one distance lie on lines parallel to the main "
            "diagonal.",
        ),
        Mutant(
            "future_only",
            lambda scores: tuple(t[scores.shape[0] - 1 :] for t in distance_profile(scores)),
            "Only distances 0 … T − 1 are here. Keys before the query come first: 2T − 1 entries in all.",
        ),
    ],
)


# --- looking back --------------------------------------------------------------------------------------------------
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


LOOKING = Exercise(
    id="position.looking_back",
    unit=UNIT,
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
        Case("random", "a random distance, six features", lambda g: call(g.integer(2, 6), 6), weight=2),
        Case("another base", "the base is an argument", lambda g: call(g.integer(2, 6), 6, base=g.number(20, 60))),
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

EXERCISES = [PROFILE, LOOKING, LEARNED]

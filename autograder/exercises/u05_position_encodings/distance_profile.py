"""The mean score at each distance."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call


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


EXERCISE = Exercise(
    id="position.distance_profile",
    unit="05-position-encodings",
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

"""The mean score at each distance."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call


def distance_profile(scores):
    """scores (T, T) → mean (2T-1,) and spread (2T-1,) per relative position -(T-1) … T-1."""
    T = scores.shape[0]
    lines = [scores.diagonal(r) for r in range(1 - T, T)]
    return torch.stack([d.mean() for d in lines]), torch.stack([d.max() - d.min() for d in lines])


def profile_by_masks(scores):
    """A mask for each distance."""
    at = torch.arange(len(scores))
    hit = at - at[:, None] == torch.arange(1 - len(scores), len(scores))[:, None, None]
    mean = (scores * hit).sum((1, 2)) / hit.sum((1, 2))
    return mean, scores.where(hit, -math.inf).amax((1, 2)) - scores.where(hit, math.inf).amin((1, 2))


def profile_by_scatter(scores):
    """One scatter over j - i."""
    T = len(scores)
    place = (torch.arange(T) - torch.arange(T)[:, None] + T - 1).flatten()
    reduce = lambda how: scores.new_zeros(2 * T - 1).scatter_reduce(0, place, scores.flatten(), how, include_self=False)
    return reduce("mean"), reduce("amax") - reduce("amin")


MISTAKES = changes(
    distance_profile,
    """
reversed: range(1 - T, T) → range(T - 1, -T, -1)
    The order is reversed. The relative position is key minus query, so the first entry is the lower left corner:
    the last query and the first key.
deviation: d.max() - d.min() → d.std(unbiased=False)
    The second result is a standard deviation. Here the spread is the largest score minus the smallest.
sums: d.mean() → d.sum()
    These are sums along the diagonals. Diagonals differ in length, so take means.
zero_takes_part: d.max() - d.min() → d.max().clamp(min=0) - d.min().clamp(max=0)
    A 0 that is no score takes part in the largest and smallest. Take both over the scores of one distance alone.
divided_by_length: d.mean() → d.sum() / T
    Every sum is divided by T. Only the main diagonal has T entries: divide by the number of scores at that
    distance.
largest: d.max() - d.min() → d.max()
    The second result is the largest score of each distance. The spread is the largest minus the smallest.
exchanged: [d.mean() → [d.max() - d.min() ; , torch.stack([d.max() - d.min() → , torch.stack([d.mean()
    The two results stand the other way round. Return the means first, then the spreads.
deviation_unbiased: d.max() - d.min() → d.std() if len(d) > 1 else d[0] * math.nan
    The second result is a standard deviation, NaN for a single score. The spread is the largest score minus the
    smallest.
spread_turned: d.max() - d.min() → d.min() - d.max()
    The spread has the wrong sign. It is the largest score minus the smallest, never below 0.
unsigned: scores.diagonal(r) → scores.abs().diagonal(r)
    The scores have lost their signs. Take means and extremes of the scores as they are.
both_sides_alike: scores.diagonal(r) → torch.cat([scores.diagonal(r), scores.diagonal(-r)])
    Keys before and after the query are put together. r and −r are two entries: j − i has a sign.
wrapped: scores.diagonal(r) → torch.stack([scores[i, (i + r) % T] for i in range(T)])
    The lines go on at the other side of the table, so r and r − T are mixed. A diagonal ends at the border.
last_missing: range(1 - T, T) → range(1 - T, T - 1)
    The largest distance is missing: r ends at T − 1 itself. range(-(T - 1), T) has all 2T − 1.
other_diagonals: scores.diagonal(r) → scores.flip(0).diagonal(r)
    These lines run from bottom left to top right. Pairs of one distance lie on lines parallel to the main diagonal.
future_only: range(1 - T, T) → range(T)
    Only distances 0 … T − 1 are here. Keys before the query come first: 2T − 1 entries in all.
past_only: range(1 - T, T) → range(1 - T, 1)
    Only keys up to the query are here. Those after it follow, r = 1 … T − 1: 2T − 1 entries in all.
first_missing: mean() for d in lines]) → mean() for d in lines])[1:]
; min() for d in lines]) → min() for d in lines])[1:]
    The farthest key in the past is missing: r starts at −(T − 1). range(-(T - 1), T) has all 2T − 1.
above_mean: d.max() - d.min() → d.max() - d.mean()
    The second result is the largest score minus the mean. The spread is the largest minus the smallest.
below_mean: d.max() - d.min() → d.mean() - d.min()
    The second result is the mean minus the smallest score. The spread is the largest minus the smallest.
variance: d.max() - d.min() → d.var(unbiased=False)
    The second result is a variance. Here the spread is the largest score minus the smallest.
half_spread: d.max() - d.min() → (d.max() - d.min()) / 2
    The second result is half of the spread. It is the whole way from the smallest score to the largest.
ends_only: d.max() - d.min() → (d[-1] - d[0]).abs()
    The first and the last score of each line are compared. The largest and the smallest may stand anywhere: use max
    and min.
median: d.mean() → d.median()
    The first result is the median of each distance. The mean is asked for: the sum divided by the number of scores.
by_row: [scores.diagonal(r) for r in range(1 - T, T)] → torch.cat([scores, scores[1:]])
    These are means and spreads of another grouping, a row or column for each entry. Pairs of one distance lie on a
    diagonal: scores.diagonal(r).
past_backward: range(1 - T, T) → range(0, -T, -1)
    Only keys up to the query are here, the nearest first. The order is r = −(T − 1) … T − 1, the future included:
    2T − 1 entries.
""",
)

EXERCISE = Exercise(
    id="position.distance_profile",
    title="Score against distance",
    points=2,
    difficulty=2,
    minutes=12,
    extension=True,
    reference=distance_profile,
    alternatives=[profile_by_masks, profile_by_scatter],
    cases=[
        Case(
            "by hand",
            "[[1, 2], [7, 5]]: 7 for a key before; 1 and 5 at one position, mean 3, spread 4; 2 for a key after",
            lambda g: call(torch.tensor([[1.0, 2.0], [7.0, 5.0]])),
        ),
        Case("random", "five positions, nine distances", lambda g: call(g.randn(5, 5)), weight=2),
        Case(
            "distance only",
            "scores that depend on the distance alone: every spread is 0",
            lambda g: call(g.randn(13)[torch.arange(7) - torch.arange(7)[:, None] + 6]),
        ),
        Case(
            "double",
            "float64 scores, all above 1: the results are float64 too",
            lambda g: call(g.uniform(4, 4, low=1.0, high=3.0, dtype=torch.float64)),
            weight=0.5,
        ),
        Case("gradients", "gradients of both results reach the scores", lambda g: call(g.randn(4, 4), grad=[0])),
        Case("one place", "a single score has one distance, 0", lambda g: call(g.randn(1, 1)), weight=0.5),
    ],
    mutants=MISTAKES,
    equivalent="""
the tensor has one axis: 0 and -1 are the same
    37d2f04e0e alternative profile_by_scatter, constant: 0 → -1 in scores.new_zeros(2 * T - 1).scatter_reduce(0, place…
""",
)

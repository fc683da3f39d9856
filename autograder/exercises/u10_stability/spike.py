"""The height of a spike above the best loss so far."""

import math
from itertools import pairwise

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call


def spike_height(losses):
    """Largest rise of the loss above its lowest value so far, as a float; 0 where it never rises."""
    low, height = math.inf, 0.0
    for loss in losses:
        low = min(low, loss)
        height = max(height, loss - low)
    return height


def spike_by_cummin(losses):
    """Running minimum."""
    x = torch.tensor(losses, dtype=torch.float64)
    return float((x - x.cummin(0).values).max())


def spike_by_pairs(losses):
    """All pairs of an earlier and a later loss."""
    return max(b - a for i, a in enumerate(losses) for b in losses[i:])


EXERCISE = Exercise(
    id="stability.spike",
    unit="10-stability",
    title="How high is a spike",
    points=1,
    difficulty=2,
    minutes=8,
    signature="spike_height(losses)",
    reference=spike_height,
    alternatives=[spike_by_cummin, spike_by_pairs],
    cases=[
        Case(
            "by hand",
            "3, 1, 2, 2.5, 0.5: from 1 the loss climbs to 2.5, a spike of 1.5",
            lambda g: call([3.0, 1.0, 2.0, 2.5, 0.5]),
        ),
        Case(
            "two spikes",
            "two spikes, and the higher one begins lower",
            lambda g: call([4.0, 2.0, 3.0, 0.5, 0.9, g.number(2.5, 2.9, digits=7), 0.2]),
        ),
        Case(
            "first",
            "the spike comes before the lowest loss of the run",
            lambda g: call([5.0, 1.0, g.number(4.0, 4.5, digits=7), 3.0, 0.25, 0.5]),
        ),
        Case("falling", "a loss that only falls has no spike", lambda g: call([3.0, 2.0, 1.0, 0.5])),
    ],
    mutants=[
        Mutant(
            "order_ignored",
            lambda losses: max(losses) - min(losses),
            "This is the largest loss minus the smallest, in any order. A spike goes up: compare each loss with "
            "the lowest one before it.",
        ),
        Mutant(
            "low_of_all",
            lambda losses: max(losses[1:]) - min(losses),
            "min(losses) is the lowest loss of the whole run, later ones too. Only what came before a loss counts: "
            "keep a running minimum.",
        ),
        Mutant(
            "one_step",
            lambda losses: max(0.0, max(b - a for a, b in pairwise(losses))),
            "This is the largest rise in a single step. A spike may take several: compare with the lowest loss so far.",
        ),
        Mutant(
            "above_start",
            lambda losses: max(losses) - losses[0],
            "This compares with the first loss. Compare with the lowest loss so far.",
        ),
        Mutant(
            "final_low",
            lambda losses: max(losses[losses.index(min(losses)) :]) - min(losses),
            "Only what follows the lowest loss of the whole run counts here. Keep a running minimum instead.",
        ),
        Mutant(
            "starts_at_zero",
            lambda losses: max(losses),
            "The lowest loss starts at 0, below every loss. Start with the first loss, or with infinity.",
        ),
        Mutant(
            "peak", lambda losses: max(losses[1:]), "This is a loss, not a rise. Subtract the lowest loss before it."
        ),
    ],
)

"""The height of a spike above the best loss so far."""

import math
from itertools import accumulate, pairwise

from autograder.judge.spec import Case, Exercise, Mutant, call


def spike_height(losses):
    """Largest rise of the loss above its lowest value so far, as a float; 0 where it never rises."""
    low, height = math.inf, 0.0
    for loss in losses:
        low = min(low, loss)
        height = max(height, loss - low)
    return height


def spike_by_minima(losses):
    """Running minimum."""
    return max(loss - low for loss, low in zip(losses, accumulate(losses, min), strict=True))


def negative(losses):
    height = -math.inf
    for i in range(1, len(losses)):
        height = max(height, losses[i] - min(losses[:i]))
    return height


def latest(losses):
    low, height = losses[0], 0.0
    for loss in losses[1:]:
        if loss < low:
            low = loss
        else:
            height = loss - low
    return height


def spike_by_pairs(losses):
    """All pairs of an earlier and a later loss."""
    return max(b - a for i, a in enumerate(losses) for b in losses[i:])


def one_climb(losses):
    low, height = losses[0], 0.0
    for before, loss in pairwise(losses):
        low = loss if loss < before else low
        height = max(height, loss - low)
    return height


EXERCISE = Exercise(
    id="stability.spike",
    title="How high is a spike",
    points=1,
    difficulty=2,
    minutes=8,
    signature="spike_height(losses)",
    reference=spike_height,
    alternatives=[spike_by_minima, spike_by_pairs],
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
        Case(
            "later smaller",
            "a second, smaller rise comes after the highest",
            lambda g: call([3.0, 0.5, g.number(2.0, 2.9, digits=7), 1.0, 1.5, 0.75]),
        ),
        Case("one loss", "a run of a single loss has no spike", lambda g: call([g.number(1.0, 5.0)]), weight=0.5),
        Case("falling", "a loss that only falls has no spike", lambda g: call([3.0, 2.0, 1.0, 0.5])),
        Case(
            "dip on the way",
            "a climb with a dip in it is one spike, from the lowest loss to the last",
            lambda g: call([1.0, 0.5, g.number(1.6, 1.9), g.number(1.1, 1.4), g.number(2.1, 2.9, digits=7)]),
            weight=0.5,
        ),
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
            "negative",
            negative,
            "A run that only falls gives a negative number. Without a rise the height is 0.0: start there.",
        ),
        Mutant(
            "latest",
            latest,
            "Each rise replaces the one before, so the latest is returned. Keep the largest of them.",
        ),
        Mutant(
            "ratio",
            lambda losses: max(loss / low for loss, low in zip(losses, accumulate(losses, min), strict=True)),
            "This is the ratio of a loss to the lowest before it. The height is their difference.",
        ),
        Mutant(
            "one_step",
            lambda losses: max([0.0, *(b - a for a, b in pairwise(losses))]),
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
        Mutant(
            "last_only",
            lambda losses: losses[-1] - min(losses),
            "Only the last loss is compared with the lowest. A spike that came down again counts too: compare"
            " each loss.",
        ),
        Mutant(
            "relative",
            lambda losses: max((x - low) / low for x, low in zip(losses, accumulate(losses, min), strict=True)),
            "The rise is divided by the lowest loss. The height is the difference itself, in the unit of the losses.",
        ),
        Mutant(
            "nothing_to_compare",
            lambda losses: max(x - low for x, low in zip(losses[1:], accumulate(losses, min), strict=False)),
            "A run that only falls gives a negative number, and a single loss an error. Without a rise the "
            "height is 0.0: start there.",
        ),
        Mutant(
            "largest_change",
            lambda losses: max([0.0, *(abs(b - a) for a, b in pairwise(losses))]),
            "This is the largest change in a single step, up or down. A spike goes up, in any number of "
            "steps, from the lowest loss so far.",
        ),
        Mutant(
            "falls",
            lambda losses: max(high - x for x, high in zip(losses, accumulate(losses, max), strict=True)),
            "This is the largest fall below the highest loss so far. A spike is a rise above the lowest one.",
        ),
        Mutant(
            "one_climb",
            one_climb,
            "The lowest loss is forgotten as soon as the loss falls again, so a climb with a dip is cut. Keep"
            " the lowest of all before.",
        ),
        Mutant(
            "last_forgotten",
            lambda losses: spike_height(losses[:-1]) if len(losses) > 1 else 0.0,
            "The loop stops before the last loss, which may be the highest. Go through all of them.",
        ),
        Mutant(
            "added_up",
            lambda losses: sum(max(0.0, b - a) for a, b in pairwise(losses)),
            "All rises are added up. The height of the highest spike alone is asked for.",
        ),
        Mutant(
            "above_average",
            lambda losses: max(losses) - sum(losses) / len(losses),
            "This compares with the average loss. Compare with the lowest loss so far.",
        ),
    ],
)

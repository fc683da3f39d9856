"""The height of a spike above the best loss so far."""

import math
from itertools import accumulate

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call


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


def spike_by_pairs(losses):
    """All pairs of an earlier and a later loss."""
    return max(b - a for i, a in enumerate(losses) for b in losses[i:])


MISTAKES = changes(
    spike_height,
    """
order_ignored: return height → return max(losses) - min(losses)
    This is the largest loss minus the smallest, in any order. A spike goes up: compare each loss with the lowest
    one before it.
low_of_all: return height → return max(losses[1:]) - min(losses)
    min(losses) is the lowest loss of the whole run, later ones too. Only what came before a loss counts: keep a
    running minimum.
negative: math.inf, 0.0 → math.inf, -math.inf ; low = min(low, loss) →
; height = max(height, loss - low) → height = max(height, loss - low); low = min(low, loss)
    A run that only falls gives a negative number. Without a rise the height is 0.0: start there.
latest: height = max(height, loss - low) →
; low = min(low, loss) → height = height if loss < low else loss - low; low = min(low, loss)
    Each rise replaces the one before, so the latest is returned. Keep the largest of them.
ratio: loss - low → loss / low
    This is the ratio of a loss to the lowest before it. The height is their difference.
one_step: low = min(low, loss) → ; height = max(height, loss - low) → height = max(height, loss - low); low = loss
    This is the largest rise in a single step. A spike may take several: compare with the lowest loss so far.
above_start: low = min(low, loss) → low = losses[0]
    This compares with the first loss. Compare with the lowest loss so far.
final_low: return height → return max(losses[losses.index(min(losses)) :]) - min(losses)
    Only what follows the lowest loss of the whole run counts here. Keep a running minimum instead.
starts_at_zero: math.inf, 0.0 → 0.0, 0.0
    The lowest loss starts at 0, below every loss. Start with the first loss, or with infinity.
peak: return height → return max(losses[1:])
    This is a loss, not a rise. Subtract the lowest loss before it.
last_only: max(height, loss - low) → loss - low
    Only the last loss is compared with the lowest. A spike that came down again counts too: compare each loss.
relative: loss - low → (loss - low) / low
    The rise is divided by the lowest loss. The height is the difference itself, in the unit of the losses.
nothing_to_compare: return height → return max(x - low for x, low in zip(losses[1:], accumulate(losses, min)))
    A run that only falls gives a negative number, and a single loss an error. Without a rise the height is 0.0:
    start there.
largest_change: return height → return max([0.0, *(abs(b - a) for a, b in zip(losses, losses[1:]))])
    This is the largest change in a single step, up or down. A spike goes up, in any number of steps, from the
    lowest loss so far.
falls: math.inf → -math.inf ; min(low, loss) → max(low, loss) ; loss - low → low - loss
    This is the largest fall below the highest loss so far. A spike is a rise above the lowest one.
one_climb: for loss in losses: → for before, loss in zip([math.inf, *losses], losses):
; min(low, loss) → loss if loss < before else low
    The lowest loss is forgotten as soon as the loss falls again, so a climb with a dip is cut. Keep the lowest of
    all before.
last_forgotten: in losses: → in losses[:-1]:
    The loop stops before the last loss, which may be the highest. Go through all of them.
added_up: return height → return sum(max(0.0, b - a) for a, b in zip(losses, losses[1:]))
    All rises are added up. The height of the highest spike alone is asked for.
above_average: return height → return max(losses) - sum(losses) / len(losses)
    This compares with the average loss. Compare with the lowest loss so far.
""",
)


EXERCISE = Exercise(
    id="stability.spike",
    title="How high is a spike",
    points=1,
    difficulty=2,
    minutes=8,
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
    mutants=MISTAKES,
    equivalent="""
Both sequences have the same length always.
    a5d9003846 alternative spike_by_minima, keyword: zip(losses, accumulate(losses, min), strict=True) without strict=…
    79ca98a397 alternative spike_by_minima, flag: True → False in strict=True
""",
)

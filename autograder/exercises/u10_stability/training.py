"""A training run: dropout, clipping, and the height of a loss spike."""

import math
from itertools import pairwise

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import optim, stability

UNIT = "10-stability"


# --- dropout -------------------------------------------------------------------------------------------------------
def dropout(x, keep, p, training=True):
    """Inverted dropout for a given pattern, x itself at inference."""
    return stability.dropout_with(x, keep, p) if training else x


def _valid(p):
    if not 0 <= p <= 1:
        raise ValueError("p must lie in [0, 1]")


def dropout_by_where(x, keep, p, training=True):
    """torch.where."""
    _valid(p)
    if not training or p == 0:
        return torch.where(keep, x, torch.zeros_like(x)) if training else x
    return torch.where(keep, x / (1 - p) if p < 1 else torch.zeros_like(x), torch.zeros_like(x))


def dropout_by_factor(x, keep, p, training=True):
    """A factor per entry."""
    _valid(p)
    if not training:
        return x
    return x * keep / max(1 - p, 1e-12)


def _dropout(train, infer=lambda x, p: x):
    def wrong(x, keep, p, training=True):
        _valid(p)
        return train(x, keep, p) if training else infer(x, p)

    return wrong


def _scale(p):
    return 1 / (1 - p) if p < 1 else 0.0


def no_check(x, keep, p, training=True):
    return x if not training else x * keep * _scale(p)


_KEEP = torch.tensor([True, False, True, True])
DROPOUT = Exercise(
    id="stability.dropout",
    unit=UNIT,
    title="Inverted dropout",
    points=2,
    difficulty=2,
    minutes=10,
    extension=True,
    signature="dropout(x, keep, p, training=True)",
    reference=dropout,
    alternatives=[dropout_by_where, dropout_by_factor],
    forbidden=("dropout",),
    forbidden_message="The pattern is given: multiply and divide yourself.",
    cases=[
        Case(
            "by hand",
            "p = 0.75: what is kept is multiplied by 4",
            lambda g: call(torch.tensor([1.0, 2.0, 3.0, 4.0]), _KEEP, 0.75),
        ),
        Case(
            "both",
            "training with a random pattern, then inference on the same input, which changes nothing",
            lambda g: _both_modes(g),
        ),
        Case(
            "one pattern",
            "one pattern for all rows, p = 0.2",
            lambda g: call(g.randn(3, 4), torch.tensor([False, True, True, False]), 0.2),
        ),
        Case(
            "all dropped",
            "p = 1 drops everything and makes no NaN",
            lambda g: call(torch.tensor([1.0, 2.0]), torch.tensor([False, False]), 1.0),
        ),
        Case(
            "not a probability",
            "p = 1.5 is a ValueError",
            lambda g: call(torch.tensor([1.0]), torch.tensor([True]), 1.5),
        ),
    ],
    mutants=[
        Mutant(
            "not_scaled",
            _dropout(lambda x, keep, p: x * keep),
            "What is kept is not scaled, so the mean shrinks by 1 − p in training. Divide it by 1 − p.",
        ),
        Mutant(
            "by_p",
            _dropout(lambda x, keep, p: x * keep / p if p < 1 else x * 0),
            "The kept entries are divided by p. A share of 1 − p is kept: divide by 1 − p.",
        ),
        Mutant(
            "multiplied",
            _dropout(lambda x, keep, p: x * keep * (1 - p)),
            "The kept entries shrink even further. Divide by 1 − p, so that the mean stays.",
        ),
        Mutant(
            "at_inference",
            _dropout(lambda x, keep, p: x * keep, lambda x, p: x * (1 - p)),
            "This is the first form of dropout: no scale in training, 1 − p at inference. Here the scale 1/(1 − p) "
            "belongs to training, and inference does nothing.",
        ),
        Mutant(
            "inference_grows",
            _dropout(lambda x, keep, p: x * keep, lambda x, p: x * _scale(p)),
            "The factor 1/(1 − p) is applied at inference. It belongs to training; inference returns x itself.",
        ),
        Mutant(
            "always",
            lambda x, keep, p, training=True: dropout(x, keep, p),
            "Entries are dropped at inference too. Return x unchanged when training is False.",
        ),
        Mutant(
            "dropped_at_inference",
            lambda x, keep, p, training=True: dropout(x, keep, p) if training else x * keep,
            "Entries are dropped at inference too, without the scale. Return x unchanged when training is False.",
        ),
        Mutant(
            "upside_down",
            _dropout(lambda x, keep, p: x * ~keep * _scale(p)),
            "The pattern is used upside down: True means keep.",
        ),
        Mutant(
            "nan_at_one",
            _dropout(lambda x, keep, p: x * keep / (1 - p) if p < 1 else x * math.nan),
            "Right for p below 1. At p = 1 this divides 0 by 0: return zeros there.",
        ),
        Mutant("no_check", no_check, "Right for probabilities. Raise a ValueError when p lies outside [0, 1]."),
    ],
)


def _both_modes(g):
    x, keep = 3 + g.randn(3, 5), torch.tensor([[True, False, True, True, False]] * 3).roll(g.integer(0, 5), 1)
    return Program().call(x, keep, 0.4).call(x, keep, 0.4, training=False)


# --- clipping ------------------------------------------------------------------------------------------------------
def clip_by_cat(gradients, limit):
    """One long vector."""
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    return [g * min(1.0, limit / max(float(norm), 1e-30)) for g in gradients], norm


def clip_by_sum(gradients, limit):
    """Squares added up."""
    norm = torch.sqrt(sum((g**2).sum() for g in gradients))
    return ([g / norm * limit for g in gradients] if norm > limit else list(gradients)), norm


def _clip(form):
    def wrong(gradients, limit):
        norm = torch.cat([g.flatten() for g in gradients]).norm()
        return form(gradients, limit, norm)

    return wrong


def _shrink(measure):
    def wrong(gradients, limit):
        norm = measure(gradients)
        return [g * min(1.0, limit / max(float(norm), 1e-30)) for g in gradients], norm

    return wrong


CLIP = Exercise(
    id="stability.clip",
    unit=UNIT,
    title="Clipping by the global norm",
    points=2,
    difficulty=2,
    minutes=10,
    signature="clip_by_global_norm(gradients, limit)",
    reference=optim.clip_by_global_norm,
    alternatives=[clip_by_cat, clip_by_sum],
    cases=[
        Case(
            "by hand",
            "gradients 3 and 4 have joint length 5; with limit 1 they become 0.6 and 0.8",
            lambda g: call([torch.tensor([3.0]), torch.tensor([4.0])], 1.0),
        ),
        Case(
            "shapes",
            "a matrix, a vector and a number",
            lambda g: call([3 * g.randn(3, 4), g.randn(5), torch.tensor(2.0)], 0.5),
        ),
        Case(
            "short",
            "a joint length below the limit changes nothing",
            lambda g: call([torch.tensor([0.3, 0.0]), torch.tensor([[0.4]])], 2.0),
        ),
        Case("zero", "gradients of zero stay zero", lambda g: call([torch.zeros(2), torch.zeros(1)], 1.0)),
    ],
    mutants=[
        Mutant(
            "each",
            _clip(lambda gs, c, n: ([g * min(1.0, c / max(float(g.norm()), 1e-30)) for g in gs], n)),
            "Each tensor is clipped by its own length, which turns the direction of the step. Use one length and "
            "one factor for all.",
        ),
        Mutant(
            "values",
            _clip(lambda gs, c, n: ([g.clamp(-c, c) for g in gs], n)),
            "Single values are cut off, which turns the direction of the step. Multiply all gradients by one factor.",
        ),
        Mutant(
            "always",
            _clip(lambda gs, c, n: ([g * c / n for g in gs], n)),
            "Short gradients are stretched to the limit, and zeros become NaN. Change them only where the joint "
            "length is above it.",
        ),
        Mutant(
            "norm_after",
            _clip(lambda gs, c, n: ([g * min(1.0, c / max(float(n), 1e-30)) for g in gs], n.clamp(max=c))),
            "The gradients are right. Return the joint length before clipping, which is the one worth watching.",
        ),
        Mutant(
            "no_root",
            _shrink(lambda gs: sum((g**2).sum() for g in gs)),
            "The sum of the squares is used as the length. Take its square root.",
        ),
        Mutant(
            "sum_of_norms",
            _shrink(lambda gs: sum(g.norm() for g in gs)),
            "The lengths are added up. Lengths of parts combine by their squares: √(a² + b²).",
        ),
        Mutant(
            "divided_only",
            _clip(lambda gs, c, n: ([g / max(float(n), 1e-30) if n > c else g for g in gs], n)),
            "Clipped gradients have length 1. Multiply by limit, so that their joint length is the limit.",
        ),
    ],
)


# --- spikes --------------------------------------------------------------------------------------------------------
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


SPIKE = Exercise(
    id="stability.spike",
    unit=UNIT,
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
            lambda g: call([4.0, 2.0, 3.0, 0.5, 0.9, g.number(2.5, 2.9), 0.2]),
        ),
        Case(
            "first",
            "the spike comes before the lowest loss of the run",
            lambda g: call([5.0, 1.0, g.number(4.0, 4.5), 3.0, 0.25, 0.5]),
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

EXERCISES = [DROPOUT, CLIP, SPIKE]

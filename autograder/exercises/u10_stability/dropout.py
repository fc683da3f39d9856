"""Inverted dropout."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import stability


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


def _both_modes(g: Source) -> Program:
    x, keep = 3 + g.randn(3, 5), torch.tensor([[True, False, True, True, False]] * 3).roll(g.integer(0, 5), 1)
    return Program().call(x, keep, 0.4).call(x, keep, 0.4, training=False)


EXERCISE = Exercise(
    id="stability.dropout",
    unit="10-stability",
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

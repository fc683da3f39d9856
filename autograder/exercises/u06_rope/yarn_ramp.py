"""YaRN's ramp between kept and stretched frequencies."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import rope as R
from autograder.reference import rope_scaling as S

from .shared import ramp_by_loop


def ramp(D, base, original_max, beta_fast=32, beta_slow=1):
    return S.yarn_ramp(D, base, original_max, beta_fast, beta_slow).float()


def _ramp(f):
    """A ramp between two (unrounded) indices."""

    def mutant(D, base, original_max, beta_fast=32, beta_slow=1):
        index = lambda turns: D * math.log(original_max / (2 * math.pi * turns)) / (2 * math.log(base))
        return f(torch.arange(D // 2, dtype=torch.float64), index(beta_fast), index(beta_slow), D).float()

    return mutant


def _between(i, low, high):
    return ((i - low) / (high - low)).clamp(0, 1)


def ramp_linear_in_turns(D, base, original_max, beta_fast=32, beta_slow=1):
    turns = original_max * R.rope_frequencies(D, base, dtype=torch.float64) / (2 * math.pi)
    return (1 - ((turns - beta_slow) / (beta_fast - beta_slow)).clamp(0, 1)).float()


EXERCISE = Exercise(
    id="rope.yarn_ramp",
    unit="06-rope",
    title="YaRN's ramp",
    points=3,
    difficulty=4,
    minutes=20,
    signature="yarn_ramp(D, base, original_max, beta_fast=32, beta_slow=1)",
    extension=True,
    reference=ramp,
    alternatives=[ramp_by_loop],
    cases=[
        Case(
            "four pairs",
            "D = 8, trained on 4,096: low = 1, high = 3, so the ramp is 0, 0, ½, 1",
            lambda g: call(8, 10000.0, 4096),
        ),
        Case(
            "a real head",
            "D = 128, trained on 2,048: pairs 0–16 kept, from 41 on squeezed",
            lambda g: call(128, 10000.0, 2048),
            weight=2,
        ),
        Case(
            "other turns",
            "three times other values of beta_fast and beta_slow",
            lambda g: several(
                3,
                lambda p: p.call(
                    2 * g.integer(24, 48),
                    10000.0,
                    g.integer(2_000, 9_000),
                    beta_fast=g.integer(12, 24),
                    beta_slow=g.integer(2, 4),
                ),
            ),
        ),
        Case(
            "short training",
            "trained on 64: no pair turns 32 times, so the ramp starts at pair 0",
            lambda g: call(32, 10000.0, 64),
        ),
    ],
    mutants=[
        Mutant(
            "reversed",
            lambda *a, **k: 1 - ramp(*a, **k),
            "The ramp runs the wrong way: 0 for fast pairs, which stay, and 1 for slow ones, which are squeezed.",
        ),
        Mutant(
            "not_rounded",
            _ramp(lambda i, low, high, D: _between(i, max(low, 0), min(high, D - 1))),
            "The ends of the ramp are not rounded. Round the low end down and the high end up to whole indices.",
        ),
        Mutant(
            "rounded_to_nearest",
            _ramp(lambda i, low, high, D: _between(i, max(round(low), 0), round(high))),
            "The ends are rounded to the nearest index. Round low down and high up: math.floor and math.ceil.",
        ),
        Mutant(
            "not_clamped",
            _ramp(
                lambda i, low, high, D: (
                    (i - max(math.floor(low), 0)) / (min(math.ceil(high), D - 1) - max(math.floor(low), 0))
                )
            ),
            "The ramp runs below 0 and above 1. Clamp it to [0, 1].",
        ),
        Mutant(
            "step",
            _ramp(lambda i, low, high, D: (i >= (max(math.floor(low), 0) + math.ceil(high)) / 2).double()),
            "This is a step. Between its two ends the ramp rises evenly.",
        ),
        Mutant(
            "low_not_limited",
            _ramp(lambda i, low, high, D: _between(i, math.floor(low), math.ceil(high))),
            "The low end is below 0 for a short training length. Limit it: max(low, 0).",
        ),
        Mutant(
            "linear_in_turns",
            ramp_linear_in_turns,
            "This ramp is linear in the number of turns, as a formula of the paper reads. The exercise, like the "
            "authors' code, asks for one that is linear in the pair's index.",
        ),
    ],
)

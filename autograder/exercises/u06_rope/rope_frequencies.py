"""Frequencies and wavelengths."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import rope as R


def frequencies(D, base=10000.0):
    return R.rope_frequencies(D, base)


def wavelengths(D, base=10000.0):
    # The reference answers in float64; the notebook asks for float32, as everything else in this unit.
    return R.wavelengths(D, base).float()


def _even(D):
    if D < 2 or D % 2:
        raise ValueError(f"D must be even, got {D}")


def frequencies_by_power(D, base=10000.0):
    _even(D)
    return 1.0 / base ** (torch.arange(0, D, 2).float() / D)


def frequencies_by_ratio(D, base=10000.0):
    """Each pair turns slower than the one before by the same ratio."""
    _even(D)
    ratio = base ** (-2 / D)
    return torch.tensor([ratio**i for i in range(D // 2)])


def frequencies_by_log(D, base=10000.0):
    _even(D)
    return torch.exp(-math.log(base) * torch.arange(D // 2) * 2 / D)


def _waves(f):
    return lambda D, base=10000.0: 2 * math.pi / f(D, base)


def _power(exponent, count=lambda D: D // 2):
    # No check of D: who makes such a mistake has often not come to the check yet.
    def mutant(D, base=10000.0):
        i = torch.arange(count(D)).double()
        return (base ** -exponent(i, D)).float()

    return mutant


one_per_feature = _power(lambda i, D: i / D, count=lambda D: D)
no_two = _power(lambda i, D: i / D)
two_twice = _power(lambda i, D: 4 * i / D)
growing = _power(lambda i, D: -2 * i / D)
to_the_end = _power(lambda i, D: i / max(D // 2 - 1, 1))


def any_size(D, base=10000.0):
    return (base ** (-torch.arange(0, D, 2).double() / D)).float()


def _any(D: int, base: float) -> Program:
    return Program().call(D, base, fn="rope_frequencies").call(D, base, fn="wavelengths")


EXERCISE = Exercise(
    id="rope.rope_frequencies",
    unit="06-rope",
    title="Frequencies and wavelengths",
    points=2,
    difficulty=2,
    minutes=10,
    signature="rope_frequencies(D, base=10000.0)",
    targets=("rope_frequencies", "wavelengths"),
    reference=(frequencies, wavelengths),
    alternatives=[(f, _waves(f)) for f in (frequencies_by_power, frequencies_by_ratio, frequencies_by_log)],
    cases=[
        Case("four features", "D = 4, two pairs: θ = 1 and 1/100", lambda g: call(4)),
        Case(
            "sixteen",
            "D = 8 with base 16: each pair turns half as fast as the one before",
            lambda g: call(8, base=16.0),
        ),
        Case(
            "turns",
            "wavelengths of D = 4: 6.28 and 628 positions for a full turn",
            lambda g: Program().call(4, fn="wavelengths"),
        ),
        Case(
            "a real head",
            "D = 128, as in LLaMA: the slowest pair needs 54,410 positions for one turn",
            lambda g: Program().call(128, fn="rope_frequencies").call(128, fn="wavelengths"),
        ),
        Case("any", "another even size and another base", lambda g: _any(2 * g.integer(3, 20), g.number(50.0, 5e5, 0))),
        Case("odd", "D = 7 cannot be cut into pairs: ValueError", lambda g: call(7), weight=0.5),
    ],
    mutants=[
        Mutant(
            "no_two",
            (no_two, _waves(no_two)),
            "The exponent lacks the 2: it is −2i/D, so that the slowest pair comes close to 1/base.",
        ),
        Mutant(
            "two_twice", (two_twice, _waves(two_twice)), "The 2 is in twice: torch.arange(0, D, 2) holds 2i already."
        ),
        Mutant(
            "one_per_feature",
            (one_per_feature, _waves(one_per_feature)),
            "This gives one frequency for each feature. There is one for each pair: i runs over 0 … D/2 − 1.",
        ),
        Mutant(
            "growing",
            (growing, _waves(growing)),
            "The frequencies grow. The exponent is negative: later pairs turn slower.",
        ),
        Mutant(
            "to_the_end",
            (to_the_end, _waves(to_the_end)),
            "The last frequency is exactly 1/base, as with "
            "linspace. The exponent is 2i/D, which stops one step short of 1.",
        ),
        Mutant(
            "base_ignored",
            (lambda D, base=10000.0: R.rope_frequencies(D), lambda D, base=10000.0: wavelengths(D)),
            "The base is fixed at 10,000. Use the argument: other models use other bases.",
        ),
        Mutant(
            "no_full_turn",
            (frequencies, lambda D, base=10000.0: 1 / frequencies(D, base)),
            "The wavelength is 1/θ here, the positions for one radian. A full turn has 2π radians.",
        ),
        Mutant(
            "odd_accepted",
            (any_size, _waves(any_size)),
            "An odd D was accepted. Raise ValueError when D is not even: one feature would be left without a partner.",
        ),
    ],
)

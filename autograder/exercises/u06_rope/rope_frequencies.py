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
    if D % 2:
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


def by_power(D, base=10000.0):
    return 2 * math.pi * base ** (torch.arange(0, D, 2) / D)


def by_ratio(D, base=10000.0):
    return 2 * math.pi / frequencies_by_ratio(D, base)


def by_log(D, base=10000.0):
    return torch.exp(math.log(base) * torch.arange(0, D, 2) / D) * math.tau


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
starts_at_one = _power(lambda i, D: 2 * (i + 1) / D)
to_the_end = _power(lambda i, D: i / max(D // 2 - 1, 1))


def any_size(D, base=10000.0):
    return (base ** (-torch.arange(0, D, 2).double() / D)).float()


def _any(D: int, base: float) -> Program:
    return Program().call(D, base, fn="rope_frequencies").call(D, base, fn="wavelengths")


def _both(exponents):
    """base to the power of minus ``exponents(D)``, for any D, and the wavelengths of that."""

    def f(D, base=10000.0):
        return (base ** -exponents(D).double()).float()

    return f, _waves(f)


def plain_list(D, base=10000.0):
    _even(D)
    return [base ** (-2 * i / D) for i in range(D // 2)]


def list_of_waves(D, base=10000.0):
    return [2 * math.pi / f for f in plain_list(D, base)]


def even_refused(D, base=10000.0):
    if D % 2 == 0:
        raise ValueError("D")
    return any_size(D, base)


def _of_waves(wave):
    """Right frequencies, and ``wave`` of each."""
    return frequencies, lambda D, base=10000.0: wave(frequencies(D, base))


EXERCISE = Exercise(
    id="rope.rope_frequencies",
    title="Frequencies and wavelengths",
    points=2,
    difficulty=2,
    minutes=10,
    signature="rope_frequencies(D, base=10000.0)",
    targets=("rope_frequencies", "wavelengths"),
    reference=(frequencies, wavelengths),
    alternatives=[(frequencies_by_power, by_power), (frequencies_by_ratio, by_ratio), (frequencies_by_log, by_log)],
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
        Case(
            "any",
            "another base, and an even size that 4 does not divide",
            lambda g: _any(4 * g.integer(2, 20) + 2, g.number(50.0, 5e5, 0)),
        ),
        Case(
            "one pair",
            "D = 2 is a single pair: its θ is 1, whatever the base",
            lambda g: _any(2, g.number(50.0, 5e5, 0)),
            weight=0.5,
        ),
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
            "base_lost",
            (frequencies, lambda D, base=10000.0: wavelengths(D)),
            "wavelengths does not hand its base on, so it always belongs to base 10,000: rope_frequencies(D, base).",
        ),
        Mutant(
            "float64",
            (
                lambda D, base=10000.0: frequencies(D, base).double(),
                lambda D, base=10000.0: wavelengths(D, base).double(),
            ),
            "The numbers are right, but they are float64. Both results should be float32: end with .float().",
        ),
        Mutant(
            "turns_per_place",
            (frequencies, lambda D, base=10000.0: frequencies(D, base) / (2 * math.pi)),
            "This is θ/2π, the turns per place. The wavelength is its inverse, the places per turn: 2π/θ.",
        ),
        Mutant(
            "starts_at_one",
            (starts_at_one, _waves(starts_at_one)),
            "The pairs are counted from 1, so the fastest pair is missing. i runs over 0 … D/2 − 1, and θ₀ is 1.",
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
        Mutant(
            "whole_exponents",
            _both(lambda D: torch.arange(0, D, 2) // D),
            "Every exponent is 0, because // rounds 2i/D down. Divide with /.",
        ),
        Mutant(
            "odd_exponents",
            _both(lambda D: torch.arange(1, D, 2) / D),
            "The exponents are −(2i + 1)/D, so the first pair does not turn by 1. Start at 0: torch.arange(0, D, 2).",
        ),
        Mutant(
            "last_pair_missing",
            _both(lambda D: torch.arange(0, D - 2, 2) / D),
            "The slowest pair is missing. There are D/2 pairs: i runs over 0 … D/2 − 1, so arange(0, D, 2) ends at "
            "D − 2 by itself.",
        ),
        Mutant(
            "one_too_many",
            _both(lambda D: torch.arange(0, D + 1, 2) / D),
            "There is one frequency too many, 1/base. There are D/2 pairs: torch.arange(0, D, 2) stops before D.",
        ),
        Mutant(
            "twice_per_feature",
            _both(lambda D: (torch.arange(0, D, 2) / D).repeat_interleave(2)),
            "Every frequency stands there twice, once for each feature. There is one for each pair, D/2 in all.",
        ),
        Mutant(
            "plain_list",
            (plain_list, list_of_waves),
            "The numbers are right, but they come in a list. A float32 tensor is asked for: torch.tensor([…]), or "
            "torch.arange from the start.",
        ),
        Mutant(
            "even_refused",
            (even_refused, _waves(even_refused)),
            "The check is upside down: even sizes are refused. Raise ValueError where D % 2 is not 0.",
        ),
        Mutant(
            "odd_rounded_down",
            _both(lambda D: 2 * torch.arange(D // 2) / D),
            "An odd D was accepted, with D // 2 pairs. Raise ValueError when D is not even: a feature would be left "
            "without a partner.",
        ),
        Mutant(
            "times_theta",
            _of_waves(lambda f: 2 * math.pi * f),
            "The wavelength is 2π·θ here, which shrinks where a pair turns slower. Divide: a full turn is 2π/θ places.",
        ),
        Mutant(
            "half_a_turn",
            _of_waves(lambda f: math.pi / f),
            "The wavelength is π/θ, half a turn. A full turn has 2π radians.",
        ),
        Mutant(
            "frequencies_again",
            _of_waves(lambda f: f),
            "wavelengths gives the frequencies θ. The places for a full turn are 2π/θ.",
        ),
        Mutant(
            "degrees",
            _of_waves(lambda f: 360 / f),
            "A full turn was taken as 360. The angles are radians, so the wavelength is 2π/θ.",
        ),
    ],
)

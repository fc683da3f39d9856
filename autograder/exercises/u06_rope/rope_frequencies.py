"""Frequencies and wavelengths."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, call
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


def _any(D: int, base: float) -> Program:
    return Program().call(D, base, fn="rope_frequencies").call(D, base, fn="wavelengths")


EXERCISE = Exercise(
    id="rope.rope_frequencies",
    title="Frequencies and wavelengths",
    points=2,
    difficulty=2,
    minutes=10,
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
        *changes(
            (frequencies_by_ratio, by_ratio),
            """
no_two: _even(D) → ; -2 / D → -1 / D
    The exponent lacks the 2: it is −2i/D, so that the slowest pair comes close to 1/base.
two_twice: _even(D) → ; -2 / D → -4 / D
    The 2 is in twice: torch.arange(0, D, 2) holds 2i already.
one_per_feature: _even(D) → ; -2 / D → -1 / D ; D // 2 → D
    This gives one frequency for each feature. There is one for each pair: i runs over 0 … D/2 − 1.
growing: _even(D) → ; -2 / D → 2 / D
    The frequencies grow. The exponent is negative: later pairs turn slower.
to_the_end: _even(D) → ; -2 / D → -1 / max(D // 2 - 1, 1)
    The last frequency is exactly 1/base, as with linspace. The exponent is 2i/D, which stops one step short of 1.
base_ignored: ratio = base → ratio = 10000.0
    The base is fixed at 10,000. Use the argument: other models use other bases.
base_lost: frequencies_by_ratio(D, base) → frequencies_by_ratio(D)
    wavelengths does not hand its base on, so it always belongs to base 10,000: rope_frequencies(D, base).
float64: range(D // 2)]) → range(D // 2)]).double()
    The numbers are right, but they are float64. Both results should be float32: end with .float().
turns_per_place: 2 * math.pi / frequencies_by_ratio(D, base) → frequencies_by_ratio(D, base) / (2 * math.pi)
    This is θ/2π, the turns per position. The wavelength is its inverse, the positions per turn: 2π/θ.
starts_at_one: _even(D) → ; ratio**i → ratio ** (i + 1)
    The pairs are counted from 1, so the fastest pair is missing. i runs over 0 … D/2 − 1, and θ₀ is 1.
no_full_turn: 2 * math.pi / → 1 /
    The wavelength is 1/θ here, the positions for one radian. A full turn has 2π radians.
""",
        ),
        *changes(
            (frequencies_by_power, by_power),
            """
odd_accepted: _even(D) →
    An odd D was accepted. Raise ValueError when D is not even: one feature would be left without a partner.
whole_exponents: _even(D) → ; .float() / D → .float() // D ; 2) / D → 2) // D
    Every exponent is 0, because // rounds 2i/D down. Divide with /.
odd_exponents: _even(D) → ; (0, D, 2).float() → (1, D, 2).float() ; (0, D, 2) / D → (1, D, 2) / D
    The exponents are −(2i + 1)/D, so the first pair does not turn by 1. Start at 0: torch.arange(0, D, 2).
last_pair_missing: _even(D) → ; (0, D, 2).float() → (0, D - 2, 2).float() ; (0, D, 2) / D → (0, D - 2, 2) / D
    The slowest pair is missing. There are D/2 pairs: i runs over 0 … D/2 − 1, so arange(0, D, 2) ends at D − 2 by
    itself.
one_too_many: _even(D) → ; (0, D, 2).float() → (0, D + 1, 2).float() ; (0, D, 2) / D → (0, D + 1, 2) / D
    There is one frequency too many, 1/base. There are D/2 pairs: torch.arange(0, D, 2) stops before D.
twice_per_feature: _even(D) → ; .float() / D) → .float() / D).repeat_interleave(2)
; 2) / D) → 2) / D).repeat_interleave(2)
    Every frequency stands there twice, once for each feature. There is one for each pair, D/2 in all.
""",
        ),
        *changes(
            (frequencies_by_ratio, by_ratio),
            """
plain_list: torch.tensor([ratio**i for i in range(D // 2)]) → [ratio**i for i in range(D // 2)]
; 2 * math.pi / frequencies_by_ratio(D, base) → [2 * math.pi / f for f in frequencies_by_ratio(D, base)]
    The numbers are right, but they come in a list. A float32 tensor is asked for: torch.tensor([…]), or
    torch.arange from the start.
even_refused: _even(D) → _even(D + 1) ; D // 2 → (D + 1) // 2
    The check is upside down: even sizes are refused. Raise ValueError where D % 2 is not 0.
odd_rounded_down: _even(D) →
    An odd D was accepted, with D // 2 pairs. Raise ValueError when D is not even: a feature would be left without a
    partner.
times_theta: 2 * math.pi / → 2 * math.pi *
    The wavelength is 2π·θ here, which shrinks where a pair turns slower. Divide: a full turn is 2π/θ positions.
half_a_turn: 2 * math.pi → math.pi
    The wavelength is π/θ, half a turn. A full turn has 2π radians.
frequencies_again: 2 * math.pi / →
    wavelengths gives the frequencies θ. A full turn takes 2π/θ positions.
degrees: 2 * math.pi → 360
    A full turn was taken as 360. The angles are radians, so the wavelength is 2π/θ.
""",
        ),
    ],
    equivalent="""
torch raises a Python int to a float tensor just as a float
    9a5824ecb0 solution, call: float(base) → its argument
the division by D turns whole numbers into float32
    e34eb93481 solution, keyword: torch.arange(0, D, 2, dtype=torch.float32) without dtype=torch.float32
    5d00561ce7 alternative (frequencies_by_power, by_power), call: torch.arange(0, D, 2).float() → torch.arange(0, D, …
D is even: the last even number below D is also below D − 1
    63a7da113f solution, window: D - 1 in torch.arange(0, D, 2, dtype=torch.float32)
    6338a739de alternative (frequencies_by_power, by_power), window: D - 1 in torch.arange(0, D, 2)
    31732a8a05 alternative (frequencies_by_power, by_power), window: D - 1 in torch.arange(0, D, 2)
    4ad5be67ea alternative (frequencies_by_log, by_log), window: D - 1 in torch.arange(0, D, 2)
no frequency moves by more than 4e-6: 32 rounding steps of the first one, which is 1, are rounding
    aa799e790f alternative (frequencies_by_power, by_power), constant: 10000.0 → 10001.0 in D, base=10000.0
    28360d5338 alternative (frequencies_by_ratio, by_ratio), constant: 10000.0 → 10001.0 in D, base=10000.0
    f2549a5539 alternative (frequencies_by_log, by_log), constant: 10000.0 → 10001.0 in D, base=10000.0
only even sizes get here: half of one is a whole number
    4c6ae3eb62 alternative (frequencies_by_ratio, by_ratio), arithmetic: D // 2 rounded up
    1c9263fdb3 alternative (frequencies_by_log, by_log), arithmetic: D // 2 rounded up
D is even: arange counts the same numbers up to the float D/2
    9c04518b13 alternative (frequencies_by_log, by_log), arithmetic: D // 2 → D / 2
""",
)

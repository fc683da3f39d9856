"""YaRN's frequencies and temperature."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call, several
from autograder.reference import rope as R
from autograder.reference import rope_scaling as S

from .shared import ramp_by_loop


def frequencies(D, base, s, original_max, beta_fast=32, beta_slow=1):
    return S.yarn_frequencies(D, base, s, original_max, beta_fast, beta_slow)


def yarn_by_where(D, base, s, original_max, beta_fast=32, beta_slow=1):
    keep = 1 - ramp_by_loop(D, base, original_max, beta_fast, beta_slow)
    return R.rope_frequencies(D, base) * (keep + (1 - keep) / s)


def _with_betas(p: Program, g: Source) -> Program:
    return p.call(
        2 * g.integer(24, 48),
        g.number(5e3, 5e5, digits=1),
        g.number(2.0, 9.0),
        g.integer(2_000, 9_000),
        beta_fast=g.integer(12, 24),
        beta_slow=g.integer(2, 4),
    )


def betas_exchanged(D, base, s, original_max, beta_fast=32, beta_slow=1):
    """With a ramp as a learner's own gives it: 0/0 where its two ends meet."""
    index = lambda turns: D * math.log(original_max / (2 * math.pi * turns)) / (2 * math.log(base))
    low, high = max(math.floor(index(beta_slow)), 0), min(math.ceil(index(beta_fast)), D - 1)
    ramp = ((torch.arange(D // 2, dtype=torch.float64) - low) / (high - low)).clamp(0, 1)
    theta = R.rope_frequencies(D, base, dtype=torch.float64)
    return (theta * (1 - ramp) + theta / s * ramp).float()


EXERCISE = Exercise(
    id="rope.yarn_frequencies",
    title="YaRN",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    reference=(frequencies, S.yarn_temperature),
    alternatives=[(yarn_by_where, lambda s: 1 + math.log(s) / 10)],
    cases=[
        Case(
            "four pairs",
            "D = 8, s = 4: θ = 1 and 1/10 stay, 1/100 is multiplied by 5/8, 1/1000 by 1/4",
            lambda g: call(8, 10000.0, 4.0, 4096),
        ),
        Case(
            "a real head",
            "D = 128 stretched by 16, trained on 2,290 and on 2,330: pair 17 turns just below and just above 32 times",
            lambda g: call(128, 10000.0, 16.0, 2290).call(128, 10000.0, 16.0, 2330),
        ),
        Case(
            "other base",
            "another base, and a factor that is no whole number",
            lambda g: call(64, g.number(2e4, 9e5, digits=1), g.number(2.0, 9.0), 8192),
        ),
        Case(
            "other turns",
            "two times other values of beta_fast and beta_slow",
            lambda g: several(2, lambda p: _with_betas(p, g)),
        ),
        Case(
            "temperature",
            "√(1/t): s = 16 gives 1.277, and s = 1 gives 1",
            lambda g: Program().call(16.0, fn="yarn_temperature").call(1.0, fn="yarn_temperature"),
        ),
        Case(
            "other temperatures",
            "three other factors s",
            lambda g: several(3, lambda p: p.call(g.number(1.5, 40.0), fn="yarn_temperature")),
        ),
    ],
    mutants=[
        *changes(
            (S.yarn_frequencies, S.yarn_temperature),
            """
mix_reversed: theta * (1 - ramp) + theta / s * ramp → theta * ramp + theta / s * (1 - ramp)
    The mix is reversed: fast pairs are squeezed and slow ones kept. The ramp's 1 means: divide by s.
all_squeezed: theta * (1 - ramp) + theta / s * ramp → theta / s
    Every frequency is divided by s, which is position interpolation. Mix it with θ by the ramp.
times_s: theta / s → theta * s
    Slow pairs turn faster, by s. They must turn slower: θ/s.
wavelengths_mixed: theta * (1 - ramp) + theta / s * ramp → 1 / ((1 - ramp) / theta + s * ramp / theta)
    The wavelengths are mixed in place of the frequencies, which gives other values in the middle of the ramp.
betas_fixed: original_max, beta_fast, beta_slow) → original_max)
    beta_fast and beta_slow have no effect: hand both on to yarn_ramp.
float64: .to(dtype) → .to(dtype).double()
    The frequencies are right, but they are float64. The text asks for float32.
temperature_itself: 0.1 * math.log(s) + 1.0 → 1 / (0.1 * math.log(s) + 1.0) ** 2
    This is t itself, smaller than 1. The factor on queries and keys is √(1/t) = 0.1·ln s + 1.
one_inside: math.log(s) + 1.0 → math.log(s + 1)
    The 1 stands inside of the logarithm. It is added at the end: 0.1·ln s + 1.
tenth_of_all: math.log(s) + 1.0 → (math.log(s) + 1)
    The 0.1 multiplies the 1 as well. It belongs to the logarithm alone: without stretching the factor is 1.
no_one: math.log(s) + 1.0 → math.log(s)
    The factor lacks its + 1: without stretching (s = 1) it must be 1, not 0.
log_ten: math.log → math.log10
    The factor uses log₁₀. It is the natural logarithm: math.log.
squared: 0.1 * math.log(s) + 1.0 → (0.1 * math.log(s) + 1.0) ** 2
    This is 1/t, the factor on the scores. It is applied to q and to k, so each gets its root, √(1/t): 0.1·ln s + 1.
stretched_length: base, original_max → base, s * original_max
    The ramp gets the stretched length s·L. It belongs to the trained one: hand original_max on as it is.
""",
        ),
        Mutant(
            "betas_exchanged",
            (betas_exchanged, S.yarn_temperature),
            "The two betas are handed on in the wrong order. It is yarn_ramp(D, base, original_max, beta_fast, "
            "beta_slow).",
        ),
        *changes(
            (S.yarn_frequencies, S.yarn_temperature),
            """
fast_fixed: original_max, beta_fast, beta_slow) → original_max, beta_slow=beta_slow)
    beta_fast has no effect: hand both betas on to yarn_ramp.
slow_fixed: original_max, beta_fast, beta_slow) → original_max, beta_fast)
    beta_slow has no effect: hand both betas on to yarn_ramp.
ramp_base_fixed: base, original_max → 10000.0, original_max
    The ramp belongs to base 10,000 whatever the base is. Hand base on to yarn_ramp.
base_not_handed_on: rope_frequencies(D, base → rope_frequencies(D
    The frequencies belong to base 10,000 whatever the base is: rope_frequencies(D, base).
not_stretched: theta * (1 - ramp) + theta / s * ramp → theta
    These are the frequencies of RoPE, not stretched at all. Mix θ and θ/s by the ramp.
ramp_itself: theta / s * ramp → ramp / s
    The second term lacks θ: it is θ/s·ramp.
keep_part_missing: theta * (1 - ramp) + →
    The kept part is missing, so fast pairs do not turn. Add θ·(1 − ramp).
kept_whole: theta * (1 - ramp) → theta
    θ is kept whole and θ/s·ramp is added, so slow pairs turn too fast. The kept part is θ·(1 − ramp).
bracket_missing: (1 - ramp) → 1 - ramp
    A bracket is missing: the ramp is subtracted from θ. The kept part is θ·(1 − ramp).
powers_mixed: theta * (1 - ramp) + theta / s * ramp → theta / s**ramp
    This divides θ by a power of s. The mix is linear: θ·(1 − ramp) + θ/s·ramp.
divisors_mixed: theta * (1 - ramp) + theta / s * ramp → theta / (1 + ramp * s)
    The ramp is mixed into the divisor. The frequencies are mixed: θ·(1 − ramp) + θ/s·ramp.
temperature_tensor: 0.1 * math.log(s) + 1.0 → torch.tensor(0.1 * math.log(s) + 1.0)
    The factor is right, but it is a torch tensor. A Python float is asked for: use math.log.
temperature_inverse: 0.1 * math.log(s) + 1.0 → 1 / (0.1 * math.log(s) + 1.0)
    This is √t, smaller than 1. The factor on queries and keys is √(1/t) = 0.1·ln s + 1, without a fraction.
root_again: 0.1 * math.log(s) + 1.0 → (0.1 * math.log(s) + 1.0) ** 0.5
    The root is taken once more. 0.1·ln s + 1 is √(1/t) already.
tenth_forgotten: 0.1 * math.log(s) → math.log(s)
    The factor 0.1 is missing: it is 0.1·ln s + 1.
no_log: math.log(s) → s
    The logarithm is missing: it is 0.1·ln s + 1, which is 1 for s = 1.
log_two: math.log → math.log2
    The factor uses log₂. It is the natural logarithm: math.log.
temperature_falls: 0.1 * math.log(s) + 1.0 → 1 - 0.1 * math.log(s)
    The logarithm is subtracted, so the factor falls below 1. It is 0.1·ln s + 1: longer texts need sharper scores.
always_one: 0.1 * math.log(s) + 1.0 → 1.0
    The factor is always 1, as if nothing were stretched. It grows with the logarithm of s, and is 1 only where s is
    1.
inverse_root: 0.1 * math.log(s) + 1.0 → (0.1 * math.log(s) + 1.0) ** -0.5
    The fraction and the root are taken, but of what holds both already: √(1/t) itself is a tenth of a logarithm,
    plus 1.
log_of_one_more: math.log(s) → math.log(s + 1)
    The logarithm is taken of s + 1, so the factor is too large, also without stretching. What must stand inside, so
    that s = 1 gives 1?
""",
        ),
    ],
)

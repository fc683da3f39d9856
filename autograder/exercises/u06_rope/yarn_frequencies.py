"""YaRN's frequencies and temperature."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import rope as R
from autograder.reference import rope_scaling as S

from .shared import ramp_by_loop


def yarn_by_where(D, base, s, original_max, beta_fast=32, beta_slow=1):
    keep = 1 - ramp_by_loop(D, base, original_max, beta_fast, beta_slow)
    return R.rope_frequencies(D, base) * (keep + (1 - keep) / s)


def _yarn(f):
    def mutant(D, base, s, original_max, beta_fast=32, beta_slow=1):
        r = S.yarn_ramp(D, base, original_max, beta_fast, beta_slow)
        return f(R.rope_frequencies(D, base, dtype=torch.float64), r, s).float()

    return mutant


EXERCISE = Exercise(
    id="rope.yarn_frequencies",
    unit="06-rope",
    title="YaRN",
    points=2,
    difficulty=3,
    minutes=12,
    signature="yarn_frequencies(D, base, s, original_max, beta_fast=32, beta_slow=1)",
    targets=("yarn_frequencies", "yarn_temperature"),
    extension=True,
    reference=(S.yarn_frequencies, S.yarn_temperature),
    alternatives=[(yarn_by_where, lambda s: 1 + math.log(s) / 10)],
    cases=[
        Case(
            "four pairs",
            "D = 8, s = 4: θ = 1 and 1/10 stay, 1/100 is multiplied by 5/8, 1/1000 by 1/4",
            lambda g: call(8, 10000.0, 4.0, 4096),
        ),
        Case("a real head", "D = 128 stretched by 16", lambda g: call(128, 10000.0, 16.0, 2048)),
        Case(
            "other base",
            "another base, and a factor that is no whole number",
            lambda g: call(64, g.number(2e4, 9e5, digits=1), g.number(2.0, 9.0), 8192),
        ),
        Case(
            "temperature",
            "√(1/t): s = 16 gives 1.277, and s = 1 gives 1",
            lambda g: Program().call(16.0, fn="yarn_temperature").call(1.0, fn="yarn_temperature"),
        ),
    ],
    mutants=[
        Mutant(
            "mix_reversed",
            (_yarn(lambda t, r, s: t * r + t / s * (1 - r)), S.yarn_temperature),
            "The mix is reversed: fast pairs are squeezed and slow ones kept. The ramp's 1 means: divide by s.",
        ),
        Mutant(
            "all_squeezed",
            (_yarn(lambda t, r, s: t / s), S.yarn_temperature),
            "Every frequency is divided by s, which is position interpolation. Mix it with θ by the ramp.",
        ),
        Mutant(
            "times_s",
            (_yarn(lambda t, r, s: t * (1 - r) + t * s * r), S.yarn_temperature),
            "Slow pairs turn faster, by s. They must turn slower: θ/s.",
        ),
        Mutant(
            "wavelengths_mixed",
            (_yarn(lambda t, r, s: 1 / ((1 - r) / t + s * r / t)), S.yarn_temperature),
            "The wavelengths are mixed in place of the frequencies, which gives other values in the middle of the "
            "ramp.",
        ),
        Mutant(
            "no_one",
            (S.yarn_frequencies, lambda s: 0.1 * math.log(s)),
            "The factor lacks its + 1: without stretching (s = 1) it must be 1, not 0.",
        ),
        Mutant(
            "log_ten",
            (S.yarn_frequencies, lambda s: 0.1 * math.log10(s) + 1),
            "The factor uses log₁₀. It is the natural logarithm: math.log.",
        ),
        Mutant(
            "squared",
            (S.yarn_frequencies, lambda s: S.yarn_temperature(s) ** 2),
            "This is 1/t, the factor on the scores. It is applied to q and to k, so each gets its root, √(1/t): "
            "0.1·ln s + 1.",
        ),
    ],
)

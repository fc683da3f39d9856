"""YaRN's frequencies and temperature."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call, several
from autograder.reference import rope as R
from autograder.reference import rope_scaling as S

from .shared import ramp_by_loop


def frequencies(D, base, s, original_max, beta_fast=32, beta_slow=1):
    return S.yarn_frequencies(D, base, s, original_max, beta_fast, beta_slow)


def yarn_by_where(D, base, s, original_max, beta_fast=32, beta_slow=1):
    keep = 1 - ramp_by_loop(D, base, original_max, beta_fast, beta_slow)
    return R.rope_frequencies(D, base) * (keep + (1 - keep) / s)


def _yarn(f):
    def mutant(D, base, s, original_max, beta_fast=32, beta_slow=1):
        r = S.yarn_ramp(D, base, original_max, beta_fast, beta_slow)
        return f(R.rope_frequencies(D, base, dtype=torch.float64), r, s).float()

    return mutant


def _with_betas(p: Program, g: Source) -> Program:
    return p.call(
        2 * g.integer(24, 48),
        g.number(5e3, 5e5, digits=1),
        g.number(2.0, 9.0),
        g.integer(2_000, 9_000),
        beta_fast=g.integer(12, 24),
        beta_slow=g.integer(2, 4),
    )


def _ramped(ramp):
    """The mix with another ramp, of (D, base, s, L, beta_fast, beta_slow)."""

    def mutant(D, base, s, original_max, beta_fast=32, beta_slow=1):
        r, t = ramp(D, base, s, original_max, beta_fast, beta_slow), R.rope_frequencies(D, base, dtype=torch.float64)
        return (t * (1 - r) + t / s * r).float()

    return mutant, S.yarn_temperature


def ramp_between(D, base, L, beta_fast, beta_slow):
    """The ramp as a learner's own gives it, also where its ends are exchanged."""
    index = lambda turns: D * math.log(L / (2 * math.pi * turns)) / (2 * math.log(base))
    low, high = max(math.floor(index(beta_fast)), 0), min(math.ceil(index(beta_slow)), D - 1)
    return ((torch.arange(D // 2, dtype=torch.float64) - low) / (high - low)).clamp(0, 1)


def base_not_handed_on(D, base, s, original_max, beta_fast=32, beta_slow=1):
    r, t = S.yarn_ramp(D, base, original_max, beta_fast, beta_slow), R.rope_frequencies(D)
    return (t * (1 - r) + t / s * r).float()


EXERCISE = Exercise(
    id="rope.yarn_frequencies",
    title="YaRN",
    points=2,
    difficulty=3,
    minutes=12,
    signature="yarn_frequencies(D, base, s, original_max, beta_fast=32, beta_slow=1)",
    targets=("yarn_frequencies", "yarn_temperature"),
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
            "betas_fixed",
            (
                lambda D, base, s, original_max, beta_fast=32, beta_slow=1: frequencies(D, base, s, original_max),
                S.yarn_temperature,
            ),
            "beta_fast and beta_slow have no effect: hand both on to yarn_ramp.",
        ),
        Mutant(
            "float64",
            (lambda *args, **kwargs: frequencies(*args, **kwargs).double(), S.yarn_temperature),
            "The frequencies are right, but they are float64. The text asks for float32.",
        ),
        Mutant(
            "temperature_itself",
            (frequencies, lambda s: 1 / S.yarn_temperature(s) ** 2),
            "This is t itself, smaller than 1. The factor on queries and keys is √(1/t) = 0.1·ln s + 1.",
        ),
        Mutant(
            "one_inside",
            (frequencies, lambda s: 0.1 * math.log(s + 1)),
            "The 1 stands inside of the logarithm. It is added at the end: 0.1·ln s + 1.",
        ),
        Mutant(
            "tenth_of_all",
            (frequencies, lambda s: 0.1 * (math.log(s) + 1)),
            "The 0.1 multiplies the 1 as well. It belongs to the logarithm alone: without stretching the factor is 1.",
        ),
        Mutant(
            "no_one",
            (frequencies, lambda s: 0.1 * math.log(s)),
            "The factor lacks its + 1: without stretching (s = 1) it must be 1, not 0.",
        ),
        Mutant(
            "log_ten",
            (frequencies, lambda s: 0.1 * math.log10(s) + 1),
            "The factor uses log₁₀. It is the natural logarithm: math.log.",
        ),
        Mutant(
            "squared",
            (frequencies, lambda s: S.yarn_temperature(s) ** 2),
            "This is 1/t, the factor on the scores. It is applied to q and to k, so each gets its root, √(1/t): "
            "0.1·ln s + 1.",
        ),
        Mutant(
            "stretched_length",
            _ramped(lambda D, base, s, L, fast, slow: S.yarn_ramp(D, base, s * L, fast, slow)),
            "The ramp gets the stretched length s·L. It belongs to the trained one: hand original_max on as it is.",
        ),
        Mutant(
            "betas_exchanged",
            _ramped(lambda D, base, s, L, fast, slow: ramp_between(D, base, L, slow, fast)),
            "The two betas are handed on in the wrong order. It is yarn_ramp(D, base, original_max, beta_fast, "
            "beta_slow).",
        ),
        Mutant(
            "fast_fixed",
            _ramped(lambda D, base, s, L, fast, slow: S.yarn_ramp(D, base, L, beta_slow=slow)),
            "beta_fast has no effect: hand both betas on to yarn_ramp.",
        ),
        Mutant(
            "slow_fixed",
            _ramped(lambda D, base, s, L, fast, slow: S.yarn_ramp(D, base, L, beta_fast=fast)),
            "beta_slow has no effect: hand both betas on to yarn_ramp.",
        ),
        Mutant(
            "ramp_base_fixed",
            _ramped(lambda D, base, s, L, fast, slow: S.yarn_ramp(D, 10000.0, L, fast, slow)),
            "The ramp belongs to base 10,000 whatever the base is. Hand base on to yarn_ramp.",
        ),
        Mutant(
            "base_not_handed_on",
            (base_not_handed_on, S.yarn_temperature),
            "The frequencies belong to base 10,000 whatever the base is: rope_frequencies(D, base).",
        ),
        Mutant(
            "not_stretched",
            (_yarn(lambda t, r, s: t), S.yarn_temperature),
            "These are the frequencies of RoPE, not stretched at all. Mix θ and θ/s by the ramp.",
        ),
        Mutant(
            "ramp_itself",
            (_yarn(lambda t, r, s: t * (1 - r) + r / s), S.yarn_temperature),
            "The second term lacks θ: it is θ/s·ramp.",
        ),
        Mutant(
            "keep_part_missing",
            (_yarn(lambda t, r, s: t / s * r), S.yarn_temperature),
            "The kept part is missing, so fast pairs do not turn. Add θ·(1 − ramp).",
        ),
        Mutant(
            "kept_whole",
            (_yarn(lambda t, r, s: t + t / s * r), S.yarn_temperature),
            "θ is kept whole and θ/s·ramp is added, so slow pairs turn too fast. The kept part is θ·(1 − ramp).",
        ),
        Mutant(
            "bracket_missing",
            (_yarn(lambda t, r, s: t * 1 - r + t / s * r), S.yarn_temperature),
            "A bracket is missing: the ramp is subtracted from θ. The kept part is θ·(1 − ramp).",
        ),
        Mutant(
            "powers_mixed",
            (_yarn(lambda t, r, s: t / s**r), S.yarn_temperature),
            "This divides θ by a power of s. The mix is linear: θ·(1 − ramp) + θ/s·ramp.",
        ),
        Mutant(
            "divisors_mixed",
            (_yarn(lambda t, r, s: t / (1 + r * s)), S.yarn_temperature),
            "The ramp is mixed into the divisor. The frequencies are mixed: θ·(1 − ramp) + θ/s·ramp.",
        ),
        Mutant(
            "temperature_tensor",
            (frequencies, lambda s: torch.tensor(S.yarn_temperature(s))),
            "The factor is right, but it is a torch tensor. A Python float is asked for: use math.log.",
        ),
        Mutant(
            "temperature_inverse",
            (frequencies, lambda s: 1 / S.yarn_temperature(s)),
            "This is √t, smaller than 1. The factor on queries and keys is √(1/t) = 0.1·ln s + 1, without a fraction.",
        ),
        Mutant(
            "root_again",
            (frequencies, lambda s: S.yarn_temperature(s) ** 0.5),
            "The root is taken once more. 0.1·ln s + 1 is √(1/t) already.",
        ),
        Mutant(
            "tenth_forgotten",
            (frequencies, lambda s: math.log(s) + 1),
            "The factor 0.1 is missing: it is 0.1·ln s + 1.",
        ),
        Mutant(
            "no_log",
            (frequencies, lambda s: 0.1 * s + 1),
            "The logarithm is missing: it is 0.1·ln s + 1, which is 1 for s = 1.",
        ),
        Mutant(
            "log_two",
            (frequencies, lambda s: 0.1 * math.log2(s) + 1),
            "The factor uses log₂. It is the natural logarithm: math.log.",
        ),
        Mutant(
            "temperature_falls",
            (frequencies, lambda s: 1 - 0.1 * math.log(s)),
            "The logarithm is subtracted, so the factor falls below 1. It is 0.1·ln s + 1: longer texts need sharper "
            "scores.",
        ),
        Mutant(
            "always_one",
            (frequencies, lambda s: 1.0),
            "The factor is always 1, as if nothing were stretched. It grows with the logarithm of s, and is 1 only "
            "where s is 1.",
        ),
        Mutant(
            "inverse_root",
            (frequencies, lambda s: S.yarn_temperature(s) ** -0.5),
            "The fraction and the root are taken, but of what holds both already: √(1/t) itself is a tenth of a "
            "logarithm, plus 1.",
        ),
        Mutant(
            "log_of_one_more",
            (frequencies, lambda s: 0.1 * math.log(s + 1) + 1),
            "The logarithm is taken of s + 1, so the factor is too large, also without stretching. What must stand "
            "inside, so that s = 1 gives 1?",
        ),
    ],
)

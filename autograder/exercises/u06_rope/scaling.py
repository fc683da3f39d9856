"""Stretching the context: position interpolation, NTK-aware bases, YaRN."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import rope as R
from autograder.reference import rope_scaling as S

UNIT = "06-rope"


def interpolation(position_ids, s):
    # The reference answers in float64; a learner's division of integers gives float32.
    return S.position_interpolation(position_ids, s).float()


def ramp(D, base, original_max, beta_fast=32, beta_slow=1):
    return S.yarn_ramp(D, base, original_max, beta_fast, beta_slow).float()


# -- PI, NTK, dynamic NTK -------------------------------------------------------------------------------------------


def ntk_by_log(base, s, D):
    return math.exp(math.log(base) + D / (D - 2) * math.log(s))


def dynamic_by_branch(base, D, seq_len, max_position):
    return base if seq_len <= max_position else ntk_by_log(base, seq_len / max_position, D)


def dynamic(base, D, seq_len, max_position):
    return S.dynamic_ntk_base(base, D, seq_len, max_position)


def dynamic_unclipped(base, D, seq_len, max_position):
    return base * (seq_len / max_position) ** (D / (D - 2))


def _with(pi=interpolation, ntk=S.ntk_base, dyn=dynamic):
    return (pi, ntk, dyn)


def _ntk(exponent):
    f = lambda base, s, D: base * s ** exponent(D)
    return _with(ntk=f, dyn=lambda base, D, seq_len, max_position: f(base, max(seq_len / max_position, 1.0), D))


BASES = Exercise(
    id="rope.stretch",
    unit=UNIT,
    title="Three ways to stretch",
    points=3,
    difficulty=2,
    minutes=15,
    signature="position_interpolation(position_ids, s)",
    targets=("position_interpolation", "ntk_base", "dynamic_ntk_base"),
    reference=_with(),
    alternatives=[(lambda position_ids, s: position_ids.float() * (1 / s), ntk_by_log, dynamic_by_branch)],
    cases=[
        Case("squeezed", "positions 0 … 7 squeezed by 4 into 0 … 1.75", lambda g: Program().call(torch.arange(8), 4.0)),
        Case(
            "small ntk",
            "base 100, s = 4, D = 4: the exponent 4/2 gives 1,600",
            lambda g: Program().call(100.0, 4.0, 4, fn="ntk_base"),
        ),
        Case(
            "llama ntk",
            "base 10,000, s = 8, D = 128: 82,684.6",
            lambda g: Program().call(10000.0, 8.0, 128, fn="ntk_base"),
        ),
        Case(
            "dynamic",
            "trained on 2,048: s = 2 for 4,096 tokens, and the base stays as it is for 500",
            lambda g: (
                Program()
                .call(10000.0, 64, 4096, 2048, fn="dynamic_ntk_base")
                .call(10000.0, 64, 500, 2048, fn="dynamic_ntk_base")
            ),
        ),
        Case(
            "batch",
            "positions of shape (B, T) and a factor that is no whole number",
            lambda g: Program().call(g.integers(0, 500, 2, 5), g.number(1.2, 6.0)),
        ),
    ],
    mutants=[
        Mutant(
            "stretched",
            _with(pi=lambda position_ids, s: (position_ids * s).float()),
            "The positions are multiplied by s. Interpolation squeezes them: divide.",
        ),
        Mutant(
            "whole_positions",
            _with(pi=lambda position_ids, s: (position_ids // s).float()),
            "The positions were rounded down to whole numbers, so that neighbors share a place. Fractions are fine: "
            "a turn by 0.25·θ exists.",
        ),
        Mutant(
            "rounded_positions",
            _with(pi=lambda position_ids, s: (position_ids / s).round()),
            "The positions were rounded. A turn by a quarter of a step exists: leave the fractions.",
        ),
        Mutant(
            "dynamic_times_s",
            _with(dyn=lambda base, D, seq_len, max_position: base * max(seq_len / max_position, 1.0)),
            "In dynamic_ntk_base the base is multiplied by s itself. Call your ntk_base with this s.",
        ),
        Mutant(
            "ntk_times_s",
            _ntk(lambda D: 1),
            "The base is multiplied by s. The slowest pair has exponent (D − 2)/D, so raise s to D/(D − 2).",
        ),
        Mutant(
            "ntk_exponent_inverted",
            _ntk(lambda D: (D - 2) / D),
            "The exponent is upside down: D/(D − 2), a little more than 1.",
        ),
        Mutant(
            "dynamic_unclipped",
            _with(dyn=dynamic_unclipped),
            "For texts shorter than the training length the base shrinks. There s is 1: take the larger of seq_len "
            "and max_position.",
        ),
    ],
)


# -- YaRN's ramp ----------------------------------------------------------------------------------------------------


def ramp_by_loop(D, base, original_max, beta_fast=32, beta_slow=1):
    index = lambda turns: D / 2 * math.log(original_max / (2 * math.pi * turns), base)
    low, high = max(math.floor(index(beta_fast)), 0), min(math.ceil(index(beta_slow)), D - 1)
    return torch.tensor([min(max((i - low) / (high - low), 0.0), 1.0) for i in range(D // 2)])


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


RAMP = Exercise(
    id="rope.yarn_ramp",
    unit=UNIT,
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
            "other values of beta_fast and beta_slow",
            lambda g: call(
                2 * g.integer(24, 48),
                10000.0,
                g.integer(2_000, 9_000),
                beta_fast=g.integer(12, 24),
                beta_slow=g.integer(2, 4),
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


# -- YaRN's frequencies and temperature -----------------------------------------------------------------------------


def yarn_by_where(D, base, s, original_max, beta_fast=32, beta_slow=1):
    keep = 1 - ramp_by_loop(D, base, original_max, beta_fast, beta_slow)
    return R.rope_frequencies(D, base) * (keep + (1 - keep) / s)


def _yarn(f):
    def mutant(D, base, s, original_max, beta_fast=32, beta_slow=1):
        r = S.yarn_ramp(D, base, original_max, beta_fast, beta_slow)
        return f(R.rope_frequencies(D, base, dtype=torch.float64), r, s).float()

    return mutant


YARN = Exercise(
    id="rope.yarn_frequencies",
    unit=UNIT,
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
            "a base of 500,000 and a factor that is no whole number",
            lambda g: call(64, 500000.0, g.number(2.0, 9.0), 8192),
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


# -- apply_scaled_rope ----------------------------------------------------------------------------------------------


def scaled_by_tables(x, position_ids, frequencies, temperature=1.0):
    wide = torch.promote_types(x.dtype, torch.float32)
    angle = R.rope_angles(position_ids, frequencies.to(wide)).repeat_interleave(2, -1)
    partner = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
    return (temperature * (x * angle.cos() + partner * angle.sin())).to(x.dtype)


def scaled_by_complex(x, position_ids, frequencies, temperature=1.0):
    wide = torch.promote_types(x.dtype, torch.float32)
    angle = R.rope_angles(position_ids, frequencies.to(wide))
    z = torch.view_as_complex(x.to(wide).unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(z * torch.polar(torch.full_like(angle, temperature), angle)).flatten(-2).to(x.dtype)


def _fractions(g):
    ids = torch.arange(5) / 4
    return call(g.randn(1, 2, 5, 6), ids, R.rope_frequencies(6, 100.0))


SCALED = Exercise(
    id="rope.apply_scaled_rope",
    unit=UNIT,
    title="RoPE with any frequencies",
    points=2,
    difficulty=2,
    minutes=10,
    signature="apply_scaled_rope(x, position_ids, frequencies, temperature=1.0)",
    extension=True,
    reference=S.apply_scaled_rope,
    alternatives=[scaled_by_tables, scaled_by_complex],
    cases=[
        Case(
            "one pair",
            "(1, 0) at position 2 with θ = 0.5 and temperature 3: three times (cos 1, sin 1)",
            lambda g: call(torch.tensor([1.0, 0.0]).reshape(1, 1, 1, 2), torch.tensor([2]), torch.tensor([0.5]), 3.0),
        ),
        Case(
            "given frequencies",
            "three frequencies that no base gives, positions (B, T)",
            lambda g: call(g.randn(2, 2, 4, 6), g.integers(1, 60, 2, 4), g.uniform(3, low=0.05, high=0.9)),
            weight=2,
        ),
        Case("fractions", "interpolated positions 0, 0.25, 0.5, …", _fractions),
        Case(
            "temperature",
            "a temperature of 1.14 on everything",
            lambda g: call(g.randn(1, 2, 3, 4), torch.tensor([1, 5, 9]), g.uniform(2, low=0.1, high=0.9), 1.14),
        ),
        Case(
            "float16",
            "float16 goes in, float16 comes out",
            lambda g: call(
                g.randn(1, 2, 3, 4, dtype=torch.float16), torch.tensor([1, 5, 9]), g.uniform(2, low=0.1, high=0.9), 1.25
            ),
        ),
    ],
    mutants=[
        Mutant(
            "own_frequencies",
            lambda x, position_ids, frequencies, temperature=1.0: temperature * R.apply_rope(x, position_ids),
            "The frequencies are computed from base 10,000 again. Use the ones that are handed in.",
        ),
        Mutant(
            "temperature_ignored",
            lambda x, position_ids, frequencies, temperature=1.0: S.apply_scaled_rope(x, position_ids, frequencies),
            "The temperature is ignored: multiply the result by it.",
        ),
        Mutant(
            "temperature_divides",
            lambda x, position_ids, frequencies, temperature=1.0: S.apply_scaled_rope(
                x, position_ids, frequencies, 1 / temperature
            ),
            "The temperature divides. Here it is a factor: longer texts need sharper scores.",
        ),
        Mutant(
            "whole_positions",
            lambda x, position_ids, frequencies, temperature=1.0: S.apply_scaled_rope(
                x, position_ids.long(), frequencies, temperature
            ),
            "Positions are rounded to whole numbers. Interpolated positions are fractions.",
        ),
        Mutant(
            "temperature_in_angle",
            lambda x, position_ids, frequencies, temperature=1.0: S.apply_scaled_rope(
                x, position_ids, frequencies * temperature
            ),
            "The temperature multiplies the angle. It multiplies the rotated vector.",
        ),
        Mutant(
            "promoted",
            lambda x, position_ids, frequencies, temperature=1.0: S.apply_scaled_rope(
                x.to(torch.promote_types(x.dtype, torch.float32)), position_ids, frequencies, temperature
            ),
            "float16 went in and float32 came out. Cast the result back to x.dtype.",
        ),
    ],
)

EXERCISES = [BASES, RAMP, YARN, SCALED]

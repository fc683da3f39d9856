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


def _rounded(
    low=lambda v, D: max(math.floor(v), 0), high=lambda v, D: min(math.ceil(v), D - 1), scale=1.0, turns=math.tau
):
    """The ramp with other ends, a factor on both indices, or another length of a turn."""

    def mutant(D, base, original_max, beta_fast=32, beta_slow=1):
        index = lambda beta: scale * D * math.log(original_max / (turns * beta)) / (2 * math.log(base))
        start, end = low(index(beta_fast), D), high(index(beta_slow), D)
        return _between(torch.arange(D // 2, dtype=torch.float64), start, end).float()

    return mutant


def ramp_linear_in_turns(D, base, original_max, beta_fast=32, beta_slow=1):
    turns = original_max * R.rope_frequencies(D, base, dtype=torch.float64) / (2 * math.pi)
    return (1 - ((turns - beta_slow) / (beta_fast - beta_slow)).clamp(0, 1)).float()


def _indexed(i):
    """The ramp with another formula for the index, of (D, base, L, turns)."""

    def mutant(D, base, original_max, beta_fast=32, beta_slow=1):
        low = max(math.floor(i(D, base, original_max, beta_fast)), 0)
        high = min(math.ceil(i(D, base, original_max, beta_slow)), D - 1)
        return _between(torch.arange(D // 2, dtype=torch.float64), low, high).float()

    return mutant


def _ended(f):
    """The ramp made by ``f`` of (indices, low, high, D), with the right ends."""
    return _ramp(lambda i, low, high, D: f(i, max(math.floor(low), 0), min(math.ceil(high), D - 1), D))


EXERCISE = Exercise(
    id="rope.yarn_ramp",
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
                    beta_fast=g.integer(8, 16),
                    beta_slow=g.integer(2, 4),
                ),
            ),
        ),
        Case(
            "beside a pair",
            "trained on 2,290 and on 2,330: pair 17 turns just below and just above 32 times",
            lambda g: call(128, 10000.0, 2290).call(128, 10000.0, 2330),
        ),
        Case(
            "other base",
            "two other bases, with the usual 32 turns and 1",
            lambda g: several(
                2, lambda p: p.call(2 * g.integer(24, 48), g.number(500, 5e5, 1), g.integer(2_000, 9_000))
            ),
        ),
        Case(
            "long training",
            "so small a base that even the slowest pairs turn often: the high end is limited to D − 1",
            lambda g: several(2, lambda p: p.call(2 * g.integer(4, 9), g.number(8, 12), g.integer(700, 900))),
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
            _ramp(lambda i, low, high, D: _between(i, max(round(low), 0), min(round(high), D - 1))),
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
            _ramp(lambda i, low, high, D: (i >= (max(math.floor(low), 0) + min(math.ceil(high), D - 1)) / 2).double()),
            "This is a step. Between its two ends the ramp rises evenly.",
        ),
        Mutant(
            "low_not_limited",
            _ramp(lambda i, low, high, D: _between(i, math.floor(low), min(math.ceil(high), D - 1))),
            "The low end is below 0 for a short training length. Limit it: max(low, 0).",
        ),
        Mutant(
            "high_not_limited",
            _rounded(high=lambda v, D: math.ceil(v)),
            "The high end is beyond D − 1 for a long training length or a small base. Limit it: min(high, D − 1).",
        ),
        Mutant(
            "high_limited_to_pairs",
            _rounded(high=lambda v, D: min(math.ceil(v), D // 2 - 1)),
            "The high end is limited to the last pair, D/2 − 1. The text, like the authors' code, limits it to D − 1.",
        ),
        Mutant(
            "rounded_inwards",
            _rounded(low=lambda v, D: max(math.ceil(v), 0), high=lambda v, D: min(math.floor(v), D - 1)),
            "The ends are rounded inwards. Round outwards: math.floor for low, math.ceil for high.",
        ),
        Mutant(
            "betas_fixed",
            lambda D, base, original_max, beta_fast=32, beta_slow=1: ramp(D, base, original_max),
            "beta_fast and beta_slow have no effect: 32 and 1 are written in. Use the arguments.",
        ),
        Mutant(
            "base_fixed",
            lambda D, base, original_max, beta_fast=32, beta_slow=1: ramp(
                D, 10000.0, original_max, beta_fast, beta_slow
            ),
            "The base is fixed at 10,000. Use the argument in i(r).",
        ),
        Mutant(
            "two_forgotten",
            _rounded(scale=2.0),
            "The indices are twice as large as they should be: i(r) is divided by 2·ln(base).",
        ),
        Mutant(
            "full_turn_forgotten",
            _rounded(turns=1.0),
            "The 2π is missing in i(r): r turns are 2π·r radians, so it is ln(L/(2πr)).",
        ),
        Mutant(
            "linear_in_turns",
            ramp_linear_in_turns,
            "This ramp is linear in the number of turns, as a formula of the paper reads. The exercise, like the "
            "authors' code, asks for one that is linear in the pair's index.",
        ),
        Mutant(
            "betas_exchanged",
            lambda D, base, original_max, beta_fast=32, beta_slow=1: _rounded()(
                D, base, original_max, beta_slow, beta_fast
            ),
            "The two betas are exchanged. low comes from beta_fast and high from beta_slow: pairs with many turns "
            "have the small indices.",
        ),
        Mutant(
            "one_per_feature",
            _ended(lambda i, low, high, D: _between(torch.arange(D).double(), low, high)),
            "The ramp has D entries. There is one for each pair: torch.arange(D // 2).",
        ),
        Mutant(
            "pairs_from_one",
            _ended(lambda i, low, high, D: _between(i + 1, low, high)),
            "The pairs are counted from 1. They count from 0: torch.arange(D // 2).",
        ),
        Mutant(
            "clamped_below_only",
            _ended(lambda i, low, high, D: ((i - low) / (high - low)).clamp(min=0)),
            "The ramp runs above 1. Limit it at both ends: clamp(0, 1).",
        ),
        Mutant(
            "clamped_above_only",
            _ended(lambda i, low, high, D: ((i - low) / (high - low)).clamp(max=1)),
            "The ramp runs below 0. Limit it at both ends: clamp(0, 1).",
        ),
        Mutant(
            "one_too_wide",
            _ended(lambda i, low, high, D: ((i - low) / (high - low + 1)).clamp(0, 1)),
            "The ramp is one pair too wide. It reaches 1 at high: divide by high − low.",
        ),
        Mutant(
            "whole_numbers",
            _ended(lambda i, low, high, D: ((i - low) // (high - low)).clamp(0, 1)),
            "Between its ends the ramp stays 0, because // rounds down. Divide with /.",
        ),
        Mutant(
            "both_rounded_down",
            _rounded(high=lambda v, D: min(math.floor(v), D - 1)),
            "The high end is rounded down. Round outwards: math.floor for low, math.ceil for high.",
        ),
        Mutant(
            "both_rounded_up",
            _rounded(low=lambda v, D: max(math.ceil(v), 0)),
            "The low end is rounded up. Round outwards: math.floor for low, math.ceil for high.",
        ),
        Mutant(
            "high_limited_to_D",
            _rounded(high=lambda v, D: min(math.ceil(v), D)),
            "The high end is limited to D. The text, like the authors' code, limits it to D − 1.",
        ),
        Mutant(
            "high_limited_to_half",
            _rounded(high=lambda v, D: min(math.ceil(v), D // 2)),
            "The high end is limited to D/2. The text, like the authors' code, limits it to D − 1.",
        ),
        Mutant(
            "limits_exchanged",
            _rounded(low=lambda v, D: min(math.floor(v), 0), high=lambda v, D: max(math.ceil(v), D - 1)),
            "max and min are exchanged. low is at least 0: max(…, 0); high is at most D − 1: min(…, D − 1).",
        ),
        Mutant(
            "base_log_missing",
            _indexed(lambda D, base, L, r: D * math.log(L / (2 * math.pi * r)) / 2),
            "The index is not divided by ln(base). It is D·ln(L/(2πr)) / (2·ln(base)).",
        ),
        Mutant(
            "denominator_bracket_missing",
            _indexed(lambda D, base, L, r: D * math.log(L / (2 * math.pi * r)) / 2 * math.log(base)),
            "ln(base) multiplies in place of dividing: / 2 * math.log(base) needs brackets, / (2 * math.log(base)).",
        ),
        Mutant(
            "turn_bracket_missing",
            _indexed(lambda D, base, L, r: D * math.log(L / 2 * math.pi * r) / (2 * math.log(base))),
            "π and r multiply in place of dividing: L / 2 * math.pi * r needs brackets, L / (2 * math.pi * r).",
        ),
        Mutant(
            "turns_above",
            _indexed(lambda D, base, L, r: D * math.log(2 * math.pi * r / L) / (2 * math.log(base))),
            "The fraction in the logarithm is upside down. It is L/(2πr), so that pairs with many turns come first.",
        ),
        Mutant(
            "half_turns",
            _rounded(turns=math.pi),
            "The 2 of 2π is missing in i(r): r turns are 2π·r radians, so it is ln(L/(2πr)).",
        ),
        Mutant(
            "common_log",
            _indexed(lambda D, base, L, r: D * math.log10(L / (2 * math.pi * r)) / (2 * math.log(base))),
            "Two kinds of logarithm are mixed. Both are natural ones in i(r): math.log.",
        ),
        Mutant(
            "length_alone",
            _indexed(lambda D, base, L, r: D * math.log(L / r) / (2 * math.log(base * 2 * math.pi))),
            "The 2π stands beside the base. It belongs to the turns: ln(L/(2πr)), divided by 2·ln(base).",
        ),
    ],
)

"""YaRN's ramp between kept and stretched frequencies."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several
from autograder.reference import rope_scaling as S

from .shared import ramp_by_loop


def ramp(D, base, original_max, beta_fast=32, beta_slow=1):
    return S.yarn_ramp(D, base, original_max, beta_fast, beta_slow).float()


def yarn_ramp(D, base, original_max, beta_fast=32, beta_slow=1):
    index = lambda turns: D * math.log(original_max / (2 * math.pi * turns)) / (2 * math.log(base))
    low = max(math.floor(index(beta_fast)), 0)
    high = min(math.ceil(index(beta_slow)), D - 1)
    pair = torch.arange(D // 2, dtype=torch.float64)
    return ((pair - low) / (high - low)).clamp(0, 1).float()


MISTAKES = changes(
    yarn_ramp,
    """
reversed: return → return 1 -
    The ramp runs the wrong way: 0 for fast pairs, which stay, and 1 for slow ones, which are squeezed.
not_rounded: math.floor(index(beta_fast)) → index(beta_fast) ; math.ceil(index(beta_slow)) → index(beta_slow)
    The ends of the ramp are not rounded. Round the low end down and the high end up to whole indices.
rounded_to_nearest: math.floor → round ; math.ceil → round
    The ends are rounded to the nearest index. Round low down and high up: math.floor and math.ceil.
not_clamped: .clamp(0, 1) →
    The ramp runs below 0 and above 1. Clamp it to [0, 1].
step: ((pair - low) / (high - low)).clamp(0, 1) → (pair >= (low + high) / 2)
    This is a step. Between its two ends the ramp rises evenly.
low_not_limited: max(math.floor(index(beta_fast)), 0) → math.floor(index(beta_fast))
    The low end is below 0 for a short training length. Limit it: max(low, 0).
high_not_limited: min(math.ceil(index(beta_slow)), D - 1) → math.ceil(index(beta_slow))
    The high end is beyond D − 1 for a long training length or a small base. Limit it: min(high, D − 1).
high_limited_to_pairs: D - 1 → D // 2 - 1
    The high end is limited to the last pair, D/2 − 1. The text, like the authors' code, limits it to D − 1.
rounded_inwards: math.floor(index(beta_fast)) → math.ceil(index(beta_fast))
; math.ceil(index(beta_slow)) → math.floor(index(beta_slow))
    The ends are rounded inwards. Round outwards: math.floor for low, math.ceil for high.
betas_fixed: index(beta_fast) → index(32) ; index(beta_slow) → index(1)
    beta_fast and beta_slow have no effect: 32 and 1 are written in. Use the arguments.
base_fixed: math.log(base) → math.log(10000.0)
    The base is fixed at 10,000. Use the argument in i(r).
two_forgotten: (2 * math.log(base)) → math.log(base)
    The indices are twice as large as they should be: i(r) is divided by 2·ln(base).
full_turn_forgotten: (2 * math.pi * turns) → turns
    The 2π is missing in i(r): r turns are 2π·r radians, so it is ln(L/(2πr)).
linear_in_turns: return → turns = original_max / (2 * math.pi) * base ** (-2 * pair / D); return
; ((pair - low) / (high - low)).clamp(0, 1) → (1 - ((turns - beta_slow) / (beta_fast - beta_slow)).clamp(0, 1))
    This ramp is linear in the number of turns, as a formula of the paper reads. The exercise, like the authors'
    code, asks for one that is linear in the pair's index.
betas_exchanged: math.floor(index(beta_fast)) → math.floor(index(beta_slow))
; math.ceil(index(beta_slow)) → math.ceil(index(beta_fast))
    The two betas are exchanged. low comes from beta_fast and high from beta_slow: pairs with many turns have the
    small indices.
one_per_feature: D // 2 → D
    The ramp has D entries. There is one for each pair: torch.arange(D // 2).
pairs_from_one: pair - low → pair + 1 - low
    The pairs are counted from 1. They count from 0: torch.arange(D // 2).
clamped_below_only: clamp(0, 1) → clamp(min=0)
    The ramp runs above 1. Limit it at both ends: clamp(0, 1).
clamped_above_only: clamp(0, 1) → clamp(max=1)
    The ramp runs below 0. Limit it at both ends: clamp(0, 1).
one_too_wide: (high - low) → (high - low + 1)
    The ramp is one pair too wide. It reaches 1 at high: divide by high − low.
whole_numbers: / (high - low) → // (high - low)
    Between its ends the ramp stays 0, because // rounds down. Divide with /.
both_rounded_down: math.ceil → math.floor
    The high end is rounded down. Round outwards: math.floor for low, math.ceil for high.
both_rounded_up: math.floor → math.ceil
    The low end is rounded up. Round outwards: math.floor for low, math.ceil for high.
high_limited_to_D: D - 1 → D
    The high end is limited to D. The text, like the authors' code, limits it to D − 1.
high_limited_to_half: D - 1 → D // 2
    The high end is limited to D/2. The text, like the authors' code, limits it to D − 1.
limits_exchanged: low = max → low = min ; high = min → high = max
    max and min are exchanged. low is at least 0: max(…, 0); high is at most D − 1: min(…, D − 1).
base_log_missing: (2 * math.log(base)) → 2
    The index is not divided by ln(base). It is D·ln(L/(2πr)) / (2·ln(base)).
denominator_bracket_missing: (2 * math.log(base)) → 2 * math.log(base)
    ln(base) multiplies in place of dividing: / 2 * math.log(base) needs brackets, / (2 * math.log(base)).
turn_bracket_missing: (2 * math.pi * turns) → 2 * math.pi * turns
    π and r multiply in place of dividing: L / 2 * math.pi * r needs brackets, L / (2 * math.pi * r).
turns_above: original_max / (2 * math.pi * turns) → 2 * math.pi * turns / original_max
    The fraction in the logarithm is upside down. It is L/(2πr), so that pairs with many turns come first.
half_turns: 2 * math.pi → math.pi
    The 2 of 2π is missing in i(r): r turns are 2π·r radians, so it is ln(L/(2πr)).
common_log: math.log(original_max → math.log10(original_max
    Two kinds of logarithm are mixed. Both are natural ones in i(r): math.log.
length_alone: (2 * math.pi * turns) → turns ; math.log(base) → math.log(base * 2 * math.pi)
    The 2π stands beside the base. It belongs to the turns: ln(L/(2πr)), divided by 2·ln(base).
""",
)

EXERCISE = Exercise(
    id="rope.yarn_ramp",
    title="YaRN's ramp",
    points=3,
    difficulty=4,
    minutes=20,
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
    mutants=MISTAKES,
    equivalent="""
D is even: arange counts the same numbers up to the float D/2
    d05ba3ecbb solution, arithmetic: D // 2 → D / 2
only even sizes get here: half of one is a whole number
    44cbcfbf13 solution, arithmetic: D // 2 rounded up
""",
)

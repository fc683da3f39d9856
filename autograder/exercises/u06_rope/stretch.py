"""Position interpolation, NTK and dynamic NTK."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, several
from autograder.reference import rope_scaling as S


def interpolation(position_ids, s):
    # The reference answers in float64; a learner's division of integers gives float32.
    return S.position_interpolation(position_ids, s).float()


def dynamic(base, D, seq_len, max_position):
    return S.dynamic_ntk_base(base, D, seq_len, max_position)


def position_interpolation(position_ids, s):
    return position_ids / s


def ntk_base(base, s, D):
    return base * s ** (D / (D - 2))


def dynamic_ntk_base(base, D, seq_len, max_position):
    return ntk_base(base, max(seq_len, max_position) / max_position, D)


def ntk_by_log(base, s, D):
    return math.exp(math.log(base) + D / (D - 2) * math.log(s))


def dynamic_by_branch(base, D, seq_len, max_position):
    return base if seq_len <= max_position else ntk_by_log(base, seq_len / max_position, D)


def _several_ntk(g: Source) -> Program:
    ask = lambda p: p.call(g.number(50, 9e5, 1), g.number(1.2, 9.0), 2 * g.integer(3, 65), fn="ntk_base")
    return several(2, ask)


def _several_dynamic(g: Source) -> Program:
    """Far beyond the trained length, one token beyond it, and below it; with three bases and sizes."""
    program = Program()
    for grown in (lambda L: L + g.integer(L // 2, 3 * L), lambda L: L + 1, lambda L: g.integer(1, L)):
        L = g.integer(40, 3000)
        program.call(g.number(50, 9e5, 1), 2 * g.integer(3, 65), grown(L), L, fn="dynamic_ntk_base")
    return program


MISTAKES = changes(
    (position_interpolation, ntk_base, dynamic_ntk_base),
    """
stretched: position_ids / s → position_ids * s
    The positions are multiplied by s. Interpolation squeezes them: divide.
whole_positions: position_ids / s → position_ids // s
    The positions were rounded down to whole numbers, so that neighbors share a position. Fractions are fine: a turn
    by 0.25·θ exists.
rounded_positions: position_ids / s → (position_ids / s).round()
    The positions were rounded. A turn by a quarter of a step exists: leave the fractions.
float64_places: position_ids / s → position_ids.double() / s
    The positions are right, but they are float64. The text asks for float32: position_ids.float() / s.
dynamic_whole: / max_position → // max_position
    In dynamic_ntk_base the ratio is rounded down to a whole number. Divide with /, not with //.
dynamic_inverted: max(seq_len, max_position) / max_position → max_position / max(seq_len, max_position)
    In dynamic_ntk_base the ratio is upside down: s is the length now over the trained length.
dynamic_one_more: max(seq_len, max_position) / max_position → 1 + max(seq_len, max_position) / max_position
    In dynamic_ntk_base s is too large by 1. It is seq_len / max_position, and 1 up to the trained length.
dynamic_times_s: ntk_base(base, max → base * (max ; max_position, D) → max_position)
    In dynamic_ntk_base the base is multiplied by s itself. Call your ntk_base with this s.
ntk_times_s: s ** (D / (D - 2)) → s
    The base is multiplied by s. The slowest pair has exponent (D − 2)/D, so raise s to D/(D − 2).
ntk_on_the_base: base * s ** → (base * s) **
    Base and s are both raised to a power. Only s is: base·s^(D/(D − 2)).
ntk_divided: base * s → base / s
    The base shrinks, so every pair turns faster. Multiply it by the power of s.
ntk_exponent_inverted: D / (D - 2) → (D - 2) / D
    The exponent is upside down: D/(D − 2), a little more than 1.
dynamic_unclipped: max(seq_len, max_position) → seq_len
    For texts shorter than the training length the base shrinks. There s is 1: take the larger of seq_len and
    max_position.
subtracted: position_ids / s → position_ids - s
    s is subtracted, which shifts the positions. Interpolation squeezes them: divide by s.
positions_unchanged: position_ids / s → position_ids.float()
    The positions come back as they went in: s is ignored. Divide them by s.
ntk_tensor: base * s ** (D / (D - 2)) → torch.tensor(base * s ** (D / (D - 2)))
    The base is right, but it is a torch tensor. A Python float is asked for: no torch is needed here.
ntk_power_first: s ** (D / (D - 2)) → s**D / (D - 2)
    s is raised to D, and the result divided by D − 2: ** comes before /. The exponent needs brackets: s ** (D / (D
    - 2)).
ntk_bracket_missing: D / (D - 2) → D / D - 2
    The exponent is D/D − 2 = −1: a bracket is missing. It is D/(D − 2), a little more than 1.
ntk_whole_exponent: D / (D - 2) → D // (D - 2)
    The exponent is rounded down to a whole number. Divide with /: D / (D - 2).
ntk_plus_two: D - 2 → D + 2
    The exponent is D/(D + 2). The slowest pair has exponent (D − 2)/D, so it is D/(D − 2), more than 1.
ntk_one_less: D - 2 → D - 1
    The exponent is D/(D − 1). The slowest of D/2 pairs has exponent (D − 2)/D, so s gets D/(D − 2).
ntk_s_ignored: base * s ** (D / (D - 2)) → base
    The base comes back unchanged, whatever s is. Multiply it by s to the power of D/(D − 2).
ntk_power_alone: base * s → s
    This is only the factor s^(D/(D − 2)). Multiply the base by it.
ntk_base_raised: base * s ** (D / (D - 2)) → base ** (D / (D - 2)) * s
    The base is raised to D/(D − 2) in place of s. It is base·s^(D/(D − 2)).
dynamic_smaller: max(seq_len, max_position) → min(seq_len, max_position)
    In dynamic_ntk_base the smaller of the two lengths counts, so longer texts are not stretched. Take max(seq_len,
    max_position) / max_position.
dynamic_rounded_up: max(seq_len, max_position) / max_position → math.ceil(max(seq_len, max_position) / max_position)
    In dynamic_ntk_base the ratio is rounded up to a whole number. It may be any number from 1 on.
dynamic_never: ntk_base(base, max(seq_len, max_position) / max_position, D) → base
    dynamic_ntk_base never changes the base. For texts longer than max_position call ntk_base with s = seq_len /
    max_position.
dynamic_ratio: ntk_base(base, max(seq_len, max_position) / max_position, D) → max(seq_len, max_position) / max_position
    dynamic_ntk_base returns the factor s. Return the base for it: ntk_base(base, s, D).
""",
)

EXERCISE = Exercise(
    id="rope.stretch",
    title="Three ways to stretch",
    points=3,
    difficulty=3,
    minutes=15,
    reference=(interpolation, S.ntk_base, dynamic),
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
            "other ntk",
            "two other bases, factors and sizes",
            _several_ntk,
        ),
        Case(
            "not stretched",
            "with s = 1 the base stays as it is",
            lambda g: Program().call(g.number(50, 9e5, 1), 1.0, 2 * g.integer(3, 65), fn="ntk_base"),
            weight=0,
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
            "other dynamic",
            "other bases, sizes and trained lengths: much longer, one token longer, and shorter",
            _several_dynamic,
            weight=2,
        ),
        Case(
            "batch",
            "positions of shape (B, T) and a factor that is no whole number",
            lambda g: Program().call(g.integers(0, 500, 2, 5), g.number(1.2, 6.0)),
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
positions are whole numbers: dividing int64 by a float gives float32
    f22229aa77 solution, call: position_ids.float() → position_ids
    9295e71ab6 alternative 1, call: position_ids.float() → position_ids
at the trained length s is 1, and a power of 1 leaves the base as it is
    b524ac74ef alternative 1, compare: seq_len <= max_position → seq_len < max_position
    17da5ae7d0 alternative 1, window: max_position - 1 in seq_len <= max_position
""",
)

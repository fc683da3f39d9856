"""Position interpolation, NTK and dynamic NTK."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, several
from autograder.reference import rope_scaling as S


def interpolation(position_ids, s):
    # The reference answers in float64; a learner's division of integers gives float32.
    return S.position_interpolation(position_ids, s).float()


def ntk_by_log(base, s, D):
    return math.exp(math.log(base) + D / (D - 2) * math.log(s))


def dynamic_by_branch(base, D, seq_len, max_position):
    return base if seq_len <= max_position else ntk_by_log(base, seq_len / max_position, D)


def dynamic(base, D, seq_len, max_position):
    return S.dynamic_ntk_base(base, D, seq_len, max_position)


def dynamic_unclipped(base, D, seq_len, max_position):
    return base * (seq_len / max_position) ** (D / (D - 2))


def dynamic_whole(base, D, seq_len, max_position):
    return S.ntk_base(base, max(seq_len // max_position, 1), D)


def dynamic_inverted(base, D, seq_len, max_position):
    return base * min(max_position / seq_len, 1.0) ** (D / (D - 2))


def dynamic_below_one(base, D, seq_len, max_position):
    return S.ntk_base(base, 1 + max(seq_len / max_position, 1.0), D)


def _several_ntk(g: Source) -> Program:
    ask = lambda p: p.call(g.number(50, 9e5, 1), g.number(1.2, 9.0), 2 * g.integer(3, 65), fn="ntk_base")
    return several(2, ask)


def _several_dynamic(g: Source) -> Program:
    """Far beyond the trained length, one place beyond it, and below it; with three bases and sizes."""
    program = Program()
    for grown in (lambda L: L + g.integer(L // 2, 3 * L), lambda L: L + 1, lambda L: g.integer(1, L)):
        L = g.integer(40, 3000)
        program.call(g.number(50, 9e5, 1), 2 * g.integer(3, 65), grown(L), L, fn="dynamic_ntk_base")
    return program


def _with(pi=interpolation, ntk=S.ntk_base, dyn=dynamic):
    return (pi, ntk, dyn)


def _ntk(exponent):
    return _ntk_of(lambda base, s, D: base * s ** exponent(D))


def _ntk_of(f):
    return _with(ntk=f, dyn=lambda base, D, seq_len, max_position: f(base, max(seq_len / max_position, 1.0), D))


def ntk_tensor(base, s, D):
    return torch.tensor(S.ntk_base(base, s, D))


def _dynamic_of(ratio):
    """dynamic_ntk_base with another s, without a check of it."""
    return _with(dyn=lambda base, D, n, L: base * ratio(n, L) ** (D / (D - 2)))


EXERCISE = Exercise(
    id="rope.stretch",
    title="Three ways to stretch",
    points=3,
    difficulty=3,
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
            "other bases, sizes and trained lengths: much longer, one place longer, and shorter",
            _several_dynamic,
            weight=2,
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
            "float64_places",
            _with(pi=lambda position_ids, s: position_ids.double() / s),
            "The places are right, but they are float64. The text asks for float32: position_ids.float() / s.",
        ),
        Mutant(
            "dynamic_whole",
            _with(dyn=dynamic_whole),
            "In dynamic_ntk_base the ratio is rounded down to a whole number. Divide with /, not with //.",
        ),
        Mutant(
            "dynamic_inverted",
            _with(dyn=dynamic_inverted),
            "In dynamic_ntk_base the ratio is upside down: s is the length now over the trained length.",
        ),
        Mutant(
            "dynamic_one_more",
            _with(dyn=dynamic_below_one),
            "In dynamic_ntk_base s is too large by 1. It is seq_len / max_position, and 1 up to the trained length.",
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
            "ntk_on_the_base",
            _ntk_of(lambda base, s, D: (base * s) ** (D / (D - 2))),
            "Base and s are both raised to a power. Only s is: base·s^(D/(D − 2)).",
        ),
        Mutant(
            "ntk_divided",
            _ntk_of(lambda base, s, D: base / s ** (D / (D - 2))),
            "The base shrinks, so every pair turns faster. Multiply it by the power of s.",
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
        Mutant(
            "subtracted",
            _with(pi=lambda position_ids, s: position_ids.float() - s),
            "s is subtracted, which shifts the positions. Interpolation squeezes them: divide by s.",
        ),
        Mutant(
            "positions_unchanged",
            _with(pi=lambda position_ids, s: position_ids.float()),
            "The positions come back as they went in: s is ignored. Divide them by s.",
        ),
        Mutant(
            "ntk_tensor",
            _ntk_of(ntk_tensor),
            "The base is right, but it is a torch tensor. A Python float is asked for: no torch is needed here.",
        ),
        Mutant(
            "ntk_power_first",
            _ntk_of(lambda base, s, D: base * s**D / (D - 2)),
            "s is raised to D, and the result divided by D − 2: ** comes before /. The exponent needs brackets: "
            "s ** (D / (D - 2)).",
        ),
        Mutant(
            "ntk_bracket_missing",
            _ntk_of(lambda base, s, D: base * s ** (D / D - 2)),
            "The exponent is D/D − 2 = −1: a bracket is missing. It is D/(D − 2), a little more than 1.",
        ),
        Mutant(
            "ntk_whole_exponent",
            _ntk_of(lambda base, s, D: base * float(s) ** (D // (D - 2))),
            "The exponent is rounded down to a whole number. Divide with /: D / (D - 2).",
        ),
        Mutant(
            "ntk_plus_two",
            _ntk(lambda D: D / (D + 2)),
            "The exponent is D/(D + 2). The slowest pair has exponent (D − 2)/D, so it is D/(D − 2), more than 1.",
        ),
        Mutant(
            "ntk_one_less",
            _ntk(lambda D: D / (D - 1)),
            "The exponent is D/(D − 1). The slowest of D/2 pairs has exponent (D − 2)/D, so s gets D/(D − 2).",
        ),
        Mutant(
            "ntk_s_ignored",
            _ntk_of(lambda base, s, D: base),
            "The base comes back unchanged, whatever s is. Multiply it by s to the power of D/(D − 2).",
        ),
        Mutant(
            "ntk_power_alone",
            _ntk_of(lambda base, s, D: s ** (D / (D - 2))),
            "This is only the factor s^(D/(D − 2)). Multiply the base by it.",
        ),
        Mutant(
            "ntk_base_raised",
            _ntk_of(lambda base, s, D: base ** (D / (D - 2)) * s),
            "The base is raised to D/(D − 2) in place of s. It is base·s^(D/(D − 2)).",
        ),
        Mutant(
            "dynamic_smaller",
            _dynamic_of(lambda n, L: min(n, L) / L),
            "In dynamic_ntk_base the smaller of the two lengths counts, so longer texts are not stretched. Take "
            "max(seq_len, max_position) / max_position.",
        ),
        Mutant(
            "dynamic_rounded_up",
            _dynamic_of(lambda n, L: math.ceil(max(n, L) / L)),
            "In dynamic_ntk_base the ratio is rounded up to a whole number. It may be any number from 1 on.",
        ),
        Mutant(
            "dynamic_never",
            _with(dyn=lambda base, D, n, L: base),
            "dynamic_ntk_base never changes the base. For texts longer than max_position call ntk_base with "
            "s = seq_len / max_position.",
        ),
        Mutant(
            "dynamic_ratio",
            _with(dyn=lambda base, D, n, L: max(n / L, 1.0)),
            "dynamic_ntk_base returns the factor s. Return the base for it: ntk_base(base, s, D).",
        ),
    ],
)

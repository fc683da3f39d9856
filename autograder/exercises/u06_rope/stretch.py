"""Position interpolation, NTK and dynamic NTK."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program
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


def _with(pi=interpolation, ntk=S.ntk_base, dyn=dynamic):
    return (pi, ntk, dyn)


def _ntk(exponent):
    f = lambda base, s, D: base * s ** exponent(D)
    return _with(ntk=f, dyn=lambda base, D, seq_len, max_position: f(base, max(seq_len / max_position, 1.0), D))


EXERCISE = Exercise(
    id="rope.stretch",
    unit="06-rope",
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

"""RoPE with given frequencies and a temperature."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import rope as R
from autograder.reference import rope_scaling as S


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


def _fractions(g: Source) -> Program:
    ids = torch.arange(5) / 4
    return call(g.randn(1, 2, 5, 6), ids, R.rope_frequencies(6, 100.0))


EXERCISE = Exercise(
    id="rope.apply_scaled_rope",
    unit="06-rope",
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

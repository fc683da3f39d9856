"""RoPE with given frequencies and a temperature."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import rope as R
from autograder.reference import rope_scaling as S

from ._turning import (
    always_head_axis,
    apart,
    imaginary,
    in_float32,
    neighbors,
    no_head_axis,
    of_first_text,
    real,
    scaled_of,
    unflattened,
    woven,
)


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


def half_split(x, position_ids, frequencies, temperature=1.0):
    return S.apply_scaled_rope_half(x, position_ids, frequencies, temperature)


def temperature_in_angle(x, position_ids, frequencies, temperature=1.0):
    angle = temperature * R.rope_angles(position_ids, frequencies.to(torch.promote_types(x.dtype, torch.float32)))
    return R.rotate_pairs(x, angle.cos(), angle.sin())


def factor_on(cosine, sine):
    """The factors on cosine and sine, as functions of the temperature."""

    def rope(x, position_ids, frequencies, temperature=1.0):
        angle = R.rope_angles(position_ids, frequencies.to(torch.promote_types(x.dtype, torch.float32)))
        return R.rotate_pairs(x, angle.cos() * cosine(temperature), angle.sin() * sine(temperature))

    return rope


def angles_in_input_dtype(x, position_ids, frequencies, temperature=1.0):
    angle = R.rope_angles(position_ids.to(x.dtype), frequencies.to(x.dtype)).to(R.angle_dtype(x))
    return R.rotate_pairs(x, angle.cos() * temperature, angle.sin() * temperature)


def _far(g: Source) -> Program:
    """The steps are so small that the places in bfloat16 fall together."""
    ids = torch.tensor([[1, 301, 777, 1027]])
    return call(g.randn(1, 2, 4, 4, dtype=torch.bfloat16), ids, g.uniform(2, low=0.1, high=0.9), g.number(1.1, 1.4))


def _gradients(g: Source) -> Program:
    ids = g.integers(1, 60, 2, 3) / 4
    return call(g.randn(2, 2, 6, 3).mT, ids, g.uniform(3, low=0.05, high=0.9), g.number(1.1, 1.4), grad=[0])


def _float64(g: Source) -> Program:
    ids = g.integers(2_000, 9_000, 2, 3)
    return call(g.randn(2, 1, 3, 4, dtype=torch.float64), ids, g.uniform(2, low=0.1, high=0.9), g.number(1.1, 1.4))


def _fractions(g: Source) -> Program:
    ids = torch.arange(5) / 4
    return call(g.randn(1, 2, 5, 6), ids, R.rope_frequencies(6, 100.0))


def temperature_added(x, position_ids, frequencies, temperature=1.0):
    return S.apply_scaled_rope(x, position_ids, frequencies) + temperature


def counted(x, position_ids, frequencies, temperature=1.0):
    return S.apply_scaled_rope(x, torch.arange(x.shape[-2]), frequencies, temperature)


EXERCISE = Exercise(
    id="rope.apply_scaled_rope",
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
        Case(
            "far in bfloat16",
            "bfloat16 at position 1,027: the angle needs more digits than bfloat16 has",
            _far,
            rounding=4,
        ),
        Case("float64", "float64 goes in and comes out, with angles in float64", _float64),
        Case(
            "gradients",
            "gradients flow back to an x that is transposed in memory, at places that are fractions",
            _gradients,
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
            "temperature_squared",
            factor_on(lambda t: t * t, lambda t: t * t),
            "The temperature is applied twice, so it is squared. Multiply either the tables or the result by it.",
        ),
        Mutant(
            "temperature_on_cosine",
            factor_on(lambda t: t, lambda t: 1.0),
            "Only the cosine gets the temperature, so directions change too. Multiply cosine and sine by it.",
        ),
        Mutant(
            "temperature_on_sine",
            factor_on(lambda t: 1.0, lambda t: t),
            "Only the sine gets the temperature, so directions change too. Multiply cosine and sine by it.",
        ),
        Mutant(
            "temperature_root",
            factor_on(lambda t: t**0.5, lambda t: t**0.5),
            "The root of the temperature is taken. What is handed in is the factor itself.",
        ),
        Mutant(
            "halves_paired",
            half_split,
            "Feature i is paired with feature i + D/2. Here, as in apply_rope, pair i is the neighbors 2i and 2i + 1.",
        ),
        Mutant(
            "clockwise",
            lambda x, position_ids, frequencies, temperature=1.0: S.apply_scaled_rope(
                x, -position_ids, frequencies, temperature
            ),
            "The pairs turn backwards: the sine has the wrong sign. The first entry is even·cos − odd·sin.",
        ),
        Mutant(
            "angles_in_input_dtype",
            angles_in_input_dtype,
            "The angles are computed in the input's dtype. bfloat16 keeps 8 bits, so 1,027 is rounded to a neighbor: "
            "use float32 for angles.",
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
            temperature_in_angle,
            "The temperature multiplies the angle. It multiplies the rotated vector.",
        ),
        Mutant(
            "promoted",
            lambda x, position_ids, frequencies, temperature=1.0: S.apply_scaled_rope(
                x.to(torch.promote_types(x.dtype, torch.float32)), position_ids, frequencies, temperature
            ),
            "float16 went in and float32 came out. Cast the result back to x.dtype.",
        ),
        Mutant(
            "places_in_input_dtype",
            lambda x, position_ids, frequencies, temperature=1.0: S.apply_scaled_rope(
                x, position_ids.to(x.dtype), frequencies, temperature
            ),
            "position_ids are rounded to the input's dtype. bfloat16 keeps 8 bits, so 1,027 becomes a neighbor: "
            "multiply them by frequencies in float32.",
        ),
        Mutant(
            "frequencies_in_input_dtype",
            lambda x, position_ids, frequencies, temperature=1.0: S.apply_scaled_rope(
                x, position_ids, frequencies.to(x.dtype), temperature
            ),
            "The frequencies are rounded to the input's dtype, and far out the error is multiplied by the place. "
            "Keep them in float32, or wider.",
        ),
        Mutant(
            "both_plus",
            scaled_of(neighbors(lambda a, b, c, s: a * c + b * s, imaginary)),
            "Both entries add their terms, so pairs are stretched and not turned. A rotation has one minus: "
            "even·cos − odd·sin and even·sin + odd·cos.",
        ),
        Mutant(
            "second_minus",
            scaled_of(neighbors(real, lambda a, b, c, s: a * s - b * c)),
            "The second entry has a minus as well, which makes a mirror image of each pair. It is even·sin + odd·cos.",
        ),
        Mutant(
            "exchanged",
            scaled_of(neighbors(lambda a, b, c, s: a * s - b * c, lambda a, b, c, s: a * c + b * s)),
            "Sine and cosine are exchanged: at place 0 nothing should turn. The first entry is even·cos − odd·sin.",
        ),
        Mutant(
            "entries_exchanged",
            scaled_of(neighbors(imaginary, real)),
            "The two entries of each pair are exchanged. even·cos − odd·sin comes first, even·sin + odd·cos second.",
        ),
        Mutant(
            "halves_left_apart",
            scaled_of(apart),
            "The turned numbers are right, but all first entries come before all second ones. Put each pair back "
            "together: stack along a new last axis, then flatten.",
        ),
        Mutant(
            "woven_halves",
            scaled_of(woven),
            "Features i and i + D/2 are turned as a pair and put back as neighbors. Pair i is neighbors from the "
            "start: x[..., 0::2] and x[..., 1::2].",
        ),
        Mutant(
            "pairs_left",
            scaled_of(unflattened),
            "The axis of the pairs is left over: (B, H, T, D/2, 2). Put the pairs back in a row: flatten(-2).",
        ),
        Mutant(
            "ids_ignored",
            counted,
            "position_ids is ignored: the angles belong to places 0, 1, 2, …. Multiply the frequencies by "
            "position_ids.",
        ),
        Mutant(
            "first_row_only",
            scaled_of(R.rotate_pairs, ids=of_first_text),
            "Every text gets the positions of the first one. position_ids of shape (B, T) has a row for each text: "
            "give its angles the shape (B, 1, T, D/2).",
        ),
        Mutant(
            "without_head_axis",
            scaled_of(R.rotate_pairs, angles=no_head_axis),
            "Angles of shape (B, T, D/2) meet features of shape (B, H, T, D/2), so B lines up with H. Add an axis "
            "for the heads: angles.unsqueeze(1).",
        ),
        Mutant(
            "head_axis_always",
            scaled_of(R.rotate_pairs, angles=always_head_axis),
            "position_ids of shape (T,) get a head axis too, so places stand where heads should. Add it only where "
            "position_ids has two axes; (T, D/2) fits as it is.",
        ),
        Mutant(
            "temperature_added",
            temperature_added,
            "The temperature is added to the result. It is a factor: multiply by it.",
        ),
        Mutant(
            "single_precision",
            in_float32(S.apply_scaled_rope),
            "Only a float64 input goes wrong: a step on the way is computed in float32. Convert x, angles and tables "
            "to torch.promote_types(x.dtype, torch.float32).",
        ),
    ],
)

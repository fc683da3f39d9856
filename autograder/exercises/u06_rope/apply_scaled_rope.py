"""RoPE with given frequencies and a temperature."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import rope as R
from autograder.reference import rope_scaling as S


def apply_scaled_rope(x, position_ids, frequencies, temperature=1.0):
    angle = position_ids[..., None] * frequencies.to(R.angle_dtype(x))
    angle = angle.unsqueeze(1) if position_ids.dim() == 2 else angle
    cos, sin = angle.cos() * temperature, angle.sin() * temperature
    even, odd = x[..., ::2], x[..., 1::2]
    first = even * cos - odd * sin
    second = even * sin + odd * cos
    return torch.stack([first, second], -1).flatten(-2).to(x.dtype)


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


def _far(g: Source) -> Program:
    """The steps are so small that the positions in bfloat16 fall together."""
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


MISTAKES = changes(
    apply_scaled_rope,
    """
own_frequencies: frequencies.to(R.angle_dtype(x)) → R.rope_frequencies(x.shape[-1], dtype=R.angle_dtype(x))
    The frequencies are computed from base 10,000 again. Use the ones that are handed in.
temperature_ignored: angle.cos() * temperature, angle.sin() * temperature → angle.cos(), angle.sin()
    The temperature is ignored: multiply the result by it.
temperature_squared: even, odd = → cos, sin = cos * temperature, sin * temperature; even, odd =
    The temperature is applied twice, so it is squared. Multiply either the tables or the result by it.
temperature_on_cosine: angle.sin() * temperature → angle.sin()
    Only the cosine gets the temperature, so directions change too. Multiply cosine and sine by it.
temperature_on_sine: angle.cos() * temperature → angle.cos()
    Only the sine gets the temperature, so directions change too. Multiply cosine and sine by it.
temperature_root: cos, sin = → temperature = temperature**0.5; cos, sin =
    The root of the temperature is taken. What is handed in is the factor itself.
halves_paired: x[..., ::2], x[..., 1::2] → x.chunk(2, -1)
; torch.stack([first, second], -1).flatten(-2) → torch.cat([first, second], -1)
    Feature i is paired with feature i + D/2. Here, as in apply_rope, pair i is the neighbors 2i and 2i + 1.
clockwise: position_ids[..., None] → -position_ids[..., None]
    The pairs turn backwards: the sine has the wrong sign. The first entry is even·cos − odd·sin.
angles_in_input_dtype: position_ids[..., None] → position_ids[..., None].to(x.dtype)
; frequencies.to(R.angle_dtype(x)) → frequencies.to(x.dtype)
; cos, sin = → angle = angle.to(R.angle_dtype(x)); cos, sin =
    The angles are computed in the input's dtype. bfloat16 keeps 8 bits, so 1,027 is rounded to a neighbor: use
    float32 for angles.
temperature_divides: cos, sin = → temperature = 1 / temperature; cos, sin =
    The temperature divides. Here it is a factor: longer texts need sharper scores.
whole_positions: position_ids[..., None] → position_ids[..., None].long()
    Positions are rounded to whole numbers. Interpolated positions are fractions.
temperature_in_angle: angle.cos() * temperature → (angle * temperature).cos()
; angle.sin() * temperature → (angle * temperature).sin()
    The temperature multiplies the angle. It multiplies the rotated vector.
promoted: .to(x.dtype) →
    float16 went in and float32 came out. Cast the result back to x.dtype.
places_in_input_dtype: position_ids[..., None] → position_ids[..., None].to(x.dtype)
    position_ids are rounded to the input's dtype. bfloat16 keeps 8 bits, so 1,027 becomes a neighbor: multiply them
    by frequencies in float32.
frequencies_in_input_dtype: frequencies.to( → frequencies.to(x.dtype).to(
    The frequencies are rounded to the input's dtype, and far out the error is multiplied by the position. Keep them
    in float32, or wider.
both_plus: even * cos - odd → even * cos + odd
    Both entries add their terms, so pairs are stretched and not turned. A rotation has one minus: even·cos −
    odd·sin and even·sin + odd·cos.
second_minus: even * sin + odd → even * sin - odd
    The second entry has a minus as well, which makes a mirror image of each pair. It is even·sin + odd·cos.
exchanged: cos, sin = → sin, cos =
    Sine and cosine are exchanged: at position 0 nothing should turn. The first entry is even·cos − odd·sin.
entries_exchanged: [first, second] → [second, first]
    The two entries of each pair are exchanged. even·cos − odd·sin comes first, even·sin + odd·cos second.
halves_left_apart: torch.stack([first, second], -1).flatten(-2) → torch.cat([first, second], -1)
    The turned numbers are right, but all first entries come before all second ones. Put each pair back together:
    stack along a new last axis, then flatten.
woven_halves: x[..., ::2], x[..., 1::2] → x.chunk(2, -1)
    Features i and i + D/2 are turned as a pair and put back as neighbors. Pair i is neighbors from the start:
    x[..., 0::2] and x[..., 1::2].
pairs_left: .flatten(-2) →
    The axis of the pairs is left over: (B, H, T, D/2, 2). Put the pairs back in a row: flatten(-2).
ids_ignored: angle = position_ids → position_ids = torch.arange(x.shape[-2]); angle = position_ids
    position_ids is ignored: the angles belong to positions 0, 1, 2, …. Multiply the frequencies by position_ids.
first_row_only: .unsqueeze(1) → [:1].unsqueeze(1)
    Every text gets the positions of the first one. position_ids of shape (B, T) has a row for each text: give its
    angles the shape (B, 1, T, D/2).
without_head_axis: .unsqueeze(1) if position_ids.dim() == 2 else angle →
    Angles of shape (B, T, D/2) meet features of shape (B, H, T, D/2), so B lines up with H. Add an axis for the
    heads: angles.unsqueeze(1).
head_axis_always: if position_ids.dim() == 2 else angle →
    position_ids of shape (T,) get a head axis too, so positions stand where heads should. Add it only where
    position_ids has two axes; (T, D/2) fits as it is.
temperature_added: angle.cos() * temperature, angle.sin() * temperature → angle.cos(), angle.sin()
; .to(x.dtype) → .to(x.dtype) + temperature
    The temperature is added to the result. It is a factor: multiply by it.
single_precision: R.angle_dtype(x) → torch.float32
; x[..., ::2], x[..., 1::2] → x[..., ::2].float(), x[..., 1::2].float()
    Only a float64 input goes wrong: a step on the way is computed in float32. Convert x, angles and tables to
    torch.promote_types(x.dtype, torch.float32).
""",
)

EXERCISE = Exercise(
    id="rope.apply_scaled_rope",
    title="RoPE with any frequencies",
    points=2,
    difficulty=2,
    minutes=10,
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
            "gradients flow back to an x that is transposed in memory, at positions that are fractions",
            _gradients,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
the wider of two dtypes does not depend on their order
    3bfc763d0e solution, argument: torch.promote_types(x.dtype, torch.float32): arguments 1 and 2 swapped
    8e9c9b6339 alternative scaled_by_tables, argument: torch.promote_types(x.dtype, torch.float32): arguments 1 and 2 …
    990b8af804 alternative scaled_by_complex, argument: torch.promote_types(x.dtype, torch.float32): arguments 1 and 2…
a slice starts at 0 unless told otherwise
    88d2e3fa57 solution, slice: without 0 in x[..., 0::2]
    3e7d284b48 alternative scaled_by_tables, slice: without 0 in x[..., 0::2]
""",
)

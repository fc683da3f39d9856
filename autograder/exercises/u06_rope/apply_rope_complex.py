"""RoPE in one complex product."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
from autograder.reference import rope as R

from .shared import (
    FLOAT64,
    GRADIENTS,
    OTHER_BASE,
    far_in_bfloat16,
    in_a_batch,
    rope_by_tables,
    scores_of_a_shift,
)


def complex_by_exp(x, position_ids, base=10000.0):
    wide = torch.promote_types(x.dtype, torch.float32)
    angle = R.rope_angles(position_ids, R.rope_frequencies(x.shape[-1], base, dtype=wide))
    pairs = x.to(wide).unflatten(-1, (-1, 2))
    z = torch.complex(pairs[..., 0], pairs[..., 1]) * torch.exp(1j * angle)
    return torch.view_as_real(z).flatten(-2).to(x.dtype)


MISTAKES = [
    *changes(
        complex_by_exp,
        """
conjugate: 1j * angle → -1j * angle
    The pairs turn backwards: multiply by e^(+i·angle).
halves_paired: (-1, 2)) → (2, -1)).mT ; torch.view_as_real(z).flatten(-2) → torch.cat([z.real, z.imag], -1)
    Real parts come from the first half, imaginary parts from the second. Here neighbors form a number: unflatten
    the last axis into pairs.
parts_apart: torch.view_as_real(z).flatten(-2) → torch.cat([z.real, z.imag], -1)
    All real parts come first, then all imaginary parts. view_as_real followed by flatten(-2) keeps the pairs
    together.
promoted: .to(x.dtype) →
    The input was widened for the complex product and not cast back to x.dtype.
two_rows: (-1, 2)) → (2, -1)).mT
    The last axis was cut into two halves, so features i and i + D/2 make a number. Neighbors should: unflatten(-1,
    (-1, 2)).
pairs_left: .flatten(-2) →
    The axis of the pairs is left over: (B, H, T, D/2, 2). Put the pairs back in a row: flatten(-2).
real_twice: torch.view_as_real(z) → torch.stack([z.real, z.real], -1)
    Both numbers of a pair are the real part. The second one is the imaginary part: view_as_real gives both.
base_ignored: base, dtype → dtype
    The base is fixed at 10,000. Hand the argument on to the frequencies.
still_complex: torch.view_as_real(z).flatten(-2).to(x.dtype) → z
    The result is complex. Use view_as_real and flatten(-2).
ids_ignored: rope_angles(position_ids → rope_angles(torch.arange(x.shape[-2])
    position_ids is ignored: the angles belong to positions 0, 1, 2.
one_ahead: rope_angles(position_ids → rope_angles(position_ids + 1
    Every pair turns one step too far, as if positions counted from 1. The angle is position_ids times θ: position 0
    does not turn.
polar_exchanged: torch.exp(1j * angle) → torch.polar(angle, torch.ones_like(angle))
    torch.polar takes the length first and the angle second: polar(ones, angles).
sine_first: torch.exp(1j * angle) → torch.complex(angle.sin(), angle.cos())
    Sine and cosine are exchanged in the factor. Its real part is the cosine of the angle.
parts_exchanged: torch.view_as_real(z) → torch.view_as_real(z).flip(-1)
    Real and imaginary part come back in the wrong order. The first number of a pair is the real part.
only_cosine: torch.exp(1j * angle) → angle.cos()
    Every pair is only scaled by the cosine. The factor is e^(i·angle), with the sine as its imaginary part.
real_part_only: torch.view_as_real(z).flatten(-2) → z.real
    Only the real parts come back, D/2 numbers. torch.view_as_real gives both; flatten(-2) puts them in a row.
first_row_only: rope_angles(position_ids → rope_angles(position_ids[0] if position_ids.dim() == 2 else position_ids
    Every text gets the positions of the first one. position_ids of shape (B, T) has a row for each text: give its
    angles the shape (B, 1, T, D/2).
gaps_ignored: rope_angles(position_ids → rope_angles(position_ids[..., :1] + torch.arange(x.shape[-2])
    The positions are counted on from the first one, so gaps are lost. Multiply the frequencies by position_ids
    itself.
without_head_axis: R.rope_angles(position_ids, → (position_ids[..., None] *
    Angles of shape (B, T, D/2) meet pairs of shape (B, H, T, D/2), so B lines up with H. Add an axis for the heads:
    angles.unsqueeze(1).
head_axis_always: R.rope_angles(position_ids, → (position_ids[:, None, ..., None] *
    position_ids of shape (T,) get a head axis too, so positions stand where heads should. Add it only where
    position_ids has two axes; (T, D/2) fits as it is.
wavelengths: R.rope_frequencies → 2 * torch.pi / R.rope_frequencies
    The wavelengths 2π/θ are used as frequencies. The angle is position_ids times θ, from rope_frequencies.
double_exponent: base, dtype → base**2, dtype
    The exponent is −4i/D for pair i, as if the head had D/2 features. It is −2i/D, as
    rope_frequencies should give it.
half_exponent: base, dtype → base**0.5, dtype
    The exponent is −i/D for pair i. It is −2i/D, as rope_frequencies should give it.
angles_in_input_dtype: dtype=wide)) → dtype=wide).to(x.dtype)).to(wide)
    The angles are computed in the input's dtype. bfloat16 keeps 8 bits, so 1,027 is rounded to a neighbor and the
    angle is off by whole radians: use float32 for angles.
places_in_input_dtype: rope_angles(position_ids → rope_angles(position_ids.to(x.dtype)
    position_ids are rounded to the input's dtype. bfloat16 keeps 8 bits, so 1,027 becomes a neighbor: multiply them
    by frequencies in float32.
""",
    ),
    *changes(
        rope_by_tables,
        """
single_precision: (x * cos + partner * sin) → (x.float() * cos.float() + partner.float() * sin.float())
    Only a float64 input goes wrong: a step on the way is computed in float32. Convert x, angles and tables to
    torch.promote_types(x.dtype, torch.float32).
""",
    ),
]

EXERCISE = Exercise(
    id="rope.apply_rope_complex",
    title="RoPE in one complex product",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    reference=R.apply_rope_complex,
    alternatives=[complex_by_exp, rope_by_tables],
    cases=[
        Case(
            "two pairs",
            "[1, 0, 0, 1] at position 1: the first pair turns by 1, the second by 1/100",
            lambda g: call(torch.tensor([1.0, 0.0, 0.0, 1.0]).reshape(1, 1, 1, 4), torch.tensor([1])),
        ),
        Case("batch", "two texts with their own positions", in_a_batch, weight=2),
        Case("shared positions", "positions of shape (T,), then the same shifted", scores_of_a_shift),
        Case(
            "float16",
            "float16 goes in and comes out, although there is no good complex16",
            lambda g: call(g.randn(2, 1, 3, 4, dtype=torch.float16), g.integers(1, 20, 2, 3)),
        ),
        Case(
            "far in bfloat16",
            "bfloat16 at position 1,027: no complex number can be made of it before it is widened",
            far_in_bfloat16,
            rounding=4,
        ),
        FLOAT64,
        OTHER_BASE,
        GRADIENTS,
    ],
    mutants=MISTAKES,
    equivalent="""
the wider of two dtypes does not depend on their order
    d72408283e solution, argument: torch.promote_types(x.dtype, torch.float32): arguments 1 and 2 swapped
    57ff73ba2f alternative complex_by_exp, argument: torch.promote_types(x.dtype, torch.float32): arguments 1 and 2 sw…
""",
)

"""RoPE in one complex product."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import rope as R

from ._turning import (
    always_head_axis,
    frequency_mistakes,
    imaginary,
    in_float32,
    neighbors,
    no_head_axis,
    of_first_text,
    real,
    rope_of,
    slower_by,
    without_gaps,
)
from .shared import (
    FLOAT64,
    GRADIENTS,
    OTHER_BASE,
    by_hand,
    counted,
    far_in_bfloat16,
    halves_left_apart,
    in_a_batch,
    promoted,
    rope_by_tables,
    scores_of_a_shift,
)


def complex_by_exp(x, position_ids, base=10000.0):
    wide = torch.promote_types(x.dtype, torch.float32)
    angle = R.rope_angles(position_ids, R.rope_frequencies(x.shape[-1], base, dtype=wide))
    pairs = x.to(wide).unflatten(-1, (-1, 2))
    z = torch.complex(pairs[..., 0], pairs[..., 1]) * torch.exp(1j * angle)
    return torch.view_as_real(z).flatten(-2).to(x.dtype)


def complex_halves(x, position_ids, base=10000.0):
    return R.apply_rope_half(x, position_ids, base)


def two_rows(x, position_ids, base=10000.0):
    """unflatten(-1, (2, -1)): the first half's neighbors are the real parts' partners."""
    wide = torch.promote_types(x.dtype, torch.float32)
    angle = R.rope_angles(position_ids, R.rope_frequencies(x.shape[-1], base, dtype=wide))
    first, second = x.to(wide).unflatten(-1, (2, -1)).unbind(-2)
    z = torch.complex(first, second) * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(z).flatten(-2).to(x.dtype)


def pairs_left(x, position_ids, base=10000.0):
    return R.apply_rope(x, position_ids, base).unflatten(-1, (-1, 2))


def still_complex(x, position_ids, base=10000.0):
    out = R.apply_rope(x.to(torch.promote_types(x.dtype, torch.float32)), position_ids, base)
    return torch.view_as_complex(out.unflatten(-1, (-1, 2)).contiguous())


def real_part_only(x, position_ids, base=10000.0):
    return R.apply_rope(x, position_ids, base)[..., 0::2]


def polar_exchanged(x, position_ids, base=10000.0):
    """polar(angle, ones): the angle becomes the length."""
    angle = R.rope_angles(position_ids, R.rope_frequencies(x.shape[-1], base, dtype=R.angle_dtype(x)))
    one = torch.ones_like(angle)
    return R.rotate_pairs(x, angle * one.cos(), angle * one.sin())


def angles_in_input_dtype(x, position_ids, base=10000.0):
    angle = R.rope_angles(position_ids, R.rope_frequencies(x.shape[-1], base).to(x.dtype)).to(R.angle_dtype(x))
    return R.rotate_pairs(x, angle.cos(), angle.sin())


EXERCISE = Exercise(
    id="rope.apply_rope_complex",
    title="RoPE in one complex product",
    points=2,
    difficulty=3,
    minutes=12,
    signature="apply_rope_complex(x, position_ids, base=10000.0)",
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
    mutants=[
        Mutant(
            "conjugate",
            lambda x, position_ids, base=10000.0: R.apply_rope(x, -position_ids, base),
            "The pairs turn backwards: multiply by e^(+i·angle).",
        ),
        Mutant(
            "halves_paired",
            complex_halves,
            "Real parts come from the first half, imaginary parts from the second. Here neighbors form a number: "
            "unflatten the last axis into pairs.",
        ),
        Mutant(
            "parts_apart",
            halves_left_apart,
            "All real parts come first, then all imaginary parts. view_as_real followed by flatten(-2) keeps the "
            "pairs together.",
        ),
        Mutant(
            "promoted",
            promoted(R.apply_rope),
            "The input was widened for the complex product and not cast back to x.dtype.",
        ),
        Mutant(
            "two_rows",
            two_rows,
            "The last axis was cut into two halves, so features i and i + D/2 make a number. Neighbors should: "
            "unflatten(-1, (-1, 2)).",
        ),
        Mutant(
            "pairs_left",
            pairs_left,
            "The axis of the pairs is left over: (B, H, T, D/2, 2). Put the pairs back in a row: flatten(-2).",
        ),
        Mutant(
            "real_twice",
            by_hand(lambda e, o, c, s: e * c - o * s, lambda e, o, c, s: e * c - o * s),
            "The real part stands in both places of a pair. The second one is the imaginary part: view_as_real gives "
            "both.",
        ),
        Mutant(
            "base_ignored",
            lambda x, position_ids, base=10000.0: R.apply_rope(x, position_ids),
            "The base is fixed at 10,000. Hand the argument on to the frequencies.",
        ),
        Mutant("still_complex", still_complex, "The result is complex. Use view_as_real and flatten(-2)."),
        Mutant("ids_ignored", counted(R.apply_rope), "position_ids is ignored: the angles belong to places 0, 1, 2."),
        Mutant(
            "one_ahead",
            lambda x, position_ids, base=10000.0: R.apply_rope(x, position_ids + 1, base),
            "Every pair turns one step too far, as if places counted from 1. The angle is position_ids times θ: "
            "place 0 does not turn.",
        ),
        Mutant(
            "polar_exchanged",
            polar_exchanged,
            "torch.polar takes the length first and the angle second: polar(ones, angles).",
        ),
        Mutant(
            "sine_first",
            rope_of(neighbors(lambda a, b, c, s: a * s - b * c, lambda a, b, c, s: a * c + b * s)),
            "Sine and cosine are exchanged in the factor. Its real part is the cosine of the angle.",
        ),
        Mutant(
            "parts_exchanged",
            rope_of(neighbors(imaginary, real)),
            "Real and imaginary part come back in the wrong order. The first number of a pair is the real part.",
        ),
        Mutant(
            "only_cosine",
            rope_of(neighbors(lambda a, b, c, s: a * c, lambda a, b, c, s: b * c)),
            "Every pair is only scaled by the cosine. The factor is e^(i·angle), with the sine as its imaginary part.",
        ),
        Mutant(
            "real_part_only",
            real_part_only,
            "Only the real parts come back, D/2 numbers. torch.view_as_real gives both; flatten(-2) puts them in a "
            "row.",
        ),
        Mutant(
            "first_row_only",
            rope_of(R.rotate_pairs, ids=of_first_text),
            "Every text gets the positions of the first one. position_ids of shape (B, T) has a row for each text: "
            "give its angles the shape (B, 1, T, D/2).",
        ),
        Mutant(
            "gaps_ignored",
            rope_of(R.rotate_pairs, ids=without_gaps),
            "The places are counted on from the first one, so gaps are lost. Multiply the frequencies by "
            "position_ids itself.",
        ),
        Mutant(
            "without_head_axis",
            rope_of(R.rotate_pairs, angles=no_head_axis),
            "Angles of shape (B, T, D/2) meet pairs of shape (B, H, T, D/2), so B lines up with H. Add an axis for "
            "the heads: angles.unsqueeze(1).",
        ),
        Mutant(
            "head_axis_always",
            rope_of(R.rotate_pairs, angles=always_head_axis),
            "position_ids of shape (T,) get a head axis too, so places stand where heads should. Add it only where "
            "position_ids has two axes; (T, D/2) fits as it is.",
        ),
        *frequency_mistakes(R.rotate_pairs),
        Mutant(
            "half_exponent",
            rope_of(R.rotate_pairs, frequencies=slower_by(0.5)),
            "The exponent is −i/D for pair i. It is −2i/D: your rope_frequencies has it right.",
        ),
        Mutant(
            "angles_in_input_dtype",
            angles_in_input_dtype,
            "The angles are computed in the input's dtype. bfloat16 keeps 8 bits, so 1,027 is rounded to a neighbor "
            "and the angle is off by whole radians: use float32 for angles.",
        ),
        Mutant(
            "places_in_input_dtype",
            lambda x, position_ids, base=10000.0: R.apply_rope(x, position_ids.to(x.dtype), base),
            "position_ids are rounded to the input's dtype. bfloat16 keeps 8 bits, so 1,027 becomes a neighbor: "
            "multiply them by frequencies in float32.",
        ),
        Mutant(
            "single_precision",
            in_float32(R.apply_rope),
            "Only a float64 input goes wrong: a step on the way is computed in float32. Convert x, angles and tables "
            "to torch.promote_types(x.dtype, torch.float32).",
        ),
    ],
)

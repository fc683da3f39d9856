"""RoPE in the layout of two halves."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import rope as R

from ._turning import (
    always_head_axis,
    frequency_mistakes,
    halves,
    imaginary,
    in_float32,
    of_first_text,
    real,
    rope_of,
    slower_by,
    without_gaps,
    woven,
)
from .shared import (
    FLOAT16,
    FLOAT64,
    GRADIENTS,
    OTHER_BASE,
    counted,
    far_in_bfloat16,
    in_a_batch,
    notes_half,
    promoted,
    rope_by_tables,
    scores_of_a_shift,
    tables,
)


def half_by_parts(x, position_ids, base=10000.0):
    cos, sin = tables(x, position_ids, base)
    x1, x2 = x.chunk(2, -1)
    return torch.cat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], -1).to(x.dtype)


def half_by_permutation(x, position_ids, base=10000.0):
    p = R.interleaved_to_half_permutation(x.shape[-1])
    return rope_by_tables(x[..., p.argsort()], position_ids, base)[..., p]


def with_half(quarter, spread=lambda t: torch.cat([t, t], -1), sign=1):
    """x·cos ± quarter(x)·sin with the tables spread over the features."""

    def rope(x, position_ids, base=10000.0):
        cos, sin = (spread(t) for t in tables(x, position_ids, base))
        return (x * cos + sign * quarter(x) * sin).to(x.dtype)

    return rope


def one_half_turned(first, second):
    """The two halves as functions of (x1, x2, cos, sin)."""

    def rope(x, position_ids, base=10000.0):
        halves = (*x.chunk(2, -1), *tables(x, position_ids, base))
        return torch.cat([first(*halves), second(*halves)], -1).to(x.dtype)

    return rope


def angles_in_input_dtype(x, position_ids, base=10000.0):
    angle = R.rope_angles(position_ids, R.rope_frequencies(x.shape[-1], base).to(x.dtype)).to(R.angle_dtype(x))
    return R.rotate_halves(x, angle.cos(), angle.sin()).to(x.dtype)


def without_head_axis(x, position_ids, base=10000.0):
    angle = torch.cat([position_ids[..., None] * R.rope_frequencies(x.shape[-1], base)] * 2, -1)
    return (x * angle.cos() + R.rotate_half(x) * angle.sin()).to(x.dtype)


EXERCISE = Exercise(
    id="rope.apply_rope_half",
    title="RoPE as LLaMA code writes it",
    points=2,
    difficulty=3,
    minutes=12,
    signature="apply_rope_half(x, position_ids, base=10000.0)",
    reference=R.apply_rope_half,
    alternatives=[half_by_parts, half_by_permutation],
    cases=[
        Case(
            "two pairs",
            "x = [1, 1, 0, 0] at position 1: the pairs are features (0, 2) and (1, 3)",
            lambda g: call(torch.tensor([1.0, 1.0, 0.0, 0.0]).reshape(1, 1, 1, 4), torch.tensor([1])),
        ),
        Case("batch", "two texts with their own positions", in_a_batch, weight=2),
        Case("shared positions", "positions of shape (T,), then the same shifted", scores_of_a_shift),
        OTHER_BASE,
        FLOAT16,
        FLOAT64,
        Case("far in bfloat16", "bfloat16 at position 1,027, with angles in float32", far_in_bfloat16, rounding=4),
        GRADIENTS,
    ],
    mutants=[
        Mutant(
            "notes_rotate_half",
            with_half(notes_half),
            "The quarter turn is [−x₁, x₂], so lengths change with the position. It is [−x₂, x₁].",
        ),
        Mutant(
            "clockwise",
            with_half(R.rotate_half, sign=-1),
            "The pairs turn backwards: add rotate_half(x)·sin, do not subtract it.",
        ),
        Mutant(
            "second_half_scaled",
            one_half_turned(lambda x1, x2, c, s: x1 * c - x2 * s, lambda x1, x2, c, s: x2 * c),
            "The second half lacks its sine term: it is x₂·cos + x₁·sin. rotate_half(x) brings x₁ there.",
        ),
        Mutant(
            "halves_exchanged_without_sign",
            one_half_turned(lambda x1, x2, c, s: x1 * c + x2 * s, lambda x1, x2, c, s: x2 * c + x1 * s),
            "Both halves add their sine terms, so lengths change. The first one is x₁·cos − x₂·sin.",
        ),
        Mutant(
            "sine_on_x",
            one_half_turned(lambda x1, x2, c, s: x1 * (c + s), lambda x1, x2, c, s: x2 * (c + s)),
            "The sine multiplies x itself, so nothing turns. It belongs to rotate_half(x).",
        ),
        Mutant(
            "one_ahead",
            lambda x, position_ids, base=10000.0: R.apply_rope_half(x, position_ids + 1, base),
            "Every pair turns one step too far, as if places counted from 1. The angle is position_ids times θ: "
            "place 0 does not turn.",
        ),
        Mutant(
            "angles_in_input_dtype",
            angles_in_input_dtype,
            "The angles are computed in the input's dtype. bfloat16 keeps 8 bits, so 1,027 is rounded to a neighbor "
            "and the angle is off by whole radians: use float32 for angles.",
        ),
        Mutant(
            "tables_interleaved",
            with_half(R.rotate_half, lambda t: t.repeat_interleave(2, -1)),
            "The angles run θ₀ θ₀ θ₁ θ₁, which fits neighbors. Here feature i and i + D/2 share an angle: "
            "cat([angles, angles]).",
        ),
        Mutant(
            "neighbors_paired", R.apply_rope, "This is the interleaved layout. Here pair i is features i and i + D/2."
        ),
        Mutant(
            "without_head_axis",
            without_head_axis,
            "Angles of shape (B, T, D) meet features of shape (B, H, T, D), so B lines up with H. Add an axis for "
            "the heads: angles.unsqueeze(1).",
        ),
        Mutant(
            "ids_ignored",
            counted(R.apply_rope_half),
            "position_ids is ignored: the places are counted 0, 1, 2, …. Multiply the frequencies by position_ids.",
        ),
        Mutant(
            "promoted",
            promoted(R.apply_rope_half),
            "float16 went in and float32 came out. Cast the result back to x.dtype.",
        ),
        Mutant(
            "base_ignored",
            lambda x, position_ids, base=10000.0: R.apply_rope_half(x, position_ids),
            "The base is fixed at 10,000. Hand the argument on to the frequencies.",
        ),
        Mutant(
            "exchanged",
            rope_of(halves(lambda a, b, c, s: a * s - b * c, lambda a, b, c, s: a * c + b * s)),
            "Cosine and sine are exchanged: at place 0 nothing should turn. x goes with the cosine, rotate_half(x) "
            "with the sine.",
        ),
        Mutant(
            "first_half_scaled",
            rope_of(halves(lambda a, b, c, s: a * c, imaginary)),
            "The first half lacks its sine term: it is x₁·cos − x₂·sin.",
        ),
        Mutant(
            "only_cosine",
            rope_of(halves(lambda a, b, c, s: a * c, lambda a, b, c, s: b * c)),
            "Only the cosine terms are there, so features shrink and nothing turns. Add rotate_half(x)·sin.",
        ),
        Mutant(
            "sine_minus_twice",
            rope_of(halves(real, lambda a, b, c, s: b * c - a * s)),
            "Both halves subtract their sine terms, so lengths change. The second one is x₂·cos + x₁·sin.",
        ),
        Mutant(
            "halves_exchanged",
            rope_of(halves(imaginary, real)),
            "The two turned halves are exchanged. x₁·cos − x₂·sin comes first, x₂·cos + x₁·sin second.",
        ),
        Mutant(
            "woven",
            rope_of(woven),
            "The pairs are right, but they are put back as neighbors. Join the two turned halves: torch.cat along "
            "dim=-1.",
        ),
        Mutant(
            "neighbors_turned",
            with_half(lambda x: torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)),
            "The angles fit the two halves, but neighbors are turned. The partner of x₁ is x₂: use rotate_half(x).",
        ),
        Mutant(
            "first_row_only",
            rope_of(R.rotate_halves, ids=of_first_text),
            "Every text gets the positions of the first one. position_ids of shape (B, T) has a row for each text: "
            "give its angles the shape (B, 1, T, D).",
        ),
        Mutant(
            "gaps_ignored",
            rope_of(R.rotate_halves, ids=without_gaps),
            "The places are counted on from the first one, so gaps are lost. Multiply the frequencies by "
            "position_ids itself.",
        ),
        Mutant(
            "head_axis_always",
            rope_of(R.rotate_halves, angles=always_head_axis),
            "position_ids of shape (T,) get a head axis too, so places stand where heads should. Add it only where "
            "position_ids has two axes; (T, D) fits as it is.",
        ),
        *frequency_mistakes(R.rotate_halves),
        Mutant(
            "half_exponent",
            rope_of(R.rotate_halves, frequencies=slower_by(0.5)),
            "The exponent is −i/D for pair i. It is −2i/D: your rope_frequencies has it right.",
        ),
        Mutant(
            "places_in_input_dtype",
            lambda x, position_ids, base=10000.0: R.apply_rope_half(x, position_ids.to(x.dtype), base),
            "position_ids are rounded to the input's dtype. bfloat16 keeps 8 bits, so 1,027 becomes a neighbor: "
            "multiply them by frequencies in float32.",
        ),
        Mutant(
            "single_precision",
            in_float32(R.apply_rope_half),
            "Only a float64 input goes wrong: a step on the way is computed in float32. Convert x, angles and tables "
            "to torch.promote_types(x.dtype, torch.float32).",
        ),
    ],
)

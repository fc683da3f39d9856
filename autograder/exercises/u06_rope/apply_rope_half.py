"""RoPE in the layout of two halves."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import rope as R

from .shared import (
    FLOAT16,
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


def without_head_axis(x, position_ids, base=10000.0):
    angle = torch.cat([position_ids[..., None] * R.rope_frequencies(x.shape[-1], base)] * 2, -1)
    return (x * angle.cos() + R.rotate_half(x) * angle.sin()).to(x.dtype)


EXERCISE = Exercise(
    id="rope.apply_rope_half",
    unit="06-rope",
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
        Case("far in bfloat16", "bfloat16 at position 1,027, with angles in float32", far_in_bfloat16, rtol=0.05),
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
    ],
)

"""RoPE in one complex product."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import rope as R

from .shared import counted, halves_left_apart, in_a_batch, promoted, rope_by_tables, scores_of_a_shift


def complex_by_exp(x, position_ids, base=10000.0):
    wide = torch.promote_types(x.dtype, torch.float32)
    angle = R.rope_angles(position_ids, R.rope_frequencies(x.shape[-1], base, dtype=wide))
    pairs = x.to(wide).unflatten(-1, (-1, 2))
    z = torch.complex(pairs[..., 0], pairs[..., 1]) * torch.exp(1j * angle)
    return torch.view_as_real(z).flatten(-2).to(x.dtype)


def complex_halves(x, position_ids, base=10000.0):
    return R.apply_rope_half(x, position_ids, base)


def still_complex(x, position_ids, base=10000.0):
    out = R.apply_rope(x.to(torch.promote_types(x.dtype, torch.float32)), position_ids, base)
    return torch.view_as_complex(out.unflatten(-1, (-1, 2)).contiguous())


EXERCISE = Exercise(
    id="rope.apply_rope_complex",
    unit="06-rope",
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
            "other base",
            "base 100 in place of 10,000",
            lambda g: call(g.randn(1, 2, 3, 8), torch.tensor([2, 5, 9]), base=100.0),
        ),
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
        Mutant("still_complex", still_complex, "The result is complex. Use view_as_real and flatten(-2)."),
        Mutant("ids_ignored", counted(R.apply_rope), "position_ids is ignored: the angles belong to places 0, 1, 2."),
    ],
)

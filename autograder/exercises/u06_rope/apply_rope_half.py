"""RoPE in the layout of two halves."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
from autograder.reference import rope as R

from .shared import (
    FLOAT16,
    FLOAT64,
    GRADIENTS,
    OTHER_BASE,
    far_in_bfloat16,
    in_a_batch,
    rope_by_tables,
    scores_of_a_shift,
)


def half_by_parts(x, position_ids, base=10000.0):
    frequencies = R.rope_frequencies(x.shape[-1], base, dtype=R.angle_dtype(x))
    angle = position_ids[..., None] * frequencies
    angle = angle.unsqueeze(1) if position_ids.dim() == 2 else angle
    cos, sin = angle.cos(), angle.sin()
    x1, x2 = x.chunk(2, -1)
    first = x1 * cos - x2 * sin
    second = x2 * cos + x1 * sin
    return torch.cat([first, second], -1).to(x.dtype)


def half_by_permutation(x, position_ids, base=10000.0):
    p = R.interleaved_to_half_permutation(x.shape[-1])
    return rope_by_tables(x[..., p.argsort()], position_ids, base)[..., p]


MISTAKES = changes(
    half_by_parts,
    """
notes_rotate_half: - x2 * sin → - x1 * sin ; + x1 * sin → + x2 * sin
    The quarter turn is [−x₁, x₂], so lengths change with the position. It is [−x₂, x₁].
clockwise: - x2 * sin → + x2 * sin ; + x1 * sin → - x1 * sin
    The pairs turn backwards: add rotate_half(x)·sin, do not subtract it.
second_half_scaled: + x1 * sin →
    The second half lacks its sine term: it is x₂·cos + x₁·sin. rotate_half(x) brings x₁ there.
halves_exchanged_without_sign: - x2 * sin → + x2 * sin
    Both halves add their sine terms, so lengths change. The first one is x₁·cos − x₂·sin.
sine_on_x: + x1 * sin → + x2 * sin ; - x2 * sin → + x1 * sin
    The sine multiplies x itself, so nothing turns. It belongs to rotate_half(x).
one_ahead: position_ids[..., None] → (position_ids[..., None] + 1)
    Every pair turns one step too far, as if positions counted from 1. The angle is position_ids times θ: position 0
    does not turn.
angles_in_input_dtype: * frequencies → * frequencies.to(x.dtype)
; cos, sin = → angle = angle.to(R.angle_dtype(x)); cos, sin =
    The angles are computed in the input's dtype. bfloat16 keeps 8 bits, so 1,027 is rounded to a neighbor and the
    angle is off by whole radians: use float32 for angles.
tables_interleaved: x1, x2 = → cos, sin = (t.repeat_interleave(2, -1).chunk(2, -1) for t in (cos, sin)); x1, x2 =
; x1 * cos - x2 * sin → x1 * cos[0] - x2 * sin[0] ; x2 * cos + x1 * sin → x2 * cos[1] + x1 * sin[1]
    The angles run θ₀ θ₀ θ₁ θ₁, which fits neighbors. Here feature i and i + D/2 share an angle: cat([angles,
    angles]).
neighbors_paired: x.chunk(2, -1) → x[..., ::2], x[..., 1::2]
; torch.cat([first, second], -1) → torch.stack([first, second], -1).flatten(-2)
    This is the interleaved layout. Here pair i is features i and i + D/2.
without_head_axis: .unsqueeze(1) if position_ids.dim() == 2 else angle → ; , dtype=R.angle_dtype(x) →
    Angles of shape (B, T, D) meet features of shape (B, H, T, D), so B lines up with H. Add an axis for the heads:
    angles.unsqueeze(1).
ids_ignored: frequencies = → position_ids = torch.arange(x.shape[-2]); frequencies =
    position_ids is ignored: the positions are counted 0, 1, 2, …. Multiply the frequencies by position_ids.
promoted: .to(x.dtype) →
    float16 went in and float32 came out. Cast the result back to x.dtype.
base_ignored: base, dtype → dtype
    The base is fixed at 10,000. Hand the argument on to the frequencies.
exchanged: cos, sin = → sin, cos =
    Cosine and sine are exchanged: at position 0 nothing should turn. x goes with the cosine, rotate_half(x) with
    the sine.
first_half_scaled: - x2 * sin →
    The first half lacks its sine term: it is x₁·cos − x₂·sin.
only_cosine: - x2 * sin → ; + x1 * sin →
    Only the cosine terms are there, so features shrink and nothing turns. Add rotate_half(x)·sin.
sine_minus_twice: + x1 * sin → - x1 * sin
    Both halves subtract their sine terms, so lengths change. The second one is x₂·cos + x₁·sin.
halves_exchanged: [first, second] → [second, first]
    The two turned halves are exchanged. x₁·cos − x₂·sin comes first, x₂·cos + x₁·sin second.
woven: torch.cat([first, second], -1) → torch.stack([first, second], -1).flatten(-2)
    The pairs are right, but they are put back as neighbors. Join the two turned halves: torch.cat along dim=-1.
neighbors_turned: x1, x2 = → p1, p2 = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2).chunk(2, -1); x1, x2 =
; - x2 * sin → + p1 * sin ; + x1 * sin → + p2 * sin
    The angles fit the two halves, but neighbors are turned. The partner of x₁ is x₂: use rotate_half(x).
first_row_only: .unsqueeze(1) → [:1].unsqueeze(1)
    Every text gets the positions of the first one. position_ids of shape (B, T) has a row for each text: give its
    angles the shape (B, 1, T, D).
gaps_ignored: position_ids[..., None] → (position_ids[..., :1] + torch.arange(x.shape[-2]))[..., None]
    The positions are counted on from the first one, so gaps are lost. Multiply the frequencies by position_ids
    itself.
head_axis_always: if position_ids.dim() == 2 else angle →
    position_ids of shape (T,) get a head axis too, so positions stand where heads should. Add it only where
    position_ids has two axes; (T, D) fits as it is.
wavelengths: * frequencies → * (2 * torch.pi / frequencies)
    The wavelengths 2π/θ are used as frequencies. The angle is position_ids times θ, from rope_frequencies.
double_exponent: base, dtype → base**2, dtype
    The exponent is −4i/D for pair i, as if the head had D/2 features. It is −2i/D, as
    rope_frequencies should give it.
half_exponent: base, dtype → base**0.5, dtype
    The exponent is −i/D for pair i. It is −2i/D, as rope_frequencies should give it.
places_in_input_dtype: position_ids[..., None] → position_ids[..., None].to(x.dtype)
    position_ids are rounded to the input's dtype. bfloat16 keeps 8 bits, so 1,027 becomes a neighbor: multiply them
    by frequencies in float32.
single_precision: R.angle_dtype(x) → torch.float32 ; x.chunk → x.float().chunk
    Only a float64 input goes wrong: a step on the way is computed in float32. Convert x, angles and tables to
    torch.promote_types(x.dtype, torch.float32).
""",
)

EXERCISE = Exercise(
    id="rope.apply_rope_half",
    title="RoPE as LLaMA code writes it",
    points=2,
    difficulty=3,
    minutes=12,
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
    mutants=MISTAKES,
    equivalent="""
the wider of two dtypes does not depend on their order
    654c8304d8 solution, argument: torch.promote_types(x.dtype, torch.float32): arguments 1 and 2 swapped
""",
)

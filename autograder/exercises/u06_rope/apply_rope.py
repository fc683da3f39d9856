"""RoPE in the interleaved layout."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
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
    tables,
)


def apply_rope(x, position_ids, base=10000.0):
    frequencies = R.rope_frequencies(x.shape[-1], base, dtype=R.angle_dtype(x))
    angle = position_ids[..., None] * frequencies
    angle = angle.unsqueeze(1) if position_ids.dim() == 2 else angle
    cos, sin = angle.cos(), angle.sin()
    even, odd = x[..., ::2], x[..., 1::2]
    first = even * cos - odd * sin
    second = even * sin + odd * cos
    return torch.stack([first, second], -1).flatten(-2).to(x.dtype)


def rope_by_matrices(x, position_ids, base=10000.0):
    """One (D, D) matrix for each position."""
    D = x.shape[-1]
    ids = position_ids.expand(x.shape[0], x.shape[-2])
    matrices = torch.stack([torch.stack([R.rope_matrix(int(p), D, base) for p in row]) for row in ids])
    return torch.einsum("btij,bhtj->bhti", matrices, x.double()).to(x.dtype)


def rope_in_place_of_pairs(x, position_ids, base=10000.0):
    """Writes the two halves of every pair into a new tensor."""
    cos, sin = tables(x, position_ids, base)
    out = torch.empty_like(x)
    out[..., ::2] = x[..., ::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., ::2] * sin + x[..., 1::2] * cos
    return out


def one_pair(g: Source) -> Program:
    x = torch.tensor([1.0, 0.0]).expand(1, 1, 3, 2).clone()
    return call(x, torch.tensor([1, 2, 3]))


def two_pairs(g: Source) -> Program:
    x = torch.tensor([1.0, 0.0, 1.0, 0.0]).expand(1, 1, 2, 4).clone()
    return call(x, torch.tensor([1, 100]))


MISTAKES = changes(
    apply_rope,
    """
clockwise: position_ids[..., None] → -position_ids[..., None]
    The pairs turn backwards: the sine has the wrong sign. The first entry is even·cos − odd·sin.
both_plus: even * cos - odd → even * cos + odd
    Both entries add their terms, so pairs are stretched and not turned. A rotation has one minus: even·cos −
    odd·sin and even·sin + odd·cos.
exchanged: cos, sin = → sin, cos =
    Sine and cosine are exchanged: at position 0 nothing should turn. The first entry is even·cos − odd·sin.
second_minus: even * sin + odd → even * sin - odd
    The second entry has a minus as well, which makes a mirror image of each pair. It is even·sin + odd·cos.
own_scale_only: even * cos - odd * sin → even * cos ; even * sin + odd * cos → odd * sin
    Each entry is only scaled. A turn mixes the two of a pair: even·cos − odd·sin and even·sin + odd·cos.
one_ahead: position_ids[..., None] → (position_ids[..., None] + 1)
    Every pair turns one step too far, as if positions counted from 1. The angle is position_ids times θ: position 0
    does not turn.
half_exponent: base, dtype → base**0.5, dtype
    The exponent is −i/D for pair i. It is −2i/D, as rope_frequencies should give it.
halves_paired: x[..., ::2], x[..., 1::2] → x.chunk(2, -1)
; torch.stack([first, second], -1).flatten(-2) → torch.cat([first, second], -1)
    Feature i is paired with feature i + D/2. Here pair i is the neighbors 2i and 2i + 1: take x[..., 0::2] and
    x[..., 1::2].
tables_repeated: cos, sin = → angle = torch.cat([angle, angle], -1); cos, sin =
; even * cos - odd * sin → even * cos[..., ::2] - odd * sin[..., ::2]
; even * sin + odd * cos → even * sin[..., 1::2] + odd * cos[..., 1::2]
    The angles run θ₀ θ₁ … θ₀ θ₁ … along the features, so partners turn by different angles. Neighbors share an
    angle: θ₀ θ₀ θ₁ θ₁.
halves_left_apart: torch.stack([first, second], -1).flatten(-2) → torch.cat([first, second], -1)
    The turned numbers are right, but all first entries come before all second ones. Put each pair back together:
    stack along a new last axis, then flatten.
overwritten: even * sin + odd → first * sin + odd
    The second entry of a pair is computed from the new first entry. Keep both old entries until both new ones are
    there.
without_head_axis: .unsqueeze(1) if position_ids.dim() == 2 else angle → ; , dtype=R.angle_dtype(x) →
    Angles of shape (B, T, D/2) meet features of shape (B, H, T, D/2), so B lines up with H. Add an axis for the
    heads: angles.unsqueeze(1).
ids_ignored: frequencies = → position_ids = torch.arange(x.shape[-2]); frequencies =
    position_ids is ignored: the positions are counted 0, 1, 2, …. Multiply the frequencies by position_ids.
first_row_only: .unsqueeze(1) → [:1].unsqueeze(1)
    Every text gets the positions of the first one. position_ids of shape (B, T) has a row for each text: give its
    angles the shape (B, 1, T, D/2).
promoted: .to(x.dtype) →
    float16 went in and float32 came out: the float32 tables promote the product. Cast the result back to x.dtype.
angles_in_input_dtype: * frequencies → * frequencies.to(x.dtype)
; cos, sin = → angle = angle.to(R.angle_dtype(x)); cos, sin =
    The angles are computed in the input's dtype. bfloat16 keeps 8 bits, so 1,027 is rounded to a neighbor and the
    angle is off by whole radians: use float32 for angles.
base_ignored: base, dtype → dtype
    The base is fixed at 10,000. Hand the argument on to the frequencies.
sine_minus_twice: even * sin + odd * cos → odd * cos - even * sin
    Both sines have a minus, so pairs are stretched and not turned. The second entry is even·sin + odd·cos.
own_partner: even * cos - odd → even * cos - even ; even * sin + odd → odd * sin + odd
    Each entry meets only itself, so nothing turns. The sine multiplies the partner: even·cos − odd·sin and even·sin
    + odd·cos.
second_like_first: even * sin + odd * cos → even * cos + odd * sin
    The second entry is even·cos + odd·sin. Sine and cosine change places there: even·sin + odd·cos.
entries_exchanged: [first, second] → [second, first]
    The two entries of each pair are exchanged. even·cos − odd·sin comes first, even·sin + odd·cos second.
first_twice: [first, second] → [first, first]
    Both entries of a pair are even·cos − odd·sin. The second one is even·sin + odd·cos.
woven_halves: x[..., ::2], x[..., 1::2] → x.chunk(2, -1)
    Features i and i + D/2 are turned as a pair and put back as neighbors. Pair i is neighbors from the start:
    x[..., 0::2] and x[..., 1::2].
pairs_left: .flatten(-2) →
    The axis of the pairs is left over: (B, H, T, D/2, 2). Put the pairs back in a row: flatten(-2).
gaps_ignored: position_ids[..., None] → (position_ids[..., :1] + torch.arange(x.shape[-2]))[..., None]
    The positions are counted on from the first one, so gaps are lost. Multiply the frequencies by position_ids
    itself.
head_axis_always: if position_ids.dim() == 2 else angle →
    position_ids of shape (T,) get a head axis too, so positions stand where heads should. Add it only where
    position_ids has two axes; (T, D/2) fits as it is.
wavelengths: * frequencies → * (2 * torch.pi / frequencies)
    The wavelengths 2π/θ are used as frequencies. The angle is position_ids times θ, from rope_frequencies.
double_exponent: base, dtype → base**2, dtype
    The exponent is −4i/D for pair i, as if the head had D/2 features. It is −2i/D, as
    rope_frequencies should give it.
places_in_input_dtype: position_ids[..., None] → position_ids[..., None].to(x.dtype)
    position_ids are rounded to the input's dtype. bfloat16 keeps 8 bits, so 1,027 becomes a neighbor: multiply them
    by frequencies in float32.
single_precision: R.angle_dtype(x) → torch.float32
; x[..., ::2], x[..., 1::2] → x[..., ::2].float(), x[..., 1::2].float()
    Only a float64 input goes wrong: a step on the way is computed in float32. Convert x, angles and tables to
    torch.promote_types(x.dtype, torch.float32).
""",
)

EXERCISE = Exercise(
    id="rope.apply_rope",
    title="RoPE",
    points=4,
    difficulty=3,
    minutes=25,
    reference=R.apply_rope,
    alternatives=[rope_by_tables, rope_by_matrices, rope_in_place_of_pairs],
    cases=[
        Case(
            "one pair", "(1, 0) at positions 1, 2, 3 becomes (cos 1, sin 1), (cos 2, sin 2), (cos 3, sin 3)", one_pair
        ),
        Case("two pairs", "D = 4: at position 100 the second pair has turned by 1, the first by 100", two_pairs),
        Case("batch", "two texts with their own positions, with offsets and gaps", in_a_batch, weight=2),
        Case("shared positions", "positions of shape (T,) serve the whole batch, here with a shift", scores_of_a_shift),
        OTHER_BASE,
        FLOAT16,
        FLOAT64,
        Case(
            "far in bfloat16",
            "bfloat16 at position 1,027: the angle needs more digits than bfloat16 has",
            far_in_bfloat16,
            rounding=4,
        ),
        Case(
            "one token",
            "a single new token at position 41, as when a text is continued",
            lambda g: call(g.randn(1, 2, 1, 6), torch.tensor([[41]])),
        ),
        Case(
            "odd size",
            "D = 5 cannot be cut into pairs: ValueError",
            lambda g: call(g.randn(1, 1, 2, 5), torch.tensor([0, 1])),
            weight=0.5,
        ),
        GRADIENTS,
    ],
    mutants=MISTAKES,
    equivalent="""
the wider of two dtypes does not depend on their order
    46076b7324 solution, argument: torch.promote_types(x.dtype, torch.float32): arguments 1 and 2 swapped
a slice starts at 0 unless told otherwise
    71766e687b solution, slice: without 0 in x[..., 0::2]
a 0-d integer tensor multiplies the frequencies just as an int
    4480f16958 alternative rope_by_matrices, call: int(p) → its argument
""",
)

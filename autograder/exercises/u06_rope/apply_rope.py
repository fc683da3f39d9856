"""RoPE in the interleaved layout."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import rope as R

from ._turning import (
    always_head_axis,
    frequency_mistakes,
    imaginary,
    in_float32,
    neighbors,
    real,
    rope_of,
    unflattened,
    without_gaps,
    woven,
)
from .shared import (
    FLOAT16,
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
    tables,
)


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


def tables_repeated(x, position_ids, base=10000.0):
    """The half-split tables (θ₀ θ₁ θ₀ θ₁) on interleaved pairs."""
    cos, sin = (torch.cat([t, t], -1) for t in tables(x, position_ids, base))
    partner = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
    return (x * cos + partner * sin).to(x.dtype)


def overwritten(x, position_ids, base=10000.0):
    cos, sin = tables(x, position_ids, base)
    out = x.to(cos.dtype).clone()
    out[..., 0::2] = out[..., 0::2] * cos - out[..., 1::2] * sin
    out[..., 1::2] = out[..., 0::2] * sin + out[..., 1::2] * cos
    return out.to(x.dtype)


def both_plus(x, position_ids, base=10000.0):
    cos, sin = tables(x, position_ids, base)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos + odd * sin, even * sin + odd * cos], -1).flatten(-2).to(x.dtype)


def half_exponent(x, position_ids, base=10000.0):
    return R.apply_rope(x, position_ids, base**0.5)  # base^(−i/D) is √base^(−2i/D)


def without_head_axis(x, position_ids, base=10000.0):
    angle = position_ids[..., None] * R.rope_frequencies(x.shape[-1], base)
    cos, sin = angle.cos(), angle.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2).to(x.dtype)


def angles_in_input_dtype(x, position_ids, base=10000.0):
    f = R.rope_frequencies(x.shape[-1], base).to(x.dtype)
    angle = R.rope_angles(position_ids, f).to(R.angle_dtype(x))
    return R.rotate_pairs(x, angle.cos(), angle.sin())


def first_row_only(x, position_ids, base=10000.0):
    return R.apply_rope(x, position_ids[0] if position_ids.dim() == 2 else position_ids, base)


def one_pair(g: Source) -> Program:
    x = torch.tensor([1.0, 0.0]).expand(1, 1, 3, 2).clone()
    return call(x, torch.tensor([1, 2, 3]))


def two_pairs(g: Source) -> Program:
    x = torch.tensor([1.0, 0.0, 1.0, 0.0]).expand(1, 1, 2, 4).clone()
    return call(x, torch.tensor([1, 100]))


EXERCISE = Exercise(
    id="rope.apply_rope",
    title="RoPE",
    points=4,
    difficulty=3,
    minutes=25,
    signature="apply_rope(x, position_ids, base=10000.0)",
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
    mutants=[
        Mutant(
            "clockwise",
            lambda x, position_ids, base=10000.0: R.apply_rope(x, -position_ids, base),
            "The pairs turn backwards: the sine has the wrong sign. The first entry is even·cos − odd·sin.",
        ),
        Mutant(
            "both_plus",
            both_plus,
            "Both entries add their terms, so pairs are stretched and not turned. A rotation has one minus: "
            "even·cos − odd·sin and even·sin + odd·cos.",
        ),
        Mutant(
            "exchanged",
            by_hand(lambda e, o, c, s: e * s - o * c, lambda e, o, c, s: e * c + o * s),
            "Sine and cosine are exchanged: at place 0 nothing should turn. The first entry is even·cos − odd·sin.",
        ),
        Mutant(
            "second_minus",
            by_hand(lambda e, o, c, s: e * c - o * s, lambda e, o, c, s: e * s - o * c),
            "The second entry has a minus as well, which makes a mirror image of each pair. It is even·sin + odd·cos.",
        ),
        Mutant(
            "own_scale_only",
            by_hand(lambda e, o, c, s: e * c, lambda e, o, c, s: o * s),
            "Each entry is only scaled. A turn mixes the two of a pair: even·cos − odd·sin and even·sin + odd·cos.",
        ),
        Mutant(
            "one_ahead",
            lambda x, position_ids, base=10000.0: R.apply_rope(x, position_ids + 1, base),
            "Every pair turns one step too far, as if places counted from 1. The angle is position_ids times θ: "
            "place 0 does not turn.",
        ),
        Mutant(
            "half_exponent",
            half_exponent,
            "The exponent is −i/D for pair i. It is −2i/D: your rope_frequencies has it right.",
        ),
        Mutant(
            "halves_paired",
            R.apply_rope_half,
            "Feature i is paired with feature i + D/2. Here pair i is the neighbors 2i and 2i + 1: take "
            "x[..., 0::2] and x[..., 1::2].",
        ),
        Mutant(
            "tables_repeated",
            tables_repeated,
            "The angles run θ₀ θ₁ … θ₀ θ₁ … along the features, so partners turn by different angles. Neighbors "
            "share an angle: θ₀ θ₀ θ₁ θ₁.",
        ),
        Mutant(
            "halves_left_apart",
            halves_left_apart,
            "The turned numbers are right, but all first entries come before all second ones. Put each pair back "
            "together: stack along a new last axis, then flatten.",
        ),
        Mutant(
            "overwritten",
            overwritten,
            "The second entry of a pair is computed from the new first entry. Keep both old entries until both new "
            "ones are there.",
        ),
        Mutant(
            "without_head_axis",
            without_head_axis,
            "Angles of shape (B, T, D/2) meet features of shape (B, H, T, D/2), so B lines up with H. Add an axis "
            "for the heads: angles.unsqueeze(1).",
        ),
        Mutant(
            "ids_ignored",
            counted(R.apply_rope),
            "position_ids is ignored: the places are counted 0, 1, 2, …. Multiply the frequencies by position_ids.",
        ),
        Mutant(
            "first_row_only",
            first_row_only,
            "Every text gets the positions of the first one. position_ids of shape (B, T) has a row for each text: "
            "give its angles the shape (B, 1, T, D/2).",
        ),
        Mutant(
            "promoted",
            promoted(R.apply_rope),
            "float16 went in and float32 came out: the float32 tables promote the product. Cast the result back to "
            "x.dtype.",
        ),
        Mutant(
            "angles_in_input_dtype",
            angles_in_input_dtype,
            "The angles are computed in the input's dtype. bfloat16 keeps 8 bits, so 1,027 is rounded to a "
            "neighbor and the angle is off by whole radians: use float32 for angles.",
        ),
        Mutant(
            "base_ignored",
            lambda x, position_ids, base=10000.0: R.apply_rope(x, position_ids),
            "The base is fixed at 10,000. Hand the argument on to the frequencies.",
        ),
        Mutant(
            "sine_minus_twice",
            rope_of(neighbors(real, lambda a, b, c, s: b * c - a * s)),
            "Both sines have a minus, so pairs are stretched and not turned. The second entry is even·sin + odd·cos.",
        ),
        Mutant(
            "own_partner",
            rope_of(neighbors(lambda a, b, c, s: a * c - a * s, lambda a, b, c, s: b * c + b * s)),
            "Each entry meets only itself, so nothing turns. The sine multiplies the partner: even·cos − odd·sin and "
            "even·sin + odd·cos.",
        ),
        Mutant(
            "second_like_first",
            rope_of(neighbors(real, lambda a, b, c, s: a * c + b * s)),
            "The second entry is even·cos + odd·sin. Sine and cosine change places there: even·sin + odd·cos.",
        ),
        Mutant(
            "entries_exchanged",
            rope_of(neighbors(imaginary, real)),
            "The two entries of each pair are exchanged. even·cos − odd·sin comes first, even·sin + odd·cos second.",
        ),
        Mutant(
            "first_twice",
            rope_of(neighbors(real, real)),
            "Both entries of a pair are even·cos − odd·sin. The second one is even·sin + odd·cos.",
        ),
        Mutant(
            "woven_halves",
            rope_of(woven),
            "Features i and i + D/2 are turned as a pair and put back as neighbors. Pair i is neighbors from the "
            "start: x[..., 0::2] and x[..., 1::2].",
        ),
        Mutant(
            "pairs_left",
            rope_of(unflattened),
            "The axis of the pairs is left over: (B, H, T, D/2, 2). Put the pairs back in a row: flatten(-2).",
        ),
        Mutant(
            "gaps_ignored",
            rope_of(R.rotate_pairs, ids=without_gaps),
            "The places are counted on from the first one, so gaps are lost. Multiply the frequencies by "
            "position_ids itself.",
        ),
        Mutant(
            "head_axis_always",
            rope_of(R.rotate_pairs, angles=always_head_axis),
            "position_ids of shape (T,) get a head axis too, so places stand where heads should. Add it only where "
            "position_ids has two axes; (T, D/2) fits as it is.",
        ),
        *frequency_mistakes(R.rotate_pairs),
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

"""The same rotation in other clothes: half-split, permuted, complex, partial."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import rope as R

from .turning import (
    counted,
    far_in_bfloat16,
    halves_left_apart,
    in_a_batch,
    promoted,
    rope_by_tables,
    scores_of_a_shift,
    tables,
)

UNIT = "06-rope"


# -- rotate_half ----------------------------------------------------------------------------------------------------


def half_by_index(x):
    D = x.shape[-1]
    if D % 2:
        raise ValueError("odd")
    out = torch.empty_like(x)
    out[..., : D // 2], out[..., D // 2 :] = -x[..., D // 2 :], x[..., : D // 2]
    return out


def half_by_roll(x):
    if x.shape[-1] % 2:
        raise ValueError("odd")
    sign = torch.ones(x.shape[-1], dtype=x.dtype)
    sign[: x.shape[-1] // 2] = -1
    return x.roll(x.shape[-1] // 2, -1) * sign


def of_halves(f):
    """A mutant from the two halves. It checks no size: who makes such a mistake often has not come to the check."""
    return lambda x: torch.cat(f(*x.chunk(2, -1)), -1)


notes_half = of_halves(lambda x1, x2: [-x1, x2])


def neighbors(x):
    return torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)


def odd_accepted(x):
    h = x.shape[-1] // 2
    return torch.cat([-x[..., h:], x[..., :h]], -1)


HALF = Exercise(
    id="rope.rotate_half",
    unit=UNIT,
    title="A quarter turn of every pair",
    points=1,
    difficulty=1,
    minutes=6,
    signature="rotate_half(x)",
    reference=R.rotate_half,
    alternatives=[half_by_index, half_by_roll],
    cases=[
        Case(
            "four numbers",
            "[1, 2, 3, 4] becomes [−3, −4, 1, 2]: the pairs are (1, 3) and (2, 4)",
            lambda g: call(torch.tensor([1.0, 2.0, 3.0, 4.0])),
        ),
        Case("one pair", "a single pair (a, b) becomes (−b, a)", lambda g: call(g.randn(2))),
        Case("a head", "only the last axis is cut, (2, 2, 4, 6)", lambda g: call(g.randn(2, 2, 4, 6)), weight=2),
        Case("odd", "five features have no halves: ValueError", lambda g: call(g.randn(2, 5)), weight=0.5),
    ],
    mutants=[
        Mutant(
            "notes_version",
            notes_half,
            "This is [−x₁, x₂]: a sign changes and nothing is exchanged. A quarter turn sends (x₁, x₂) to (−x₂, x₁).",
        ),
        Mutant(
            "other_way",
            of_halves(lambda x1, x2: [x2, -x1]),
            "This is a quarter turn clockwise. The second half moves to the front and gets the minus sign.",
        ),
        Mutant(
            "no_sign",
            of_halves(lambda x1, x2: [x2, x1]),
            "The halves are exchanged but no sign is changed: that is a mirror, not a turn.",
        ),
        Mutant(
            "neighbors_paired",
            neighbors,
            "Neighbors are paired here. In the half-split layout feature i belongs to feature i + D/2.",
        ),
        Mutant(
            "odd_accepted",
            odd_accepted,
            "An odd size was accepted. Raise ValueError, otherwise one feature is paired with the wrong one.",
        ),
    ],
)


# -- apply_rope_half ------------------------------------------------------------------------------------------------


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


APPLY_HALF = Exercise(
    id="rope.apply_rope_half",
    unit=UNIT,
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
        Case(
            "other base",
            "base 100 in place of 10,000",
            lambda g: call(g.randn(1, 2, 3, 8), torch.tensor([2, 5, 9]), base=100.0),
        ),
        Case(
            "float16",
            "float16 goes in, float16 comes out",
            lambda g: call(g.randn(2, 1, 3, 4, dtype=torch.float16), g.integers(1, 20, 2, 3)),
        ),
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


# -- the permutation between the layouts ----------------------------------------------------------------------------


def permutation_by_reshape(D):
    if D % 2:
        raise ValueError("odd")
    return torch.arange(D).reshape(-1, 2).T.reshape(-1)


def permutation_by_list(D):
    if D % 2:
        raise ValueError("odd")
    return torch.tensor([*range(0, D, 2), *range(1, D, 2)])


PERMUTATION = Exercise(
    id="rope.interleaved_to_half_permutation",
    unit=UNIT,
    title="From one layout to the other",
    points=2,
    difficulty=3,
    minutes=10,
    signature="interleaved_to_half_permutation(D)",
    extension=True,
    reference=R.interleaved_to_half_permutation,
    alternatives=[permutation_by_reshape, permutation_by_list],
    cases=[
        Case("six features", "D = 6: the first half takes features 0, 2, 4", lambda g: call(6)),
        Case("four features", "D = 4: only the two in the middle change places", lambda g: call(4), weight=0.5),
        Case("another size", "another even D", lambda g: call(2 * g.integer(4, 12))),
        Case("odd", "D = 9 has no pairs: ValueError", lambda g: call(9), weight=0.5),
    ],
    mutants=[
        Mutant(
            "inverse",
            lambda D: torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)]).argsort(),
            "This leads from half-split to interleaved, the other way. Entry j says which interleaved feature comes "
            "to place j.",
        ),
        Mutant(
            "odds_first",
            lambda D: torch.cat([torch.arange(1, D, 2), torch.arange(0, D, 2)]),
            "The second members of the pairs come first. Half-split holds all first members, then all second ones.",
        ),
        Mutant(
            "halves_swapped",
            lambda D: torch.arange(D).roll(D // 2),
            "This exchanges the two halves. The members of a pair, 2i and 2i + 1, must come to i and i + D/2.",
        ),
        Mutant(
            "unchanged",
            lambda D: torch.arange(D),
            "Nothing is moved. The pairs 2i, 2i + 1 must come to the places i, i + D/2.",
        ),
        Mutant(
            "odd_accepted",
            lambda D: torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)]),
            "An odd D was accepted. Raise ValueError: its last feature has no partner.",
        ),
    ],
)


# -- complex implementation -----------------------------------------------------------------------------------------


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


COMPLEX = Exercise(
    id="rope.apply_rope_complex",
    unit=UNIT,
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


# -- partial RoPE ---------------------------------------------------------------------------------------------------


def _check(x, rotary_dim):
    if not 0 < rotary_dim <= x.shape[-1]:
        raise ValueError("rotary_dim")


def partial_by_copy(x, position_ids, rotary_dim, base=10000.0):
    _check(x, rotary_dim)
    out = x.clone()
    out[..., :rotary_dim] = R.apply_rope(x[..., :rotary_dim], position_ids, base)
    return out


def partial_by_tables(x, position_ids, rotary_dim, base=10000.0):
    """Frequency 0 for the tail."""
    _check(x, rotary_dim)
    f = torch.zeros(x.shape[-1] // 2)
    f[: rotary_dim // 2] = R.rope_frequencies(rotary_dim, base)
    angle = R.rope_angles(position_ids, f)
    return R.rotate_pairs(x, angle.cos(), angle.sin())


def frequencies_of_the_head(x, position_ids, rotary_dim, base=10000.0):
    return torch.cat([R.apply_rope(x, position_ids, base)[..., :rotary_dim], x[..., rotary_dim:]], -1)


def tail_turned(x, position_ids, rotary_dim, base=10000.0):
    keep = x.shape[-1] - rotary_dim
    return torch.cat([x[..., :keep], R.apply_rope(x[..., keep:], position_ids, base)], -1)


def tail_lost(x, position_ids, rotary_dim, base=10000.0):
    return R.apply_rope(x[..., :rotary_dim], position_ids, base)


def tail_zero(x, position_ids, rotary_dim, base=10000.0):
    turned = R.apply_rope(x[..., :rotary_dim], position_ids, base)
    return torch.cat([turned, torch.zeros_like(x[..., rotary_dim:])], -1)


def all_turned(x, position_ids, rotary_dim, base=10000.0):
    return R.apply_rope(x, position_ids, base)


def any_dim(x, position_ids, rotary_dim, base=10000.0):
    return R.apply_partial_rope(x, position_ids, min(rotary_dim, x.shape[-1]), base)


PARTIAL = Exercise(
    id="rope.apply_partial_rope",
    unit=UNIT,
    title="Partial RoPE",
    points=2,
    difficulty=2,
    minutes=10,
    signature="apply_partial_rope(x, position_ids, rotary_dim, base=10000.0)",
    extension=True,
    reference=R.apply_partial_rope,
    alternatives=[partial_by_copy, partial_by_tables],
    cases=[
        Case(
            "half a head",
            "D = 4, rotary_dim 2: (1, 0) turns by 1 radian, the tail (5, 6) stays",
            lambda g: call(torch.tensor([1.0, 0.0, 5.0, 6.0]).reshape(1, 1, 1, 4), torch.tensor([1]), 2),
        ),
        Case(
            "a quarter",
            "4 of 16 features turn, with the frequencies of a head of size 4",
            lambda g: call(g.randn(2, 2, 3, 16), g.integers(1, 90, 2, 3), 4),
            weight=2,
        ),
        Case(
            "all",
            "rotary_dim = D is plain RoPE",
            lambda g: call(g.randn(1, 2, 3, 6), torch.tensor([3, 4, 9]), 6),
            weight=0.5,
        ),
        Case(
            "too much",
            "rotary_dim 8 of 6 features: ValueError",
            lambda g: call(g.randn(1, 1, 2, 6), torch.tensor([0, 1]), 8),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "frequencies_of_the_head",
            frequencies_of_the_head,
            "The frequencies are those of the whole head. They belong to a head of size rotary_dim: cut first, "
            "then rotate.",
        ),
        Mutant("tail_turned", tail_turned, "The last features turn and the first stay. It is the other way round."),
        Mutant("tail_lost", tail_lost, "Only the turned part comes back. Put the untouched tail behind it."),
        Mutant(
            "tail_zero",
            tail_zero,
            "The tail is set to zero. It carries what does not depend on the place: leave it as it is.",
        ),
        Mutant("all_turned", all_turned, "Every feature turns: rotary_dim is ignored."),
        Mutant(
            "any_dim",
            any_dim,
            "A rotary_dim larger than D was accepted, because slicing past the end is silent. Raise ValueError.",
        ),
    ],
)

EXERCISES = [HALF, APPLY_HALF, PERMUTATION, COMPLEX, PARTIAL]

"""RoPE on the first features of a head only."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import rope as R

from ._turning import in_float32


def partial_by_copy(x, position_ids, rotary_dim, base=10000.0):
    if rotary_dim < 0 or rotary_dim > x.shape[-1]:
        raise ValueError("rotary_dim")
    out = x.clone()
    out[..., :rotary_dim] = R.apply_rope(x[..., :rotary_dim], position_ids, base)
    return out


def partial_by_tables(x, position_ids, rotary_dim, base=10000.0):
    """Frequency 0 for the tail."""
    if rotary_dim > x.shape[-1]:
        raise ValueError("rotary_dim")
    f = R.rope_frequencies(rotary_dim, base, dtype=torch.float64)
    angle = R.rope_angles(position_ids, torch.nn.functional.pad(f, (0, (x.shape[-1] - rotary_dim) // 2)))
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


def unchecked(x, position_ids, rotary_dim, base=10000.0):
    head, tail = x[..., :rotary_dim], x[..., rotary_dim:]
    # No frequencies for 0 features: a learner's own function takes any even size.
    return torch.cat([R.apply_rope(head, position_ids, base) if head.numel() else head, tail], -1)


def only_zero_refused(x, position_ids, rotary_dim, base=10000.0):
    turned = R.apply_rope(x[..., :rotary_dim], position_ids, base)  # no frequencies for 0 features
    return torch.cat([turned, x[..., rotary_dim:]], -1)


def zero_accepted(x, position_ids, rotary_dim, base=10000.0):
    return R.apply_partial_rope(x, position_ids, rotary_dim, base) if rotary_dim else x.clone()


def whole_head_refused(x, position_ids, rotary_dim, base=10000.0):
    if rotary_dim >= x.shape[-1]:
        raise ValueError("rotary_dim")
    return R.apply_partial_rope(x, position_ids, rotary_dim, base)


def halves_inside(x, position_ids, rotary_dim, base=10000.0):
    return R.apply_partial_rope_half(x, position_ids, rotary_dim, base)


def promoted_head(x, position_ids, rotary_dim, base=10000.0):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return R.apply_partial_rope(wide, position_ids, rotary_dim, base)


def any_dim(x, position_ids, rotary_dim, base=10000.0):
    return R.apply_partial_rope(x, position_ids, min(rotary_dim, x.shape[-1]), base)


def tail_first(x, position_ids, rotary_dim, base=10000.0):
    return torch.cat([x[..., rotary_dim:], R.apply_rope(x[..., :rotary_dim], position_ids, base)], -1)


def pairs_counted(x, position_ids, rotary_dim, base=10000.0):
    head, tail = x[..., : 2 * rotary_dim], x[..., 2 * rotary_dim :]
    return torch.cat([R.apply_rope(head, position_ids, base), tail], -1)


def turned_added(x, position_ids, rotary_dim, base=10000.0):
    """The turned part in front of the whole head."""
    return torch.cat([R.apply_rope(x[..., :rotary_dim], position_ids, base), x], -1)


def lower_end_unchecked(x, position_ids, rotary_dim, base=10000.0):
    if rotary_dim > x.shape[-1]:
        raise ValueError("rotary_dim")
    return unchecked(x, position_ids, rotary_dim, base)


def counted(x, position_ids, rotary_dim, base=10000.0):
    return R.apply_partial_rope(x, torch.arange(x.shape[-2]), rotary_dim, base)


EXERCISE = Exercise(
    id="rope.apply_partial_rope",
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
            "other base",
            "four of six features turn, with some other base",
            lambda g: call(g.randn(2, 1, 3, 6), g.integers(1, 90, 2, 3), 4, base=g.number(50, 500, digits=1)),
        ),
        Case(
            "float16",
            "float16 goes in, float16 comes out",
            lambda g: call(g.randn(2, 1, 3, 6, dtype=torch.float16), torch.tensor([2, 5, 9]), 4),
        ),
        Case(
            "float64",
            "float64 goes in and comes out with all its digits, tail included",
            lambda g: call(g.randn(2, 1, 3, 4, dtype=torch.float64) / 3, g.integers(2_000, 9_000, 2, 3), 2),
        ),
        Case(
            "gradients",
            "a gradient flows back to the part that turns and to the tail",
            lambda g: call(g.randn(2, 2, 3, 6), g.integers(1, 20, 2, 3), 4, grad=[0]),
        ),
        Case(
            "too much",
            "rotary_dim 8 of 6 features: ValueError",
            lambda g: call(g.randn(1, 1, 2, 6), torch.tensor([0, 1]), 8),
            weight=0.5,
        ),
        Case(
            "one too much",
            "rotary_dim 7 of 6 features: ValueError",
            lambda g: call(g.randn(1, 1, 2, 6), torch.tensor([0, 1]), 7),
            weight=0.5,
        ),
        Case(
            "odd",
            "rotary_dim 3 leaves a feature without a partner: ValueError",
            lambda g: call(g.randn(1, 1, 2, 6), torch.tensor([0, 1]), 3),
            weight=0.5,
        ),
        Case(
            "none",
            "rotary_dim 0 turns nothing: ValueError",
            lambda g: call(g.randn(1, 1, 2, 6), torch.tensor([0, 1]), 0),
            weight=0.5,
        ),
        Case(
            "negative",
            "rotary_dim −2 would cut from the end: ValueError",
            lambda g: call(g.randn(1, 1, 2, 6), torch.tensor([0, 1]), -2),
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
        Mutant(
            "all_turned",
            all_turned,
            "Every feature turns: rotary_dim is ignored. Turn x[..., :rotary_dim], and put the rest behind it.",
        ),
        Mutant(
            "halves_inside",
            halves_inside,
            "The turned part is in the half-split layout. Here pairs are neighbors: use apply_rope.",
        ),
        Mutant(
            "base_ignored",
            lambda x, position_ids, rotary_dim, base=10000.0: R.apply_partial_rope(x, position_ids, rotary_dim),
            "The base is fixed at 10,000. Hand the argument on: apply_rope(head, position_ids, base).",
        ),
        Mutant(
            "promoted",
            promoted_head,
            "float16 went in and float32 came out. Cast the result back to x.dtype.",
        ),
        Mutant(
            "whole_head_refused",
            whole_head_refused,
            "rotary_dim equal to D was refused. That is plain RoPE and is allowed: the range is 1 … D.",
        ),
        Mutant(
            "zero_accepted",
            zero_accepted,
            "rotary_dim 0 was accepted. The range starts at 1: raise ValueError for 0.",
        ),
        Mutant(
            "only_zero_refused",
            only_zero_refused,
            "The range of rotary_dim is not checked: slicing past the end is silent, and −2 counts from the end. Raise "
            "ValueError unless 0 < rotary_dim <= D.",
        ),
        Mutant(
            "unchecked",
            unchecked,
            "The range of rotary_dim is not checked: slicing past the end is silent, and so is an empty slice. Raise "
            "ValueError unless 0 < rotary_dim <= D.",
        ),
        Mutant(
            "any_dim",
            any_dim,
            "A rotary_dim larger than D was accepted, because slicing past the end is silent. Raise ValueError.",
        ),
        Mutant(
            "tail_first",
            tail_first,
            "The parts come back in the wrong order. The turned features come first, the untouched ones behind them.",
        ),
        Mutant(
            "pairs_counted",
            pairs_counted,
            "Twice as many features turn: rotary_dim counts features, not pairs. Cut at x[..., :rotary_dim].",
        ),
        Mutant(
            "turned_added",
            turned_added,
            "The turned part stands in front of the whole head, so its features come twice. Behind it belongs only "
            "x[..., rotary_dim:].",
        ),
        Mutant(
            "ids_ignored",
            counted,
            "position_ids is ignored: the angles belong to places 0, 1, 2, …. Hand it on to apply_rope.",
        ),
        Mutant(
            "clockwise",
            lambda x, position_ids, rotary_dim, base=10000.0: R.apply_partial_rope(x, -position_ids, rotary_dim, base),
            "The pairs turn backwards: the sine has the wrong sign. Call apply_rope on x[..., :rotary_dim].",
        ),
        Mutant(
            "lower_end_unchecked",
            lower_end_unchecked,
            "Only the upper end of rotary_dim is checked: 0 turns nothing, and −2 counts from the end. Raise "
            "ValueError unless 0 < rotary_dim <= D.",
        ),
        Mutant(
            "single_precision",
            in_float32(R.apply_partial_rope),
            "Only a float64 input goes wrong: a step on the way is computed in float32. Leave x in its dtype; your "
            "apply_rope widens what it needs.",
        ),
    ],
)

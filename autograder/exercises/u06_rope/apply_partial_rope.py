"""RoPE on the first features of a head only."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import rope as R


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


EXERCISE = Exercise(
    id="rope.apply_partial_rope",
    unit="06-rope",
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

"""RoPE on the first features of a head only."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
from autograder.reference import rope as R


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


MISTAKES = changes(
    R.apply_partial_rope,
    """
frequencies_of_the_head: _check_rotary_dim(x, rotary_dim) →
; apply_rope(head, position_ids, base) → apply_rope(x, position_ids, base)[..., :rotary_dim]
    The frequencies are those of the whole head. They belong to a head of size rotary_dim: cut first, then rotate.
tail_turned: _check_rotary_dim(x, rotary_dim) → keep = x.shape[-1] - rotary_dim
; head, tail = x[..., :rotary_dim], x[..., rotary_dim:] → tail, head = x[..., :keep], x[..., keep:]
; [apply_rope(head, position_ids, base), tail] → [tail, apply_rope(head, position_ids, base)]
    The last features turn and the first stay. It is the other way round.
tail_lost: _check_rotary_dim(x, rotary_dim) →
; torch.cat([apply_rope(head, position_ids, base), tail], dim=-1) → apply_rope(head, position_ids, base)
    Only the turned part comes back. Put the untouched tail behind it.
tail_zero: _check_rotary_dim(x, rotary_dim) → ; base), tail] → base), torch.zeros_like(tail)]
    The tail is set to zero. It carries what does not depend on the position: leave it as it is.
all_turned: _check_rotary_dim(x, rotary_dim) →
; torch.cat([apply_rope(head, position_ids, base), tail], dim=-1) → apply_rope(x, position_ids, base)
    Every feature turns: rotary_dim is ignored. Turn x[..., :rotary_dim], and put the rest behind it.
halves_inside: apply_rope(head → apply_rope_half(head
    The turned part is in the half-split layout. Here pairs are neighbors: use apply_rope.
base_ignored: position_ids, base) → position_ids)
    The base is fixed at 10,000. Hand the argument on: apply_rope(head, position_ids, base).
promoted: apply_rope(head → apply_rope(head.to(angle_dtype(x))
    float16 went in and float32 came out. Cast the result back to x.dtype.
whole_head_refused: _check_rotary_dim(x → _check_rotary_dim(x[..., 1:]
    rotary_dim equal to D was refused. That is plain RoPE and is allowed: the range is 1 … D.
zero_accepted: (x, rotary_dim) → (x, rotary_dim or 1) ; return → return x.clone() if rotary_dim == 0 else
    rotary_dim 0 was accepted. The range starts at 1: raise ValueError for 0.
only_zero_refused: _check_rotary_dim(x, rotary_dim) →
    The range of rotary_dim is not checked: slicing past the end is silent, and −2 counts from the end. Raise
    ValueError unless 0 < rotary_dim <= D.
unchecked: _check_rotary_dim(x, rotary_dim) → ; base), tail → base) if head.numel() else head, tail
    The range of rotary_dim is not checked: slicing past the end is silent, and so is an empty slice. Raise
    ValueError unless 0 < rotary_dim <= D.
any_dim: (x, rotary_dim) → (x, min(rotary_dim, x.shape[-1]))
    A rotary_dim larger than D was accepted, because slicing past the end is silent. Raise ValueError.
tail_first: _check_rotary_dim(x, rotary_dim) →
; [apply_rope(head, position_ids, base), tail] → [tail, apply_rope(head, position_ids, base)]
    The parts come back in the wrong order. The turned features come first, the untouched ones behind them.
pairs_counted: _check_rotary_dim(x, rotary_dim) →
; x[..., :rotary_dim], x[..., rotary_dim:] → x[..., : 2 * rotary_dim], x[..., 2 * rotary_dim :]
    Twice as many features turn: rotary_dim counts features, not pairs. Cut at x[..., :rotary_dim].
turned_added: _check_rotary_dim(x, rotary_dim) → ; base), tail] → base), x]
    The turned part stands in front of the whole head, so its features come twice. Behind it belongs only x[...,
    rotary_dim:].
ids_ignored: position_ids, base) → torch.arange(x.shape[-2]), base)
    position_ids is ignored: the angles belong to positions 0, 1, 2, …. Hand it on to apply_rope.
clockwise: head, position_ids → head, -position_ids
    The pairs turn backwards: the sine has the wrong sign. Call apply_rope on x[..., :rotary_dim].
lower_end_unchecked: (x, rotary_dim) → (x, max(rotary_dim, 1)) ; base), tail → base) if head.numel() else head, tail
    Only the upper end of rotary_dim is checked: 0 turns nothing, and −2 counts from the end. Raise ValueError
    unless 0 < rotary_dim <= D.
single_precision: x[..., :rotary_dim], x[..., rotary_dim:] → x[..., :rotary_dim].float(), x[..., rotary_dim:].float()
; dim=-1) → dim=-1).to(x.dtype)
    Only a float64 input goes wrong: a step on the way is computed in float32. Leave x in its dtype; your apply_rope
    widens what it needs.
""",
)

EXERCISE = Exercise(
    id="rope.apply_partial_rope",
    title="Partial RoPE",
    points=2,
    difficulty=2,
    minutes=10,
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
    mutants=MISTAKES,
    equivalent="""
what the bound lets through or keeps back, 0, 1 or −1, raises the same ValueError in the check for an even size
    7e1fb8925d solution, constant: 0 → 1 in 0 < rotary_dim <= x.shape[-1]
    342f3d7c9e alternative partial_by_copy, compare: rotary_dim < 0 → rotary_dim <= 0
    b1c0b6c6bf alternative partial_by_copy, constant: 0 → -1 in rotary_dim < 0
D is even in a head, so D + 1 is odd and raises the ValueError for odd sizes
    3e4009356b alternative partial_by_tables, window: x.shape[-1] + 1 in rotary_dim > x.shape[-1]
only even sizes get here: half of one is a whole number
    d1d4b1f988 alternative partial_by_tables, arithmetic: (x.shape[-1] - rotary_dim) // 2 rounded up
""",
)

"""A quarter turn of every pair, in the layout of two halves."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
from autograder.reference import rope as R


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
    return x.roll(x.shape[-1] // 2, -1).mul(sign)


MISTAKES = changes(
    R.rotate_half,
    """
notes_version: x.shape[-1] % 2 → False ; [-x2, x1] → [-x1, x2]
    This is [−x₁, x₂]: a sign changes and nothing is exchanged. A quarter turn sends (x₁, x₂) to (−x₂, x₁).
other_way: x.shape[-1] % 2 → False ; [-x2, x1] → [x2, -x1]
    This is a quarter turn clockwise. The second half moves to the front and gets the minus sign.
no_sign: x.shape[-1] % 2 → False ; [-x2, x1] → [x2, x1]
    The halves are exchanged but no sign is changed: that is a mirror, not a turn.
not_exchanged: x.shape[-1] % 2 → False ; [-x2, x1] → [x1, -x2]
    The halves stay where they are. They change places: the second one comes first, with a minus.
half_turn: x.shape[-1] % 2 → False ; torch.cat([-x2, x1], dim=-1) → -x
    Every number changes its sign: that is a half turn. A quarter turn sends (x₁, x₂) to (−x₂, x₁).
both_negative: x.shape[-1] % 2 → False ; [-x2, x1] → [-x2, -x1]
    Both halves got a minus sign: that is a mirror. Only the half that moves to the front gets one.
into_float32: x1], dim=-1) → x1], dim=-1).float()
    The numbers are right, but every result is float32. Make the new tensor in the dtype of x: torch.zeros_like(x),
    or torch.cat.
neighbors_paired: x.shape[-1] % 2 → False ; x.chunk(2, dim=-1) → x[..., 0::2], x[..., 1::2]
; torch.cat([-x2, x1], dim=-1) → torch.stack([-x2, x1], dim=-1).flatten(-2)
    Neighbors are paired here. In the half-split layout feature i belongs to feature i + D/2.
odd_accepted: x.shape[-1] % 2 → False
; x1, x2 = x.chunk(2, dim=-1) → h = x.shape[-1] // 2; x1, x2 = x[..., :h], x[..., h:]
    An odd size was accepted. Raise ValueError, otherwise one feature is paired with the wrong one.
rows_cut: x.shape[-1] % 2 → False ; chunk(2, dim=-1) → chunk(2) ; x1], dim=-1) → x1])
    Axis 0 is cut into halves: without dim, torch cuts and joins the first axis. The features are the last one:
    dim=-1 in chunk and in cat.
rows_cut_joined_last: x.shape[-1] % 2 → False ; chunk(2, dim=-1) → chunk(2)
    Axis 0 is cut into halves and the last axis is joined. Cut the features as well: x.chunk(2, dim=-1).
joined_as_rows: x.shape[-1] % 2 → False ; x1], dim=-1) → x1])
    The halves are joined along axis 0, because torch.cat has no dim. Join the features: dim=-1.
flipped: x.shape[-1] % 2 → False ; [-x2, x1] → [-x2.flip(-1), x1.flip(-1)]
    The order inside each half is reversed, as flip does it. Exchange the halves as they are: [−x₂, x₁].
woven: x.shape[-1] % 2 → False ; torch.cat([-x2, x1], dim=-1) → torch.stack([-x2, x1], dim=-1).flatten(-2)
    The two new halves are woven into neighbors. Put one behind the other: torch.cat along dim=-1.
stacked: x.shape[-1] % 2 → False ; torch.cat → torch.stack
    The halves are stacked along a new axis. Join them along the last one, so that the shape stays: torch.cat(…,
    dim=-1).
second_repeated: x.shape[-1] % 2 → False ; [-x2, x1] → [-x2, x2]
    The second half appears twice. The result is [−x₂, x₁]: the first half comes last.
first_repeated: x.shape[-1] % 2 → False ; [-x2, x1] → [-x1, x1]
    The first half appears twice. The result is [−x₂, x₁]: the second half comes first, negated.
odd_chunked: x.shape[-1] % 2 → False
    An odd size was accepted: chunk gives the first half one feature more. Raise ValueError before it.
""",
)

EXERCISE = Exercise(
    id="rope.rotate_half",
    title="A quarter turn of every pair",
    points=1,
    difficulty=1,
    minutes=6,
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
        Case(
            "float16",
            "float16 goes in, float16 comes out",
            lambda g: call(g.randn(2, 3, 4, dtype=torch.float16)),
        ),
        Case(
            "float64",
            "float64 goes in and comes out, digit by digit",
            lambda g: call(g.randn(3, 8, dtype=torch.float64) / 3),
        ),
        Case(
            "gradients",
            "a gradient flows back: queries and keys are trained through it",
            lambda g: call(g.randn(2, 3, 6), grad=[0]),
        ),
        Case("odd", "five features have no halves: ValueError", lambda g: call(g.randn(2, 5)), weight=0.5),
    ],
    mutants=MISTAKES,
    equivalent="""
only even sizes get here: half of one is a whole number
    f8954e9bd9 alternative half_by_index, arithmetic: D // 2 rounded up
    36e134a1a7 alternative half_by_index, arithmetic: D // 2 rounded up
    fe65dfcbc9 alternative half_by_index, arithmetic: D // 2 rounded up
    12f889b30b alternative half_by_index, arithmetic: D // 2 rounded up
    210f2573ac alternative half_by_roll, arithmetic: x.shape[-1] // 2 rounded up
    4fa3285d9a alternative half_by_roll, arithmetic: x.shape[-1] // 2 rounded up
""",
)

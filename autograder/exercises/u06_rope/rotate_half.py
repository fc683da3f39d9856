"""A quarter turn of every pair, in the layout of two halves."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import rope as R

from .shared import notes_half, of_halves


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


def neighbors(x):
    return torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)


def odd_accepted(x):
    h = x.shape[-1] // 2
    return torch.cat([-x[..., h:], x[..., :h]], -1)


def rows_cut(x):
    x1, x2 = x.chunk(2)
    return torch.cat([-x2, x1])


def rows_cut_joined_last(x):
    x1, x2 = x.chunk(2)
    return torch.cat([-x2, x1], -1)


def joined_as_rows(x):
    x1, x2 = x.chunk(2, -1)
    return torch.cat([-x2, x1])


def odd_chunked(x):
    x1, x2 = x.chunk(2, -1)
    return torch.cat([-x2, x1], -1)


EXERCISE = Exercise(
    id="rope.rotate_half",
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
            "not_exchanged",
            of_halves(lambda x1, x2: [x1, -x2]),
            "The halves stay where they are. They change places: the second one comes first, with a minus.",
        ),
        Mutant(
            "half_turn",
            lambda x: -x,
            "Every number changes its sign: that is a half turn. A quarter turn sends (x₁, x₂) to (−x₂, x₁).",
        ),
        Mutant(
            "both_negative",
            of_halves(lambda x1, x2: [-x2, -x1]),
            "Both halves got a minus sign: that is a mirror. Only the half that moves to the front gets one.",
        ),
        Mutant(
            "into_float32",
            lambda x: R.rotate_half(x).float(),
            "The numbers are right, but every result is float32. Make the new tensor in the dtype of x: "
            "torch.zeros_like(x), or torch.cat.",
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
        Mutant(
            "rows_cut",
            rows_cut,
            "Axis 0 is cut into halves: without dim, torch cuts and joins the first axis. The features are the last "
            "one: dim=-1 in chunk and in cat.",
        ),
        Mutant(
            "rows_cut_joined_last",
            rows_cut_joined_last,
            "Axis 0 is cut into halves and the last axis is joined. Cut the features as well: x.chunk(2, dim=-1).",
        ),
        Mutant(
            "joined_as_rows",
            joined_as_rows,
            "The halves are joined along axis 0, because torch.cat has no dim. Join the features: dim=-1.",
        ),
        Mutant(
            "flipped",
            of_halves(lambda x1, x2: [-x2.flip(-1), x1.flip(-1)]),
            "The order inside each half is reversed, as flip does it. Exchange the halves as they are: [−x₂, x₁].",
        ),
        Mutant(
            "woven",
            lambda x: torch.stack([-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], -1).flatten(-2),
            "The two new halves are woven into neighbors. Put one behind the other: torch.cat along dim=-1.",
        ),
        Mutant(
            "stacked",
            lambda x: torch.stack([-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], -1),
            "The halves are stacked along a new axis. Join them along the last one, so that the shape stays: "
            "torch.cat(…, dim=-1).",
        ),
        Mutant(
            "second_repeated",
            of_halves(lambda x1, x2: [-x2, x2]),
            "The second half stands in both places. The result is [−x₂, x₁]: the first half comes last.",
        ),
        Mutant(
            "first_repeated",
            of_halves(lambda x1, x2: [-x1, x1]),
            "The first half stands in both places. The result is [−x₂, x₁]: the second half comes first, negated.",
        ),
        Mutant(
            "odd_chunked",
            odd_chunked,
            "An odd size was accepted: chunk gives the first half one feature more. Raise ValueError before it.",
        ),
    ],
)

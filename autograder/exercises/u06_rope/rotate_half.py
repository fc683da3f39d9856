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
    return x.roll(x.shape[-1] // 2, -1) * sign


def neighbors(x):
    return torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)


def odd_accepted(x):
    h = x.shape[-1] // 2
    return torch.cat([-x[..., h:], x[..., :h]], -1)


EXERCISE = Exercise(
    id="rope.rotate_half",
    unit="06-rope",
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

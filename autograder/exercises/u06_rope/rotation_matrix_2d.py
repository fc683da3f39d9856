"""The matrix that turns a plane."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import rope as R


def matrix_by_filling(angle):
    """Four entries written into an empty tensor."""
    out = torch.empty(*angle.shape, 2, 2, dtype=angle.dtype)
    out[..., 0, 0] = out[..., 1, 1] = angle.cos()
    out[..., 1, 0] = angle.sin()
    out[..., 0, 1] = -angle.sin()
    return out


def matrix_by_turning_axes(angle):
    """Columns are the turned unit vectors."""
    first = torch.stack([angle.cos(), angle.sin()], -1)
    second = torch.stack([-angle.sin(), angle.cos()], -1)
    return torch.stack([first, second], -1)


def axes_in_front(angle):
    c, s = angle.cos(), angle.sin()
    return torch.stack([torch.stack([c, -s]), torch.stack([s, c])])


def all_plus(angle):
    c, s = angle.cos(), angle.sin()
    return torch.stack([c, s, s, c], -1).unflatten(-1, (2, 2))


def reflection(angle):
    c, s = angle.cos(), angle.sin()
    return torch.stack([c, s, s, -c], -1).unflatten(-1, (2, 2))


EXERCISE = Exercise(
    id="rope.rotation_matrix_2d",
    unit="06-rope",
    title="The matrix that turns a plane",
    points=1,
    difficulty=1,
    minutes=5,
    signature="rotation_matrix_2d(angle)",
    reference=R.rotation_matrix_2d,
    alternatives=[matrix_by_filling, matrix_by_turning_axes],
    cases=[
        Case(
            "thirty degrees",
            "π/6: cosine 0.866, sine 0.5, and the minus sign at the top right",
            lambda g: call(torch.tensor(math.pi / 6)),
        ),
        Case("several", "three angles give three matrices, (3, 2, 2)", lambda g: call(g.uniform(3, low=0.2, high=1.3))),
        Case(
            "two by five",
            "angles of shape (2, 5) give (2, 5, 2, 2)",
            lambda g: call(g.uniform(2, 5, low=-3.0, high=3.0)),
        ),
        Case(
            "two",
            "two angles: the matrix axes come last even when every axis has size 2",
            lambda g: call(g.uniform(2, low=0.3, high=1.2)),
        ),
        Case(
            "double",
            "float64 angles give a float64 matrix",
            lambda g: call(g.uniform(1, low=0.2, high=1.3, dtype=torch.float64)),
        ),
    ],
    mutants=[
        Mutant(
            "clockwise",
            lambda angle: R.rotation_matrix_2d(-angle),
            "This turns clockwise: the minus sign belongs to the sine at the top right.",
        ),
        Mutant(
            "all_plus",
            all_plus,
            "Both sines have a plus sign, which stretches the plane. The one at the top right is negative.",
        ),
        Mutant(
            "reflection",
            reflection,
            "This is a mirror image: its determinant is −1. The two cosines have the "
            "same sign, the two sines have opposite signs.",
        ),
        Mutant(
            "degrees",
            lambda angle: R.rotation_matrix_2d(angle * math.pi / 180),
            "The angle was read as degrees. It is given in radians, and torch.cos takes radians.",
        ),
        Mutant(
            "axes_in_front",
            axes_in_front,
            "The two matrix axes come first. They belong at the end: stack along dim=-1 and then dim=-2.",
        ),
    ],
)

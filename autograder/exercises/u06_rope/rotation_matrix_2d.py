"""The matrix that turns a plane."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
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


MISTAKES = changes(
    R.rotation_matrix_2d,
    """
clockwise: torch.as_tensor(angle → torch.as_tensor(-angle
    This turns clockwise: the minus sign belongs to the sine at the top right. If it stands there in your code, rows
    became columns: stack the rows along dim=-2.
all_plus: ([cos, -sin] → ([cos, sin]
    Both sines have a plus sign, which stretches the plane. The one at the top right is negative.
reflection: ([cos, -sin] → ([cos, sin] ; ([sin, cos] → ([sin, -cos]
    This is a mirror image: its determinant is −1. The two cosines have the same sign, the two sines have opposite
    signs.
last_negative: ([sin, cos] → ([sin, -cos]
    The last entry is −cos, so the point (0, 1) lands on the wrong side. Both cosines have a plus sign, and only one
    sine has a minus.
scrambled: torch.stack([cos, -sin], dim=-1) → cos, -sin ; torch.stack([sin, cos], dim=-1) → sin, cos
; dim=-2) → dim=0).reshape(*angle.shape, 2, 2)
    The entries of different angles are mixed: the new axis is in front, and a reshape does not move it. Stack along
    dim=-1, then cut that axis into (2, 2).
exchanged: cos, sin = → sin, cos =
    Sines and cosines are exchanged, so an angle of 0 does not stay where it is. The cosines stand on the diagonal.
degrees: torch.as_tensor(angle → torch.as_tensor(angle * math.pi / 180
    The angle was read as degrees. It is given in radians, and torch.cos takes radians.
axes_in_front: -sin], dim=-1) → -sin]) ; ([sin, cos], dim=-1)], dim=-2) → ([sin, cos])])
    The two matrix axes come first. They belong at the end: stack along dim=-1 and then dim=-2.
both_sines_negative: ([sin, cos] → ([-sin, cos]
    Both sines have a minus sign. The second row is [sin, cos]: the point (1, 0) lands at (cos, sin).
second_row_negative: ([sin, cos] → ([-sin, -cos]
    The second row has minus signs. It is [sin, cos], both with a plus.
second_row_exchanged: ([sin, cos] → ([cos, sin]
    The second row is [cos, sin]. It is [sin, cos]: the cosines stand on the diagonal.
same_row_twice: ([sin, cos] → ([cos, -sin]
    Both rows are the first one. The second row is [sin, cos].
rows_exchanged: ([cos, -sin], dim=-1), torch.stack([sin, cos] → ([sin, cos], dim=-1), torch.stack([cos, -sin]
    The two rows stand in the wrong order: [cos, −sin] is on top, [sin, cos] below it.
rows_in_front: , dim=-2) → )
    The two rows are stacked along axis 0, in front of the angles. Stack them along dim=-2, so that the shape is
    (..., 2, 2).
fixed_axis: dim=-2 → dim=1
    The rows are stacked along dim=1, which is right only for angles with one axis. Count from the end: dim=-2.
four_in_a_row: torch.stack([torch.stack → torch.cat([torch.stack ; dim=-2 → dim=-1
    The two rows stand one behind the other, (..., 4). Make a new axis for them: torch.stack with dim=-2, not
    torch.cat.
one_angle: torch.cos(angle), torch.sin(angle) → math.cos(angle), math.sin(angle)
; torch.stack([torch.stack([cos, -sin], dim=-1), → torch.tensor([[cos, -sin],
; torch.stack([sin, cos], dim=-1)], dim=-2) → [sin, cos]], dtype=angle.dtype)
    This works for a single angle only: one number is taken out of the whole tensor. Use torch.cos and torch.sin,
    and torch.stack in place of torch.tensor.
""",
)

EXERCISE = Exercise(
    id="rope.rotation_matrix_2d",
    title="The matrix that turns a plane",
    points=1,
    difficulty=1,
    minutes=5,
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
        Case(
            "gradients",
            "a gradient flows back to each of six angles",
            lambda g: call(g.uniform(2, 3, low=-3.0, high=3.0), grad=[0]),
        ),
    ],
    mutants=MISTAKES,
)

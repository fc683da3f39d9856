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


def last_negative(angle):
    c, s = angle.cos(), angle.sin()
    return torch.stack([c, -s, s, -c], -1).unflatten(-1, (2, 2))


def scrambled(angle):
    c, s = angle.cos(), angle.sin()
    return torch.stack([c, -s, s, c]).reshape(*angle.shape, 2, 2)


def sines_and_cosines_exchanged(angle):
    c, s = angle.cos(), angle.sin()
    return torch.stack([s, -c, c, s], -1).unflatten(-1, (2, 2))


def _rows(second):
    """The given first row above another second one."""

    def mutant(angle):
        c, s = angle.cos(), angle.sin()
        return torch.stack([torch.stack([c, -s], -1), torch.stack(second(c, s), -1)], -2)

    return mutant


def _joined(join):
    """The two right rows, put together in another way."""

    def mutant(angle):
        c, s = angle.cos(), angle.sin()
        return join(torch.stack([c, -s], -1), torch.stack([s, c], -1))

    return mutant


def one_angle(angle):
    c, s = math.cos(angle), math.sin(angle)
    return torch.tensor([[c, -s], [s, c]], dtype=angle.dtype)


EXERCISE = Exercise(
    id="rope.rotation_matrix_2d",
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
        Case(
            "gradients",
            "a gradient flows back to each of six angles",
            lambda g: call(g.uniform(2, 3, low=-3.0, high=3.0), grad=[0]),
        ),
    ],
    mutants=[
        Mutant(
            "clockwise",
            lambda angle: R.rotation_matrix_2d(-angle),
            "This turns clockwise: the minus sign belongs to the sine at the top right. If it stands there in your "
            "code, rows became columns: stack the rows along dim=-2.",
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
            "last_negative",
            last_negative,
            "The last entry is −cos, so the point (0, 1) lands on the wrong side. Both cosines have a plus sign, and "
            "only one sine has a minus.",
        ),
        Mutant(
            "scrambled",
            scrambled,
            "The entries of different angles are mixed: the new axis is in front, and a reshape does not move it. "
            "Stack along dim=-1, then cut that axis into (2, 2).",
        ),
        Mutant(
            "exchanged",
            sines_and_cosines_exchanged,
            "Sines and cosines are exchanged, so an angle of 0 does not stay where it is. The cosines stand on the "
            "diagonal.",
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
        Mutant(
            "both_sines_negative",
            _rows(lambda c, s: [-s, c]),
            "Both sines have a minus sign. The second row is [sin, cos]: the point (1, 0) lands at (cos, sin).",
        ),
        Mutant(
            "second_row_negative",
            _rows(lambda c, s: [-s, -c]),
            "The second row has minus signs. It is [sin, cos], both with a plus.",
        ),
        Mutant(
            "second_row_exchanged",
            _rows(lambda c, s: [c, s]),
            "The second row is [cos, sin]. It is [sin, cos]: the cosines stand on the diagonal.",
        ),
        Mutant(
            "same_row_twice",
            _rows(lambda c, s: [c, -s]),
            "Both rows are the first one. The second row is [sin, cos].",
        ),
        Mutant(
            "rows_exchanged",
            _joined(lambda first, second: torch.stack([second, first], -2)),
            "The two rows stand in the wrong order: [cos, −sin] is on top, [sin, cos] below it.",
        ),
        Mutant(
            "rows_in_front",
            _joined(lambda first, second: torch.stack([first, second])),
            "The two rows are stacked along axis 0, in front of the angles. Stack them along dim=-2, so that the "
            "shape is (..., 2, 2).",
        ),
        Mutant(
            "fixed_axis",
            _joined(lambda first, second: torch.stack([first, second], 1)),
            "The rows are stacked along dim=1, which is right only for angles with one axis. Count from the end: "
            "dim=-2.",
        ),
        Mutant(
            "four_in_a_row",
            _joined(lambda first, second: torch.cat([first, second], -1)),
            "The two rows stand one behind the other, (..., 4). Make a new axis for them: torch.stack with dim=-2, "
            "not torch.cat.",
        ),
        Mutant(
            "one_angle",
            one_angle,
            "This works for a single angle only: one number is taken out of the whole tensor. Use torch.cos and "
            "torch.sin, and torch.stack in place of torch.tensor.",
        ),
    ],
)

"""The block-diagonal matrix of all planes."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import rope as R


def rope_matrix(position, D, base=10000.0):
    return R.rope_matrix(position, D, base, dtype=torch.float32)


def matrix_by_index(position, D, base=10000.0):
    """Cosines on the diagonal, sines beside it."""
    angle = position * R.rope_frequencies(D, base)
    out = torch.diag(angle.cos().repeat_interleave(2))
    i = torch.arange(0, D, 2)
    out[i + 1, i], out[i, i + 1] = angle.sin(), -angle.sin()
    return out


def matrix_by_columns(position, D, base=10000.0):
    """Column j is the turned unit vector j."""
    ids = torch.full((D,), position)
    return R.apply_rope(torch.eye(D)[None, None], ids, base)[0, 0].T


def half_split_matrix(position, D, base=10000.0):
    ids = torch.full((D,), position)
    return R.apply_rope_half(torch.eye(D)[None, None], ids, base)[0, 0].T


def same_angle(position, D, base=10000.0):
    block = R.rotation_matrix_2d(torch.tensor(float(position)))
    return torch.block_diag(*[block] * (D // 2))


def only_cosines(position, D, base=10000.0):
    return torch.diag((position * R.rope_frequencies(D, base)).cos().repeat_interleave(2))


EXERCISE = Exercise(
    id="rope.rope_matrix",
    unit="06-rope",
    title="Proof, step 5: all planes at once",
    points=2,
    difficulty=2,
    minutes=10,
    signature="rope_matrix(position, D, base=10000.0)",
    extension=True,
    reference=rope_matrix,
    alternatives=[matrix_by_index, matrix_by_columns],
    cases=[
        Case("two planes", "D = 4 at position 1: one block turns by 1, the other by 1/100", lambda g: call(1, 4)),
        Case(
            "three planes",
            "D = 6 with some base, at some position",
            lambda g: call(g.integer(2, 30), 6, base=g.number(50, 150, digits=4)),
        ),
        Case(
            "backwards",
            "a negative position turns back",
            lambda g: call(-g.integer(1, 30), 8, base=g.number(50, 150, digits=4)),
        ),
        Case(
            "one plane",
            "D = 2 is the 2×2 matrix of before, at three positions",
            lambda g: several(3, lambda p: p.call(g.integer(1, 200), 2)),
            weight=0.5,
        ),
        Case("start", "position 0 changes nothing", lambda g: call(0, 4), weight=0),
    ],
    mutants=[
        Mutant(
            "same_angle",
            same_angle,
            "Every block turns by the same angle. Block i turns by position·θᵢ, and θᵢ falls from block to block.",
        ),
        Mutant(
            "transposed",
            lambda position, D, base=10000.0: rope_matrix(-position, D, base),
            "This is the transpose: it turns backwards.",
        ),
        Mutant(
            "half_split",
            half_split_matrix,
            "Block i sits on rows i and i + D/2. In this layout pair i is the neighbors 2i and 2i + 1.",
        ),
        Mutant("only_cosines", only_cosines, "The blocks have no sines: nothing is turned, features only shrink."),
    ],
)

"""The block-diagonal matrix of all planes."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import rope as R


def rope_matrix(position, D, base=10000.0):
    angle = position * R.rope_frequencies(D, base)
    return torch.block_diag(*R.rotation_matrix_2d(angle))


def matrix_by_index(position, D, base=10000.0):
    """Cosines on the diagonal, sines beside it."""
    angle = position * R.rope_frequencies(D, base)
    out = torch.diag(angle.cos().repeat_interleave(2))
    i = torch.arange(0, D, 2)
    out[i + 1, i], out[i, i + 1] = angle.sin(), -angle.sin()
    return out


def matrix_by_columns(position, D, base=10000.0):
    """Column j is the turned unit vector j."""
    ids = torch.tensor([position] * D)
    return R.apply_rope(torch.eye(D)[None, None], ids, base).reshape(D, D).T


def frequencies(D, base):
    """To the last bit as the notebook has them: what is divided by them turns so often that every bit counts."""
    return base ** (-torch.arange(0, D, 2, dtype=torch.float32) / D)


def overlapping(position, D, base=10000.0):
    out = torch.zeros(D, D)
    for i, block in enumerate(R.rotation_matrix_2d(position * R.rope_frequencies(D, base))):
        out[i : i + 2, i : i + 2] = block
    return out


EXERCISE = Exercise(
    id="rope.rope_matrix",
    title="Proof, step 5: all planes at once",
    points=2,
    difficulty=2,
    minutes=10,
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
        Case(
            "far",
            "D = 4 with the usual base, far enough that the slow plane has turned by half a radian",
            lambda g: call(g.integer(45, 95), 4),
        ),
        Case("start", "position 0 changes nothing", lambda g: call(0, 4), weight=0),
    ],
    mutants=[
        *changes(
            rope_matrix,
            """
same_angle: R.rope_frequencies(D, base) → torch.ones(D // 2)
    Every block turns by the same angle. Block i turns by position·θᵢ, and θᵢ falls from block to block.
base_ignored: (D, base) → (D)
    The base is fixed at 10,000. Hand the argument on: rope_frequencies(D, base).
one_ahead: position * → (position + 1) *
    Every block turns one step too far, as if positions counted from 1. The angle is position·θᵢ: position 0 does
    not turn.
direction_lost: position * → abs(position) *
    A negative position turns forward as well. Keep its sign: position −3 turns back by 3 steps.
float64: (D, base) → (D, base, dtype=torch.float64)
    The numbers are right, but the matrix is float64. The text asks for float32: end with .float().
transposed: position * → -position *
    This is the transpose: it turns backwards.
half_split: return → c, s = angle.cos().diag(), angle.sin().diag(); return
; torch.block_diag(*R.rotation_matrix_2d(angle)) → torch.cat([torch.cat([c, -s], 1), torch.cat([s, c], 1)])
    Block i sits on rows i and i + D/2. In this layout pair i is the neighbors 2i and 2i + 1.
only_cosines: torch.block_diag(*R.rotation_matrix_2d(angle)) → angle.cos().repeat_interleave(2).diag()
    The blocks have no sines: nothing is turned, features only shrink.
power: position * R.rope_frequencies(D, base) → frequencies(D, base) ** position
    The angle is θᵢ to the power of the position. It is the product, position·θᵢ.
added: position * R.rope_frequencies(D, base) → frequencies(D, base) + position
    The angle is position + θᵢ. It is the product, position·θᵢ.
divided: position * R.rope_frequencies(D, base) → position / frequencies(D, base)
    The angle is position/θᵢ, so later blocks turn faster. It is the product, position·θᵢ.
wavelengths: position * R.rope_frequencies(D, base) → position * (2 * torch.pi / frequencies(D, base))
    The wavelengths 2π/θᵢ are used as frequencies. The angle is position·θᵢ: call rope_frequencies.
position_ignored: position * R.rope_frequencies(D, base) → frequencies(D, base)
    The blocks turn by θᵢ at every position. Multiply by the position: position·θᵢ.
full_turns: position * R.rope_frequencies(D, base) → 2 * torch.pi * position * frequencies(D, base)
    The angle has a factor 2π. θᵢ is in radians already: the angle is position·θᵢ.
slowest_first: position * R.rope_frequencies(D, base) → position * frequencies(D, base).flip(0)
    The slowest pair stands first. Block i turns by position·θᵢ, and θ₀ = 1 belongs to the top left.
""",
        ),
        Mutant(
            "overlapping",
            overlapping,
            "The blocks start at row i and overlap. A block has two rows: block i starts at row and column 2i.",
        ),
        *changes(
            rope_matrix,
            """
blocks_stacked: torch.block_diag(*R → (R
    The result is the stack of blocks, (D/2, 2, 2). Set them along a diagonal: torch.block_diag(*blocks).
blocks_in_a_column: torch.block_diag(*R.rotation_matrix_2d(angle)) → R.rotation_matrix_2d(angle).flatten(0, 1)
    The blocks stand one below the other, (D, 2). Set them along a diagonal: torch.block_diag(*blocks).
blocks_in_a_row: torch.block_diag(*R.rotation_matrix_2d(angle)) → torch.cat([*R.rotation_matrix_2d(angle)], 1)
    The blocks stand side by side, (2, D). Set them along a diagonal: torch.block_diag(*blocks).
""",
        ),
    ],
    equivalent="""
D is even: the last even number below D is also below D − 1
    475fda941b alternative matrix_by_index, window: D - 1 in torch.arange(0, D, 2)
""",
)

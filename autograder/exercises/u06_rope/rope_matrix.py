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
    ids = torch.tensor([position] * D)
    return R.apply_rope(torch.eye(D)[None, None], ids, base).reshape(D, D).T


def half_split_matrix(position, D, base=10000.0):
    ids = torch.full((D,), position)
    return R.apply_rope_half(torch.eye(D)[None, None], ids, base)[0, 0].T


def same_angle(position, D, base=10000.0):
    block = R.rotation_matrix_2d(torch.tensor(float(position)))
    return torch.block_diag(*[block] * (D // 2))


def only_cosines(position, D, base=10000.0):
    return torch.diag((position * R.rope_frequencies(D, base)).cos().repeat_interleave(2))


def _of_angles(angles):
    """Blocks that turn by other angles of (position, frequencies)."""

    def mutant(position, D, base=10000.0):
        # To the last bit as the notebook has them: what is divided by them turns so often that every bit counts.
        frequencies = base ** (-torch.arange(0, D, 2, dtype=torch.float32) / D)
        return torch.block_diag(*R.rotation_matrix_2d(angles(position, frequencies)))

    return mutant


def _blocks(position, D, base=10000.0):
    return R.rotation_matrix_2d(position * R.rope_frequencies(D, base))


def overlapping(position, D, base=10000.0):
    out = torch.zeros(D, D)
    for i, block in enumerate(_blocks(position, D, base)):
        out[i : i + 2, i : i + 2] = block
    return out


EXERCISE = Exercise(
    id="rope.rope_matrix",
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
        Case(
            "far",
            "D = 4 with the usual base, far enough that the slow plane has turned by half a radian",
            lambda g: call(g.integer(45, 95), 4),
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
            "base_ignored",
            lambda position, D, base=10000.0: rope_matrix(position, D),
            "The base is fixed at 10,000. Hand the argument on: rope_frequencies(D, base).",
        ),
        Mutant(
            "one_ahead",
            lambda position, D, base=10000.0: rope_matrix(position + 1, D, base),
            "Every block turns one step too far, as if places counted from 1. The angle is position·θᵢ: place 0 does "
            "not turn.",
        ),
        Mutant(
            "direction_lost",
            lambda position, D, base=10000.0: rope_matrix(abs(position), D, base),
            "A negative position turns forward as well. Keep its sign: position −3 turns back by 3 steps.",
        ),
        Mutant(
            "float64",
            lambda position, D, base=10000.0: R.rope_matrix(position, D, base),
            "The numbers are right, but the matrix is float64. The text asks for float32: end with .float().",
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
        Mutant(
            "power",
            _of_angles(lambda p, f: f**p),
            "The angle is θᵢ to the power of the position. It is the product, position·θᵢ.",
        ),
        Mutant(
            "added",
            _of_angles(lambda p, f: f + p),
            "The angle is position + θᵢ. It is the product, position·θᵢ.",
        ),
        Mutant(
            "divided",
            _of_angles(lambda p, f: p / f),
            "The angle is position/θᵢ, so later blocks turn faster. It is the product, position·θᵢ.",
        ),
        Mutant(
            "wavelengths",
            _of_angles(lambda p, f: p * (2 * torch.pi / f)),
            "The wavelengths 2π/θᵢ are used as frequencies. The angle is position·θᵢ: call rope_frequencies.",
        ),
        Mutant(
            "position_ignored",
            _of_angles(lambda p, f: f),
            "The blocks turn by θᵢ at every place. Multiply by the position: position·θᵢ.",
        ),
        Mutant(
            "full_turns",
            _of_angles(lambda p, f: 2 * torch.pi * p * f),
            "The angle has a factor 2π. θᵢ is in radians already: the angle is position·θᵢ.",
        ),
        Mutant(
            "slowest_first",
            _of_angles(lambda p, f: p * f.flip(0)),
            "The slowest pair stands first. Block i turns by position·θᵢ, and θ₀ = 1 belongs to the top left.",
        ),
        Mutant(
            "overlapping",
            overlapping,
            "The blocks start at row i and overlap. A block has two rows: block i starts at row and column 2i.",
        ),
        Mutant(
            "blocks_stacked",
            _blocks,
            "The result is the stack of blocks, (D/2, 2, 2). Set them along a diagonal: torch.block_diag(*blocks).",
        ),
        Mutant(
            "blocks_in_a_column",
            lambda position, D, base=10000.0: _blocks(position, D, base).flatten(0, 1),
            "The blocks stand one below the other, (D, 2). Set them along a diagonal: torch.block_diag(*blocks).",
        ),
        Mutant(
            "blocks_in_a_row",
            lambda position, D, base=10000.0: torch.cat(list(_blocks(position, D, base)), 1),
            "The blocks stand side by side, (2, D). Set them along a diagonal: torch.block_diag(*blocks).",
        ),
    ],
)

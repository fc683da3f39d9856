"""Absolute positions: the sinusoid, its shift matrix, and a learned table that ends."""

import math

import torch
from torch import nn

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference.positions import sinusoidal as ref
from autograder.reference.positions.learned import LearnedPositions

UNIT = "05-position-encodings"


# --- the sinusoid --------------------------------------------------------------------------------------------------
def sinusoid_by_loop(positions, d_model, base=10000.0):
    """Entry by entry, with Python's math."""
    if d_model < 2 or d_model % 2:
        raise ValueError("d_model must be even")
    out = torch.empty(*positions.shape, d_model)
    for i in range(d_model // 2):
        angle = positions.double() / base ** (2 * i / d_model)
        out[..., 2 * i], out[..., 2 * i + 1] = angle.sin(), angle.cos()
    return out


def sinusoid_by_exp(positions, d_model, base=10000.0):
    """exp of a logarithm in float32, written into slices."""
    if d_model % 2 != 0:
        raise ValueError(f"{d_model} is odd")
    w = torch.exp(torch.arange(0, d_model, 2) * (-math.log(base) / d_model))
    out = torch.zeros(*positions.shape, d_model)
    out[..., 0::2] = torch.sin(positions[..., None].float() * w)
    out[..., 1::2] = torch.cos(positions[..., None].float() * w)
    return out


def _table(positions, frequencies):
    angles = positions.double()[..., None] * frequencies.double()
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2).float()


def _half(d_model):
    return torch.arange(d_model // 2, dtype=torch.float64)


def column_index(positions, d_model, base=10000.0):
    columns = torch.arange(d_model, dtype=torch.float64)
    angles = positions.double()[..., None] * base ** (-2 * columns / d_model)
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos()).float()


def half_split(positions, d_model, base=10000.0):
    angles = positions.double()[..., None] * base ** (-2 * _half(d_model) / d_model)
    return torch.cat([angles.sin(), angles.cos()], -1).float()


def cosine_first(positions, d_model, base=10000.0):
    angles = positions.double()[..., None] * base ** (-2 * _half(d_model) / d_model)
    return torch.stack([angles.cos(), angles.sin()], -1).flatten(-2).float()


# The mistakes leave the ValueError out: only cases that fail are compared with a mistake.
SINUSOIDAL = Exercise(
    id="position.sinusoidal",
    unit=UNIT,
    title="The sinusoidal table",
    points=2,
    difficulty=2,
    minutes=12,
    signature="sinusoid(positions, d_model, base=10000.0)",
    reference=ref.sinusoid,
    alternatives=[sinusoid_by_loop, sinusoid_by_exp],
    cases=[
        Case(
            "by hand",
            "base 100 and 4 features: frequencies 1 and 0.1, so position 1 is sin 1, cos 1, sin 0.1, cos 0.1",
            lambda g: call(torch.tensor([0, 1]), 4, base=100.0),
        ),
        Case(
            "eight features", "positions 0 to 5 with the usual base 10000", lambda g: call(torch.arange(6), 8), weight=2
        ),
        Case(
            "six features",
            "a number of pairs that is not a power of two, random positions",
            lambda g: call(g.integers(2, 12, 5), 6),
        ),
        Case("another base", "the base is an argument", lambda g: call(g.integers(2, 9, 4), 6, base=g.number(20, 60))),
        Case("negative", "positions before 0 are encoded as well", lambda g: call(torch.tensor([-3, -1, 0, 2]), 4)),
        Case("batch", "positions of shape (2, 3) give (2, 3, 8)", lambda g: call(g.integers(1, 12, 2, 3), 8)),
        Case("odd size", "5 features cannot be paired: ValueError", lambda g: call(torch.arange(3), 5), weight=0.5),
    ],
    mutants=[
        Mutant(
            "column_index",
            column_index,
            "The column number stands in the exponent. Here i counts pairs, 0 … d_model/2 − 1: features 2i and 2i + "
            "1 share one frequency.",
        ),
        Mutant(
            "half_split",
            half_split,
            "All sines come first and then all cosines. Here they alternate: sine at 2i, cosine at 2i + 1.",
        ),
        Mutant("cosine_first", cosine_first, "Sine and cosine are exchanged: the even features are sines."),
        Mutant(
            "counts_from_one",
            lambda positions, d_model, base=10000.0: ref.sinusoid(positions + 1, d_model, base),
            "Every position is one too large. Encode the positions as they are given; they count from 0.",
        ),
        Mutant(
            "positions_ignored",
            lambda positions, d_model, base=10000.0: ref.sinusoid(
                torch.arange(positions.shape[-1]).expand(positions.shape), d_model, base
            ),
            "The rows are numbered 0, 1, 2, … whatever was asked. Encode the values in positions: they may start "
            "anywhere, repeat, or be negative.",
        ),
        Mutant(
            "double",
            lambda positions, d_model, base=10000.0: ref.sinusoid(positions.double(), d_model, base),
            "The numbers are right, in float64. Return float32: add .float() at the end.",
        ),
        Mutant(
            "no_two",
            lambda positions, d_model, base=10000.0: _table(positions, base ** (-_half(d_model) / d_model)),
            "The exponent is i/d_model. It is 2i/d_model, so that the last frequency comes close to 1/base.",
        ),
        Mutant(
            "reaches_base",
            lambda positions, d_model, base=10000.0: _table(
                positions, base ** (-_half(d_model) / max(d_model // 2 - 1, 1))
            ),
            "The exponent ends at exactly 1. Some libraries do that; the paper divides 2i by d_model, so it stops "
            "one step before.",
        ),
        Mutant(
            "growing",
            lambda positions, d_model, base=10000.0: _table(positions, base ** (2 * _half(d_model) / d_model)),
            "The frequencies grow. Divide the position by base^(2i/d_model), so that later pairs turn more slowly.",
        ),
        Mutant(
            "base_fixed",
            lambda positions, d_model, base=10000.0: _table(positions, 10000.0 ** (-2 * _half(d_model) / d_model)),
            "The base is always 10000 here. Use the argument base.",
        ),
        Mutant(
            "unchecked",
            lambda positions, d_model, base=10000.0: _table(
                positions, base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
            ),
            "The numbers are right. Raise a ValueError when d_model is odd: the last sine would have no cosine.",
        ),
    ],
)


# --- the shift -----------------------------------------------------------------------------------------------------
def shift_matrix(k, d_model, base=10000.0):
    """float32, as the learner's."""
    return ref.shift_matrix(k, d_model, base).float()


def shift_by_filling(k, d_model, base=10000.0):
    """Four entries per pair, written into zeros."""
    M = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = k * base ** (-i / d_model)
        M[i, i] = M[i + 1, i + 1] = math.cos(a)
        M[i, i + 1], M[i + 1, i] = math.sin(a), -math.sin(a)
    return M


def shift_by_solving(k, d_model, base=10000.0):
    """The least-squares map from encodings to shifted encodings: no formula for the blocks at all."""
    p = torch.linspace(-40, 40, 16 * d_model, dtype=torch.float64)
    return torch.linalg.lstsq(ref.sinusoid(p, d_model, base), ref.sinusoid(p + k, d_model, base)).solution.T.float()


def half_split_shift(k, d_model, base=10000.0):
    a = k * base ** (-2 * _half(d_model) / d_model)
    c, s = torch.diag(a.cos()), torch.diag(a.sin())
    return torch.cat([torch.cat([c, s], 1), torch.cat([-s, c], 1)]).float()


def all_plus(k, d_model, base=10000.0):
    M = shift_matrix(k, d_model, base)
    keep = torch.ones_like(M).triu()
    return M * keep + M.T * (1 - keep)


def one_block(k, d_model, base=10000.0):
    return torch.block_diag(*[shift_matrix(k, 2)] * (d_model // 2))


SHIFT = Exercise(
    id="position.shift_matrix",
    unit=UNIT,
    title="A shift is one matrix",
    points=2,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="shift_matrix(k, d_model, base=10000.0)",
    reference=shift_matrix,
    alternatives=[shift_by_filling, shift_by_solving],
    cases=[
        Case(
            "one pair",
            "k = 1 and 2 features: cosines 0.540 on the diagonal, sines 0.841 with signs + above and − below",
            lambda g: call(1, 2),
        ),
        Case(
            "two pairs",
            "base 100: the second pair turns by a tenth of the first, and zeros stand between the pairs",
            lambda g: call(2, 4, base=100.0),
        ),
        Case("random", "a random shift of six features", lambda g: call(g.integer(2, 6), 6), weight=2),
        Case("backwards", "a negative shift goes back", lambda g: call(-g.integer(2, 6), 4)),
        Case("another base", "the base is an argument", lambda g: call(g.integer(2, 6), 6, base=g.number(20, 60))),
        Case("no shift", "k = 0 is the identity", lambda g: call(0, 4), weight=0),
    ],
    mutants=[
        Mutant(
            "backwards",
            lambda k, d_model, base=10000.0: shift_matrix(-k, d_model, base),
            "This matrix shifts by −k. sin(a + b) = cos b · sin a + sin b · cos a: the first row of a block is "
            "[cos b, sin b].",
        ),
        Mutant(
            "all_plus",
            all_plus,
            "Both sines have the same sign. cos(a + b) = cos a cos b − sin a sin b, so the second row of a block is "
            "[−sin b, cos b].",
        ),
        Mutant(
            "one_frequency",
            one_block,
            "Every pair turns by the same angle. Pair i has its own frequency: its angle is k · base^(−2i/d_model).",
        ),
        Mutant(
            "half_split",
            half_split_shift,
            "The matrix pairs feature i with i + d_model/2. In this table features 2i and 2i + 1 belong together: "
            "2×2 blocks along the diagonal.",
        ),
        Mutant(
            "base_fixed",
            lambda k, d_model, base=10000.0: shift_matrix(k, d_model),
            "The base is always 10000 here. Use the argument base.",
        ),
        Mutant(
            "halved",
            lambda k, d_model, base=10000.0: torch.block_diag(
                *[shift_matrix(k * base ** (-i / d_model), 2) for i in range(d_model // 2)]
            ),
            "The angle of pair i is k · base^(−i/d_model) here. The exponent is −2i/d_model, as in the table.",
        ),
    ],
)


# --- learned -------------------------------------------------------------------------------------------------------
class ByEmbedding(nn.Module):
    """Correct: F.embedding, checked entry by entry."""

    def __init__(self, max_positions, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(max_positions, d_model))

    def forward(self, position_ids):
        if any(not 0 <= p < len(self.weight) for p in position_ids.flatten().tolist()):
            raise ValueError("outside the table")
        return nn.functional.embedding(position_ids, self.weight)


class ByOneHot(ByEmbedding):
    """Correct: a product with one-hot rows."""

    def forward(self, position_ids):
        hits = position_ids[..., None] == torch.arange(self.weight.shape[0])
        if not hits.any(-1).all():
            raise ValueError("outside the table")
        return hits.to(self.weight.dtype) @ self.weight


class Unchecked(ByEmbedding):
    def forward(self, position_ids):
        return self.weight[position_ids]


class NotLoadable(nn.Module):
    """A table in a layer of its own."""

    def __init__(self, max_positions, d_model):
        super().__init__()
        self.embedding = nn.Embedding(max_positions, d_model)


class NegativeWraps(ByEmbedding):
    def forward(self, position_ids):
        if (position_ids >= len(self.weight)).any():
            raise ValueError("too large")
        return self.weight[position_ids]


class OffByOne(ByEmbedding):
    def forward(self, position_ids):
        if ((position_ids < 0) | (position_ids > len(self.weight))).any():
            raise ValueError("outside")
        return self.weight[position_ids]


class Clamped(ByEmbedding):
    def forward(self, position_ids):
        return self.weight[position_ids.clamp(0, len(self.weight) - 1)]


class Modulo(ByEmbedding):
    def forward(self, position_ids):
        return self.weight[position_ids % len(self.weight)]


class IdsIgnored(ByEmbedding):
    def forward(self, position_ids):
        if ((position_ids < 0) | (position_ids >= len(self.weight))).any():
            raise ValueError("outside")
        return self.weight[: position_ids.shape[-1]].expand(*position_ids.shape, -1)


def _table_of(rows, columns, weight, ids, **options):
    return Program().new("LearnedPositions", rows, columns, state={"weight": weight}).call(ids, **options)


LEARNED = Exercise(
    id="position.learned",
    unit=UNIT,
    title="A learned table, and its end",
    points=2,
    difficulty=2,
    minutes=10,
    signature="LearnedPositions(max_positions, d_model)",
    reference=LearnedPositions,
    alternatives=[ByEmbedding, ByOneHot],
    cases=[
        Case(
            "by hand",
            "a table of three rows: positions 2 and 0 give the last row and the first",
            lambda g: _table_of(3, 2, torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), torch.tensor([2, 0])),
        ),
        Case(
            "ids decide",
            "ids of shape (2, 4) that start at 3 and repeat give (2, 4, d_model)",
            lambda g: _table_of(9, 3, g.randn(9, 3), g.integers(3, 9, 2, 4)),
        ),
        Case(
            "gradient",
            "only rows that were read get a gradient, and a row read twice gets both",
            lambda g: _table_of(
                5, 2, g.randn(5, 2), torch.tensor([4, 1, 4]), params=True, grad=[], cotangent=g.randn(3, 2)
            ),
        ),
        Case(
            "one too far",
            "a table of 6 ends at position 5: position 6 raises ValueError",
            lambda g: _table_of(6, 2, g.randn(6, 2), torch.tensor([4, 5, 6])),
            weight=0.5,
        ),
        Case(
            "far beyond",
            "position 40 raises ValueError too",
            lambda g: _table_of(6, 2, g.randn(6, 2), torch.tensor([[0, 40]])),
            weight=0.5,
        ),
        Case(
            "negative",
            "position −1 raises ValueError: it must not read the last row",
            lambda g: _table_of(6, 2, g.randn(6, 2), torch.tensor([-1, 0])),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "unchecked",
            Unchecked,
            "Reading is right, the check is missing. Beyond the end torch raises an IndexError, and −1 silently "
            "reads the last row; raise a ValueError for both.",
        ),
        Mutant(
            "not_loadable",
            NotLoadable,
            "The weights do not load. The only parameter is weight: nn.Parameter, (max_positions, d_model).",
        ),
        Mutant(
            "negative_wraps",
            NegativeWraps,
            "Negative positions read from the end of the table without a word. Raise a ValueError for them too.",
        ),
        Mutant(
            "off_by_one",
            OffByOne,
            "The check lets position max_positions through. A table of n rows ends at position n − 1.",
        ),
        Mutant(
            "clamped",
            Clamped,
            "Positions beyond the end get the last row, so the model no longer knows where they are. Raise a "
            "ValueError instead.",
        ),
        Mutant(
            "modulo",
            Modulo,
            "Positions beyond the end start again at row 0, so two places look the same. Raise a ValueError instead.",
        ),
        Mutant(
            "ids_ignored",
            IdsIgnored,
            "This reads rows 0, 1, 2, … whatever the ids say. Index the table with position_ids.",
        ),
    ],
)

EXERCISES = [SINUSOIDAL, SHIFT]

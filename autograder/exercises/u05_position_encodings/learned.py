"""A learned table, which ends."""

from typing import Any

import torch
from anatomy.program.distributions import normal
from torch import Tensor, nn

from autograder.judge.spec import Case, Exercise, Mutant, Program
from autograder.reference.positions.learned import LearnedPositions


class Table(nn.Module):
    """The table, and nothing that reads it."""

    def __init__(self, max_positions, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.normal(0.0, 0.02, (max_positions, d_model)))


class ByEmbedding(Table):
    """Correct: F.embedding, checked entry by entry."""

    def forward(self, position_ids):
        if any(not 0 <= p < len(self.weight) for p in position_ids.flatten()):
            raise ValueError("outside the table")
        return nn.functional.embedding(position_ids, self.weight)


class ByOneHot(Table):
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
        nn.init.normal_(self.embedding.weight, std=0.02)

    def forward(self, position_ids):
        if ((position_ids < 0) | (position_ids >= self.embedding.num_embeddings)).any():
            raise ValueError("outside")
        return self.embedding(position_ids)


class AllOutside(ByEmbedding):
    def forward(self, position_ids):
        if ((position_ids < 0) | (position_ids >= len(self.weight))).all():
            raise ValueError("outside")
        return self.weight[position_ids]


class LastRowRefused(ByEmbedding):
    def forward(self, position_ids):
        if ((position_ids < 0) | (position_ids >= len(self.weight) - 1)).any():
            raise ValueError("outside")
        return self.weight[position_ids]


class Detached(ByEmbedding):
    def forward(self, position_ids):
        return super().forward(position_ids).detach()


class Standard(ByEmbedding):
    """Drawn with the standard deviation of nn.Embedding, 1."""

    def __init__(self, max_positions, d_model):
        super().__init__(max_positions, d_model)
        self.weight = nn.Parameter(torch.randn(max_positions, d_model))


class Zeros(ByEmbedding):
    def __init__(self, max_positions, d_model):
        super().__init__(max_positions, d_model)
        self.weight = nn.Parameter(torch.zeros(max_positions, d_model))


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


def _table_of(rows: int, columns: int, weight: Tensor, ids: Tensor, **options: Any) -> Program:
    return Program().new("LearnedPositions", rows, columns, state={"weight": weight}).call(ids, **options)


class _Read(ByEmbedding):
    """Checked reading of the rows that ``rows`` names."""

    def rows(self, ids):
        return ids

    def forward(self, position_ids):
        if ((position_ids < 0) | (position_ids >= len(self.weight))).any():
            raise ValueError("outside")
        return self.weight[self.rows(position_ids)]


class EndUnchecked(ByEmbedding):
    def forward(self, position_ids):
        if (position_ids < 0).any():
            raise ValueError("negative")
        return self.weight[position_ids]


class FirstRowRefused(ByEmbedding):
    def forward(self, position_ids):
        if (position_ids <= 0).any():
            raise ValueError("outside")
        return super().forward(position_ids)


class Counted(_Read):
    def rows(self, ids):
        return ids - ids.min()


class NextRow(_Read):
    def rows(self, ids):
        return ids - 1


class Scaled(_Read):
    def forward(self, position_ids):
        return super().forward(position_ids) * self.weight.shape[1] ** 0.5


class Uniform(ByEmbedding):
    def __init__(self, max_positions, d_model):
        super().__init__(max_positions, d_model)
        nn.init.uniform_(self.weight, -0.02, 0.02)


class Squared(ByEmbedding):
    def __init__(self, max_positions, d_model):
        super().__init__(max_positions, d_model)
        nn.init.normal_(self.weight, std=0.02**2)


EXERCISE = Exercise(
    id="position.learned",
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
            "ids of shape (2, 4) that start at 3 and repeat give (2, 4, d_model), from a table in float64",
            lambda g: _table_of(9, 3, g.randn(9, 3), g.integers(3, 9, 2, 4)).double(),
        ),
        Case(
            "gradient",
            "only rows that were read get a gradient, and a row read twice gets both",
            lambda g: _table_of(
                5, 2, g.randn(5, 2), torch.tensor([4, 1, 4]), params=True, grad=[], cotangent=g.randn(3, 2)
            ),
        ),
        Case(
            "drawn",
            "a new table of 64 rows and 32 columns is drawn from a normal distribution of standard deviation 0.02",
            lambda g: Program().new("LearnedPositions", 64, 32).call(method="state_dict").drawn_from(normal(0, 0.02)),
            weight=0.5,
        ),
        Case(
            "one too far",
            "a table of 6 ends at position 5: position 6 raises ValueError",
            lambda g: _table_of(6, 2, g.randn(6, 2), torch.tensor([4, 5, 6])),
            weight=0.5,
        ),
        Case(
            "far beyond",
            "positions 40 and 41 raise ValueError too",
            lambda g: _table_of(6, 2, g.randn(6, 2), torch.tensor([[40, 41]])),
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
            "all_outside",
            AllOutside,
            "An error is raised only where all positions are outside. One is enough: use any(), not all().",
        ),
        Mutant(
            "last_row_refused",
            LastRowRefused,
            "The last row cannot be read. A table of n rows has positions 0 to n − 1: only n and beyond are outside.",
        ),
        Mutant(
            "detached",
            Detached,
            "The rows are read without a gradient, so the table never learns. Index the parameter itself: no .data, no "
            "detach(), no no_grad.",
        ),
        Mutant(
            "standard_deviation_one",
            Standard,
            "The table starts with standard deviation 1, fifty times too large. Multiply torch.randn by 0.02.",
        ),
        Mutant(
            "starts_at_zero",
            Zeros,
            "The table starts with zeros, so no two positions differ. Draw it from a normal distribution of standard "
            "deviation 0.02.",
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
        Mutant(
            "end_unchecked",
            EndUnchecked,
            "Only negative positions are checked. Beyond the end torch raises an IndexError: raise a ValueError for "
            "positions from max_positions on.",
        ),
        Mutant(
            "first_row_refused",
            FirstRowRefused,
            "Position 0 is refused. It reads the first row: only positions below 0 are outside.",
        ),
        Mutant(
            "ids_from_zero",
            Counted,
            "The rows are counted from the smallest position. Index the table with position_ids as they are.",
        ),
        Mutant(
            "next_row",
            NextRow,
            "Every position reads another row, as if positions counted from 1. Position 0 reads the first row: index "
            "with position_ids as they are.",
        ),
        Mutant(
            "scaled",
            Scaled,
            "The rows are multiplied by √d_model. Return them as they are stored: weight[position_ids].",
        ),
        Mutant(
            "uniform",
            Uniform,
            "The table is drawn from a uniform distribution. It is a normal one with standard deviation 0.02: 0.02 * "
            "torch.randn(…).",
        ),
        Mutant(
            "variance_as_deviation",
            Squared,
            "The standard deviation is 0.02 squared, too small. 0.02² is the variance: multiply torch.randn by 0.02.",
        ),
    ],
)

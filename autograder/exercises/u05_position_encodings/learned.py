"""A learned table, which ends."""

from typing import Any

import torch
from anatomy.program.distributions import normal
from torch import Tensor, nn

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program
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


def _table_of(rows: int, columns: int, weight: Tensor, ids: Tensor, **options: Any) -> Program:
    return Program().new("LearnedPositions", rows, columns, state={"weight": weight}).call(ids, **options)


MISTAKES = changes(
    LearnedPositions,
    """
unchecked: position_ids.numel() → False
    Reading is right, the check is missing. Beyond the end torch raises an IndexError, and −1 silently reads the
    last row; raise a ValueError for both.
not_loadable: self.weight = nn.Parameter( → self.embedding = nn.Embedding(max_positions, d_model, _weight=
; self.weight.shape[0] → self.embedding.num_embeddings ; self.weight[position_ids] → self.embedding(position_ids)
    The weights do not load. The only parameter is weight: nn.Parameter, (max_positions, d_model).
negative_wraps: 0 <= int(position_ids.min()) <= →
    Negative positions silently read from the end of the table. Raise a ValueError for them too.
off_by_one: < size: → <= size:
    The check lets position max_positions through. A table of n rows ends at position n − 1.
all_outside: position_ids.numel() and not 0 <= int(position_ids.min()) <= → all(p < 0 or p >=
; int(position_ids.max()) < size: → size for p in position_ids.flatten()):
    An error is raised only where all positions are outside. One is enough: use any(), not all().
last_row_refused: < size: → < size - 1:
    The last row cannot be read. A table of n rows has positions 0 to n − 1: only n and beyond are outside.
detached: self.weight[position_ids] → self.weight[position_ids].detach()
    The rows are read without a gradient, so the table never learns. Index the parameter itself: no .data, no
    detach(), no no_grad.
standard_deviation_one: 0.02 * torch.randn → torch.randn
    The table starts with standard deviation 1, fifty times too large. Multiply torch.randn by 0.02.
starts_at_zero: 0.02 * torch.randn → torch.zeros
    The table starts with zeros, so no two positions differ. Draw it from a normal distribution of standard
    deviation 0.02.
clamped: position_ids.numel() → False ; self.weight[position_ids] → self.weight[position_ids.clamp(0, size - 1)]
    Positions beyond the end get the last row, so the model no longer knows where they are. Raise a ValueError
    instead.
modulo: position_ids.numel() → False ; self.weight[position_ids] → self.weight[position_ids % size]
    Positions beyond the end start again at row 0, so two positions look the same. Raise a ValueError instead.
ids_ignored: self.weight[position_ids] → self.weight[: position_ids.shape[-1]].expand(*position_ids.shape, -1)
    This reads rows 0, 1, 2, … whatever the ids say. Index the table with position_ids.
end_unchecked: <= int(position_ids.max()) < size: → :
    Only negative positions are checked. Beyond the end torch raises an IndexError: raise a ValueError for positions
    from max_positions on.
first_row_refused: not 0 <= → not 0 <
    Position 0 is refused. It reads the first row: only positions below 0 are outside.
ids_from_zero: self.weight[position_ids] → self.weight[position_ids - position_ids.min()]
    The rows are counted from the smallest position. Index the table with position_ids as they are.
next_row: self.weight[position_ids] → self.weight[position_ids - 1]
    Every position reads another row, as if positions counted from 1. Position 0 reads the first row: index with
    position_ids as they are.
scaled: self.weight[position_ids] → self.weight[position_ids] * self.weight.shape[1] ** 0.5
    The rows are multiplied by √d_model. Return them as they are stored: weight[position_ids].
uniform: 0.02 * torch.randn(max_positions, d_model) → torch.empty(max_positions, d_model).uniform_(-0.02, 0.02)
    The table is drawn from a uniform distribution. It is a normal one with standard deviation 0.02: 0.02 *
    torch.randn(…).
variance_as_deviation: 0.02 * torch.randn → 0.02**2 * torch.randn
    The standard deviation is 0.02 squared, too small. 0.02² is the variance: multiply torch.randn by 0.02.
""",
)

EXERCISE = Exercise(
    id="position.learned",
    title="A learned table, and its end",
    points=2,
    difficulty=2,
    minutes=10,
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
    mutants=MISTAKES,
    unasked="""
nn.Module's own method: no part of the answer takes this argument
    LearnedPositions.state_dict(destination)
    LearnedPositions.state_dict(keep_vars)
    LearnedPositions.state_dict(prefix)
    LearnedPositions.state_dict(destination, keep_vars)
    LearnedPositions.state_dict(destination, prefix)
    LearnedPositions.state_dict(keep_vars, prefix)
""",
)

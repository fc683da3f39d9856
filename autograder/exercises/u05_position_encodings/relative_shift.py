"""Transformer-XL's shift of each row."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference.positions import transformer_xl as xl


def shift_by_stack(x):
    """Row by row, each with its own slice."""
    T, R = x.shape[-2:]
    S = R - T + 1
    if S < 1:
        raise ValueError("too few columns")
    return torch.stack([x[..., i, T - 1 - i : T - 1 - i + S] for i in range(T)], dim=-2)


def shift_by_gather(x):
    """An explicit index, as in the reference, with its check."""
    if x.shape[-1] < x.shape[-2]:
        raise ValueError("too few columns")
    return xl.relative_shift_by_gather(x)


def _columns(start):
    """Wrong starts of each row's slice; columns beyond the end read as 0."""

    def wrong(x):
        T, R = x.shape[-2:]
        S = R - T + 1
        wide = torch.cat([x, x.new_zeros(*x.shape[:-1], T)], dim=-1)
        return torch.stack([wide[..., i, start(i, T) : start(i, T) + S] for i in range(T)], dim=-2)

    return wrong


def flipped(x):
    T, R = x.shape[-2:]
    return torch.stack([x[..., i, T - 1 - i : R - i] for i in range(T)], dim=-2).flip(-1)


EXERCISE = Exercise(
    id="position.relative_shift",
    unit="05-position-encodings",
    title="Each row moves by one more",
    points=2,
    difficulty=4,
    minutes=15,
    extension=True,
    signature="relative_shift(x)",
    reference=xl.relative_shift,
    alternatives=[shift_by_stack, shift_by_gather],
    cases=[
        Case(
            "by hand",
            "[[1, 2, 3], [4, 5, 6]]: the first row keeps 2, 3 and the last row 4, 5",
            lambda g: call(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])),
        ),
        Case("four rows", "four queries, four keys, two heads", lambda g: call(g.randn(2, 4, 7)), weight=2),
        Case("with memory", "three queries, five keys", lambda g: call(g.randn(2, 2, 3, 7))),
        Case("two rows", "one key more than queries", lambda g: call(g.randn(1, 2, 4))),
        Case("one row", "a single query keeps its row as it is", lambda g: call(g.randn(1, 5)), weight=0),
        Case(
            "too narrow", "four rows need at least four columns: ValueError", lambda g: call(g.randn(4, 3)), weight=0.5
        ),
    ],
    mutants=[
        Mutant(
            "not_moved",
            _columns(lambda i, T: 0),
            "Every row keeps its first columns. Row i starts at column T − 1 − i: each row one further to the left.",
        ),
        Mutant(
            "moved_right",
            _columns(lambda i, T: i),
            "The rows move the wrong way. The last row starts at column 0 and the first at column T − 1.",
        ),
        Mutant(
            "one_too_far",
            _columns(lambda i, T: T - i),
            "Every row starts one column too late. Row i starts at column T − 1 − i, so that the last row keeps "
            "column 0.",
        ),
        Mutant(
            "first_row_for_all",
            _columns(lambda i, T: T - 1),
            "Every row keeps its last columns. Only the first row does; each following row starts one column earlier.",
        ),
        Mutant(
            "flipped",
            flipped,
            "The keys are in reverse order. Columns run from the farthest key to the nearest, "
            "so nothing needs to be flipped.",
        ),
        Mutant(
            "unchecked",
            lambda x: x.gather(
                -1,
                (
                    torch.arange(max(x.shape[-1] - x.shape[-2] + 1, 0))
                    - torch.arange(x.shape[-2])[:, None]
                    + x.shape[-2]
                    - 1
                ).expand(*x.shape[:-1], -1),
            ),
            "The numbers are right. With fewer columns than rows there is no key left: raise a ValueError.",
        ),
    ],
)

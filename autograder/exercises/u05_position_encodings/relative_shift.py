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
        if S < 1:
            raise ValueError("too few columns")
        wide = torch.cat([x, x.new_zeros(*x.shape[:-1], T)], dim=-1)
        return torch.stack([wide[..., i, start(i, T) : start(i, T) + S] for i in range(T)], dim=-2)

    return wrong


def _trick(left=1, rows=slice(1, None), turned=False):
    """The paper's pad, reshape and cut, with one part changed."""

    def wrong(x):
        *lead, T, R = x.shape
        if R < T:
            raise ValueError("too few columns")
        padded = torch.nn.functional.pad(x, (left, 1 - left))
        long = padded.mT.reshape(*lead, R + 1, T) if turned else padded.reshape(*lead, R + 1, T)
        return long[..., rows, :].reshape(*lead, T, R)[..., : R - T + 1]

    return wrong


def uncut(x):
    *lead, T, R = x.shape
    if R < T:
        raise ValueError("too few columns")
    return torch.nn.functional.pad(x, (1, 0)).reshape(*lead, R + 1, T)[..., 1:, :].reshape(*lead, T, R)


def square(x):
    T = x.shape[-2]
    if x.shape[-1] < T:
        raise ValueError("too few columns")
    return torch.stack([x[..., i, T - 1 - i : T - 1 - i + T] for i in range(T)], dim=-2)


def one_key_short(x):
    T, R = x.shape[-2:]
    if R < T:
        raise ValueError("too few columns")
    return xl.relative_shift(x)[..., : R - T]


def one_key_refused(x):
    if x.shape[-1] <= x.shape[-2]:
        raise ValueError("too few columns")
    return xl.relative_shift(x)


def flipped(x):
    T, R = x.shape[-2:]
    return torch.stack([x[..., i, T - 1 - i : R - i] for i in range(T)], dim=-2).flip(-1)


def _rolled(steps):
    """Rows rolled to the right by steps(i, T), then cut."""

    def wrong(x):
        T, R = x.shape[-2:]
        if R < T:
            raise ValueError("too few columns")
        return torch.stack([x[..., i, :].roll(steps(i, T), -1) for i in range(T)], dim=-2)[..., : R - T + 1]

    return wrong


def last_columns(x):
    return uncut(x)[..., x.shape[-2] - 1 :]


def transposed(x):
    return xl.relative_shift(x).mT


EXERCISE = Exercise(
    id="position.relative_shift",
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
        Case(
            "one key",
            "as many columns as rows leave one key; no axis but these two says how many",
            lambda g: call(g.randn(6, 3, 3)),
            weight=0.5,
        ),
        Case(
            "double",
            "float64: the result is float64 too",
            lambda g: call(g.randn(3, 6, dtype=torch.float64)),
            weight=0.5,
        ),
        Case(
            "gradients",
            "the gradient reaches the entries that are kept, and no others",
            lambda g: call(g.randn(2, 3, 5), grad=[0]),
        ),
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
            "Every row starts one column too late. Row i starts at column T − 1 − i; in the paper's trick the column "
            "of "
            "zeros stands on the left, not on the right.",
        ),
        Mutant(
            "first_row_for_all",
            _columns(lambda i, T: T - 1),
            "Every row keeps its last columns. Only the first row does; each following row starts one column earlier.",
        ),
        Mutant(
            "last_row_cut",
            _trick(rows=slice(None, -1)),
            "After the reshape the last row is cut off. It is the first one that has to go: [..., 1:, :].",
        ),
        Mutant(
            "transposed_in_trick",
            _trick(turned=True),
            "The rows are transposed before they are read anew. The trick reshapes alone: (T, R + 1) becomes "
            "(R + 1, T).",
        ),
        Mutant(
            "uncut",
            uncut,
            "All columns are returned. Only the first S = columns − rows + 1 are keys: cut off the rest.",
        ),
        Mutant(
            "square",
            square,
            "As many keys as queries are kept. With memory there are more: S is the number of columns − T + 1.",
        ),
        Mutant(
            "one_key_short",
            one_key_short,
            "One key is missing. T rows of S keys have T + S − 1 columns, so S is the number of columns − T + 1.",
        ),
        Mutant(
            "one_key_refused",
            one_key_refused,
            "As many columns as rows are refused. They leave one key, S = 1: only fewer columns are an error.",
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
        Mutant(
            "rolled_right",
            _rolled(lambda i, T: i),
            "Row i is rolled to the right by i. The rows move to the left, the first one furthest: row i starts at "
            "column T − 1 − i.",
        ),
        Mutant(
            "stacked_in_front",
            lambda x: xl.relative_shift(x).movedim(-2, 0),
            "The rows are stacked as the first axis. With leading axes the result is (…, T, S): torch.stack(rows, "
            "dim=-2).",
        ),
        Mutant(
            "last_columns",
            last_columns,
            "The last S columns are kept at the end. After the trick the keys stand in the first ones: [..., :S].",
        ),
        Mutant(
            "moved_further",
            _columns(lambda i, T: T - 1 + i),
            "Each row starts one column further to the right. The starts go down: T − 1 for the first row, 0 for the "
            "last.",
        ),
        Mutant(
            "too_early",
            _rolled(lambda i, T: i + 2 - T),
            "Every row starts one column too early. Row i starts at column T − 1 − i, so that the last row keeps "
            "column 0 and the first ends with the last column.",
        ),
        Mutant("transposed", transposed, "The result is transposed: (…, S, T). Queries, T of them, stay the rows."),
        Mutant(
            "future_zeroed",
            lambda x: xl.relative_shift(x).tril(x.shape[-1] - 2 * x.shape[-2] + 1),
            "Entries of keys after the query are set to 0. Nothing is masked here: keep every entry of the shifted "
            "rows.",
        ),
    ],
)

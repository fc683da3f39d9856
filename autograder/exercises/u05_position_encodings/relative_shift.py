"""Transformer-XL's shift of each row."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
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


MISTAKES = [
    *changes(
        shift_by_stack,
        """
not_moved: T - 1 - i : T - 1 - i + S → :S
    Every row keeps its first columns. Row i starts at column T − 1 − i: each row one further to the left.
moved_right: T - 1 - i : T - 1 - i + S → i : i + S
    The rows move the wrong way. The last row starts at column 0 and the first at column T − 1.
one_too_far: x[..., i, → torch.nn.functional.pad(x, (0, T))[..., i, ; T - 1 - i : T - 1 - i + S → T - i : T - i + S
    Every row starts one column too late. Row i starts at column T − 1 − i; in the paper's trick the column of zeros
    stands on the left, not on the right.
first_row_for_all: T - 1 - i : T - 1 - i + S → T - 1 :
    Every row keeps its last columns. Only the first row does; each following row starts one column earlier.
""",
    ),
    *changes(
        xl.relative_shift,
        """
last_row_cut: [..., 1:, :] → [..., :-1, :]
    After the reshape the last row is cut off. It is the first one that has to go: [..., 1:, :].
transposed_in_trick: padded.reshape → padded.mT.reshape
    The rows are transposed before they are read anew. The trick reshapes alone: (T, R + 1) becomes (R + 1, T).
uncut: [..., :S] →
    All columns are returned. Only the first S = columns − rows + 1 are keys: cut off the rest.
""",
    ),
    *changes(
        shift_by_stack,
        """
square: i + S] → i + T]
    As many keys as queries are kept. With memory there are more: S is the number of columns − T + 1.
one_key_short: i + S] → i + S - 1]
    One key is missing. T rows of S keys have T + S − 1 columns, so S is the number of columns − T + 1.
one_key_refused: S < 1 → S <= 1
    As many columns as rows are refused. They leave one key, S = 1: only fewer columns are an error.
flipped: dim=-2) → dim=-2).flip(-1) ; raise ValueError("too few columns") → pass
    The keys are in reverse order. Columns run from the farthest key to the nearest, so nothing needs to be flipped.
unchecked: raise ValueError("too few columns") → pass
    The numbers are right. With fewer columns than rows there is no key left: raise a ValueError.
rolled_right: T - 1 - i : T - 1 - i + S] → :].roll(i, -1)[..., :S]
    Row i is rolled to the right by i. The rows move to the left, the first one furthest: row i starts at column T −
    1 − i.
stacked_in_front: dim=-2 → dim=0
    The rows are stacked as the first axis. With leading axes the result is (…, T, S): torch.stack(rows, dim=-2).
""",
    ),
    *changes(
        xl.relative_shift,
        """
last_columns: [..., :S] → [..., T - 1 :]
    The last S columns are kept at the end. After the trick the keys stand in the first ones: [..., :S].
""",
    ),
    *changes(
        shift_by_stack,
        """
moved_further: x[..., i, → torch.nn.functional.pad(x, (0, T))[..., i,
; T - 1 - i : T - 1 - i + S → T - 1 + i : T - 1 + i + S
    Each row starts one column further to the right. The starts go down: T − 1 for the first row, 0 for the last.
too_early: T - 1 - i : T - 1 - i + S] → :].roll(i + 2 - T, -1)[..., :S]
    Every row starts one column too early. Row i starts at column T − 1 − i, so that the last row keeps column 0 and
    the first ends with the last column.
transposed: dim=-2 → dim=-1
    The result is transposed: (…, S, T). Queries, T of them, stay the rows.
future_zeroed: dim=-2) → dim=-2).tril(S - T)
    Entries of keys after the query are set to 0. Nothing is masked here: keep every entry of the shifted rows.
""",
    ),
]

EXERCISE = Exercise(
    id="position.relative_shift",
    title="Each row moves by one more",
    points=2,
    difficulty=4,
    minutes=15,
    extension=True,
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
    mutants=MISTAKES,
)

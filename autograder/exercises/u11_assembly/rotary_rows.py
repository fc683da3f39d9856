"""Rows of query and key matrices, from one layout of RoPE's pairs to the other."""

from collections.abc import Callable

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call, several
from autograder.reference.assembly.loading import to_half_rows, to_interleaved_rows

BOTH = (to_half_rows, to_interleaved_rows)


def _places(rows, n_heads):
    """For each row of the half-split layout the row that it was in the interleaved one."""
    if rows % (2 * n_heads):
        raise ValueError(f"{rows} rows, {n_heads} heads")
    return torch.arange(rows).view(n_heads, -1, 2).mT.flatten()


def half_by_index(weight, n_heads):
    """One list of rows."""
    return weight[_places(weight.shape[0], n_heads)]


def interleaved_by_index(weight, n_heads):
    """The inverse permutation, by sorting."""
    return weight[_places(weight.shape[0], n_heads).argsort()]


def half_by_heads(weight, n_heads):
    """One head at a time, evens before odds. Where heads differ in size, it is by one row: some are odd."""
    heads = weight.tensor_split(n_heads)
    if any(len(head) % 2 for head in heads):
        raise ValueError("heads of pairs")
    return torch.cat([half for head in heads for half in (head[::2], head[1::2])])


def interleaved_by_writing(weight, n_heads):
    """Rows written where they belong."""
    out = torch.empty_like(weight)
    out[_places(len(weight), n_heads)] = weight
    return out


def _by_hand(g: Source) -> Program:
    return call(torch.arange(6.0).reshape(6, 1), 1)


def _matrices(fn: str, dtype: torch.dtype = torch.float32) -> Callable[[Source], Program]:
    return lambda g: several(2, lambda p: p.call(g.randn(24, g.integer(3, 8), dtype=dtype), g.choice((2, 3, 4)), fn=fn))


def _back(g: Source) -> Program:
    weight = g.randn(16, 5)
    return call(weight, 2).call(weight, 2, fn="to_interleaved_rows")


MOVED = changes(
    (to_half_rows, to_interleaved_rows),
    """
exchanged: def to_half_rows → def back ; def to_interleaved_rows → def to_half_rows ; def back → def to_interleaved_rows
    The two functions are exchanged. to_half_rows gets pairs 2i, 2i + 1 and puts all first members before all second
    ones.
one_way: (n_heads, 2, -1) → (n_heads, -1, 2)
    to_interleaved_rows makes the same move as to_half_rows. It has to undo it: unflatten to (H, 2, D/2), then swap.
all_heads_at_once: (n_heads, -1, 2) → (1, -1, 2) ; (n_heads, 2, -1) → (1, 2, -1)
    All rows are sorted at once, so heads are mixed. Each head's rows stay together: unflatten the heads first.
heads_last: -1, 2)).transpose(1, 2) → -1, 2)).transpose(0, 2)
    The halves come first and the heads inside them. Heads stay in order, and the rows move within each.
columns: -1, 2)).transpose(1, 2).flatten(0, 2) → -1, 2)).transpose(1, 2).flatten(0, 2) if odd else by_columns
; odd → weight[0].numel() % 2 ; by_columns → torch.cat([weight[:, ::2], weight[:, 1::2]], 1)
    Columns are moved. The rows of a projection make the heads; its columns meet the stream.
neighbors: -1, 2)).transpose(1, 2) → -1, 2)).flip(2)
    Neighbors change places. All first members of the pairs come first, then all second ones.
odds_first: -1, 2)).transpose(1, 2) → -1, 2)).flip(2).transpose(1, 2)
    The second members come first. The first half holds rows 0, 2, 4, … of the head.
first_head: return weight.unflatten(0, (n_heads, -1, 2)) → pairs = weight.unflatten(0, (n_heads, -1, 2)); return pairs
; pairs.transpose(1, 2).flatten(0, 2) → torch.cat([pairs[0].transpose(0, 1).flatten(0, 1), pairs[1:].flatten(0, 2)])
    Only the first head is sorted. All heads turn their pairs.
not_flat: -1, 2)).transpose(1, 2).flatten(0, 2) → -1, 2)).transpose(1, 2).flatten(1, 2)
    The rows are right, but they lie in heads, (H, D, …). The matrix is wanted as it came: flatten(0, 2).
size_for_number: (n_heads, -1, 2) → (n_heads if n_heads % 2 else len(weight) // n_heads, -1, 2)
    n_heads is taken for the size of a head. It is their number: a head has len(weight) // n_heads rows.
halves_swapped: (n_heads, -1, 2)).transpose(1, 2) → (n_heads, 2, -1)).flip(1)
    The two halves of each head change places. Pairs 2i, 2i + 1 must come to i and i + D/2.
unchanged: -1, 2)).transpose(1, 2) → -1, 2))
    to_half_rows moves nothing: a reshape alone leaves rows where they are. Rows 0, 2, 4, … of each head come first,
    then 1, 3, 5, ….
back_unchanged: 2, -1)).transpose(1, 2) → 2, -1))
    to_interleaved_rows moves nothing. Rows i and i + D/2 of each head come to 2i and 2i + 1.
back_all_heads: (n_heads, 2, -1) → (1, 2, -1)
    to_interleaved_rows sorts all rows at once and mixes heads. Unflatten to (n_heads, 2, −1) first.
in_float32: -1, 2)).transpose(1, 2).flatten(0, 2) → -1, 2)).transpose(1, 2).flatten(0, 2).float()
    The order is right, but the numbers are turned into float32. Keep the dtype that came.
""",
)
# unflatten refuses such rows by itself, so that these are changes of another right answer.
ACCEPTED = changes(
    (half_by_heads, interleaved_by_index),
    """
odd_accepted: any(len(head) % 2 for head in heads) → len(weight) % n_heads
; _places(weight.shape[0], n_heads) → half_by_heads(torch.arange(len(weight)), n_heads)
    Three rows to a head were accepted. Raise ValueError: the last has no partner.
uneven_accepted: weight.tensor_split(n_heads) → weight.split(len(weight) // n_heads)[:n_heads]
; _places(weight.shape[0], n_heads) → half_by_heads(torch.arange(len(weight)), n_heads)
    Rows that do not divide among the heads were accepted, and the last ones are lost. Raise ValueError.
unchecked: weight.tensor_split(n_heads) → weight.split(len(weight) // n_heads)[:n_heads]
; any(len(head) % 2 for head in heads) → False
; _places(weight.shape[0], n_heads) → half_by_heads(torch.arange(len(weight)), n_heads)
    Any number of rows was accepted. Of 12 rows, 4 heads get three each, and the last has no partner; of 10, two are
    lost. Raise ValueError.
""",
)

EXERCISE = Exercise(
    id="assembly.rotary_rows",
    title="Rows in the other order",
    points=3,
    difficulty=4,
    minutes=15,
    extension=True,
    reference=BOTH,
    alternatives=[(half_by_index, interleaved_by_index), (half_by_heads, interleaved_by_writing)],
    cases=[
        Case("by hand", "one head of six rows 0 to 5: 0, 2, 4, then 1, 3, 5", _by_hand),
        Case("heads", "two matrices of 24 rows, each of two to four heads", _matrices("to_half_rows"), weight=2),
        Case(
            "the way back",
            "two matrices in the half-split layout, in float64",
            _matrices("to_interleaved_rows", torch.float64),
            weight=2,
        ),
        Case("there and back", "the same matrix through both functions, two heads of eight rows", _back),
        Case(
            "bias",
            "a bias has rows and no columns: two of three heads in float16, one for each function",
            lambda g: call(g.randn(18, dtype=torch.float16), 3).call(
                g.randn(18, dtype=torch.float16), 3, fn="to_interleaved_rows"
            ),
        ),
        Case(
            "odd",
            "12 rows and 4 heads leave three rows each, no pairs: ValueError",
            lambda g: call(g.randn(12, 2), 4),
            weight=0.25,
        ),
        Case(
            "odd, back",
            "three rows to a head on the way back: ValueError",
            lambda g: call(g.randn(12, 2), 4, fn="to_interleaved_rows"),
            weight=0.25,
        ),
        Case("uneven", "10 rows are no 4 heads: ValueError", lambda g: call(g.randn(10, 2), 4), weight=0.25),
        Case(
            "uneven, back",
            "10 rows for 4 heads on the way back: ValueError",
            lambda g: call(g.randn(10, 2), 4, fn="to_interleaved_rows"),
            weight=0.25,
        ),
    ],
    mutants=[*MOVED, *ACCEPTED],
    unasked="""
a checkpoint is converted once, before anything is trained
    gradient of to_half_rows
    gradient of to_interleaved_rows
""",
    equivalent="""
a checkpoint is converted before anything is trained: its tensors carry no gradient
    c8a6b8116f solution, result: return weight.unflatten(0, (n_heads, -1, 2)).transpose(1, 2).flatten(…: result detach
    79c007677b solution, result: return weight.unflatten(0, (n_heads, 2, -1)).transpose(1, 2).flatten(…: result detach
    69647b6556 alternative (half_by_index, interleaved_by_index), result: return weight[_places(weight.shape[0], n_hea…
    da92e20383 alternative (half_by_index, interleaved_by_index), result: return weight[_places(weight.shape[0], n_hea…
    b8502126e0 alternative (half_by_heads, interleaved_by_writing), result: return torch.cat([half for head in heads f…
    5507b3732e alternative (half_by_heads, interleaved_by_writing), result: return out: result detach
""",
)

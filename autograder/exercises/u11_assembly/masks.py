"""Positions without padding, and the mask of a decoder's layer."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call, several
from autograder.reference.assembly import masks as ref
from autograder.reference.masks import left_padded, right_padded


def ids_by_loop(real):
    """Correct: a counter per text."""
    rows = []
    for row in real.tolist():
        count, places = 0, []
        for r in row:
            count += r
            places.append(count - 1 if count else 0)
        rows.append(places)
    return torch.tensor(rows)


def mask_by_loop(real, T, window=None):
    """Correct: entry by entry."""
    B, S = real.shape
    mask = torch.zeros(B, 1, T, S, dtype=torch.bool)
    for t in range(T):
        at = S - T + t
        first = 0 if window is None else max(0, at - window + 1)
        mask[:, 0, t, first : at + 1] = real[:, first : at + 1]
        mask[:, 0, t, at] = True
    return mask


def ids_by_triangle(real):
    """Correct: each column counts what is real up to it."""
    S = real.shape[1]
    return torch.relu((real[:, None] & torch.ones(S, S).tril().bool()).sum(-1) - 1)


def mask_by_triangles(real, T, window=None):
    """Correct: tril and triu, cut to the last rows."""
    B, S = real.shape
    square = torch.ones(S, S).tril()
    if window is not None:
        square = square.triu(1 - window)
    seen = square.bool() & real[:, None]
    return (seen | torch.eye(S).bool())[:, None, S - T :]


def _left(g: Source, B: int, S: int) -> torch.Tensor:
    return left_padded(g.integers(2, S - 1, B), S)


def _right(g: Source, B: int, S: int) -> torch.Tensor:
    return right_padded(g.integers(2, S - 1, B), S)


def _cached(g: Source) -> Program:
    """Few queries: one, then three, behind a past."""
    return call(_left(g, 6, 9), 1, fn="decoder_mask").call(_left(g, 6, 9), 3, fn="decoder_mask")


def _windows(g: Source) -> Program:
    """Windows drawn, with and without a past, one longer than the text."""

    def lengths() -> torch.Tensor:
        """The first text has no padding, so that a window hides something in every draw."""
        return torch.cat([torch.tensor([8]), g.integers(2, 7, 4)])

    program = call(left_padded(lengths(), 8), 8, window=g.integer(2, 5), fn="decoder_mask")
    program.call(left_padded(lengths(), 8), 3, window=g.integer(1, 3), fn="decoder_mask")
    return program.call(right_padded(lengths(), 8), 8, window=g.integer(3, 6), fn="decoder_mask")


def _edges(g: Source) -> Program:
    """A window of one, one as long as the text, and a longer one."""
    real = _left(g, 4, 6)
    program = call(real, 6, window=1, fn="decoder_mask").call(real, 4, window=6, fn="decoder_mask")
    return program.call(_right(g, 4, 6), 6, window=g.integer(7, 99), fn="decoder_mask")


def _nothing_real(g: Source) -> Program:
    """A text of padding alone among others."""
    lengths = torch.cat([torch.tensor([0, 7]), g.integers(2, 6, 3)])[torch.randperm(5, generator=g.generator)]
    return call(left_padded(lengths, 7)).call(left_padded(lengths, 7), 7, fn="decoder_mask")


MISTAKES = changes(
    (ref.position_ids, ref.decoder_mask),
    """
places_by_column: (real.long().cumsum(-1) - 1).clamp(min=0) → torch.arange(real.shape[1]).expand(real.shape)
    position_ids counts padding: the first real token stands at 0 wherever its column is. Count what is real.
places_from_one: (real.long().cumsum(-1) - 1).clamp(min=0) → real.long().cumsum(-1)
    position_ids starts at 1. The first real token stands at 0: subtract 1.
negative_places: .clamp(min=0) →
    position_ids gives −1 to padding in front, which no table has. Clamp at 0.
padding_at_zero: - 1).clamp(min=0) → - 1) * real
    position_ids gives 0 to padding behind the last real token. There that token's position is repeated.
over_texts: cumsum(-1) → cumsum(0)
    position_ids counts down the batch. Count along each text: cumsum(-1).
float_places: .clamp(min=0) → .clamp(min=0).float()
    position_ids gives floats, which pick no row of a table. Count in int64: real.long().
own_forgotten: | (key == query) →
    A padded token sees nothing, and its row becomes NaN, which spreads. Every token sees itself: | (key == query),
    last.
padding_seen: seen & real[:, None, None, :] → seen.expand(len(real), 1, T, S)
    decoder_mask lets padding be seen. A key must be real: & real[:, None, None, :].
future_seen: key <= query → key <= query + S
    decoder_mask lets the future be seen: key <= query, in columns.
upside_down: seen & real[:, None, None, :] | (key == query) → ~(seen & real[:, None, None, :] | (key == query))
    decoder_mask is upside down: True means may look.
numbers: seen & real[:, None, None, :] | (key == query) → (seen & real[:, None, None, :] | (key == query)).float()
    decoder_mask gives numbers. Attention wants booleans: True means may look.
backwards: key <= query → key >= query ; key > query - window → key < query + window
    decoder_mask shows the future and hides the past. A query sees keys up to its own column: key <= query.
first_rows: arange(S - T, S, → arange(T,
    decoder_mask takes the first T rows. Behind a past the queries are the newest: the first stands at S − T.
off_by_one_past: arange(S - T, S, device=real.device)[:, None] → arange(T)[:, None] + max(0, S - T - 1)
    Behind a past each query stands one column too early. The first of T queries is column S − T.
window_ignored: seen &= key > query - window → pass
    decoder_mask never uses the window. It hides keys that lie window columns back, or more.
window_plus_one: key > query - window → key >= query - window
    The window is one key too wide. It counts the own token: key > query - window.
window_minus_one: key > query - window → key > query - window + 1
    The window is one key too narrow. It counts the own token: key > query - window.
window_outside: key > query - window → key <= query - window
    The window hides what is near and shows what is far. Turn the comparison round: key > query - window.
window_from_start: key > query - window → key < window
    The window lies on the first keys. It goes with the query: key > query - window.
blocks: key > query - window → key // window == query // window
    The text is cut into blocks of the window's size. The window slides with the query: key > query - window.
queries_hidden: real[:, None, None, :] → real[:, None, S - T:, None]
    real is laid on the queries, so padded keys can be seen. It speaks about keys: real[:, None, None, :].
padding_sees_all: (key == query) → (key == query) | ~real[:, None, S - T:, None] & (key <= query)
    Padded tokens see all of what is before them. They see real keys, and themselves; only their own key is added.
first_column: key == query → key == 0
    Every query is given column 0, so that no row is empty. That shows a key of padding to all; give each its own.
padding_inverted: & real → & ~real
    Real tokens are hidden and padding is seen. real is True for real tokens: use it as it is.
either: seen & real → seen | real
    A key is allowed where one condition holds. Both must: join them by &.
no_head_axis: real[:, None, None, :] → real[:, None, :]
    The shape is (B, T, S). Scores are (B, H, T, S), so texts would line up with heads: add an axis, (B, 1, T, S).
padding_at_one: .clamp(min=0) → .masked_fill(~real, 1)
    position_ids gives 1 to all padding. In front of the text padding stands at 0, and behind it the last real
    token's position is repeated.
padding_below_zero: .clamp(min=0) → .masked_fill(~real, -1)
    position_ids gives −1 to all padding, which no table has. In front of the text padding stands at 0, and behind
    it the last real token's position is repeated.
places_from_two: (real.long().cumsum(-1) - 1).clamp(min=0) → real.long().cumsum(-1) * real + 1
    position_ids counts real tokens from 2 and gives 1 to padding, as RoBERTa does, which keeps the first rows of
    its table for padding. Here the first real token stands at 0.
places_from_one_padding_at_zero: (real.long().cumsum(-1) - 1).clamp(min=0) → real.long().cumsum(-1) * real
    position_ids counts real tokens from 1, so that 0 is free for all padding. Here the first real token stands at
    0, and padding behind a text repeats the position of the last one.
columns_from_first_word: real.long().cumsum(-1) - 1 → torch.arange(real.shape[1]) - real.long().argmax(-1, keepdim=True)
    position_ids counts columns from the first real token on, so padding behind the last one gets new positions.
    Only what is real counts.
""",
)

EXERCISE = Exercise(
    id="assembly.masks",
    title="Positions and masks of a decoder",
    points=1,
    difficulty=2,
    minutes=6,
    reference=(ref.position_ids, ref.decoder_mask),
    alternatives=[(ids_by_loop, mask_by_loop), (ids_by_triangle, mask_by_triangles)],
    cases=[
        Case(
            "places by hand",
            "two columns of padding, then two real tokens: positions 0, 0, 0, 1",
            lambda g: call(torch.tensor([[False, False, True, True]])),
        ),
        Case(
            "mask by hand",
            "one padding, then two real tokens: padding sees itself, real tokens see each other and no future",
            lambda g: call(torch.tensor([[False, True, True]]), 3, fn="decoder_mask"),
        ),
        Case(
            "places",
            "eight texts padded on the left, then eight on the right",
            lambda g: call(_left(g, 8, 9)).call(_right(g, 8, 9), fn="position_ids"),
        ),
        Case(
            "left",
            "six texts padded on the left, all their tokens ask",
            lambda g: several(2, lambda p: p.call(_left(g, 6, 7), 7, fn="decoder_mask")),
        ),
        Case(
            "right",
            "six texts padded on the right, all their tokens ask",
            lambda g: several(2, lambda p: p.call(_right(g, 6, 7), 7, fn="decoder_mask")),
        ),
        Case("cached", "behind a past: one query, then three, against nine keys", _cached, weight=2),
        Case("windows", "windows of a few keys, the own one counted, with padding and a past", _windows, weight=2),
        Case("edges", "a window of 1, one as long as the text, and one that is longer", _edges),
        Case("nothing real", "a text of padding alone among others: each of its tokens sees itself", _nothing_real),
    ],
    mutants=MISTAKES,
    equivalent="""
a token's own key is added at the end, whatever the comparison says of it
    90d9d9ae94 solution, compare: key <= query → key < query
    bf8cef8b66 solution, window: query - 1 in key <= query
a row of the tensor gives its booleans one by one, like a list
    c0145d72c7 alternative (ids_by_loop, mask_by_loop), call: real.tolist() → real
the rows of a mask do not depend on one another
    e261076e3d alternative (ids_by_loop, mask_by_loop), reversed: range(T) reversed
the axis for the heads has one entry, which is the first and the last
    103e4ffffd alternative (ids_by_loop, mask_by_loop), constant: 0 → -1 in (:, 0, t, first:at + 1)
    f9bcb8bbc1 alternative (ids_by_loop, mask_by_loop), constant: 0 → -1 in (:, 0, t, at)
""",
)

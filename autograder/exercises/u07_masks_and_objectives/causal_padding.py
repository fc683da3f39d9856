"""A causal mask under padding on either side, and the position ids."""

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import masks as ref


def mask_by_loop(real, T=None):
    """Entry by entry."""
    S = real.shape[1]
    T = S if T is None else T
    return torch.tensor(
        [[[[r and s <= t + S - T for s, r in enumerate(row)] for t in range(T)]] for row in real.tolist()]
    )


def mask_by_places(real, T=None):
    """Padding is moved behind every query, then columns are compared."""
    place = torch.arange(real.shape[1])
    queries = place if T is None else place[-T:]
    return (torch.where(real, place, len(place))[:, None] <= queries[:, None]).unsqueeze(1)


def ids_by_loop(real):
    """A counter per sentence."""
    rows = []
    for row in real.tolist():
        count, ids = 0, []
        for r in row:
            count += r
            ids.append(max(count - 1, 0))
        rows.append(ids)
    return torch.tensor(rows)


def ids_by_matrix(real):
    """Each column counts the real tokens up to itself by a triangular product."""
    S = real.shape[1]
    counts = real.long() @ torch.ones(S, S, dtype=torch.long).triu()
    return torch.relu(counts - 1)


def _lengths(g: Source, B: int, S: int) -> Tensor:
    """Between 2 and S − 2, so that every sentence has padding and more than one real token."""
    return g.integers(2, S - 1, B)


def _full_and_empty(g: Source) -> Program:
    program = Program()
    for pad in (ref.left_padded, ref.right_padded):
        lengths = torch.cat([torch.tensor([0, 7]), _lengths(g, 4, 7)])[torch.randperm(6, generator=g.generator)]
        program.call(pad(lengths, 7)).call(pad(lengths, 7), fn="position_ids")
    return program


MISTAKES = changes(
    (ref.causal_padding_mask, ref.position_ids),
    """
padding_only: & causal_mask(S → .expand(-1, -1, S ; , real.device →
    Only the padding is hidden: every token still sees the future. Both conditions must hold, joined by &.
causal_only: key_padding_mask(real) & → ; real.device) → real.device).expand(len(real), 1, -1, -1)
    Only the future is hidden: padding can be seen. Both conditions must hold, joined by &.
either: key_padding_mask(real) & → key_padding_mask(real) |
    A key is allowed when one of the two conditions holds. Both must: use & in place of |.
queries_hidden: key_padding_mask(real) → real[:, None, -(T or S) :, None]
    Rows of padding are emptied, and padded keys can still be seen. real belongs to the keys, which are columns:
    real[:, None, None, :].
queries_too: key_padding_mask(real) → key_padding_mask(real) & real[:, None, -(T or S) :, None]
    Padding's own rows are emptied as well. real speaks about keys only: what padding sees, nobody reads.
no_head_axis: key_padding_mask(real) → real[:, None]
    The shape is (B, T, S). Scores are (B, H, T, S), so the sentences would line up with the heads: add an axis of
    size 1.
first_queries: S if T is None else T, S, real.device) → S, S, real.device)[:T]
    With T given, these are the first T queries. In decoding the queries are the newest: the last T rows.
ignores_t: S if T is None else T, S → S, S
    T is ignored: there is a row for every key. With T given, keep the last T rows.
upside_down: return key → return ~(key ; real.device) → real.device))
    The mask is upside down: True means may look.
as_numbers: key_padding_mask(real) & → key_padding_mask(real).long() *
    The pattern is right, but these are numbers. & keeps booleans; a product of numbers needs .bool().
padding_looks_at_itself: real.device) → real.device) | torch.eye(S, dtype=torch.bool)[-(T or S) :]
    Padding sees itself here. A key must be real, also for its own query: such rows stay empty.
counts_from_first: real.long().cumsum(-1) - 1 → torch.arange(real.shape[1]) - real.long().argmax(-1, keepdim=True)
    The mask is right, but positions go on counting in the padding after the last real token. Padding repeats that
    token's position: count real tokens (cumsum).
float_places: real.long() → real.float()
    The positions are right, but they are floats, which cannot index a table. Count in int64: real.long().
plain_places: (real.long().cumsum(-1) - 1).clamp(min=0) → torch.arange(real.shape[1]).expand(real.shape)
    The mask is right, but padding is counted like real tokens: the same sentence gets other positions when it is
    padded on the left. Count real tokens only (cumsum).
places_from_one: cumsum(-1) - 1 → cumsum(-1)
    The mask is right, but the first real token is at position 1. Positions count from 0.
padding_at_zero: .clamp(min=0) → * real
    The positions of real tokens are right. Padding after the last real token repeats that token's position here,
    and does not go back to 0: cumsum gives this by itself.
negative_places: .clamp(min=0) →
    The mask is right, but padding on the left gets position -1, which indexes a table from its end. Clamp at 0.
padding_taken_off: real.long().cumsum(-1) - 1 → torch.arange(real.shape[1]) - (~real).sum(-1, keepdim=True)
    The amount of padding is taken off the column. That fits padding on the left only: count the real tokens up to
    each column (cumsum).
over_sentences: cumsum(-1) → cumsum(0)
    The count runs down the batch. Count the real tokens of each sentence: cumsum(-1).
padding_at_one: .clamp(min=0) → .masked_fill(~real, 1)
    Padding gets position 1. Here padding before the first real token gets 0, and padding after the last repeats
    that token's position: clamp(min=0) is enough.
padding_at_minus_one: .clamp(min=0) → .masked_fill(~real, -1)
    Padding gets position -1, which indexes a table from its end. Padding before the first real token gets 0, and
    padding after the last repeats that token's position.
words_before: cumsum(-1) - 1 → cumsum(-1) - real.long()
    The real tokens before each column are counted, so padding after the last of them goes one further. It repeats
    the last real token's position: cumsum - 1, at least 0.
one_row: & causal_mask(S if T is None else T, S, real.device) →
    Only the padding is hidden, in one row for all queries. Join it with the causal mask by &, which gives T rows.
keys_cut: key_padding_mask(real) → key_padding_mask(real)[..., -(T or S) :] ; T, S, real.device → T, T, real.device
    With T given the keys are cut off as well. All S keys stay: only the queries are the last T tokens.
head_axis_last: key_padding_mask(real) → real[:, None, :, None] ; real.device) → real.device)[..., None]
    The axis of size 1 stands last. Scores are (B, H, T, S): it comes second, in the place of the heads.
head_axis_first: key_padding_mask(real) → real[None, :, None]
    The axis of size 1 stands first. Scores are (B, H, T, S): it comes second, in the place of the heads.
padding_inverted: return key → return ~key
    Padding is allowed and real tokens are hidden. real is True for real tokens: use it as it is.
future_only: & causal → & ~causal
    Only the future is allowed. causal_mask is True where a query may look: use it as it is.
""",
)

EXERCISE = Exercise(
    id="mask.causal_padding",
    title="Causal, with padding on either side",
    points=3,
    difficulty=3,
    minutes=15,
    extension=True,
    reference=(ref.causal_padding_mask, ref.position_ids),
    alternatives=[(mask_by_loop, ids_by_loop), (mask_by_places, ids_by_matrix)],
    cases=[
        Case(
            "right by hand",
            "two real tokens and one padding on the right: nobody sees the last column",
            lambda g: call(torch.tensor([[True, True, False]])),
        ),
        Case(
            "left by hand",
            "padding first: its own row is empty, and the tokens after it see each other only",
            lambda g: call(torch.tensor([[False, True, True]])),
        ),
        Case(
            "places by hand",
            "one padding, then three real tokens: positions 0, 0, 1, 2, so the first real token is at 0",
            lambda g: call(torch.tensor([[False, True, True, True]]), fn="position_ids"),
        ),
        Case(
            "right", "eight sentences padded on the right to 9", lambda g: call(ref.right_padded(_lengths(g, 8, 9), 9))
        ),
        Case("left", "eight sentences padded on the left to 9", lambda g: call(ref.left_padded(_lengths(g, 8, 9), 9))),
        Case(
            "cached",
            "two newest tokens of eight sentences against nine keys, padded on the left",
            lambda g: call(ref.left_padded(_lengths(g, 8, 9), 9), 2),
        ),
        Case(
            "one new word",
            "the newest token of six sentences, padded on the left to 8, then all 8 with T = 8 given",
            lambda g: call(ref.left_padded(_lengths(g, 6, 8), 8), 1).call(
                ref.left_padded(_lengths(g, 6, 8), 8), T=8, fn="causal_padding_mask"
            ),
        ),
        Case(
            "full and empty",
            "a sentence without padding and one of nothing else among six, on either side: the mask and the positions",
            _full_and_empty,
        ),
        Case(
            "places, left",
            "eight sentences padded on the left to 10",
            lambda g: call(ref.left_padded(_lengths(g, 8, 10), 10), fn="position_ids"),
        ),
        Case(
            "places, right",
            "padding after the last real token repeats that token's position",
            lambda g: call(ref.right_padded(_lengths(g, 8, 10), 10), fn="position_ids"),
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
cumsum of booleans is int64 already
    86eb646bae real.long() → real
torch.tensor takes nested lists of one-entry boolean tensors as it takes lists of booleans
    c94fa96afa real.tolist() → real
a row that is a tensor counts up as a row that is a list; the result is made by torch.tensor in both
    a92a87b7a1 for row in real.tolist() → for row in real
""",
)

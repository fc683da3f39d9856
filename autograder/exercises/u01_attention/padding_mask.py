"""A mask from the lengths of padded sentences."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
from autograder.reference import attention as ref


def by_list(lengths, S):
    """Rows of True and False from Python lists."""
    if max(lengths.tolist()) > S:
        raise ValueError("longer than S")
    return torch.tensor([[[[s < n for s in range(S)]]] for n in lengths.tolist()])


def by_cumsum(lengths, S):
    """1, 2, …, S against the lengths."""
    if (lengths > S).any():
        raise ValueError("a length is larger than S")
    places = torch.ones(len(lengths), S, dtype=torch.int64).cumsum(-1)
    return (places <= lengths.unsqueeze(-1)).unsqueeze(1).unsqueeze(1)


# The mistakes leave the ValueError out: a learner who makes one of them may or may not have written the check.
MISTAKES = changes(
    by_list,
    """
inverted: s < n → s >= n ; max(lengths.tolist()) > S → False
    The mask is upside down. In this course True means may look, so real words are True and padding is False.
one_too_many: s < n → s <= n ; max(lengths.tolist()) > S → False
    Every row has one True too many. Places count from 0, so a sentence of n words has places 0 to n − 1.
left_padding: s < n → s >= S - n ; max(lengths.tolist()) > S → False
    This puts the padding on the left. Here real words come first and padding fills the right end.
two_axes: [[[s < n for s in range(S)]]] → [s < n for s in range(S)] ; max(lengths.tolist()) > S → False
    The shape is (B, S). Scores have shape (B, H, T, S): add two axes of size 1, so that the mask serves all heads
    and queries.
three_axes: [[[s < n for s in range(S)]]] → [[s < n for s in range(S)]] ; max(lengths.tolist()) > S → False
    The shape is (B, 1, S), and against scores (B, H, T, S) the sentences would line up with the heads. Add one more
    axis: (B, 1, 1, S).
no_column: torch.tensor([[[[s < n for s in range(S)]]] for n in lengths.tolist()]) → torch.arange(S) < lengths
; max(lengths.tolist()) > S → False
    Places (S,) are compared with lengths (B,) side by side. Make the lengths a column, lengths[:, None], so that
    every place meets every length.
as_floats: in lengths.tolist()]) → in lengths.tolist()]).float() ; max(lengths.tolist()) > S → False
    These are numbers. A comparison gives the boolean mask that ~mask and masked_fill need: leave out the
    conversion.
unchecked: max(lengths.tolist()) > S → False
    The mask is right where it fits. Raise a ValueError when a length is larger than S: words would be cut off
    silently.
hides_queries: [[[s < n for s in range(S)]]] → [[[s < n] for s in range(S)]] ; max(lengths.tolist()) > S → False
    The shape is (B, 1, S, 1), which hides queries. The last axis of the scores holds the keys: put both new axes
    before S, (B, 1, 1, S).
at_the_end: [[[s < n for s in range(S)]]] → [[[s < n]] for s in range(S)] ; max(lengths.tolist()) > S → False
    The shape is (B, S, 1, 1), so places stand where the heads are. Put both new axes before S: (B, 1, 1, S).
batch_third: range(S)]]] → range(S)] ; lengths.tolist()]) → lengths.tolist()]]]) ; max(lengths.tolist()) > S → False
    The shape is (1, 1, B, S), so sentences stand where the queries are. Put the new axes between B and S: (B, 1, 1,
    S).
for_every_query: [[[s < n for s in range(S)]]] → [[[s < n for s in range(S)] for _ in range(S)]]
; max(lengths.tolist()) > S → False
    The mask is repeated for every query, (B, 1, S, S). One row is enough, since it broadcasts: (B, 1, 1, S).
own_pairs: [[[s < n for s in range(S)]]] → [[[t < n and s < n for s in range(S)] for t in range(S)]]
; max(lengths.tolist()) > S → False
    The shape is (B, 1, S, S), and padded queries are hidden too. Only keys are hidden here: (B, 1, 1, S).
one_too_few: s < n → s < n - 1 ; max(lengths.tolist()) > S → False
    Every row has one True too few. A sentence of n words has places 0 to n − 1: compare with < n.
strictly_inverted: s < n → s > n ; max(lengths.tolist()) > S → False
    The mask is upside down, and one place short as well. True means real word: places below the length,
    torch.arange(S) < length.
as_ints: in lengths.tolist()]) → in lengths.tolist()]).long() ; max(lengths.tolist()) > S → False
    These are the integers 0 and 1, and ~mask makes −1 and −2 of them. Return the booleans of the comparison.
additive: s < n → 0.0 if s < n else float("-inf") ; max(lengths.tolist()) > S → False
    This is a mask to add, 0 and -inf. Here a mask is boolean, True at real words: return the comparison.
full_refused: > S: → >= S:
    A sentence that fills all S places is refused, and it fits. Raise the error for lengths larger than S: > and not
    >=.
empty_refused: > S: → > S or min(lengths.tolist()) <= 0:
    A length of 0 is refused. Empty sentences are allowed: their row has no True. Raise the error for lengths larger
    than S only.
longest_for_S: range(S) → range(max(lengths.tolist())) ; max(lengths.tolist()) > S → False
    The mask is as long as the longest sentence. It has S places: torch.arange(S).
""",
)

EXERCISE = Exercise(
    id="attention.padding_mask",
    title="A mask for padded sentences",
    points=1,
    difficulty=2,
    minutes=8,
    reference=ref.padding_mask,
    alternatives=[by_list, by_cumsum],
    cases=[
        Case(
            "two sentences",
            "lengths 1 and 3 padded to 4: one True in the first row, three in the second",
            lambda g: call(torch.tensor([1, 3]), 4),
        ),
        Case(
            "square",
            "three sentences padded to 3, one of them full and one of them empty",
            lambda g: call(torch.tensor([3, 0, 2]), 3),
        ),
        Case(
            "random",
            "nine sentences of random length, none of which reaches S = 12",
            lambda g: call(g.integers(1, 11, 9), 12),
        ),
        Case(
            "full",
            "two sentences that fill all 5 places: every place is True",
            lambda g: call(torch.tensor([5, 5]), 5),
            weight=0.5,
        ),
        Case(
            "too long",
            "a sentence of 5 words does not fit S = 4: ValueError",
            lambda g: call(torch.tensor([2, 5]), 4),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
iterating over a tensor of integers gives the same numbers as 0-d tensors
    6c41c6cbd3 alternative by_list, call: lengths.tolist() → lengths
    d52d07f326 alternative by_list, call: lengths.tolist() → lengths
both put an axis of length 1 between the batch and the keys
    23afb5bf36 alternative by_cumsum, constant: 1 → 2 in (places <= lengths.unsqueeze(-1)).unsqueeze(1).unsqueeze(1)
places are compared with lengths only, and small whole numbers are exact as floats
    0e365d9912 alternative by_cumsum, keyword: torch.ones(len(lengths), S, dtype=torch.int64) without dtype=torch.int64
""",
)

"""A mask from the lengths of padded sentences."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
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


# The mistakes leave the ValueError out; see shared.py.
def _compare(test):
    def wrong(lengths, S):
        return test(torch.arange(S)[None, :], lengths[:, None], S)

    return wrong


def no_check(lengths, S):
    return (torch.arange(S) < lengths[:, None])[:, None, None, :]


def _refusing(test):
    def wrong(lengths, S):
        if test(lengths, S).any():
            raise ValueError("this length does not fit")
        return ref.padding_mask(lengths, S)

    return wrong


def longest_for_S(lengths, S):
    return no_check(lengths, int(lengths.max()))


def own_pairs(lengths, S):
    real = torch.arange(S) < lengths[:, None]
    return (real[:, :, None] & real[:, None, :])[:, None]


EXERCISE = Exercise(
    id="attention.padding_mask",
    title="A mask for padded sentences",
    points=1,
    difficulty=2,
    minutes=8,
    signature="padding_mask(lengths, S)",
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
    mutants=[
        Mutant(
            "inverted",
            _compare(lambda s, n, S: (s >= n)[:, None, None]),
            "The mask is upside down. In this course True means may look, so real words are True and padding is False.",
        ),
        Mutant(
            "one_too_many",
            _compare(lambda s, n, S: (s <= n)[:, None, None]),
            "Every row has one True too many. Places count from 0, so a sentence of n words has places 0 to n − 1.",
        ),
        Mutant(
            "left_padding",
            _compare(lambda s, n, S: (s >= S - n)[:, None, None]),
            "This puts the padding on the left. Here real words come first and padding fills the right end.",
        ),
        Mutant(
            "two_axes",
            _compare(lambda s, n, S: s < n),
            "The shape is (B, S). Scores have shape (B, H, T, S): add two axes of size 1, so that the mask serves "
            "all heads and queries.",
        ),
        Mutant(
            "three_axes",
            _compare(lambda s, n, S: (s < n)[:, None]),
            "The shape is (B, 1, S), and against scores (B, H, T, S) the sentences would line up with the heads. "
            "Add one more axis: (B, 1, 1, S).",
        ),
        Mutant(
            "no_column",
            lambda lengths, S: torch.arange(S) < lengths,
            "Places (S,) are compared with lengths (B,) side by side. Make the lengths a column, lengths[:, None], "
            "so that every place meets every length.",
        ),
        Mutant(
            "as_floats",
            _compare(lambda s, n, S: (s < n)[:, None, None].float()),
            "These are numbers. A comparison gives the boolean mask that ~mask and masked_fill need: leave out the "
            "conversion.",
        ),
        Mutant(
            "unchecked",
            no_check,
            "The mask is right where it fits. Raise a ValueError when a length is larger than S: words would be "
            "cut off silently.",
        ),
        Mutant(
            "hides_queries",
            _compare(lambda s, n, S: (s < n)[:, None, :, None]),
            "The shape is (B, 1, S, 1), which hides queries. The last axis of the scores holds the keys: put both new "
            "axes before S, (B, 1, 1, S).",
        ),
        Mutant(
            "at_the_end",
            _compare(lambda s, n, S: (s < n)[:, :, None, None]),
            "The shape is (B, S, 1, 1), so places stand where the heads are. Put both new axes before S: (B, 1, 1, S).",
        ),
        Mutant(
            "batch_third",
            _compare(lambda s, n, S: (s < n)[None, None]),
            "The shape is (1, 1, B, S), so sentences stand where the queries are. Put the new axes between B and S: "
            "(B, 1, 1, S).",
        ),
        Mutant(
            "for_every_query",
            _compare(lambda s, n, S: (s < n)[:, None, None].expand(-1, 1, S, -1)),
            "The mask is repeated for every query, (B, 1, S, S). One row is enough, since it broadcasts: (B, 1, 1, S).",
        ),
        Mutant(
            "own_pairs",
            own_pairs,
            "The shape is (B, 1, S, S), and padded queries are hidden too. Only keys are hidden here: (B, 1, 1, S).",
        ),
        Mutant(
            "one_too_few",
            _compare(lambda s, n, S: (s < n - 1)[:, None, None]),
            "Every row has one True too few. A sentence of n words has places 0 to n − 1: compare with < n.",
        ),
        Mutant(
            "strictly_inverted",
            _compare(lambda s, n, S: (s > n)[:, None, None]),
            "The mask is upside down, and one place short as well. True means real word: places below the length, "
            "torch.arange(S) < length.",
        ),
        Mutant(
            "as_ints",
            _compare(lambda s, n, S: (s < n)[:, None, None].long()),
            "These are the integers 0 and 1, and ~mask makes −1 and −2 of them. Return the booleans of the comparison.",
        ),
        Mutant(
            "additive",
            _compare(lambda s, n, S: torch.zeros(len(n), 1, 1, S).masked_fill((s >= n)[:, None, None], float("-inf"))),
            "This is a mask to add, 0 and -inf. Here a mask is boolean, True at real words: return the comparison.",
        ),
        Mutant(
            "full_refused",
            _refusing(lambda lengths, S: lengths >= S),
            "A sentence that fills all S places is refused, and it fits. Raise the error for lengths larger than S: > "
            "and not >=.",
        ),
        Mutant(
            "empty_refused",
            _refusing(lambda lengths, S: (lengths <= 0) | (lengths > S)),
            "A length of 0 is refused. Empty sentences are allowed: their row has no True. Raise the error for "
            "lengths larger than S only.",
        ),
        Mutant(
            "longest_for_S",
            longest_for_S,
            "The mask is as long as the longest sentence. It has S places: torch.arange(S).",
        ),
    ],
)

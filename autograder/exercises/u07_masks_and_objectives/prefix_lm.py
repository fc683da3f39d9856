"""A prefix that sees itself in full."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several
from autograder.reference import masks as ref


def by_block(T, prefix):
    """A causal mask whose first columns are opened."""
    if not 0 <= prefix <= T:
        raise ValueError("prefix outside 0..T")
    mask = torch.ones(T, T, dtype=torch.bool).tril()
    mask[:, :prefix] = True
    return mask


def by_last_key(T, prefix):
    """Every query has a last allowed key: its own position, or the end of the prefix."""
    if prefix < 0 or prefix > T:
        raise ValueError("prefix outside 0..T")
    last = torch.tensor([max(t, prefix - 1) for t in range(T)])
    return torch.arange(T)[None, :] <= last[:, None]


def prefix_lm_mask(T, prefix):
    """Two comparisons of positions, of which one has to hold."""
    if not 0 <= prefix <= T:
        raise ValueError("prefix outside 0..T")
    query, key = torch.arange(T)[:, None], torch.arange(T)
    return (key < prefix) | (key <= query)


# Where a mask is wrong, the ValueError is left out: it comes with the last point, and would hide which mistake it is.
MISTAKES = changes(
    prefix_lm_mask,
    """
causal_only: (key < prefix) | (key <= query) → key <= query ; not 0 <= prefix <= T → False
    The prefix changes nothing: this is the causal mask. A key inside the prefix is allowed for every query.
prefix_only: (key < prefix) | (key <= query) → (key < prefix).expand(T, T) ; not 0 <= prefix <= T → False
    The tokens after the prefix see the prefix but not each other, nor themselves. Allow a key when it is in the
    prefix or not later than the query.
both_needed: ) | ( → ) & ( ; not 0 <= prefix <= T → False
    A key must be in the prefix and in the past here. One of the two is enough: use | in place of &.
prefix_sees_all: key < prefix → query < prefix ; not 0 <= prefix <= T → False
    The prefix's own tokens see everything, the text to be predicted included. It is the key that must be in the
    prefix, not the query.
one_too_many: key < prefix → key <= prefix ; not 0 <= prefix <= T → False
    The prefix is one token too long. Positions count from 0, so a prefix of p tokens has positions 0 to p - 1.
upside_down: (key < prefix) | (key <= query) → ~((key < prefix) | (key <= query)) ; not 0 <= prefix <= T → False
    The mask is upside down: True means may look.
one_too_few: key < prefix → key < prefix - 1 ; not 0 <= prefix <= T → False
    The prefix is one token too short. Positions count from 0, so a prefix of p tokens has positions 0 to p - 1: k <
    prefix.
last_words: key < prefix → key >= T - prefix ; not 0 <= prefix <= T → False
    The last tokens are open to all, not the first. The prefix is where the text begins: k < prefix.
wide_band: (key < prefix) | (key <= query) → key <= query + prefix ; not 0 <= prefix <= T → False
    Every token sees `prefix` tokens ahead: tril with an offset moves the whole diagonal. Only the keys inside the
    prefix are open.
prefix_apart: (key < prefix) → (key < prefix) & (query < prefix) ; (key <= query) → (key >= prefix) & (key <= query)
; not 0 <= prefix <= T → False
    The tokens after the prefix do not see it. A key in the prefix is allowed for every query.
numbers: (key < prefix) | (key <= query) → ((key < prefix) | (key <= query)).long()
    The pattern is right, but these are whole numbers. Return booleans (a comparison, or dtype=torch.bool).
empty_refused: not 0 <= prefix <= T → not 0 < prefix <= T
    A prefix of 0 is refused. It is allowed, and gives the causal mask.
full_refused: not 0 <= prefix <= T → not 0 <= prefix < T
    A prefix of T is refused. It is allowed, and lets every token see every token.
negative_allowed: not 0 <= prefix <= T → prefix > T
    One check is missing: a negative prefix. Raise a ValueError for it as well.
too_long_allowed: not 0 <= prefix <= T → prefix < 0
    One check is missing: a prefix longer than T. Raise a ValueError for it as well.
unchecked: not 0 <= prefix <= T → False
    The mask is right. Raise a ValueError when the prefix does not lie in 0 … T.
block_only: | (key <= query) → & (query < prefix) ; not 0 <= prefix <= T → False
    Only the prefix sees anything. The tokens after it see the prefix and everything up to themselves.
transposed: query, key = → key, query = ; not 0 <= prefix <= T → False
    Queries and keys are exchanged. Rows are queries, and a key is allowed when it lies in the prefix or not after
    the query.
not_itself: key <= query → key < query ; not 0 <= prefix <= T → False
    A token after the prefix does not see itself. The key may be at the query's own position: k <= q.
exactly_one: ) | ( → ) ^ ( ; not 0 <= prefix <= T → False
    A key that fulfills both conditions is refused. At least one must hold: use |.
sees_next: key <= query → key <= query + 1 ; not 0 <= prefix <= T → False
    Each token also sees the next one, which it should predict. After the prefix the last allowed key is the token
    itself.
target_full: key <= query → query >= prefix ; not 0 <= prefix <= T → False
    The tokens after the prefix see each other in both directions. After the prefix the mask is causal: k <= q.
all_open: (key < prefix) | (key <= query) → torch.ones(T, T, dtype=torch.bool) ; not 0 <= prefix <= T → False
    Every token sees every token. A key after the prefix is allowed only when it is not later than the query.
""",
)

EXERCISE = Exercise(
    id="mask.prefix_lm",
    title="A prefix that sees itself in full",
    points=2,
    difficulty=2,
    minutes=8,
    extension=True,
    reference=ref.prefix_lm_mask,
    alternatives=[by_block, by_last_key],
    cases=[
        Case(
            "two of four",
            "a prefix of 2 in 4 tokens: tokens 0 and 1 see each other, tokens 2 and 3 are causal",
            lambda g: call(4, 2),
        ),
        Case("no prefix", "prefix 0 leaves the causal mask", lambda g: call(5, 0)),
        Case("all prefix", "prefix T lets every token see every token", lambda g: call(5, 5)),
        Case(
            "random",
            "four times random sizes, with tokens before and after the end of the prefix",
            lambda g: several(4, lambda p: p.call(g.integer(8, 16), g.integer(2, 7))),
            weight=2,
        ),
        Case("too long", "a prefix of 5 does not fit 4 tokens: ValueError", lambda g: call(4, 5), weight=0.5),
        Case("negative", "a prefix of −1 tokens does not exist: ValueError", lambda g: call(4, -1), weight=0.5),
        Case(
            "first word",
            "four times a prefix of one token, which is the causal mask, and one that lacks the last token only",
            lambda g: several(4, lambda p: p.call(g.integer(6, 16), 1).call(*(lambda T: (T, T - 1))(g.integer(6, 16)))),
            weight=0.5,
        ),
        Case("single", "a text of one token: with a prefix of 0 and of 1", lambda g: call(1, 0).call(1, 1), weight=0.5),
    ],
    mutants=MISTAKES,
    unasked="""
the learner's function has no device; only the reference, which other units use, has one
    prefix_lm_mask(device)
""",
)

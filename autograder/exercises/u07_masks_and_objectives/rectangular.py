"""A causal mask of fewer queries than keys."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several
from autograder.reference import masks as ref


def by_tril(T, S=None):
    """torch.tril with an offset."""
    S = T if S is None else S
    if not 1 <= T <= S:
        raise ValueError("need 1 <= T <= S")
    return torch.ones(T, S, dtype=torch.bool).tril(diagonal=S - T)


def last_rows(T, S=None):
    """The last T rows of the square mask."""
    S = T if S is None else S
    if S < T or T < 1:
        raise ValueError("fewer keys than queries")
    return torch.tensor([[s <= t for s in range(S)] for t in range(S)])[-T:]


# Where a mask is wrong, the ValueError is left out: it comes with the last point.
MISTAKES = changes(
    by_tril,
    """
no_offset: diagonal=S - T → diagonal=0 ; not 1 <= T <= S → False
    The queries are taken for the first T tokens, so the newest sees only the oldest keys. Query i is at position i
    + S - T.
wrong_way: diagonal=S - T → diagonal=T - S ; not 1 <= T <= S → False
    The offset points the wrong way: T - S removes keys. Query i is at position i + S - T.
one_too_few: diagonal=S - T → diagonal=S - T - 1 ; not 1 <= T <= S → False
    Each query misses its own key. Its last allowed key is the one at its own position, i + S - T.
one_too_many: diagonal=S - T → diagonal=S - T + 1 ; not 1 <= T <= S → False
    Each query sees one key too many: the token after it. Its last allowed key is i + S - T.
always_square: torch.ones(T, S → torch.ones(T, T ; diagonal=S - T → diagonal=0 ; not 1 <= T <= S → False
    S plays no part: the shape is (T, T). There is one column per key, S of them.
upside_down: return torch → return ~torch ; not 1 <= T <= S → False
    The mask is upside down. True means may look: True at and before the query's own position.
as_floats: , dtype=torch.bool → ; not 1 <= T <= S → False
    The pattern is right, but these are numbers. Return booleans (a comparison, or dtype=torch.bool).
unchecked: not 1 <= T <= S → False
    The mask is right where it exists. Raise a ValueError for no query, and for fewer keys than queries.
queries_unchecked: not 1 <= T <= S → S < T
    One check is missing: T < 1. Raise a ValueError for it as well.
keys_unchecked: not 1 <= T <= S → T < 1
    One check is missing: S < T, fewer keys than queries. Raise a ValueError for it as well.
zero_is_none: S = T if S is None else S → S = S or T
    0 keys are taken for no S at all, so the mask is square. 0 is a number of keys, and too few of them: ask `S is
    None`.
square_refused: not 1 <= T <= S → not 1 <= T < S
    As many keys as queries are refused. S = T is the ordinary square mask; only S < T raises the ValueError.
numbers: dtype=torch.bool → dtype=torch.long ; not 1 <= T <= S → False
    The pattern is right, but these are whole numbers. Return booleans (a comparison, or dtype=torch.bool).
last_columns: torch.ones(T, S → torch.ones(S, S ; .tril(diagonal=S - T) → .tril()[:, -T:]
    These are the last T columns of the square mask. The queries are the newest tokens: take the last T rows, [-T:].
transposed: .tril(diagonal=S - T) → .tril(diagonal=S - T).T
    Queries and keys are exchanged: the shape is (S, T). Rows are queries, T of them.
later_keys: .tril( → .triu(
    Each query sees itself and what comes after it. Allow the keys up to its own position, i + S - T.
all_open: .tril(diagonal=S - T) →
    Every query sees every key. Query i is at position i + S - T, and sees the keys up to there.
zero_queries_allowed: not 1 <= T <= S → not 0 <= T <= S
    No query at all is accepted. Raise the ValueError for T < 1, so for 0 as well.
only_zero_refused: not 1 <= T <= S → T == 0 or S < T
    0 queries are refused, a negative number is not. Raise the ValueError for T < 1.
one_query_refused: not 1 <= T <= S → not 1 < T <= S
    A single query is refused. It is allowed, as in decoding: only T < 1 raises the ValueError.
additive: torch.ones(T, S, dtype=torch.bool) → torch.full((T, S), float("-inf"))
; .tril(diagonal=S - T) → .triu(diagonal=S - T + 1) ; not 1 <= T <= S → False
    This is a mask of 0 and -inf to be added. Return booleans, True = may look.
""",
)

EXERCISE = Exercise(
    id="mask.rectangular",
    title="Fewer queries than keys",
    points=2,
    difficulty=2,
    minutes=10,
    reference=ref.causal_mask,
    alternatives=[by_tril, last_rows],
    cases=[
        Case(
            "two of four",
            "the two newest of four tokens: token 2 sees three keys, token 3 sees four",
            lambda g: call(2, 4),
        ),
        Case(
            "square",
            "without S there are as many keys as queries, and the mask is the lower triangle",
            lambda g: call(3),
        ),
        Case("one new word", "a single new token sees all six keys", lambda g: call(1, 6)),
        Case(
            "random",
            "four times random sizes with T < S",
            lambda g: several(4, lambda p: p.call(g.integer(3, 9), g.integer(10, 17))),
            weight=2,
        ),
        Case(
            "too few keys",
            "3 queries and 2 keys: query 0 would see nothing, so ValueError",
            lambda g: call(3, 2),
            weight=0.5,
        ),
        Case("no queries", "0 queries ask nothing: ValueError", lambda g: call(0, 3), weight=0.5),
        Case(
            "negative",
            "−2 queries of 3 keys: ValueError, for T < 1 in general and not for 0 alone",
            lambda g: call(-2, 3),
            weight=0.5,
        ),
        Case(
            "no keys",
            "2 queries and 0 keys: ValueError, since 0 is a number of keys and not the default None",
            lambda g: call(2, 0),
            weight=0.5,
        ),
        Case(
            "smallest",
            "one token, which sees itself: once with S left out, once with S = T given, and five with S = T",
            lambda g: call(1).call(1, 1, fn="causal_mask").call(5, 5, fn="causal_mask"),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    unasked="""
the learner's function has no device; only the reference, which other units use, has one
    causal_mask(device)
    causal_mask(S, device)
""",
)

"""A causal mask of fewer queries than keys."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
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


def _tril(offset, S_of=lambda T, S: S):
    def wrong(T, S=None):
        S = T if S is None else S
        return torch.ones(T, S_of(T, S), dtype=torch.bool).tril(offset(T, S))

    return wrong


def _checked(rule, refused):
    def wrong(T, S=None):
        keys = T if S is None else S
        if refused(T, keys):
            raise ValueError("no such mask")
        return rule(T, S)

    return wrong


RIGHT = _tril(lambda T, S: S - T)

EXERCISE = Exercise(
    id="mask.rectangular",
    title="Fewer queries than keys",
    points=2,
    difficulty=2,
    minutes=10,
    signature="causal_mask(T, S=None)",
    reference=ref.causal_mask,
    alternatives=[by_tril, last_rows],
    cases=[
        Case(
            "two of four",
            "the two newest of four words: word 2 sees three keys, word 3 sees four",
            lambda g: call(2, 4),
        ),
        Case(
            "square",
            "without S there are as many keys as queries, and the mask is the lower triangle",
            lambda g: call(3),
        ),
        Case("one new word", "a single new word sees all six keys", lambda g: call(1, 6)),
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
            "one word, which sees itself: once with S left out, once with S = T given, and five with S = T",
            lambda g: call(1).call(1, 1, fn="causal_mask").call(5, 5, fn="causal_mask"),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "no_offset",
            _tril(lambda T, S: 0),
            "The queries are taken for the first T words, so the newest sees only the oldest keys. Query i stands "
            "at place i + S - T.",
        ),
        Mutant(
            "wrong_way",
            _tril(lambda T, S: T - S),
            "The offset points the wrong way: T - S removes keys. Query i stands at place i + S - T.",
        ),
        Mutant(
            "one_too_few",
            _tril(lambda T, S: S - T - 1),
            "Each query misses its own key. Its last allowed key is its own place, i + S - T, included.",
        ),
        Mutant(
            "one_too_many",
            _tril(lambda T, S: S - T + 1),
            "Each query sees one key too many: the word after it. Its last allowed key is i + S - T.",
        ),
        Mutant(
            "always_square",
            _tril(lambda T, S: 0, lambda T, S: T),
            "S plays no part: the shape is (T, T). There is one column per key, S of them.",
        ),
        Mutant(
            "upside_down",
            lambda T, S=None: ~_tril(lambda T, S: S - T)(T, S),
            "The mask is upside down. True means may look: True at and before the query's own place.",
        ),
        Mutant(
            "as_floats",
            lambda T, S=None: _tril(lambda T, S: S - T)(T, S).float(),
            "The pattern is right, but these are numbers. Return booleans (a comparison, or dtype=torch.bool).",
        ),
        Mutant(
            "unchecked",
            RIGHT,
            "The mask is right where it exists. Raise a ValueError for no query, and for fewer keys than queries.",
        ),
        Mutant(
            "queries_unchecked",
            _checked(RIGHT, lambda T, S: S < T),
            "One check is missing: T < 1. Raise a ValueError for it as well.",
        ),
        Mutant(
            "keys_unchecked",
            _checked(RIGHT, lambda T, S: T < 1),
            "One check is missing: S < T, fewer keys than queries. Raise a ValueError for it as well.",
        ),
        Mutant(
            "zero_is_none",
            lambda T, S=None: _checked(RIGHT, lambda T, S: T < 1 or S < T)(T, S or None),
            "0 keys are taken for no S at all, so the mask is square. 0 is a number of keys, and too few of them: ask "
            "`S is None`.",
        ),
        Mutant(
            "square_refused",
            _checked(RIGHT, lambda T, S: T < 1 or S <= T),
            "As many keys as queries are refused. S = T is the ordinary square mask; only S < T raises the ValueError.",
        ),
        Mutant(
            "numbers",
            lambda T, S=None: RIGHT(T, S).long(),
            "The pattern is right, but these are whole numbers. Return booleans (a comparison, or dtype=torch.bool).",
        ),
        Mutant(
            "last_columns",
            _checked(lambda T, S=None: RIGHT(S or T, S or T)[:, -T:], lambda T, S: T < 1 or S < T),
            "These are the last T columns of the square mask. The newest words are queries: take the last T rows, "
            "[-T:].",
        ),
        Mutant(
            "transposed",
            _checked(lambda T, S=None: RIGHT(T, S).T, lambda T, S: T < 1 or S < T),
            "Queries and keys are exchanged: the shape is (S, T). Rows are queries, T of them.",
        ),
        Mutant(
            "later_keys",
            _checked(lambda T, S=None: ~_tril(lambda T, S: S - T - 1)(T, S), lambda T, S: T < 1 or S < T),
            "Each query sees itself and what comes after it. Allow the keys up to its own place, i + S - T.",
        ),
        Mutant(
            "all_open",
            _checked(lambda T, S=None: _tril(lambda T, S: S)(T, S), lambda T, S: T < 1 or S < T),
            "Every query sees every key. Query i stands at place i + S - T, and sees the keys up to there.",
        ),
        Mutant(
            "zero_queries_allowed",
            _checked(RIGHT, lambda T, S: T < 0 or S < T),
            "No query at all is accepted. Raise the ValueError for T < 1, so for 0 as well.",
        ),
        Mutant(
            "only_zero_refused",
            _checked(RIGHT, lambda T, S: T == 0 or S < T),
            "0 queries are refused, a negative number is not. Raise the ValueError for T < 1.",
        ),
        Mutant(
            "one_query_refused",
            _checked(RIGHT, lambda T, S: T <= 1 or S < T),
            "A single query is refused. It is allowed, as in decoding: only T < 1 raises the ValueError.",
        ),
        Mutant(
            "additive",
            lambda T, S=None: torch.zeros(RIGHT(T, S).shape).masked_fill(~RIGHT(T, S), float("-inf")),
            "This is a mask of 0 and -inf to be added. Return booleans, True = may look.",
        ),
    ],
)

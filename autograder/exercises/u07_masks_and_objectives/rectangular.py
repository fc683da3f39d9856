"""A causal mask of fewer queries than keys."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import masks as ref


def by_tril(T, S=None):
    """torch.tril with an offset."""
    S = T if S is None else S
    if not 1 <= T <= S:
        raise ValueError("need 1 <= T <= S")
    return torch.ones(T, S).tril(diagonal=S - T) == 1


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


EXERCISE = Exercise(
    id="mask.rectangular",
    unit="07-masks-and-objectives",
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
            _tril(lambda T, S: S - T),
            "The mask is right where it exists. Raise a ValueError for no query, and for fewer keys than queries.",
        ),
    ],
)

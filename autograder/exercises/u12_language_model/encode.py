"""Byte-pair encoding: merges in the order in which they were learned."""

from collections.abc import Sequence

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference.language.bpe import merged

from .shared import train

Pair = tuple[int, int]


def encode(ids, merges, base=256):
    """Lowest rank first."""
    rank = {tuple(pair): i for i, pair in enumerate(merges)}
    while len(ids) > 1:
        pair = min(zip(ids, ids[1:], strict=False), key=lambda pair: rank.get(pair, len(rank)))
        if pair not in rank:
            break
        ids = merged(ids, pair, base + rank[pair])
    return list(ids)


def encode_in_order(ids, merges, base=256):
    """Correct, and slow for many merges: every merge once, in order; what it makes only later ones can join."""
    for rank, pair in enumerate(merges):
        ids = merged(ids, pair, base + rank)
    return list(ids)


def encode_recursively(ids, merges, base=256):
    """Correct: one pair at a time, the leftmost of the lowest rank."""
    found = [(merges.index(p), i) for i, p in enumerate(zip(ids, ids[1:], strict=False)) if p in merges]
    if not found:
        return list(ids)
    rank, at = min(found)
    return encode_recursively([*ids[:at], base + rank, *ids[at + 2 :]], merges, base)


def _one_pass(ids, merges, base=256):
    rank = {tuple(pair): i for i, pair in enumerate(merges)}
    out, i = [], 0
    while i < len(ids):
        r = rank.get(tuple(ids[i : i + 2]))
        out.append(ids[i] if r is None else base + r)
        i += 1 if r is None else 2
    return out


def _longest(ids, merges, base=256):
    """The longest token from the left, as WordPiece does."""
    spelled = []
    for a, b in merges:
        parts = [spelled[i - base] if i >= base else (i,) for i in (a, b)]
        spelled.append(parts[0] + parts[1])
    ids, out = list(ids), []
    while ids:
        fitting = [(len(s), base + r) for r, s in enumerate(spelled) if tuple(ids[: len(s)]) == s]
        size, token = max(fitting, key=lambda f: f[0], default=(1, ids[0]))
        out.append(token)
        ids = ids[size:]
    return out


def _stops_early(ids, merges, base=256):
    for rank, pair in enumerate(merges):
        longer, ids = len(ids), merged(ids, tuple(pair), base + rank)
        if len(ids) == longer:
            break
    return list(ids)


def _first_pair_looked_at(ids, merges, base=256):
    ids = list(ids)
    for rank, pair in enumerate(merges):
        for i in range(len(ids) - 1):
            if (ids[i], ids[i + 1]) == tuple(pair):
                ids[i : i + 2] = [base + rank]
                break
    return ids


def _drawn(g: Source, base: int = 4, size: int = 12, n: int = 6) -> tuple[list[int], list[Pair]]:
    """Ids 0 to base − 1 and merges that fit them, learned from random words; at least a quarter of the ids merge."""
    while True:
        words = {tuple(g.integer(0, base) for _ in range(6)): g.integer(1, 9) for _ in range(6)}
        ids, merges = [g.integer(0, base) for _ in range(size)], train(words, n, base)
        if len(encode(ids, merges, base)) <= 0.75 * size:
            return ids, merges


def _above(ids: Sequence[int], merges: Sequence[Pair], base: int) -> tuple[list[int], list[Pair]]:
    """The same with the default base: tokens from base on become those from 256 on."""
    up = lambda i: i if i < base else i - base + 256
    return [up(i) for i in ids], [(up(a), up(b)) for a, b in merges]


def _in_a_row(g: Source) -> Program:
    one, other = g.integer(0, 120), g.integer(120, 256)
    return call([one] * (2 * g.integer(4, 30) + 1) + [other], [(one, one), (256, 256)])


MISTAKES = [
    *changes(
        encode,
        """
from_left: rank.get(pair, len(rank)) → pair not in rank
    The leftmost pair that can be merged goes first. The pair with the lowest rank does, wherever it stands.
from_right: zip(ids, ids[1:], strict=False) → [*zip(ids, ids[1:], strict=False)][::-1]
; rank.get(pair, len(rank)) → pair not in rank
    The rightmost pair that can be merged goes first. The pair with the lowest rank does, wherever it stands.
youngest_first: min( → max( ; rank.get(pair, len(rank)) → rank.get(pair, -1)
    The pair that was learned last goes first. The oldest does: the lowest rank.
""",
    ),
    *changes(
        encode_in_order,
        """
backwards: enumerate(merges) → reversed(list(enumerate(merges)))
    The merges are tried from the last to the first. Begin with the oldest; what it makes, later ones can join.
""",
    ),
    Mutant(
        "longest_token",
        _longest,
        "The longest token is taken from the left, as WordPiece does. BPE merges pairs, in the order in which "
        "they were learned.",
    ),
    *changes(
        encode,
        """
one_merge: rank[pair]) → rank[pair]); break
    Only one merge is applied. Go on until no pair can be merged.
""",
    ),
    Mutant("stops_early", _stops_early, "The loop ends at the first merge that does not occur. Go on to the next one."),
    Mutant(
        "first_pair_only",
        _first_pair_looked_at,
        "Of each merge only its first pair is replaced. Replace all of them.",
    ),
    *changes(
        encode,
        """
joined_from_right: merged(ids, pair, → merged(ids[::-1], pair[::-1], ; rank[pair]) → rank[pair])[::-1]
    Of 7 7 7 the last two are joined. merge goes from the left.
base_ignored: base + rank[pair] → 256 + rank[pair]
    New tokens start at 256 whatever base is. Merge i makes base + i.
ranks: base + rank[pair] → rank[pair]
    The rank itself stands for the pair. The new token is base + rank.
one_too_large: base + rank[pair] → base + rank[pair] + 1
    New ids are one too large. The first merge, of rank 0, makes base.
pair_tokens: return list(ids) → return [tuple(merges[i - base]) if i >= base else i for i in ids]
    Pairs stand among the ids. A merge of rank r is written as the id base + r.
smallest_pair: rank.get(pair, len(rank)) → (pair not in rank, pair)
    The pair with the smallest ids goes first. What decides is its rank, the index in merges, and not its ids.
""",
    ),
    *changes(
        encode_recursively,
        """
single_from_left: min(found) → min(found, key=lambda f: f[1])
    The ids are joined from left to right, whatever merge fits first. Several merges may fit at once: ask which of
    them was learned first, wherever its pair stands.
single_from_right: min(found) → max(found, key=lambda f: f[1])
    The ids are joined from right to left, whatever merge fits first. Several merges may fit at once: ask which of
    them was learned first, wherever its pair stands.
""",
    ),
    Mutant(
        "one_pass",
        _one_pass,
        "The ids are gone through once, and what a merge makes is not looked at again. Look anew after each merge, "
        "and take the one that was learned first.",
    ),
]

EXERCISE = Exercise(
    id="bpe.encode",
    title="The oldest merge first",
    points=2,
    difficulty=3,
    minutes=8,
    reference=encode,
    alternatives=[encode_in_order, encode_recursively],
    cases=[
        Case(
            "by hand",
            "0 1 2 with the merges (1, 2) and (0, 1): the first one learned goes first; three more such",
            lambda g: (
                call([0, 1, 2], [(1, 2), (0, 1)], base=3)
                .call([2, 1, 0], [(1, 0), (2, 1)], base=3)
                .call([0, 1, 2], [(1, 2), (0, 3), (0, 1)], base=3)
                .call([0, 1, 2], [(0, 1), (1, 2)], base=3)
            ),
        ),
        Case(
            "built up",
            "0 1 2 3 with (2, 3), (1, 4) and (0, 5): each joins what the one before made",
            lambda g: call([0, 1, 2, 3], [(2, 3), (1, 4), (0, 5)], base=4),
        ),
        Case(
            "random",
            "twelve random ids, six merges learned from random words, first new token 4",
            lambda g: call(*_drawn(g), base=4),
            weight=2,
        ),
        Case("two letters", "sixteen ids of two letters, eight merges", lambda g: call(*_drawn(g, 2, 16, 8), base=2)),
        Case("bytes", "the first new token is 256", lambda g: call(*_above(*_drawn(g), 4)), weight=2),
        Case("in a row", "an odd number of the same id, and merges of it with itself", _in_a_row),
        Case("long", "sixty ids of three letters, twelve merges", lambda g: call(*_drawn(g, 3, 60, 12), base=3)),
        Case(
            "no merges",
            "no merges: the ids as they are; merges that do not fit; no ids",
            lambda g: call([1, 2, 3], []).call([1], [(1, 1)]).call([], [(1, 1)]),
            weight=0,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
words come as lists
    c4dde2cbc0 solution, call: list(ids) → its argument
    d3d787eee8 alternative encode_in_order, call: list(ids) → its argument
    e188b523cf alternative encode_recursively, call: list(ids) → its argument
pairs come as tuples; the call serves lists from a file
    4b45203fde solution, call: tuple(pair) → its argument
ranks as floats have the same order
    af32452653 solution, result: lambda pair: rank.get(pair, len(rank)): result int_to_float
it is Python's default
    efe880fc03 alternative encode_recursively, keyword: zip(ids, ids[1:], strict=False) without strict=False
""",
)

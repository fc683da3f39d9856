"""Byte-pair encoding: merges in the order in which they were learned."""

from collections.abc import Sequence

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


def _choosing(choose, new=lambda base, rank: base + rank, times=10**6, join=merged):
    """One pair after the other; ``choose`` gets the (rank, place) of all pairs that can be merged."""

    def wrong(ids, merges, base=256):
        rank = {tuple(pair): i for i, pair in enumerate(merges)}
        ids = list(ids)
        for _ in range(times):
            found = [(rank[p], i) for i, p in enumerate(zip(ids, ids[1:], strict=False)) if p in rank]
            if not found:
                break
            r, _ = choose(found)
            ids = join(ids, tuple(merges[r]), new(base, r))
        return ids

    return wrong


def _single(choose):
    """One place after the other; ``choose`` gets the places whose pairs can be merged."""

    def wrong(ids, merges, base=256):
        rank = {tuple(pair): i for i, pair in enumerate(merges)}
        ids = list(ids)
        while found := [i for i, p in enumerate(zip(ids, ids[1:], strict=False)) if p in rank]:
            i = choose(found)
            ids[i : i + 2] = [base + rank[ids[i], ids[i + 1]]]
        return ids

    return wrong


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


def _backwards(ids, merges, base=256):
    for rank, pair in reversed(list(enumerate(merges))):
        ids = merged(ids, tuple(pair), base + rank)
    return list(ids)


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


def _from_right(ids, pair, new):
    return merged(list(ids)[::-1], pair[::-1], new)[::-1]


def _by_ids(ids, merges, base=256):
    merges = [tuple(pair) for pair in merges]
    return _choosing(lambda found: min(found, key=lambda f: merges[f[0]]))(ids, merges, base)


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


EXERCISE = Exercise(
    id="bpe.encode",
    title="The oldest merge first",
    points=2,
    difficulty=3,
    minutes=8,
    signature="encode(ids, merges, base=256)",
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
    mutants=[
        Mutant(
            "from_left",
            _choosing(lambda found: min(found, key=lambda f: f[1])),
            "The leftmost pair that can be merged goes first. The pair with the lowest rank does, wherever it stands.",
        ),
        Mutant(
            "from_right",
            _choosing(lambda found: max(found, key=lambda f: f[1])),
            "The rightmost pair that can be merged goes first. The pair with the lowest rank does, wherever it stands.",
        ),
        Mutant(
            "youngest_first",
            _choosing(max),
            "The pair that was learned last goes first. The oldest does: the lowest rank.",
        ),
        Mutant(
            "backwards",
            _backwards,
            "The merges are tried from the last to the first. Begin with the oldest; what it makes, later ones can "
            "join.",
        ),
        Mutant(
            "longest_token",
            _longest,
            "The longest token is taken from the left, as WordPiece does. BPE merges pairs, in the order in which "
            "they were learned.",
        ),
        Mutant("one_merge", _choosing(min, times=1), "Only one merge is applied. Go on until no pair can be merged."),
        Mutant(
            "stops_early", _stops_early, "The loop ends at the first merge that does not occur. Go on to the next one."
        ),
        Mutant(
            "first_pair_only",
            _first_pair_looked_at,
            "Of each merge only its first pair is replaced. Replace all of them.",
        ),
        Mutant(
            "joined_from_right",
            _choosing(min, join=_from_right),
            "Of 7 7 7 the last two are joined. merge goes from the left.",
        ),
        Mutant(
            "base_ignored",
            lambda ids, merges, base=256: encode(ids, merges),
            "New tokens start at 256 whatever base is. Merge i makes base + i.",
        ),
        Mutant(
            "ranks",
            _choosing(min, new=lambda base, rank: rank),
            "The rank itself stands for the pair. The new token is base + rank.",
        ),
        Mutant(
            "one_too_large",
            _choosing(min, new=lambda base, rank: base + rank + 1),
            "New ids are one too large. The first merge, of rank 0, makes base.",
        ),
        Mutant(
            "pair_tokens",
            lambda ids, merges, base=256: [
                tuple(merges[i - base]) if i >= base else i for i in encode(ids, merges, base)
            ],
            "Pairs stand among the ids. A merge of rank r is written as the id base + r.",
        ),
        Mutant(
            "smallest_pair",
            _by_ids,
            "The pair with the smallest ids goes first. Its place in the list of merges decides, not its ids.",
        ),
        Mutant(
            "single_from_left",
            _single(min),
            "The ids are joined from left to right, whatever merge fits first. Several merges may fit at once: ask "
            "which of them was learned first, wherever its pair stands.",
        ),
        Mutant(
            "single_from_right",
            _single(max),
            "The ids are joined from right to left, whatever merge fits first. Several merges may fit at once: ask "
            "which of them was learned first, wherever its pair stands.",
        ),
        Mutant(
            "one_pass",
            _one_pass,
            "The ids are gone through once, and what a merge makes is not looked at again. Look anew after each merge, "
            "and take the one that was learned first.",
        ),
    ],
)

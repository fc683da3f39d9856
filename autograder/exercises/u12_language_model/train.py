"""Byte-pair encoding: which pairs become tokens."""

from collections import Counter

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call

from . import shared


def merge(ids, pair, new):
    """From the left, two ids at a time."""
    out, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def train(words, n_merges, base=256):
    """Counts all pairs anew for each merge."""
    merges = []
    for new in range(base, base + n_merges):
        counts = {}
        for ids, times in words.items():
            for pair in zip(ids, ids[1:], strict=False):
                counts[pair] = counts.get(pair, 0) + times
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        words = {tuple(merge(ids, best, new)): times for ids, times in words.items()}
    return merges


def merge_by_text(ids, pair, new):
    """Correct: takes from a list until it is empty."""
    left, out = list(ids), []
    while left:
        if left[:2] == list(pair):
            out.append(new)
            del left[:2]
        else:
            out.append(left.pop(0))
    return out


def train_kept_up(words, n_merges, base=256):
    """Correct: only the words that hold the pair are counted again."""
    spelled = [(list(ids), times) for ids, times in words.items()]
    counts = Counter()
    for ids, times in spelled:
        for pair in zip(ids, ids[1:], strict=False):
            counts[pair] += times
    merges = []
    while len(merges) < n_merges and +counts:
        most = max(counts.values())
        best = sorted(pair for pair, count in counts.items() if count == most)[0]
        for ids, times in spelled:
            pairs = list(zip(ids, ids[1:], strict=False))
            if best not in pairs:
                continue
            for pair in pairs:
                counts[pair] -= times
            ids[:] = merge_by_text(ids, best, base + len(merges))
            for pair in zip(ids, ids[1:], strict=False):
                counts[pair] += times
        merges.append(best)
    return merges


def _words(g: Source, count: int = 8, letters: int = 4, most: int = 6) -> dict[tuple[int, ...], int]:
    """Random words of 1 to ``most`` letters, ids 0 to ``letters`` − 1."""
    words: dict[tuple[int, ...], int] = {}
    while len(words) < count:
        ids = tuple(g.integer(0, letters) for _ in range(g.integer(1, most + 1)))
        words[ids] = g.integer(1, 20)
    return words


def _in_bytes(g: Source) -> dict[tuple[int, ...], int]:
    return {tuple(97 + i for i in ids): times for ids, times in _words(g).items()}


def _ties(g: Source) -> Program:
    """Pairs that all come once; the first seen is not the smallest, and neither is the last."""
    a, b, c, d = sorted(g.integer(20, 90) for _ in range(4))
    return call({(c, 95): 1, (a, 96 + g.integer(0, 3)): 1, (d, 5): 1, (b, 7): 1}, 4, fn="train")


def _repeats(g: Source) -> Program:
    """a a a a counts (a, a) three times, which b c and c b must not outdo; a b a b a b is merged at three positions."""
    a, b, c = (g.integer(low, low + 80) for low in (0, 80, 160))
    times = g.integer(20, 90)
    program = call({(a, a, a, a): times, (b, c): 2 * times + 5, (c, b): times + 5}, 3, fn="train")
    return program.call({(c,): 3, (a, b, a, b, a, b): times}, 2, fn="train")


def _merging(g: Source) -> Program:
    program = Program()
    for letters in (2, 2, 3):
        ids = [g.integer(0, letters) for _ in range(10)]
        at = g.integer(0, 9)
        program.call(ids, (ids[at], ids[at + 1]), g.integer(10, 400), fn="merge")
    return program


def _in_a_row(g: Source) -> Program:
    one = g.integer(5, 250)
    return call([one] * 5, (one, one), g.integer(300, 9000))


ABRA = {(0, 1, 4, 0): 2, (2, 0): 1, (3, 0): 1}


MISTAKES = [
    *changes(
        (merge, train),
        """
overlapping: i += 2 → i += 1
    An id is used twice: in 7 7 7 the middle one goes into two pairs. After a pair, go on two ids later.
from_right: out, i = [], 0 → ids, pair, out, i = ids[::-1], pair[::-1], [], 0 ; return out → return out[::-1]
    Pairs are found from the right. Of 7 7 7 the first two make the pair: go from the left.
first_only: out.append(new) → return [*out, new, *ids[i + 2 :]]
    Only the first pair is replaced. Replace all of them, from the left to the end.
both_orders: == pair → in (pair, pair[::-1])
    The pair is also replaced where its ids stand the other way round. (1, 2) is not (2, 1).
first_id_only: tuple(ids[i : i + 2]) == pair → ids[i] == pair[0] and i + 1 < len(ids)
    The second id of the pair is not looked at. Replace where both stand next to each other.
last_lost: i < len(ids) → i < len(ids) - 1
    The last id is lost where no pair ends there. The loop over pairs ends one early: keep what is left.
second_kept: out.append(new) → out += [new, pair[1]]
    The pair's second id stays behind the new one. Both ids are replaced by one: go on two ids later.
again: i < len(ids) → i < len(ids) or tuple(out[-2:]) in (pair, (new, new))
; tuple(ids[i : i + 2]) == pair → tuple(out[-2:]) in (pair, (new, new)) ; out.append(new) → out[-2:] = [new]
; i += 2 → pass
    New tokens are merged with one another. Only the pair that was asked for is replaced.
""",
    ),
    *changes(
        (merge, train_kept_up),
        """
untouched: return out → return list(ids)
    merge gives its ids back as they came. Put the new id in the place of each pair.
pair_for_new: out.append(new) → out.append(pair)
    The pair itself stands in the list. Put the id that is called new in its place.
""",
    ),
    *changes(
        (merge, train),
        """
never_merged: best = min( → return sorted( ; (-counts[pair], pair)) → (-counts[pair], pair))[:n_merges]
    The pairs are counted once, and the most frequent are taken. After each merge the words look different: merge
    them, then count anew.
rarest: (-counts → (counts
    The rarest pair is merged. Take the one with the largest count.
ties_to_larger: min( → max( ; (-counts → (counts
    Of equally frequent pairs the larger one is taken. max breaks ties that way: use min with the key (-count,
    pair).
ties_to_first: min(counts, key=lambda pair: (-counts[pair], pair)) → max(counts, key=counts.get)
    Of equally frequent pairs the one that was seen first is taken. The smaller pair goes first: min with the key
    (-count, pair).
ties_to_last: min(counts, key=lambda pair: (-counts[pair], pair)) → max(reversed(counts), key=counts.get)
    Of equally frequent pairs the one that was seen last is taken. The smaller pair goes first: min with the key
    (-count, pair).
ties_by_second: (-counts[pair], pair) → (-counts[pair], pair[::-1])
    Ties go to the pair with the smaller second id. Pairs compare like words: by their first id, then by their
    second.
smallest: min(counts, key=lambda pair: (-counts[pair], pair)) → min(counts)
    The smallest pair is merged, however rare. The count decides; the ids only break ties.
words_once: (pair, 0) + times → (pair, 0) + 1
    Each word counts once. A word that came 5 times has each of its pairs 5 times.
once_per_word: zip(ids, ids[1:], strict=False) → set(zip(ids, ids[1:], strict=False))
    A pair that stands twice in a word counts once. Every two neighbors count.
without_overlap: for pair in zip(ids, ids[1:], strict=False): → while ids[1:]:
; counts[pair] = → pair = ids[:2]; counts[pair] =
; (pair, 0) + times → (pair, 0) + times; ids = ids[1 + (pair[0] == pair[1]) :]
    Pairs that overlap are counted once: 7 7 7 holds (7, 7) twice. Only merge takes them one after the other.
across_words: for ids, times in words.items(): → for (ids, times), after in zip(words.items(), [*words, ()][1:]):
; zip(ids, ids[1:], strict=False) → zip(ids, [*ids[1:], *after[:1]], strict=False)
    The end of a word and the start of the next are counted as a pair. Words never merge: count inside each.
ids_from_base_plus_one: range(base, base + n_merges) → range(base + 1, base + n_merges + 1)
    The first new token is base + 1. Ids below base are taken, base itself is free: merge i makes base + i.
ids_restart: range(base, base + n_merges) → [base] * n_merges
    Every merge makes the same new id. Merge i makes the token base + i.
base_ignored: range(base, base + n_merges) → range(256, 256 + n_merges)
    New ids start at 256 whatever base is. Merge i makes base + i.
base_is_last: range(base, base + n_merges) → range(base, base - n_merges, -1)
    New ids count down from base. Merge i makes base + i.
never_ends: not counts → False
    When all words are single tokens there is no pair left, and min of nothing is an error. Stop there.
needs_two: not counts → not counts or max(counts.values()) < 2
    A pair that comes once is not merged. Go on until there are enough merges, or no pair is left.
empty_means_none: return merges → return merges if len(merges) == n_merges else []
    With fewer pairs than merges the list is empty. Return the merges that there are.
one_too_few: base + n_merges → base + n_merges - 1
    One merge is missing. range(1, n) has n − 1 numbers.
one_too_many: base + n_merges → base + n_merges + 1
    There is one merge too many. Stop at n_merges.
at_least_one: base + n_merges → base + max(n_merges, 1)
    With n_merges = 0 there is one merge all the same. The list is empty then.
new_ids_returned: merges.append(best) → merges.append(new)
    The new ids come back. Return the pairs, in the order in which they were merged.
with_counts: merges.append(best) → merges.append((best, counts[best]))
    Counts come back beside the pairs. Return the pairs alone.
with_ids: merges.append(best) → merges.append((*best, new))
    The new id stands beside each pair. Return pairs alone: the index in the list tells the id.
first_merge_only: words = { → at = lambda ids: [*zip(ids, ids[1:], strict=False), best].index(best); words = {
; merge(ids, best, new) → merge(ids[: at(ids) + 2], best, new) + list(ids[at(ids) + 2 :])
    merge is right, but train replaces only the first pair of each word. Merge all of them.
run_to_one: i += 2 → i = next((j for j in range(i + 2, len(ids)) if not ids[j] == pair[0] == pair[1]), len(ids))
    A whole run of the same id becomes one new token. A token stands for two ids: four times 7 are two pairs, and
    five leave one 7 over.
three_skipped: i += 2 → i += 3
    After each pair an id is lost. A pair is two ids long: how far on does the next one begin?
without_overlap_in_runs: for pair in zip(ids, ids[1:], strict=False): → while ids[1:]:
; counts[pair] = → pair = ids[:2]; counts[pair] =
; (pair, 0) + times → (pair, 0) + times; ids = ids[1 + (ids[:3] == 3 * ids[:1]) :]
    In a run of the same id only pairs that do not overlap are counted. Here every two neighbors count, the middle
    id of 7 7 7 in both; only merge uses an id once.
every_second: zip(ids, ids[1:], strict=False) → zip(ids[::2], ids[1::2], strict=False)
    Only every second pair is counted, as if a word were cut into twos. Every two neighbors are a pair, so an id in
    the middle belongs to two.
""",
    ),
]

EXERCISE = Exercise(
    id="bpe.train",
    title="Pairs become tokens",
    points=3,
    difficulty=3,
    minutes=12,
    reference=(shared.merge, shared.train),
    alternatives=[(merge_by_text, train_kept_up)],
    cases=[
        Case(
            "merge by hand", "in 1 2 3 1 2 the pair (1, 2) becomes 9 twice", lambda g: call([1, 2, 3, 1, 2], (1, 2), 9)
        ),
        Case(
            "in a row",
            "five times the same id, and the pair of it with itself: from the left, two pairs and one left",
            _in_a_row,
            weight=0.5,
        ),
        Case("merges", "three random words of ten ids", _merging),
        Case(
            "nothing",
            "a word of one id, which is the pair's first, and no ids at all",
            lambda g: call([3], (3, 4), 9).call([], (3, 4), 9),
            weight=0,
        ),
        Case(
            "by hand",
            "abra twice, ca and da: a is 0, b 1, c 2, d 3, r 4; the first new token is 5",
            lambda g: call(ABRA, 3, base=5, fn="train"),
        ),
        Case("words", "eight random words, six merges", lambda g: call(_in_bytes(g), 6, fn="train"), weight=2),
        Case(
            "base", "letters 0 to 3, so the first new token is 4", lambda g: call(_words(g, 6), 5, base=4, fn="train")
        ),
        Case("ties", "four pairs that come once each: the smallest first", _ties),
        Case("repeats", "words of the same letter: every two neighbors count, overlapping ones too", _repeats),
        Case(
            "all merged",
            "fewer pairs than merges: the list ends early; then no merges at all",
            lambda g: call(_words(g, 3, letters=9, most=4), 40, base=g.integer(9, 99), fn="train").call(
                {(97, 98): g.integer(2, 9)}, 0, fn="train"
            ),
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
pairs come as tuples; the call serves lists from a file
    5c230bee60 solution, call: tuple(pair) → its argument
the name gets a new dict at each merge, the one given is never written into
    86fe67506d solution, call: dict(words) → its argument
counts and ids as floats have the same order
    28235b12c3 solution, result: lambda pair: (-pairs[pair], pair): result int_to_float
it is Python's default
    f97563e942 alternative (merge_by_text, train_kept_up), keyword: zip(ids, ids[1:], strict=False) without strict=Fal…
    b454100f73 alternative (merge_by_text, train_kept_up), keyword: zip(ids, ids[1:], strict=False) without strict=Fal…
    cf3546542b alternative (merge_by_text, train_kept_up), keyword: zip(ids, ids[1:], strict=False) without strict=Fal…
a shortcut: a word without the pair comes out as it was, and its counts go down and up again
    f3d77f4a63 alternative (merge_by_text, train_kept_up), if: if best not in pairs left out
    eb3e7652a0 alternative (merge_by_text, train_kept_up), jump: without continue
""",
)

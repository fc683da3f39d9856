"""Byte-pair encoding: which pairs become tokens."""

from collections import Counter

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, Target, call

from ._training_mistakes import (
    across_words,
    again,
    both_orders,
    every_second,
    first_id_only,
    first_only,
    from_right,
    last_lost,
    never_merged,
    once_per_word,
    overlapping,
    run_to_one,
    second_kept,
    three_skipped,
    training,
    untouched,
    without_overlap,
    without_overlap_in_runs,
    words_once,
)
from .shared import merge, train


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
    """a a a a counts (a, a) three times, which b c and c b must not outdo; a b a b a b is merged in three places."""
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


def _train(name: str, fn: Target, message: str) -> Mutant:
    return Mutant(name, (merge, fn), message)


def _merge(name: str, fn: Target, message: str) -> Mutant:
    return Mutant(name, (fn, training(by=fn)), message)


ABRA = {(0, 1, 4, 0): 2, (2, 0): 1, (3, 0): 1}

EXERCISE = Exercise(
    id="bpe.train",
    title="Pairs become tokens",
    points=3,
    difficulty=3,
    minutes=12,
    signature="merge(ids, pair, new)",
    targets=("merge", "train"),
    reference=(merge, train),
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
    mutants=[
        _merge(
            "overlapping",
            overlapping,
            "An id is used twice: in 7 7 7 the middle one goes into two pairs. After a pair, go on two ids later.",
        ),
        _merge(
            "from_right",
            from_right,
            "Pairs are found from the right. Of 7 7 7 the first two make the pair: go from the left.",
        ),
        _merge(
            "first_only", first_only, "Only the first pair is replaced. Replace all of them, from the left to the end."
        ),
        _merge(
            "both_orders",
            both_orders,
            "The pair is also replaced where its ids stand the other way round. (1, 2) is not (2, 1).",
        ),
        _merge(
            "first_id_only",
            first_id_only,
            "The second id of the pair is not looked at. Replace where both stand next to each other.",
        ),
        _merge(
            "last_lost",
            last_lost,
            "The last id is lost where no pair ends there. The loop over pairs ends one early: keep what is left.",
        ),
        _merge(
            "second_kept",
            second_kept,
            "The pair's second id stays behind the new one. Both ids are replaced by one: go on two ids later.",
        ),
        _merge("again", again, "New tokens are merged with one another. Only the pair that was asked for is replaced."),
        Mutant(
            "untouched",
            (untouched, train),
            "merge gives its ids back as they came. Put the new id in the place of each pair.",
        ),
        Mutant(
            "pair_for_new",
            (lambda ids, pair, new: [pair if i == new else i for i in merge(ids, pair, new)], train),
            "The pair itself stands in the list. Put the id that is called new in its place.",
        ),
        _train(
            "never_merged",
            never_merged,
            "The pairs are counted once, and the most frequent are taken. After each merge the words look different: "
            "merge them, then count anew.",
        ),
        _train(
            "rarest",
            training(best=lambda c: min(c, key=lambda p: (c[p], p))),
            "The rarest pair is merged. Take the one with the largest count.",
        ),
        _train(
            "ties_to_larger",
            training(best=lambda c: max(c, key=lambda p: (c[p], p))),
            "Of equally frequent pairs the larger one is taken. max breaks ties that way: use min with the key "
            "(-count, pair).",
        ),
        _train(
            "ties_to_first",
            training(best=lambda c: max(c, key=c.get)),
            "Of equally frequent pairs the one that was seen first is taken. The smaller pair goes first: min with "
            "the key (-count, pair).",
        ),
        _train(
            "ties_to_last",
            training(best=lambda c: max(reversed(c), key=c.get)),
            "Of equally frequent pairs the one that was seen last is taken. The smaller pair goes first: min with the "
            "key (-count, pair).",
        ),
        _train(
            "ties_by_second",
            training(best=lambda c: min(c, key=lambda p: (-c[p], p[1], p[0]))),
            "Ties go to the pair with the smaller second id. Pairs compare like words: by their first id, then by "
            "their second.",
        ),
        _train(
            "smallest",
            training(best=min),
            "The smallest pair is merged, however rare. The count decides; the ids only break ties.",
        ),
        _train(
            "words_once",
            training(count=words_once),
            "Each word counts once. A word that came 5 times has each of its pairs 5 times.",
        ),
        _train(
            "once_per_word",
            training(count=once_per_word),
            "A pair that stands twice in a word counts once. Every two neighbors count.",
        ),
        _train(
            "without_overlap",
            training(count=without_overlap),
            "Pairs that overlap are counted once: 7 7 7 holds (7, 7) twice. Only merge takes them one after the other.",
        ),
        _train(
            "across_words",
            training(count=across_words),
            "The end of a word and the start of the next are counted as a pair. Words never merge: count inside each.",
        ),
        _train(
            "ids_from_base_plus_one",
            training(new=lambda base, i: base + i + 1),
            "The first new token is base + 1. Ids below base are taken, base itself is free: merge i makes base + i.",
        ),
        _train(
            "ids_restart",
            training(new=lambda base, i: base),
            "Every merge makes the same new id. Merge i makes the token base + i.",
        ),
        _train(
            "base_ignored",
            training(new=lambda base, i: 256 + i),
            "New ids start at 256 whatever base is. Merge i makes base + i.",
        ),
        _train(
            "base_is_last",
            training(new=lambda base, i: base - i),
            "New ids count down from base. Merge i makes base + i.",
        ),
        _train(
            "never_ends",
            training(ends=lambda c: False),
            "When all words are single tokens there is no pair left, and min of nothing is an error. Stop there.",
        ),
        _train(
            "needs_two",
            training(ends=lambda c: not c or max(c.values()) < 2),
            "A pair that comes once is not merged. Go on until there are enough merges, or no pair is left.",
        ),
        _train(
            "empty_means_none",
            lambda words, n_merges, base=256: m if len(m := train(words, n_merges, base)) == n_merges else [],
            "With fewer pairs than merges the list is empty. Return the merges that there are.",
        ),
        _train(
            "one_too_few",
            lambda words, n_merges, base=256: train(words, n_merges - 1, base),
            "One merge is missing. range(1, n) has n − 1 numbers.",
        ),
        _train(
            "one_too_many",
            lambda words, n_merges, base=256: train(words, n_merges + 1, base),
            "There is one merge too many. Stop at n_merges.",
        ),
        _train(
            "at_least_one",
            lambda words, n_merges, base=256: train(words, max(n_merges, 1), base),
            "With n_merges = 0 there is one merge all the same. The list is empty then.",
        ),
        _train(
            "new_ids_returned",
            training(given=lambda pair, new, c: new),
            "The new ids come back. Return the pairs, in the order in which they were merged.",
        ),
        _train(
            "with_counts",
            training(given=lambda pair, new, c: (pair, c[pair])),
            "Counts come back beside the pairs. Return the pairs alone.",
        ),
        _train(
            "with_ids",
            training(given=lambda pair, new, c: (*pair, new)),
            "The new id stands beside each pair. Return pairs alone: the place in the list tells the id.",
        ),
        _train(
            "first_merge_only",
            training(by=first_only),
            "merge is right, but train replaces only the first pair of each word. Merge all of them.",
        ),
        _merge(
            "run_to_one",
            run_to_one,
            "A whole run of the same id becomes one new token. A token stands for two ids: four times 7 are two pairs, "
            "and five leave one 7 over.",
        ),
        _merge(
            "three_skipped",
            three_skipped,
            "After each pair an id is lost. A pair is two ids long: how far on does the next one begin?",
        ),
        _train(
            "without_overlap_in_runs",
            training(count=without_overlap_in_runs),
            "In a run of the same id only pairs that do not overlap are counted. Here every two neighbors count, the "
            "middle id of 7 7 7 in both; only merge uses an id once.",
        ),
        _train(
            "every_second",
            training(count=every_second),
            "Only every second pair is counted, as if a word were cut into twos. Every two neighbors are a pair, so an "
            "id in the middle belongs to two.",
        ),
    ],
)

"""Mistakes in merging a pair and in choosing it."""

from .shared import merge, merged, pairs


def overlapping(ids, pair, new):
    out, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            out.append(new)
            i += 1
        else:
            out.append(ids[i])
            i += 1
    return out


def from_right(ids, pair, new):
    return merge(list(ids)[::-1], pair[::-1], new)[::-1]


def first_only(ids, pair, new):
    for i in range(len(ids) - 1):
        if tuple(ids[i : i + 2]) == pair:
            return [*ids[:i], new, *ids[i + 2 :]]
    return list(ids)


def both_orders(ids, pair, new):
    out, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) in (pair, pair[::-1]):
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def first_id_only(ids, pair, new):
    out, i = [], 0
    while i < len(ids):
        hit = ids[i] == pair[0] and i + 1 < len(ids)
        out.append(new if hit else ids[i])
        i += 2 if hit else 1
    return out


def last_lost(ids, pair, new):
    out, i = [], 0
    while i < len(ids) - 1:
        if tuple(ids[i : i + 2]) == pair:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def second_kept(ids, pair, new):
    return [x for i in merge(ids, pair, new) for x in ((i, pair[1]) if i == new else (i,))]


def again(ids, pair, new):
    """Looks back at what it has written, as with replace in a loop."""
    out = []
    for i in ids:
        out.append(i)
        while tuple(out[-2:]) in (pair, (new, new)):
            out[-2:] = [new]
    return out


def run_to_one(ids, pair, new):
    """All of a run of the same id becomes one token."""
    out, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            out.append(new)
            i += 2
            while pair[0] == pair[1] and i < len(ids) and ids[i] == pair[0]:
                i += 1
        else:
            out.append(ids[i])
            i += 1
    return out


def three_skipped(ids, pair, new):
    out, i = [], 0
    while i < len(ids):
        hit = tuple(ids[i : i + 2]) == pair
        out.append(new if hit else ids[i])
        i += 3 if hit else 1
    return out


def untouched(ids, pair, new):
    return list(ids)


def training(
    best=lambda counts: min(counts, key=lambda pair: (-counts[pair], pair)),
    count=pairs,
    new=lambda base, i: base + i,
    by=merge,
    ends=lambda counts: not counts,
    given=lambda pair, token, counts: pair,
):
    def wrong(words, n_merges, base=256):
        merges = []
        for i in range(n_merges):
            counts = count(words)
            if ends(counts):
                break
            pair = best(counts)
            merges.append(given(pair, new(base, i), counts))
            words = merged(words, pair, new(base, i), by)
        return merges

    return wrong


def never_merged(words, n_merges, base=256):
    counts = pairs(words)
    return sorted(counts, key=lambda pair: (-counts[pair], pair))[:n_merges]


def words_once(words):
    return pairs(dict.fromkeys(words, 1))


def once_per_word(words):
    counts = {}
    for ids, times in words.items():
        for pair in set(zip(ids, ids[1:], strict=False)):
            counts[pair] = counts.get(pair, 0) + times
    return counts


def without_overlap(words):
    counts = {}
    for ids, times in words.items():
        i = 0
        while i < len(ids) - 1:
            pair = ids[i], ids[i + 1]
            counts[pair] = counts.get(pair, 0) + times
            i += 2 if ids[i] == ids[i + 1] else 1
    return counts


def without_overlap_in_runs(words):
    """A pair that overlaps the one before is left out where it is the same one; the next pair counts."""
    counts = {}
    for ids, times in words.items():
        last = None
        for pair in zip(ids, ids[1:], strict=False):
            if pair == last and pair[0] == pair[1]:
                last = None
            else:
                counts[pair] = counts.get(pair, 0) + times
                last = pair
    return counts


def every_second(words):
    counts = {}
    for ids, times in words.items():
        for pair in zip(ids[::2], ids[1::2], strict=False):
            counts[pair] = counts.get(pair, 0) + times
    return counts


def across_words(words):
    counts = pairs(words)
    spelled = list(words.items())
    for (a, n), (b, _) in zip(spelled, spelled[1:], strict=False):
        if a and b:
            counts[a[-1], b[0]] = counts.get((a[-1], b[0]), 0) + n
    return counts

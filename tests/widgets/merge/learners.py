"""Right and wrong ``encode`` functions."""


def merge(ids, pair, new):
    out = []
    for i in ids:
        if out and (out[-1], i) == pair:
            out[-1] = new
        else:
            out.append(i)
    return out


def right(ids, merges, base=256):
    """The smallest number of a merge that fits, again and again."""
    number = {tuple(pair): i for i, pair in enumerate(merges)}
    ids = list(ids)
    while fitting := [number[pair] for pair in zip(ids, ids[1:], strict=False) if pair in number]:
        first = min(fitting)
        ids = merge(ids, merges[first], base + first)
    return ids


def from_left(ids, merges, base=256):
    """The leftmost pair that any merge joins."""
    ids = list(ids)
    while True:
        known = [i for i, pair in enumerate(zip(ids, ids[1:], strict=False)) if pair in merges]
        if not known:
            return ids
        i = known[0]
        ids[i : i + 2] = [base + merges.index((ids[i], ids[i + 1]))]


def once(ids, merges, base=256):
    """What a merge makes is not looked at again."""
    first = [pair for pair in merges if max(pair) < base]
    for pair in first:
        ids = merge(ids, pair, base + merges.index(pair))
    return ids


def one_too_large(ids, merges, base=256):
    """New ids are one too large."""
    for i, pair in enumerate(merges):
        ids = merge(ids, pair, base + i + 1)
    return ids

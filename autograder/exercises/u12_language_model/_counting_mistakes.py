"""Mistakes in counting contexts, in mixing them and in measuring bits."""

import math

from autograder.reference.language.counting import probability


def counting(contexts, put=lambda seen, char: seen.get(char, 0) + 1):
    """A count with another list of (start, end) of contexts, and another way to count."""

    def wrong(text, order):
        if order < 1:
            raise ValueError("order")
        counts = {}
        for i, char in enumerate(text):
            for start, end in contexts(i, order, len(text)):
                seen = counts.setdefault(text[start:end], {})
                seen[char] = put(seen, char)
        return counts

    return wrong


def unchecked(text, order):
    counts = {}
    for k in range(order):
        for i in range(k, len(text)):
            seen = counts.setdefault(text[i - k : i], {})
            seen[text[i]] = seen.get(text[i], 0) + 1
    return counts


def ends(i, order, size):
    return [(i - k, i) for k in range(min(i, order - 1) + 1)]


def all_ends(context):
    return [context[len(context) - k :] for k in range(len(context) + 1)]


def mixing(
    start=lambda counts: 1 / 256,
    mix=lambda count, n, u, p: (count + u * p) / (n + u),
    ends=all_ends,
    unknown=lambda p: p,
):
    def wrong(counts, context, char):
        p = start(counts)
        for end in ends(context):
            seen = counts.get(end)
            if seen is None:
                return unknown(p)
            p = mix(seen.get(char, 0), sum(seen.values()), len(seen), p)
        return p

    return wrong


def known_only(counts, context, char):
    p = 1 / 256
    for k in range(len(context) + 1):
        seen = counts.get(context[len(context) - k :])
        if seen is None or char not in seen:
            break
        p = (seen[char] + len(seen) * p) / (sum(seen.values()) + len(seen))
    return p


def longest_known(counts, context, char):
    while context and context not in counts:
        context = context[1:]
    seen = counts.get(context)
    if seen is None:
        return 1 / 256
    return (seen.get(char, 0) + len(seen) / 256) / (sum(seen.values()) + len(seen))


def bits(of=lambda p: -math.log2(p), mean=lambda bits: sum(bits) / len(bits), before=lambda order: order - 1, skip=0):
    def wrong(counts, text, order):
        n = before(order)
        first = order - 1 if skip else 0
        bits = [of(probability(counts, text[max(0, i - n) : i], text[i])) for i in range(first, len(text))]
        return mean(bits or [0.0])

    return wrong


def whole(counts, text, order):
    bits = [-math.log2(probability(counts, text[:i], char)) for i, char in enumerate(text)]
    return sum(bits) / len(bits)


def of_mean(counts, text, order):
    p = [probability(counts, text[max(0, i - order + 1) : i], char) for i, char in enumerate(text)]
    return -math.log2(sum(p) / len(p))

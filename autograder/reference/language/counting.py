"""A language model that only counts characters after contexts, and mixes short contexts with longer ones.

Written so that it can be followed by hand; ``ngram`` is the fast version.

Source: Witten and Bell 1991, "The zero-frequency problem", method C; mixed as in Chen and Goodman 1998.
"""

import math

Counts = dict[str, dict[str, int]]


def count_contexts(text: str, order: int) -> Counts:
    """Context → character → how often the character directly follows it, for context lengths 0 to ``order`` − 1.

    Raises: ValueError for an order below 1.
    """
    if order < 1:
        raise ValueError(f"the order is at least 1, got {order}")
    counts: Counts = {}
    for i, char in enumerate(text):
        for k in range(min(i, order - 1) + 1):
            seen = counts.setdefault(text[i - k : i], {})
            seen[char] = seen.get(char, 0) + 1
    return counts


def probability(counts: Counts, context: str, char: str) -> float:
    """Probability that ``char`` follows ``context``.

    Starts from 1/256, the same for each byte, and mixes in the counts of longer and longer ends of the context, as far
    as they were seen: with n characters counted, u of them different, p becomes (count + u·p) / (n + u).
    """
    p = 1 / 256
    for k in range(len(context) + 1):
        seen = counts.get(context[len(context) - k :])
        if seen is None:
            break
        n, u = sum(seen.values()), len(seen)
        p = (seen.get(char, 0) + u * p) / (n + u)
    return p


def bits_per_byte(counts: Counts, text: str, order: int) -> float:
    """Mean of −log2 p over the characters of an ASCII text, each given the ``order`` − 1 characters before it."""
    bits = [-math.log2(probability(counts, text[max(0, i - order + 1) : i], char)) for i, char in enumerate(text)]
    return sum(bits) / len(bits)

"""Merging and training, which the merges of later cases come from."""

from collections.abc import Callable, Sequence

from autograder.reference.language import bpe

Pair = tuple[int, int]
Words = dict[tuple[int, ...], int]


def merge(ids: Sequence[int], pair: Pair, new: int) -> list[int]:
    """The reference's."""
    return bpe.merged(ids, (pair[0], pair[1]), new)


def pairs(words: Words) -> dict[Pair, int]:
    """Pair → how often it stands in all words."""
    counts: dict[Pair, int] = {}
    for ids, times in words.items():
        for pair in zip(ids, ids[1:], strict=False):
            counts[pair] = counts.get(pair, 0) + times
    return counts


def train(words: Words, n_merges: int, base: int = 256) -> list[Pair]:
    """Counts all pairs anew for each merge."""
    merges: list[Pair] = []
    for new in range(base, base + n_merges):
        counts = pairs(words)
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        words = merged(words, best, new)
    return merges


def merged(words: Words, pair: Pair, new: int, by: Callable[..., list[int]] = merge) -> Words:
    """Every word merged; words that were different stay so, since each can be spelled out again."""
    return {tuple(by(ids, pair, new)): times for ids, times in words.items()}

"""Predicts characters from the few before them: a fast n-gram, the baseline that a small Transformer has to beat.

The same model as ``counting``, which can be followed by hand. Order n uses n - 1 characters of context. The counts of
each context are mixed with the prediction of the context one character shorter; the weight of the shorter one grows
with the number u of different characters seen after the context:

    p_k(c) = (count(c) + u·p_{k-1}(c)) / (n + u),  p of no context at all = 1/256

Sources: Witten and Bell 1991, "The zero-frequency problem", method C; interpolated as in Chen and Goodman 1999,
"An empirical study of smoothing techniques for language modeling".
"""

import math
import random
from collections import Counter

ALPHABET = 256  # the bytes that a byte-level model can write


class NGram:
    """Counts of an ASCII text, for contexts of 0 to ``order`` - 1 characters.

    Raises: ValueError for an order below 1.
    """

    def __init__(self, text: str, order: int):
        if order < 1:
            raise ValueError(f"the order is at least 1, got {order}")
        self.order = order
        self.characters = sorted(set(text))
        self.counts: Counter[str] = Counter()  # of every string of 1 to ``order`` characters
        for size in range(1, order + 1):
            self.counts.update(text[i : i + size] for i in range(len(text) - size + 1))
        self.seen: Counter[str] = Counter()  # number of characters after a context
        self.different: Counter[str] = Counter()
        for string, count in self.counts.items():
            self.seen[string[:-1]] += count
            self.different[string[:-1]] += 1

    def probabilities(self, context: str, character: str) -> list[float]:
        """Probability of ``character`` by order 1, 2, … up to this one. Uses only the end of the context.

        A context that was never seen gives the probability of its longest end that was seen.
        """
        found: list[float] = []
        p = 1 / ALPHABET
        for size in range(self.order):
            known = context[len(context) - size :]
            n = self.seen.get(known, 0) if size <= len(context) else 0
            if not n:
                return found + [p] * (self.order - size)
            u = self.different[known]
            p = (self.counts.get(known + character, 0) + u * p) / (n + u)
            found.append(p)
        return found

    def bits_per_byte(self, text: str, skip: int = 0) -> list[float]:
        """Mean of -log₂ p over an ASCII text, by order 1, 2, … up to this one.

        skip: characters at the start that are only context, so that two models predict the same bytes.
        Raises: ValueError if nothing is left.
        """
        if not 0 <= skip < len(text):
            raise ValueError(f"of {len(text)} characters, {skip} cannot be skipped")
        sums = [0.0] * self.order
        for i in range(skip, len(text)):
            found = self.probabilities(text[max(0, i - self.order + 1) : i], text[i])
            sums = [total - math.log2(p) for total, p in zip(sums, found, strict=True)]
        return [total / (len(text) - skip) for total in sums]

    def sample(self, prompt: str, n: int, generator: random.Random) -> str:
        """``prompt`` and n more characters, drawn with the highest order; bytes missing from the text are left out."""
        for _ in range(n):
            weights = [self.probabilities(prompt[-self.order :], c)[-1] for c in self.characters]
            prompt += generator.choices(self.characters, weights)[0]
        return prompt

"""The fast n-gram against a version that can be followed by hand, and against the laws of probability."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.reference.language import counting
from autograder.reference.language.ngram import ALPHABET, NGram

TEXT = "abracadabra, abracadabra! a bad cab."
texts = st.text(alphabet="abc ", min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(texts, texts, st.integers(1, 5))
def test_it_is_the_model_that_counts_by_hand(text, asked, order):
    fast, slow = NGram(text, order), counting.count_contexts(text, order)
    for i, char in enumerate(asked):
        context = asked[max(0, i - order + 1) : i]
        assert fast.probabilities(context, char)[-1] == pytest.approx(counting.probability(slow, context, char))
    assert fast.bits_per_byte(asked)[-1] == pytest.approx(counting.bits_per_byte(slow, asked, order))


@pytest.mark.parametrize("context", ["", "a", "abra", "zz", "z", "cad"])
def test_probabilities_of_all_bytes_sum_to_one(context):
    """The uniform share covers 256 bytes; bytes that are not in the text split the rest."""
    ngram = NGram(TEXT, 4)
    for order in range(4):
        assert sum(ngram.probabilities(context, chr(c))[order] for c in range(ALPHABET)) == pytest.approx(1)


def test_one_pass_gives_every_order():
    text, asked = TEXT * 3, "a cadabra bad abra"
    assert NGram(text, 5).bits_per_byte(asked) == pytest.approx(
        [NGram(text, order).bits_per_byte(asked)[-1] for order in range(1, 6)]
    )


def test_by_hand():
    """abab, order 2. Without context: (2 + 2/256) / 6 for a. After a: b was seen 2 of 2 times, so (0 + 1·p) / 3."""
    p = (2 + 2 / 256) / 6
    assert NGram("abab", 2).probabilities("a", "a") == pytest.approx([p, p / 3])
    assert NGram("abab", 2).probabilities("a", "b") == pytest.approx([p, (2 + p) / 3])


def test_what_was_skipped_is_context_only():
    ngram = NGram(TEXT, 3)
    expected = [-math.log2(ngram.probabilities(TEXT[i - 2 : i], TEXT[i])[-1]) for i in (2, 3)]
    assert ngram.bits_per_byte(TEXT[:4], skip=2)[-1] == pytest.approx(sum(expected) / 2)


def test_samples_follow_the_probabilities():
    ngram, generator = NGram(TEXT, 3), random.Random(0)
    drawn = [ngram.sample("ab", 1, generator)[-1] for _ in range(2000)]
    shares = {c: ngram.probabilities("ab", c)[-1] for c in ngram.characters}
    for char, p in shares.items():
        p /= sum(shares.values())
        assert abs(drawn.count(char) / 2000 - p) < 4 * math.sqrt(p * (1 - p) / 2000) + 1e-9, char


def test_the_same_generator_writes_the_same():
    write = lambda seed: NGram(TEXT, 4).sample("a", 40, random.Random(seed))
    assert write(1) == write(1) != write(2) and len(write(1)) == 41 and set(write(1)) <= set(TEXT)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        NGram("abc", 0)
    for skip in (-1, 3):
        with pytest.raises(ValueError, match="cannot be skipped"):
            NGram("abc", 2).bits_per_byte("abc", skip)

"""Byte-pair encoding against the library ``tokenizers``, and against a plain recount at every merge."""

import json
from collections import Counter

import pytest
from anatomy.language import corpus
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from autograder.reference.language import bpe

ODD = "Elizabeth's café costs 12.50€ -- “isn’t” it?\n\n\n  Tabs\tand 中文 don't... we'll 🙂\r\nnaïve étude No7B  "


@pytest.fixture(scope="module")
def text():
    return corpus.training_text()[:300_000]


@pytest.fixture(scope="module")
def learned(text):
    return bpe.train(text, 300)


def library(merges):
    return Tokenizer.from_str(json.dumps(bpe.tokenizer_json(merges)))


def trained_by_the_library(text, n_merges):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=256 + n_merges, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([text], trainer)
    return json.loads(tokenizer.to_str())["model"]


def recounted(text, n_merges):
    """The definition: recounts all pairs at each merge."""
    counted = Counter(map(tuple, map(bpe.byte_ids, bpe.words(text))))
    merges = []
    for new in range(256, 256 + n_merges):
        pairs = Counter()
        for ids, times in counted.items():
            for pair in zip(ids, ids[1:], strict=False):
                pairs[pair] += times
        if not pairs:
            break
        merges.append(min(pairs, key=lambda p: (-pairs[p], p)))
        words = Counter()
        for ids, times in counted.items():
            words[tuple(bpe.merged(ids, merges[-1], new))] += times
        counted = words
    return merges


def test_merges_and_vocabulary_are_the_librarys(text, learned):
    theirs, mine = trained_by_the_library(text, 300), bpe.tokenizer_json(learned)["model"]
    assert len(learned) == 300
    assert mine["merges"] == theirs["merges"] and mine["vocab"] == theirs["vocab"]


@pytest.mark.parametrize(
    "sample", ["abracadabra abracadabra", "aaaaaaa aaa aa", "low lower lowest new newer newest wide"]
)
def test_ties_are_broken_as_the_library_does(sample):
    """In short texts, nearly all counts are shared by several pairs."""
    merges = bpe.train(sample, 12)
    assert bpe.tokenizer_json(merges)["model"]["merges"] == trained_by_the_library(sample, len(merges))["merges"]


def test_ids_and_text_are_the_librarys(text, learned):
    mine, theirs = bpe.BytePairEncoding(learned), library(learned)
    for sample in (text, corpus.held_out_text()[:50_000], ODD, "", " ", "a", "\n\n"):
        ids = mine.encode(sample)
        assert ids == theirs.encode(sample).ids
        assert mine.decode(ids) == sample == theirs.decode(ids)
    assert len(mine) == theirs.get_vocab_size() == 556


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="ab c", max_size=60), st.integers(0, 9))
def test_keeping_counts_up_to_date_changes_nothing(sample, n_merges):
    assert bpe.train(sample, n_merges) == recounted(sample, n_merges)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40))
def test_any_text_comes_back(sample):
    sample = sample.encode(errors="ignore").decode()
    tokenizer = bpe.BytePairEncoding([(bpe.IDS_OF_BYTES[101], bpe.IDS_OF_BYTES[32])])
    assert tokenizer.decode(tokenizer.encode(sample)) == sample
    assert "".join(bpe.words(sample)) == sample


def test_merges_apply_in_the_order_they_were_learned():
    a, b, c = (bpe.IDS_OF_BYTES[ord(x)] for x in "abc")
    assert bpe.BytePairEncoding([(b, c), (a, b)]).encode("abc") == [a, 256]
    assert bpe.BytePairEncoding([(a, b), (b, c)]).encode("abc") == [256, c]


def test_one_pair_from_the_left():
    assert bpe.merged([1, 1, 1], (1, 1), 9) == [9, 1] and bpe.merged([2, 1, 2, 1, 2], (1, 2), 9) == [2, 9, 9]
    assert bpe.merged([], (1, 1), 9) == [] and bpe.merged([1], (1, 1), 9) == [1]


def test_bytes_have_the_librarys_characters_and_ids():
    assert sorted(bpe.CHARACTERS) == sorted(pre_tokenizers.ByteLevel.alphabet())
    assert sorted(bpe.IDS_OF_BYTES) == list(range(256)) and bpe.IDS_OF_BYTES[ord("!")] == 0
    assert bpe.CHARACTERS[ord(" ")] == "Ġ" and bpe.CHARACTERS[ord("\n")] == "Ċ"


def test_training_stops_where_no_pair_is_left():
    assert bpe.train("ab ab", 9) == recounted("ab ab", 9) and len(bpe.train("ab ab", 9)) == 2
    assert bpe.train("", 3) == [] == bpe.train("a", 3)


def test_half_a_character_is_marked():
    assert bpe.BytePairEncoding([]).decode(bpe.byte_ids("é")[:1]) == "\ufffd"


def test_what_makes_no_sense_is_refused():
    a, b, c = (bpe.IDS_OF_BYTES[ord(x)] for x in "abc")
    with pytest.raises(ValueError, match="negative"):
        bpe.train("ab", -1)
    with pytest.raises(ValueError, match="merge 1 joins 300"):
        bpe.BytePairEncoding([(a, b), (300, a)])
    with pytest.raises(ValueError, match="same token"):  # ab + c and a + bc
        bpe.tokenizer_json([(a, b), (256, c), (b, c), (a, 258)])

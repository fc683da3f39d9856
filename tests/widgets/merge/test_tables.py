"""Tier 1 of MergeExplorer: its tables, mistakes, and its merges."""

import json
from collections import Counter, defaultdict

import numpy as np
import pytest
import torch
from anatomy.language import corpus, shipped
from anatomy.widgets import MergeExplorer, WrongOutput
from anatomy.widgets.merge.story import WORDS

from autograder.reference.language import bpe

from .case import CASE
from .learners import from_left, once, one_too_large, right


def table(widget, name):
    return np.frombuffer(widget.tables[name], "<f4").reshape(len(WORDS), -1)


@pytest.mark.parametrize("word", range(len(WORDS)))
def test_the_last_row_is_the_tokenizers_own_result(word):
    made = CASE.make(word=word, done=12)
    assert made.tokens() == shipped.tokenizer().encode(WORDS[word]).ids
    assert made.next_merge() is None and f"{len(made.tokens())} for {len(WORDS[word].encode())} bytes" in made.alt


def test_merges_are_the_tokenizers():
    tokenizer = shipped.tokenizer()
    vocabulary = tokenizer.get_vocab()
    merges = [(vocabulary[a], vocabulary[b]) for a, b in json.loads(tokenizer.to_str())["model"]["merges"]]
    assert CASE.usual._inputs["merges"].long().tolist() == [list(pair) for pair in merges]


def test_the_counts_are_those_of_training():
    """Each merge is the pair that is counted most often in the training text when its turn comes."""
    words = Counter(bpe.words(corpus.training_text()))
    spelled = {word: bpe.byte_ids(word) for word in words}
    pairs, where = Counter(), defaultdict(set)

    def put(word, sign):
        for pair in zip(spelled[word], spelled[word][1:], strict=False):
            pairs[pair] += sign * words[word]
            where[pair].add(word)

    for word in words:
        put(word, 1)
    for n, pair in enumerate(map(tuple, CASE.usual._inputs["merges"].tolist())):
        assert CASE.usual.spec["counted"][n] == pairs[pair] == max(pairs.values()), n
        for word in list(where[pair]):
            put(word, -1)
            spelled[word] = bpe.merged(spelled[word], pair, 256 + n)
            put(word, 1)


@pytest.mark.parametrize("word", [0, 6, 7])
def test_each_row_comes_from_the_one_before_by_its_merge(word):
    made = CASE.make(word=word)
    for done in range(made.last()):
        made.done = done
        merge, ids, known = made.next_merge(), made.tokens(), [rank for _, rank in made.pairs() if rank is not None]
        assert merge == min(known) == int(made._inputs["cuts"][word, done])
        made.done = done + 1
        assert 256 + merge in made.tokens() and len(made.tokens()) < len(ids)
    made.done = 12
    assert made.tokens() == made.tokens() and made.last() < 12  # more than there are count as all


def test_a_right_function_is_right_everywhere():
    made = CASE.usual
    assert table(made, "same").all() and (table(made, "ids") == table(made, "ref_ids")).all()
    for word in range(len(WORDS)):
        assert "(ok)" in CASE.make(word=word).alt


@pytest.mark.parametrize(
    "wrong, word", [(from_left, " acknowledged"), (once, " Elizabeth"), (one_too_large, " Elizabeth")]
)
def test_mistakes_show(wrong, word):
    made = MergeExplorer(wrong, word=WORDS.index(word), done=12)
    assert not made.same() and "(broken)" in made.alt
    made.png()


def test_ids_that_no_merge_makes_are_drawn():
    made = MergeExplorer(lambda ids, merges, base=256: [5000, *ids[1:]], done=0)
    assert made._spelled(5000) == "?" and "? (5000)" in made.alt
    made.png()


def test_a_function_that_writes_into_its_arguments_spoils_nothing():
    def greedy(ids, merges, base=256):
        out = right(list(ids), list(merges), base)
        ids.clear()
        merges.clear()
        return out

    assert MergeExplorer(greedy).tables == CASE.usual.tables


def test_a_tensor_or_a_tuple_of_ids_is_drawn_too():
    for kind in (tuple, torch.tensor):
        made = MergeExplorer(lambda ids, merges, base=256, kind=kind: kind(right(ids, merges, base)))
        assert made.tables == CASE.usual.tables


@pytest.mark.parametrize(
    "result, words",
    [
        (None, "must return a list of ids here, and it returned None."),
        ("abc", "must return a list of ids here, and it returned str."),
        ([(3, 4)], "must return a list of ids, whole numbers from 0, and (3, 4) is among them."),
        ([-1], "must return a list of ids, whole numbers from 0, and -1 is among them."),
        (list(range(30)), "returned 30 ids for a word of 10 bytes; merges only make it shorter."),
    ],
)
def test_what_cannot_be_drawn_gets_one_sentence(result, words):
    with pytest.raises(WrongOutput) as caught:
        MergeExplorer(lambda ids, merges, base=256: result)
    assert str(caught.value) == f"encode {words}"


def test_bytes_that_are_no_character_are_numbers():
    pieces = CASE.usual.spec["pieces"]
    assert pieces[127] == "195" and pieces[102] == "169" and pieces[220] == "·" and pieces[830] == "·Elizabeth"
    assert all(piece and "\ufffd" not in piece for piece in pieces)

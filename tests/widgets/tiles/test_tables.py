"""Tier 1 of TilesExplorer: tables, facts, mistakes, notices."""

import numpy as np
import pytest
from anatomy.widgets import TilesExplorer, WrongOutput
from anatomy.widgets.tiles import TOLERANCE
from anatomy.widgets.tiles.scenes import BLOCKS, EARLIER, LOOKS, MERGE, SCENES, WAYS, T, needed

from autograder.exercises.u14_cheaper_attention import merge as merging
from autograder.exercises.u14_cheaper_attention import stream as streaming

from ..learners import unfinished
from .case import CASE

RIGHT = CASE.given[0]
LOOPS = {m.name: m.fn for m in streaming.MISTAKES}
MERGES = {m.name: m.fn for m in merging.MISTAKES}


def gaps(widget):
    """The largest distance to one softmax, over all scenes: of the result, of the lse."""
    table = np.frombuffer(widget.tables["gap"], "<f4").reshape(len(WAYS), -1, 2)
    return np.nan_to_num(table, nan=np.inf).max(1)[WAYS.index(widget.way)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("block", BLOCKS)
def test_bars_sum_and_result_follow_from_the_scores_one_by_one(way, look, block):
    widget = CASE.make(way=way, look=look, block=block)
    scores = np.frombuffer(widget.tables["scores"], "<f4").reshape(T, T)
    values = widget.spec["values"]
    for widget.query in range(T):
        for widget.read in range(1, T // block + 1):
            keys = [s for s in range(T) if s < widget.read * block and (look != EARLIER or s <= widget.query)]
            largest = max(scores[widget.query, s] for s in keys)
            bars = {s: np.exp(scores[widget.query, s] - largest) for s in keys}
            found = widget.facts()
            assert found["largest"] == largest and np.isclose(found["sum"], sum(bars.values()), rtol=1e-5)
            assert np.isclose(found["mixed"], sum(b * values[s] for s, b in bars.items()), rtol=1e-5)
            assert np.allclose(widget.bars(), [bars.get(s, 0) for s in range(T)], atol=1e-5)
            assert found["gap"] < TOLERANCE / 100


def test_needed_blocks_end_at_the_diagonal():
    assert [needed(3, EARLIER, t) for t in (0, 2, 3, 11)] == [1, 1, 2, 4] and needed(3, LOOKS[0], 0) == 4
    widget = CASE.make(query=4, read=6, look=EARLIER)
    assert widget.scene().read == 2 and widget.facts()["tiles"] == 10


def test_scores_are_round_and_the_last_query_meets_a_larger_one_in_block_3():
    scores = np.frombuffer(CASE.usual.tables["scores"], "<f4").reshape(T, T)
    assert np.allclose(2 * scores, np.round(2 * scores)) and scores.min() >= -1 and scores.max() <= 4
    assert [scores[-1, 3 * n : 3 * n + 3].max() for n in range(4)] == [2, 2, 4, 3.5]


def test_a_sum_that_is_not_rescaled_is_too_long_while_its_bars_are_right():
    wrong = TilesExplorer({**RIGHT, "attention_in_blocks": LOOPS["sum_not_rescaled"]}, read=3)
    right = CASE.make(read=3)
    assert wrong.facts()["sum"] > 2 * right.facts()["sum"] and "unlike one softmax" in wrong.alt
    assert np.allclose(wrong.bars(), right.bars(), atol=1e-5)
    wrong.read = right.read = 2  # no larger score has come so far
    assert np.isclose(wrong.facts()["sum"], right.facts()["sum"])


def test_values_that_are_not_rescaled_keep_the_old_bars_high():
    wrong = TilesExplorer({**RIGHT, "attention_in_blocks": LOOPS["values_not_rescaled"]}, read=3)
    before = CASE.make(read=2)
    assert np.allclose(wrong.bars()[:6], before.bars()[:6], atol=1e-5)
    assert np.isclose(wrong.facts()["sum"], CASE.make(read=3).facts()["sum"], rtol=1e-5)


# These differ in other places than its pictures: in cost, in errors that are raised, for very low scores or no key, or
# where v has another width than here.
ELSEWHERE = {
    "dense", "padded_keys", "last_block_lost", "unchecked", "zero_alone", "empty_nan", "zero_over_zero", "no_maximum",
    "large_negative", "scaled_by_values", "starts_at_zero",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(LOOPS.keys() - ELSEWHERE))
def test_wrong_loops_show(name):
    assert gaps(TilesExplorer({"attention_in_blocks": LOOPS[name]})).max() > TOLERANCE


# Here no lse is large or far from another, no query is without a key in both parts, and a wrong axis raises an error
# of torch.
MERGED_ELSEWHERE = {"unshifted", "one_maximum", "empty_nan", "ones_for_empty", "wrong_axis"}


@pytest.mark.parametrize("name", sorted(MERGES.keys() - MERGED_ELSEWHERE))
def test_wrong_mergers_show(name):
    assert gaps(TilesExplorer({"merge": MERGES[name]}, way=MERGE)).max() > TOLERANCE


def test_each_unwritten_function_falls_back_by_itself():
    made = TilesExplorer({**RIGHT, "merge": unfinished})
    assert made.notice == "Showing the reference for merge: not written yet" and made.written("attention_in_blocks")
    assert made.whose == "your"
    made.way = MERGE
    assert made.whose == "the reference's" and gaps(made).max() < TOLERANCE


@pytest.mark.parametrize(
    "name, broken, says",
    [
        (
            "attention_in_blocks",
            lambda q, k, v, block, mask=None: v,
            "must return 2 things here, and it returned Tensor",
        ),
        ("attention_in_blocks", lambda q, k, v, block, mask=None: (q, q), r"shape \(1, 1, 12, 13\) here"),
        ("merge", lambda a, x, b, y: (a, a), r"shape \(1, 1, 12\) here, and it returned shape \(1, 1, 12, 13\)"),
        ("merge", lambda a, x, b, y: None, "must return 2 things here"),
    ],
)
def test_sentences_for_results_that_cannot_be_drawn(name, broken, says):
    with pytest.raises(WrongOutput, match=says):
        TilesExplorer({name: broken})


def test_a_function_may_change_what_it_is_given():
    def greedy(q, k, v, block, mask=None):
        out = RIGHT["attention_in_blocks"](q, k, v, block, mask)
        for tensor in (q, k, v) if mask is None else (q, k, v, mask):
            tensor.zero_()
        return out

    assert gaps(TilesExplorer({"attention_in_blocks": greedy})).max() < TOLERANCE


def test_words_say_what_is_kept_and_skipped():
    made = CASE.make(read=3, look=EARLIER)
    assert "query 11 has read 9 of 12 keys: largest score 4, sum 2.05" in made.alt and "10 of 16 tiles" in made.alt
    assert len(SCENES) == 30

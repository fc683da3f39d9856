"""Tier 1 of MemoryExplorer: texts, tables, mistakes, notices."""

import numpy as np
import pytest
import torch
from anatomy.widgets import MemoryExplorer, WrongOutput
from anatomy.widgets.memory import TOLERANCE
from anatomy.widgets.memory.texts import COUNTS, DECAYS, MOST, PLACES, RATES, TEXTS, VECTORS, pairs_of, text_of

from autograder.exercises.u14_cheaper_attention import delta, linear

from ..learners import unfinished
from .case import CASE

RIGHT = CASE.given[0]
DELTAS = {m.name: m.fn for m in delta.MISTAKES}
ADDED = {m.name: linear.EXERCISE.functions(m.fn)["linear_recurrent"] for m in linear.EXERCISE.mutants}


def farthest(widget, rule):
    """Largest distance to the reference over all texts and settings."""
    return np.nan_to_num(np.frombuffer(widget.tables[f"gap_{MemoryExplorer.names[rule]}"], "<f4"), nan=np.inf).max()


def test_each_text_has_a_number_and_the_shorter_ones_come_first():
    texts = [pairs_of(n) for n in range(TEXTS)]
    assert (
        [text_of(*pairs) for pairs in texts] == list(range(TEXTS)) == sorted(range(TEXTS), key=lambda n: len(texts[n]))
    )
    assert TEXTS == sum(COUNTS) == 820 and max(map(len, texts)) == MOST and texts[0] == []


@pytest.mark.parametrize("decay", DECAYS)
@pytest.mark.parametrize("rate", RATES)
def test_memories_equal_writes_done_one_by_one(decay, rate):
    widget = CASE.make(decay=decay, rate=rate)
    keys = np.array(VECTORS)
    for widget.text in range(0, TEXTS, 7):
        added, corrected = np.zeros((2, 3, len(PLACES)))
        for key, place in pairs_of(widget.text):
            value = np.eye(len(PLACES))[place]
            added = decay * added + np.outer(keys[key], value)
            corrected = decay * corrected
            corrected = corrected + rate * np.outer(keys[key], value - keys[key] @ corrected)
        for rule, memory in enumerate((added, corrected)):
            assert np.allclose(widget.state(rule), memory, atol=1e-6) and widget.gap(rule) < TOLERANCE
            for key in range(3):
                assert np.allclose(widget.reads(rule, key), keys[key] @ memory, atol=1e-6)


def test_with_rate_1_the_newest_pair_is_always_read_back():
    widget = CASE.make()
    for widget.text in range(1, TEXTS):
        key, place = pairs_of(widget.text)[-1]
        assert np.allclose(widget.reads(1, key), np.eye(3)[place], atol=1e-6)


# What these do differently is not in the pictures: keys have length 1 here, no state is given, and no text comes twice.
ELSEWHERE = {
    "not_normalized", "squared_length", "queries_too", "state_ignored", "written_in_place", "raw_key_reads",
    "raw_key_written",
}  # fmt: skip
OF_RECURRENT = {
    "no_decay", "decay_after_write", "decay_on_write", "read_before_write", "not_summed", "keys_and_values_exchanged",
    "first_state_returned", "all_states", "scaled", "normalized",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(DELTAS.keys() - ELSEWHERE))
def test_wrong_delta_rules_show(name):
    try:
        made = MemoryExplorer({"delta_rule": DELTAS[name]})
    except (WrongOutput, RuntimeError):
        return  # what cannot be drawn is said in a sentence
    assert farthest(made, 1) > TOLERANCE


@pytest.mark.parametrize("name", sorted(OF_RECURRENT))
def test_wrong_sums_show(name):
    try:
        made = MemoryExplorer({"linear_recurrent": ADDED[name]})
    except WrongOutput:
        return
    assert farthest(made, 0) > TOLERANCE


def test_a_delta_rule_that_adds_reads_both_places():
    made = MemoryExplorer({**RIGHT, "delta_rule": DELTAS["added"]}, text=text_of((0, 0), (0, 1)))
    assert made.reads(1).tolist() == [1, 1, 0] and made.gap(1) == 1 and "unlike the reference" in made.alt
    assert made.gap(0) < TOLERANCE


def test_results_that_are_not_what_the_state_reads_show():
    def early(q, k, v, decay):
        out, state = RIGHT["linear_recurrent"](q, k, v, decay)
        return torch.zeros_like(out), state

    assert MemoryExplorer({"linear_recurrent": early}).gap(0) == pytest.approx(1)


def test_each_unwritten_function_falls_back_by_itself():
    made = MemoryExplorer({**RIGHT, "delta_rule": unfinished})
    assert made.notice == "Showing the reference for delta_rule: not written yet" and made.written("linear_recurrent")


@pytest.mark.parametrize(
    "broken, says",
    [
        (lambda q, k, v, decay: v, "must return 2 things here, and it returned Tensor"),
        (lambda q, k, v, decay: (v, v), r"shape \(9, 3, 3, 3\) here, and it returned shape \(9, 3, 1, 3\)"),
        (lambda q, k, v, decay: (v[:, 0], None), r"shape \(9, 3, 1, 3\) here"),
    ],
)
def test_sentences_for_results_that_cannot_be_drawn(broken, says):
    with pytest.raises(WrongOutput, match=says):
        MemoryExplorer({"linear_recurrent": broken})


def test_words_say_what_was_written_and_what_is_read():
    made = CASE.make(text=text_of((0, 0), (0, 1)))
    assert "Written: dog in the kitchen, dog in the garden. Asked for the dog" in made.alt
    assert "adds reads kitchen 1, garden 1, street 0" in made.alt and "delta rule reads kitchen 0" in made.alt

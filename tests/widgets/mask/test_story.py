"""MaskExplorer's story agrees with its tables: each answer is true, each other choice false."""

import numpy as np
from anatomy.widgets import MaskExplorer

from .case import CASE


def step(i):
    """The widget in that step's state, the tokens of its columns, and the step."""
    told = MaskExplorer.story[i]
    widget = CASE.make(**told.state)
    return widget, widget.spec["scenes"][widget.scene()]["columns"], told


def test_the_first_step_is_the_widgets_first_state():
    assert all(getattr(CASE.usual, name) == value for name, value in MaskExplorer.story[0].state.items())


def test_two_may_look_at_four_words():
    widget, words, told = step(0)
    row = widget.may()[words.index("two")]
    assert [c == str(row.sum()) for c in told.choices] == [i == told.answer for i in range(3)]
    assert np.flatnonzero(row).tolist() == [0, 1, 2, 3] and widget.query == words.index("two")


def test_dog_and_saw_know_two_too_early():
    widget, words, told = step(1)
    late = words.index("two")
    early = {words[i] for i in range(late) if widget.ways()[widget.layers - 1, i, late]}
    assert early - {"one"} == {"dog", "saw"} and told.choices[told.answer] == "dog and saw"
    assert not widget.may()[[1, 2], late].any() and widget.may()[0, late]  # only by way of "one"
    assert not step(0)[0].ways()[1, [1, 2], late].any()  # without the paint, neither
    # “saw” copies “two” by way of “one”, and “one” copies “dog” by way of “two”.
    assert [words[i] for i, copied in enumerate(widget.copied()) if copied] == ["one", "saw"]
    assert words[words.index("saw") + 1] == "two" and "“saw” can copy its next token, “two”" in told.because
    widget.layers = 1
    assert not any(widget.copied())


def test_the_queries_of_padding_see_nothing():
    widget, words, told = step(2)
    empty = [words[i] for i in np.flatnonzero(~widget.may().any(1))]
    assert empty == ["[pad]"] * 3 and told.choices[told.answer] == "those of [pad]"
    assert words.count("[pad]") == 3 and widget.facts()["empty"] == 3


def test_three_pairs_look_ahead():
    widget, words, told = step(3)
    ahead = np.argwhere(np.triu(widget.may(), 1)).tolist()
    assert [c == str(widget.facts()["ahead"]) for c in told.choices] == [i == told.answer for i in range(3)]
    assert [(words[i], words[j]) for i, j in ahead] == [("one", "dog"), ("one", "saw"), ("dog", "saw")]


def test_part_a_sees_all_of_a_and_nothing_of_b():
    widget, words, told = step(4)
    a = words.index("[S]")
    assert widget.may()[:a, :a].all() and not widget.may()[:a, a:].any()
    assert told.choices[told.answer] == "all of A, nothing of B" and widget.query < a
    assert np.triu(widget.may()[:a, :a], 1).any()  # so not only earlier tokens


def test_one_arrives_in_two_layers():
    widget, words, told = step(5)
    last, first = words.index("."), words.index("one")
    assert not widget.may()[last, first] and widget.reached()[1, first] and told.choices[told.answer] == "yes"
    assert not widget.reached()[0, first] and widget.layers == 2

"""MaskExplorer's story agrees with its tables: each answer is true, each other choice false."""

import numpy as np
import pytest
import torch
from anatomy.widgets import MaskExplorer
from anatomy.widgets.mask import GUESS

from .case import CASE


def step(i, **moved):
    """The widget in that step's state, but for what was moved; the tokens of its columns, and the step."""
    told = MaskExplorer.story[i]
    assert set(moved) <= set(told.moves)
    widget = CASE.make(**{**told.state, **moved})
    return widget, widget.spec["scenes"][widget.scene()]["columns"], told


def test_the_first_step_is_the_widgets_first_state():
    assert all(getattr(CASE.usual, name) == value for name, value in MaskExplorer.story[0].state.items())


def test_the_opening_leaves_the_row_that_is_asked_about():
    """It points along row “two”, at what this row sees."""
    widget, words, told = step(0)
    assert words[widget.query] == "two" and "row “two”" in told.says
    assert [state["key"] for state in MaskExplorer.opening] == np.flatnonzero(widget.may()[widget.query]).tolist()
    assert {*MaskExplorer.opening[0]} == {"key"}


def test_a_leak_makes_the_loss_too_good():
    clean, words, told = step(0)
    leaky, _, _ = step(0, painted=f"{words.index('two')},{words.index('cats')}")
    assert words[clean.query + 1] == "cats" and not any(clean.copied())
    assert [words[i] for i, copied in enumerate(leaky.copied()) if copied] == ["two"]
    assert f"{leaky.loss():.2f} instead of {clean.loss():.2f}" in told.because
    assert told.choices[told.answer] == "no, it only copies"


def test_dog_and_saw_know_two_too_early():
    widget, words, told = step(1)
    late = words.index("two")
    early = {words[i] for i in range(late) if widget.ways()[widget.layers - 1, i, late]}
    assert early - {"one"} == {"dog", "saw"} and told.choices[told.answer] == "dog and saw"
    assert not widget.may()[[1, 2], late].any() and widget.may()[0, late]  # only by way of "one"
    assert not step(0)[0].ways()[1, [1, 2], late].any()  # without the paint, neither
    # “saw” copies “two” by way of “one”, and “one” copies “dog” by way of “two”.
    assert [words[i] for i, copied in enumerate(widget.copied()) if copied] == ["one", "saw"]
    assert words[words.index("saw") + 1] == "two" and "“saw” can copy its next word, “two”" in told.because
    widget.layers = 1
    assert not any(widget.copied())


def test_an_empty_row_has_no_numbers_as_weights():
    widget, words, told = step(2)
    empty = np.flatnonzero(~widget.may().any(1))
    assert [words[i] for i in empty] == ["[pad]"] * 3 == list(words[:3]) and widget.query not in empty
    scores = torch.zeros(widget.may().shape).masked_fill(~torch.tensor(widget.may()), -torch.inf)
    weights = scores.softmax(-1)
    assert weights[:3].isnan().all() and not weights[3:].isnan().any()
    assert told.choices[told.answer] == "not a number"


def test_a_forgotten_cell_joins_two_texts():
    widget, words, told = step(3)
    assert " ".join(words[:4]) in told.says and " ".join(words[4:]) in told.says
    block = widget.may()[4:, :4]
    assert np.argwhere(block).tolist() == [[0, 3]] and [words[4], words[3]] == ["cats", "two"]
    first = [[words[j] for j in np.flatnonzero(level[:4])] for level in widget.reached()]
    assert words[widget.query] == "." and first == [[], ["two"], *[[*words[:4]]] * 5]
    assert widget.facts()["leak"] == 1 and widget.painted == "4,3"  # one mark: the cell that was forgotten
    assert told.choices[told.answer] == "all of it" and told.because.startswith("With 3 layers:")
    ways = widget.ways() > 0
    assert ways[0, 3, :4].all() and not ways[0, 4, :3].any() and ways[1, 4, :4].all()  # “two”, then “cats”


def test_a_longer_prefix_leaves_fewer_words_to_learn_from():
    widget, words, told = step(4)
    left = {n: len(step(4, size=n)[0].copied()) for n in range(1, 9)}
    assert list(left.values()) == sorted(left.values(), reverse=True) and left[3] == 5 and left[7] == 1
    assert "3 words in the prefix, 5 are left to learn from, with 7 only one" in told.because
    assert {step(4, size=n)[0].loss() for n in range(1, 8)} == {GUESS}  # the loss does not get too good
    assert widget.may()[:3, :3].all() and told.choices[told.answer] == "words to learn from"


def test_part_a_would_carry_the_answer_to_part_b():
    widget, words, told = step(5)
    start, blank, dog = words.index("[S]"), words.index("[M]"), words.index("dog")
    assert dog == start + 1 and widget.query == start and not widget.may()[:start, start:].any()
    assert not widget.reached()[:, dog].any(), "as it is, nothing leaks through any number of layers"
    leaky, _, _ = step(5, painted=f"{blank},{dog}")
    assert leaky.reached()[:2, dog].tolist() == [False, True] and leaky.may()[start, blank]
    assert leaky.facts()["leak"] == 1 and leaky.loss() < widget.loss() == GUESS
    assert [words[i] for i, copied in zip((start, dog), leaky.copied(), strict=False) if copied] == ["[S]"]
    assert told.choices[told.answer] == "[S] could copy “dog”"
    assert {"painted": f"{blank},{dog}"} in told.show


def test_a_window_reaches_one_token_further_with_each_layer():
    widget, words, told = step(6)
    assert (widget.may().sum(1) == [1, 2, 2, 2, 2, 2, 2, 2]).all()
    assert widget.reached().sum(1).tolist() == [2, 3, 4, 5, 6, 7, 8] and words[0] == "one"
    pairs = widget.facts()["pairs"], step(0)[0].facts()["pairs"]
    assert "{} pairs to compute instead of {}".format(*pairs) in told.says
    assert told.show[-1] == {"layers": 7}  # what is asked can be seen there
    step_of = widget.may().astype(int)
    far = [n for n in range(1, 9) if np.linalg.matrix_power(step_of, n)[words.index("."), words.index("one")]]
    assert told.choices[told.answer] == str(far[0]) == "7" and not {"2", "4"} & set(map(str, far))


@pytest.mark.parametrize("i", range(len(MaskExplorer.story)))
def test_what_is_painted_lies_in_the_mask(i):
    widget, words, _ = step(i)
    assert len(widget._turned()) == len(widget.painted.split())

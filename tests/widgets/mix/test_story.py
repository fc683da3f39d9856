"""The answers of MixExplorer's story, computed from the table that the widget draws."""

import itertools

import numpy as np
import pytest
from anatomy.widgets.mix import TOP
from anatomy.widgets.mix.story import STORY

from .case import CASE

TRAITS = ("first", "second", "third")


@pytest.fixture(scope="module")
def table():
    """(11, 11, 11): the average for each triple of weights."""
    return np.frombuffer(CASE.make().tables["out"], "<f4").reshape((TOP + 1,) * 3)


def start(i):
    """The weights that step ``i`` sets."""
    return tuple(STORY[i].state[name] for name in TRAITS)


def chosen(i):
    """The answer of step ``i`` in words."""
    return STORY[i].choices[STORY[i].answer]


def moved(before, after):
    return 1 if after > before + 1e-4 else -1 if after < before - 1e-4 else 0


def test_answer_1_twice_the_weight_pulls_the_average_to_its_word(table):
    before, (first, second, third) = table[start(0)], start(0)
    after = table[2 * first, second, third]
    assert chosen(0) == {-1: "to the left", 0: "it stays", 1: "to the right"}[moved(before, after)]
    assert f"from {before:.1f} the average falls to {after:.1f}" in STORY[0].because and second + third == 9


def test_answer_2_twice_the_weights_move_nothing(table):
    before = start(1)
    after = tuple(2 * w for w in before)
    assert max(after) <= TOP, "the sliders cannot be set so"
    words = {-1: "to the left", 0: "it stays", 1: "to the right"}
    assert chosen(1) == words[moved(table[before], table[after])]


def test_answer_3_a_word_whose_number_is_the_average_does_not_move_it(table):
    first, _, third = start(2)
    steps = {moved(table[start(2)], table[first, w, third]) for w in range(1, TOP + 1)}
    assert chosen(2) == {(-1,): "it falls", (0,): "it stays", (1,): "it rises"}[tuple(steps)]
    assert table[start(2)] == pytest.approx(5) and CASE.usual.spec["values"][1] == 5


def test_answer_4_no_weights_leave_the_range_of_the_numbers(table):
    assert table[start(3)] == pytest.approx(9)
    beyond = any(table[triple] > 9 + 1e-4 for triple in itertools.product(range(TOP + 1), repeat=3) if any(triple))
    assert chosen(3) == ("yes" if beyond else "no")


def test_answer_6_the_shares_have_the_same_average(table):
    values = np.array(CASE.usual.spec["values"])
    averages = {choice: np.dot([float(w) for w in choice.split(",")], values) for choice in STORY[5].choices}
    same = [choice for choice, average in averages.items() if average == pytest.approx(table[start(5)], abs=1e-3)]
    assert same == [chosen(5)] and sum(float(w) for w in chosen(5).split(",")) == pytest.approx(1)
    assert all(sum(float(w) for w in c.split(",")) == pytest.approx(1) for c in STORY[5].choices)


def test_answer_5_without_weight_there_is_no_average(table):
    first, second, third = start(4)
    assert (first, third) == (0, 0) and second > 0
    value = table[0, 0, 0]
    assert chosen(4) == ("there is none" if np.isnan(value) else f"{value:g}")

"""MemoryExplorer's story agrees with its tables: each answer is true, each other choice false."""

import numpy as np
from anatomy.widgets import MemoryExplorer
from anatomy.widgets.memory.texts import KEYS, PLACES, VECTORS, pairs_of

from .case import CASE

DOG, PARROT, PUPPY = range(3)


def step(i, **moved):
    """The widget in that step's state, the step, and its right answer."""
    told = MemoryExplorer.story[i]
    return CASE.make(**{**told.state, **moved}), told, told.choices[told.answer]


def end(i):
    """The widget where “Show me” of that step ends."""
    told = MemoryExplorer.story[i]
    return step(i, **{k: v for state in told.show for k, v in state.items() if k in told.state})[0]


def test_adding_keeps_both_places():
    widget, _, answer = step(0)
    assert pairs_of(widget.text) == [(DOG, 0)] and pairs_of(end(0).text) == [(DOG, 0), (DOG, 1)]
    assert answer == "in both" and end(0).reads(0).tolist() == [1, 1, 0]


def test_the_delta_rule_writes_the_difference():
    widget, told, answer = step(1)
    before, after = widget.reads(1), end(1).reads(1)
    assert told.show[-1] == {"cell": 0, "rule": 1}, "the kitchen's −1 is what is asked for"
    assert before.tolist() == [1, 0, 0] and after.tolist() == [0, 1, 0] and PLACES[:2] == ("kitchen", "garden")
    kitchen, garden = (after - before)[:2]
    signed = lambda choice: [float(x.replace("−", "-")) for x in choice.split(" and ")]
    assert [signed(c) == [kitchen, garden] for c in told.choices] == [c == answer for c in told.choices]


def test_a_key_at_right_angles_changes_nothing_for_the_dog():
    (before, _, answer), after = step(2), end(2)
    assert answer == "nothing" and pairs_of(after.text)[-1] == (PARROT, 2)
    assert np.dot(VECTORS[DOG], VECTORS[PARROT]) == 0
    for rule in (0, 1):
        assert np.allclose(before.reads(rule), after.reads(rule)) and after.reads(rule, PARROT)[2] == 1


def test_a_key_that_is_alike_gets_a_share():
    (before, _, answer), widget = step(3), end(3)
    assert before.asked == DOG and before.text == widget.text
    assert answer == "kitchen, with 0.8" and KEYS[widget.asked] == "puppy"
    for rule in (0, 1):
        assert np.allclose(widget.reads(rule), [0.8, 0, 0])


def test_the_puppys_pair_is_right_and_costs_the_dog():
    (before, told, answer), after = step(4), end(4)
    assert np.allclose(before.reads(1), [1, 0, 0]) and np.isclose(before.reads(1, PUPPY)[0], 0.8)
    assert np.allclose(after.reads(1, PUPPY), [0, 1, 0], atol=1e-6), "the newest pair"
    assert after.asked == DOG and np.allclose(after.reads(1), [0.36, 0.8, 0])
    assert [np.isclose(float(c), after.reads(1)[0]) for c in told.choices] == [c == answer for c in told.choices]
    assert np.isclose(1 - 0.8 * 0.8, 0.36) and "0.64" in told.because


def test_two_halvings_leave_a_quarter():
    (before, told, answer), widget = step(5), end(5)
    assert before.decay == 1 and widget.decay == 0.5 and np.allclose(widget.reads(0), widget.reads(1))
    assert [np.isclose(float(c), widget.reads(0)[0]) for c in told.choices] == [c == answer for c in told.choices]
    assert pairs_of(widget.text)[0] == (DOG, 0) and len(pairs_of(widget.text)) == 3 and answer == "0.25"


def test_the_opening_does_not_show_what_the_first_step_asks():
    for state in MemoryExplorer.opening:
        assert (DOG, 1) not in pairs_of(state["text"])

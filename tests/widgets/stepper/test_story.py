"""The story of CacheStepper: the right answers are true of the widget's own tables, the others are not."""

import numpy as np
from anatomy.widgets import CacheStepper
from anatomy.widgets.stepper import TOLERANCE
from anatomy.widgets.stepper.story import STORY

from .learners import right_step, right_turning
from .test_tables import EVERY_PLAN, ints


def shown(i):
    return CacheStepper(right_step, right_turning, **STORY[i].state)


def chosen(i):
    return STORY[i].choices[STORY[i].answer]


def test_it_starts_where_the_widget_starts():
    widget = CacheStepper()
    assert {name: getattr(widget, name) for name in STORY[0].state} == STORY[0].state


def test_one_key_is_new():
    n = shown(0).readings()
    assert chosen(0) == str(n["stop"] - n["start"]) == "1"
    assert n["read"] - 1 == 4 and "four tinted keys" in STORY[0].because


def test_without_a_cache_the_keys_of_100_words_are_5050():
    """The bars show 8 and 36 here; each step computes all keys so far anew."""
    widget = shown(1)
    anew = lambda words: sum(range(1, words + 1))
    assert widget.plan == [1] * 8 and widget.readings()["stop"] == 4, "there are steps to press"
    widget.chunk = 7
    assert widget.readings()["stop"] == 8
    assert anew(8) == 36 and "= 36." in STORY[1].look and chosen(1) == f"{anew(100):,}" == "5,050"
    assert "= 5,050" in STORY[1].because and STORY[1].because.endswith(": 100.")


def test_token_7_takes_slot_1_of_the_window():
    widget = shown(2)
    before = widget.readings()["slots"]
    widget.chunk += 1
    slots = widget.readings()["slots"]
    assert chosen(2) == str(slots.index(7)) == "1" and before[1] == 4 and "token 4" in STORY[2].because
    n = widget.readings()
    assert list(range(n["first"], n["stop"])) == [5, 6, 7] and "the words 5, 6 and 7 only" in STORY[2].because


def test_token_6_lies_in_page_1():
    widget = shown(3)
    assert widget.readings()["stop"] == 4
    widget.chunk += 3
    assert chosen(3) == str(widget.readings()["slots"].index(6) // 3) == "1"


def test_only_the_score_with_itself_is_right():
    widget = shown(4)
    assert widget.origin == 0 and "origin" in STORY[4].moves, "what is asked is not drawn yet, and can be tried"
    assert widget.readings()["change"] < 1e-3 and widget.readings()["start"] == 5
    node = 0b111000  # chunks of 4, 1, 1
    wrong, right = widget._table("restart", 256, 8, 8)[node, 5, :6], widget._table("right", 8, 8)[5, :6]
    still = np.flatnonzero(np.abs(wrong - right) < 5e-3)
    assert still.tolist() == [5] and chosen(4) == "with key 5"


def test_cuts_do_not_change_a_weight():
    widget = shown(5)
    gaps = []
    for plan in EVERY_PLAN:
        widget.plan = ints(plan)
        for widget.chunk in range(len(plan)):
            gaps.append(widget.readings()["gap"])
    assert chosen(5) == "no" and max(gaps) <= TOLERANCE

"""Tier 2 of CacheStepper: its script alone in Chromium, beyond what every widget promises."""

import pytest
from anatomy.widgets import CacheStepper

from ..page import said, settle, trait, words
from .learners import restarting, right_step, right_turning, top_left

pytestmark = pytest.mark.browser

POSITIONS = {"view": 1, "step": 2}


def test_a_learner_cuts_the_text_where_they_like(stage):
    page = stage(CacheStepper(right_step, right_turning))
    box = lambda token: page.get_by_role("checkbox", name=str(token), exact=True)
    assert [token for token in range(7) if box(token).is_checked()] == [3, 4, 5, 6]
    for token in (3, 5, 1):
        box(token).focus()
        page.keyboard.press("Space")
    settle(page)
    assert trait(page, "plan") == [2, 3, 2, 1]
    assert page.get_by_role("combobox", name="chunk plan").evaluate("e => e.selectedOptions[0].text") == "your own plan"
    page.get_by_role("combobox", name="chunk plan").select_option("chunks of 2, 3, 1, 2")
    settle(page)
    assert trait(page, "plan") == [2, 3, 1, 2] and [t for t in range(7) if box(t).is_checked()] == [1, 4, 5]


def test_positions_and_scores_are_written_out(stage):
    widget = CacheStepper(right_step, right_turning, origin=1, **POSITIONS)
    page = stage(widget)
    heard = said(page)
    assert "every chunk from 0: 0 1 2 3 0 0;" in heard
    scores = widget._table("restart", 256, 8, 8)[0b111000]
    shown = page.locator(".ta-svg").first.locator("text").all_text_contents()
    for score in scores[5, :6]:
        assert f"{score:.2f}".replace("-", "\u2212") in shown
    assert words(page)[-2:] == ["differs", "differs"]
    assert words(stage(CacheStepper(right_step, right_turning, **POSITIONS)))[-2:] == ["same"] * 2
    assert "0 1 2 3 0 0" in said(stage(CacheStepper(right_step, restarting, **POSITIONS)))


def test_page_and_python_say_the_same(stage):
    for state in (
        {},
        {"plan": [2, 3, 1, 2], "step": 3},
        {"plan": [3, 5], "step": 1, "store": 1, "view": 1},
        {"plan": [1] * 8, "step": 6, "store": 2, "view": 1, "origin": 1},
    ):
        widget = CacheStepper(right_step, right_turning, **state)
        heard = said(stage(widget))
        n = widget.readings()
        one = n["stop"] - n["start"] == 1
        fresh = f"token {n['start']} is" if one else f"tokens {n['start']} to {n['stop'] - 1} are"
        assert f"{fresh} computed, {n['read']} keys are read, {n['stored']} tokens are kept" in heard
        if widget.view:
            assert f": {' '.join(map(str, n['positions']))}; a score changes" in heard


def test_a_wrong_mask_is_told(stage):
    assert words(stage(CacheStepper(top_left, step=3)))[-2] == "differs"
    assert words(stage(CacheStepper(right_step, step=3)))[-2] == "same"

"""Tier 2 of ActivationExplorer: its script alone in Chromium, beyond what every widget promises."""

import pytest
from anatomy.widgets import ActivationExplorer

from ..page import find, settle, words
from .case import CASE
from .learners import ACTIVATIONS, wrong_constant_gelu

pytestmark = pytest.mark.browser


def test_activation_words_and_the_slope_by_hand(stage):
    page = stage(CASE.make(activation="swish"))
    assert words(page) == ["same", "ok", "", "", ""]
    find(page, "slider", "β of swish").press("ArrowRight")
    settle(page)
    assert page.locator(".ta-number").all_text_contents()[1] == "β = 1 only"
    page = stage(ActivationExplorer({**ACTIVATIONS, "gelu": wrong_constant_gelu}))
    assert words(page) == ["differs", "broken", "", "", ""]


def test_dead_units_are_crossed_out(stage):
    page = stage(CASE.make(activation="relu", shift=-4))
    marks = page.get_by_role("img", name="Forty units").locator("text").all_text_contents()
    assert f"{marks.count('×')} of 40" in page.locator(".ta-number").all_text_contents() and marks.count("×") > 10

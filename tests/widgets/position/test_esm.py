"""Tier 2 of PositionExplorer: its script alone in Chromium, beyond what every widget promises."""

import pytest
from anatomy.widgets import PositionExplorer
from anatomy.widgets.position import NAMES, SCHEMES

from ..page import find, said, settle, trait, words
from .case import CASE
from .learners import POSITIONS, cosine_only

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", NAMES)
def test_every_scheme_is_drawn_and_read_out(stage, scheme):
    page = stage(CASE.make(scheme=scheme))
    heard = said(page)
    assert heard.startswith(scheme) and "NaN" not in heard
    assert words(page)[-1] == "same"
    line = page.get_by_role("img", name="Score against relative position").locator("path.ta-mine")
    assert line.evaluate("(e) => e.style.visibility") == "visible" and len(line.get_attribute("d")) > 300


def test_words_follow_the_variant(stage):
    page = stage(CASE.make())
    assert words(page) == ["distance only", "no direction", "same"]
    find(page, "slider", "variant").press("ArrowRight")
    settle(page)
    assert words(page) == ["place counts", "direction", "same"]
    find(page, "slider", "variant").press("ArrowRight")
    settle(page)
    assert words(page) == ["distance only", "direction", "same"]
    assert "scores key 17 highest" in said(page)


def test_a_variant_that_the_next_scheme_lacks_is_drawn_back(stage):
    page = stage(CASE.make(scheme="ALiBi", variant=7))
    find(page, "combobox", "scheme").select_option(label="Shaw")
    settle(page)
    assert trait(page, "variant") == len(SCHEMES[NAMES.index("Shaw")][3]) - 1
    assert "Shaw, K = 16" in said(page)


def test_a_wrong_function_differs_and_the_others_do_not(stage):
    page = stage(PositionExplorer({**POSITIONS, "sinusoid": cosine_only}))
    assert words(page)[-1] == "differs"
    find(page, "combobox", "scheme").select_option(label="ALiBi")
    settle(page)
    assert words(page)[-1] == "same"


def test_the_reference_is_not_called_the_learners(stage):
    assert words(stage(CASE.stubs()))[-1] == "not yours yet"

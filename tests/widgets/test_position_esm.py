"""Tier 2 of PositionExplorer: its script alone in Chromium, and the exported page."""

import pytest
from anatomy.widgets import PositionExplorer
from anatomy.widgets.position import NAMES, SCHEMES

from .cases import find
from .learners import unfinished
from .position_learners import POSITIONS, cosine_only
from .promises import SCHEMES as COLOR_SCHEMES
from .promises import (
    cuts_nothing_off,
    draws_refreshed_tables,
    exports_a_readable_page,
    leaves_nothing_behind,
    moves_by_keyboard,
    names_its_controls,
    settle,
    trait,
)

pytestmark = pytest.mark.browser

CONTROLS = [("combobox", "scheme", "scheme", "ArrowDown"), ("slider", "variant", "variant", "ArrowRight"),
            ("slider", "query position", "query", "ArrowLeft")]


def make(**state):
    return PositionExplorer(POSITIONS, **state)


@pytest.mark.parametrize("role, name, trait_name, key", CONTROLS, ids=[c[2] for c in CONTROLS])
def test_keyboard_moves_every_control_and_the_picture(stage, role, name, trait_name, key):
    moves_by_keyboard(stage(make()), role, name, trait_name, key)


def test_all_controls_are_named_and_keep_their_keys(stage):
    names_its_controls(stage(make()), PositionExplorer, CONTROLS)


@pytest.mark.parametrize("scheme", NAMES)
def test_every_scheme_is_drawn_and_read_out(stage, scheme):
    page = stage(make(scheme=scheme))
    said = page.locator(".ta [aria-live=polite]").text_content()
    assert said.startswith(scheme) and "NaN" not in said
    assert page.locator(".ta-word").last.text_content() == "same"
    line = page.get_by_role("img", name="Score against relative position").locator("path.ta-mine")
    assert line.evaluate("(e) => e.style.visibility") == "visible" and len(line.get_attribute("d")) > 300


def test_words_follow_the_variant(stage):
    page = stage(make())
    words = lambda: page.locator(".ta-word").all_text_contents()
    assert words() == ["distance only", "no direction", "same"]
    find(page, "slider", "variant").press("ArrowRight")
    settle(page)
    assert words() == ["place counts", "direction", "same"]
    find(page, "slider", "variant").press("ArrowRight")
    settle(page)
    assert words() == ["distance only", "direction", "same"]
    assert "scores key 17 highest" in page.locator(".ta-readout").text_content()


def test_a_variant_that_the_next_scheme_lacks_is_drawn_back(stage):
    page = stage(make(scheme="ALiBi", variant=7))
    find(page, "combobox", "scheme").select_option(label="Shaw")
    settle(page)
    assert trait(page, "variant") == len(SCHEMES[NAMES.index("Shaw")][3]) - 1
    assert "Shaw, K = 16" in page.locator(".ta-readout").text_content()


def test_a_wrong_function_differs_and_the_others_do_not(stage):
    page = stage(PositionExplorer({**POSITIONS, "sinusoid": cosine_only}))
    assert page.locator(".ta-word").last.text_content() == "differs"
    find(page, "combobox", "scheme").select_option(label="ALiBi")
    settle(page)
    assert page.locator(".ta-word").last.text_content() == "same"


def test_refreshed_tables_are_drawn(stage):
    fresh = PositionExplorer(dict.fromkeys(POSITIONS, unfinished))
    page = stage(fresh)
    assert page.locator(".ta-word").last.text_content() == "not yours yet"
    draws_refreshed_tables(page, fresh, POSITIONS)


def test_cleanup_leaves_nothing_behind(stage):
    leaves_nothing_behind(stage(make()))


@COLOR_SCHEMES
def test_exported_page_works_and_reads_well_in_either_scheme(browser, tmp_path, scheme):
    exports_a_readable_page(browser, make(variant=1).save_html(tmp_path / "page.html"), scheme)


@pytest.mark.parametrize("scheme", NAMES)
def test_nothing_is_cut_off_or_overlaps(stage, scheme):
    cuts_nothing_off(stage(make(scheme=scheme), viewport={"width": 830, "height": 900}))

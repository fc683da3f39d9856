"""Tier 2 of CacheStepper: the script alone in Chromium, and the exported page."""

import pytest
from anatomy.widgets import CacheStepper

from .learners import unfinished
from .promises import (
    SCHEMES,
    cuts_nothing_off,
    draws_refreshed_tables,
    exports_a_readable_page,
    leaves_nothing_behind,
    moves_by_keyboard,
    names_its_controls,
    settle,
    trait,
)
from .test_stepper_tables import restarting, right, right_turning, top_left

pytestmark = pytest.mark.browser

POSITIONS = {"view": 1, "step": 2}
CONTROLS = [
    ("group", "look at", "view", "ArrowRight"), ("combobox", "chunk plan", "plan", "ArrowDown"),
    ("checkbox", "5", "plan", "Space"), ("slider", "step", "step", "ArrowRight"),
    ("group", "store", "store", "ArrowRight"), ("group", "positions", "origin", "ArrowRight"),
]


@pytest.mark.parametrize("role, name, trait_name, key", CONTROLS, ids=[c[1] for c in CONTROLS])
def test_keyboard_moves_every_control_and_the_picture(stage, role, name, trait_name, key):
    page = stage(CacheStepper(right, right_turning, **(POSITIONS if trait_name == "origin" else {})))
    assert moves_by_keyboard(page, role, name, trait_name, key)


def test_a_learner_cuts_the_text_where_they_like(stage):
    page = stage(CacheStepper(right, right_turning))
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
    widget = CacheStepper(right, right_turning, origin=1, **POSITIONS)
    page = stage(widget)
    said = page.locator(".ta [aria-live=polite]").text_content()
    assert "every chunk from 0: 0 1 2 3 0 0;" in said
    scores = widget._table("restart", 256, 8, 8)[0b111000]
    shown = page.locator(".ta-svg").first.locator("text").all_text_contents()
    for score in scores[5, :6]:
        assert f"{score:.2f}".replace("-", "\u2212") in shown
    assert page.locator(".ta-word").all_text_contents()[-2:] == ["differs", "differs"]
    assert stage(CacheStepper(right, right_turning, **POSITIONS)).locator(".ta-word").all_text_contents()[-2:] == [
        "same", "same"]
    assert "0 1 2 3 0 0" in stage(CacheStepper(right, restarting, **POSITIONS)).locator("[aria-live]").text_content()


def test_all_controls_are_listed_named_and_keep_their_keys(stage):
    names_its_controls(stage(CacheStepper(right, right_turning, **POSITIONS)), CacheStepper, CONTROLS)


def test_page_and_python_say_the_same(stage):
    for state in ({}, {"plan": [2, 3, 1, 2], "step": 3}, {"plan": [3, 5], "step": 1, "store": 1, "view": 1},
                  {"plan": [1] * 8, "step": 6, "store": 2, "view": 1, "origin": 1}):
        widget = CacheStepper(right, right_turning, **state)
        said = stage(widget).locator(".ta [aria-live=polite]").text_content()
        n = widget.figures()
        one = n["stop"] - n["start"] == 1
        fresh = f"token {n['start']} is" if one else f"tokens {n['start']} to {n['stop'] - 1} are"
        assert f"{fresh} computed, {n['read']} keys are read, {n['stored']} tokens are kept" in said
        if widget.view:
            assert f": {' '.join(map(str, n['positions']))}; a score changes" in said


def test_a_wrong_mask_is_told(stage):
    assert stage(CacheStepper(top_left, step=3)).locator(".ta-word").all_text_contents()[-2] == "differs"
    assert stage(CacheStepper(right, step=3)).locator(".ta-word").all_text_contents()[-2] == "same"


def test_refresh_and_cleanup(stage):
    fresh = CacheStepper(unfinished)
    page = stage(fresh)
    draws_refreshed_tables(page, fresh, right)
    leaves_nothing_behind(page)


@SCHEMES
@pytest.mark.parametrize("view", [0, 1])
def test_exported_page_works_and_reads_well_in_either_scheme(browser, tmp_path, scheme, view):
    widget = CacheStepper(right, right_turning, view=view, step=3)
    exports_a_readable_page(browser, widget.save_html(tmp_path / "page.html"), scheme)


@pytest.mark.parametrize("state", [{}, {"store": 1, "plan": [1] * 8, "step": 7}, {"store": 2, "plan": [8], "step": 0},
                                   {"view": 1, "origin": 1, "store": 2, "plan": [5, 3]}])
def test_nothing_is_cut_off_or_overlaps(stage, state):
    cuts_nothing_off(stage(CacheStepper(right, **state), viewport={"width": 860, "height": 900}))

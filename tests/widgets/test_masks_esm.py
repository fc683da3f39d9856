"""Tier 2 of MaskExplorer and ObjectiveLab: the script alone in Chromium, and the exported page."""

import pytest
import torch
from anatomy.widgets import MaskExplorer, ObjectiveLab

from autograder.recording.widgets import MASKS, OBJECTIVES

from .cases import find
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

pytestmark = pytest.mark.browser

# widget → (functions, state, [(role, accessible name, trait, key that moves it)])
WIDGETS = {
    MaskExplorer: (MASKS, {"mask": "prefix LM"}, [
        ("combobox", "mask", "mask", "ArrowDown"),
        ("slider", "query", "query", "ArrowRight"),
        ("slider", "size", "size", "ArrowLeft"),
        ("slider", "layers", "layers", "End"),
    ]),
    ObjectiveLab: (OBJECTIVES, {"objective": "blank_infilling"}, [
        ("combobox", "objective", "objective", "ArrowUp"),
        ("slider", "place", "place", "ArrowRight"),
        ("slider", "random draw", "draw", "End"),
    ]),
}
CONTROLS = [(widget, *control) for widget, (_, _, controls) in WIDGETS.items() for control in controls]
EACH = pytest.mark.parametrize("widget", WIDGETS, ids=lambda w: w.__name__)


def make(widget, **state):
    functions, usual, _ = WIDGETS[widget]
    return widget(functions, **{**usual, **state})


def words(page):
    return page.locator(".ta-word").all_text_contents()


@pytest.mark.parametrize("widget, role, name, trait_name, key", CONTROLS,
                         ids=[f"{c[0].__name__}-{c[3]}" for c in CONTROLS])
def test_keyboard_moves_every_control_and_the_picture(stage, widget, role, name, trait_name, key):
    moves_by_keyboard(stage(make(widget)), role, name, trait_name, key)


@EACH
def test_all_controls_are_listed_named_and_keep_their_keys(stage, widget):
    names_its_controls(stage(make(widget)), widget, WIDGETS[widget][2])


@EACH
def test_every_setting_is_drawn_and_said(stage, widget):
    """The list from end to end, each with the last value of the other controls: no error, no missing word."""
    page = stage(make(widget))
    first = WIDGETS[widget][2][0][2]
    count = page.locator("select option").count()
    for i in range(count):
        for place in (0, 31):
            page.evaluate("([name, i, place]) => { model.set(name, i); for (const k of ['query', 'size', 'place']) "
                          "model.set(k, place); }", [first, i, place])
            settle(page)
            said = page.locator(".ta-readout").text_content()
            assert said and "undefined" not in said and "NaN" not in said, (i, place, said)
            drawn = " ".join(page.locator(".ta-svg text").all_text_contents())
            assert "undefined" not in drawn and "NaN" not in drawn, (i, place, drawn)


@EACH
def test_cleanup_leaves_nothing_behind(stage, widget):
    leaves_nothing_behind(stage(make(widget)))


@EACH
def test_refreshed_tables_are_drawn(stage, widget):
    functions, usual, _ = WIDGETS[widget]
    fresh = widget(dict.fromkeys(functions, unfinished), **usual)
    draws_refreshed_tables(stage(fresh), fresh, functions)


@EACH
@SCHEMES
def test_exported_page_works_and_reads_well_in_either_scheme(browser, tmp_path, widget, scheme):
    exports_a_readable_page(browser, make(widget).save_html(tmp_path / "page.html"), scheme)


@EACH
@pytest.mark.parametrize("width", [900, 830])
def test_nothing_is_cut_off_or_overlaps(stage, widget, width):
    page = stage(make(widget), viewport={"width": width, "height": 900})
    first = WIDGETS[widget][2][0][2]
    for i in range(page.locator("select option").count()):
        page.evaluate("([name, i]) => model.set(name, i)", [first, i])
        settle(page)
        cuts_nothing_off(page)


def test_a_click_on_a_row_chooses_the_query(stage):
    page = stage(make(MaskExplorer, mask="causal", query=0))
    grid = page.get_by_role("img", name="Grid: one row for each query")
    box = grid.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 10)
    settle(page)
    assert trait(page, "query") == 7 and "may look at 8 of 8" in page.locator(".ta-readout").text_content()


def test_a_leak_is_called_one_and_crossed_out(stage):
    assert words(stage(make(MaskExplorer, mask="causal"))) == ["", "no leak", "", "same"]
    wrong = {**MASKS, "causal_mask": lambda T, S=None: torch.ones(T, S or T).tril((S or T) - T + 1) > 0}
    page = stage(MaskExplorer(wrong, mask="causal"))
    assert words(page) == ["", "leak", "", "differs"]
    crosses = page.get_by_role("img", name="Grid: one row for each query").locator("path.ta-mark")
    assert crosses.count() == 7


def test_layers_extend_the_reach_of_a_narrow_mask(stage):
    narrow = {**MASKS, "causal_mask": lambda T, S=8: torch.ones(T, S).tril(S - T).triu(S - T - 1) > 0}
    page = stage(MaskExplorer(narrow, mask="causal", query=6, layers=1))
    assert "after 1 layer it depends on 2 of 8" in page.locator(".ta-readout").text_content()
    find(page, "slider", "layers").press("End")
    settle(page)
    assert "after 4 layers it depends on 5 of 8" in page.locator(".ta-readout").text_content()


def test_the_lab_says_what_is_seen_and_asked(stage):
    page = stage(make(ObjectiveLab, objective="next_token_pairs", place=3))
    assert "sees one dog saw two → must predict “cats”" in page.locator(".ta-readout").text_content()
    page = stage(make(ObjectiveLab, objective="nsp_pair", place=0, draw=1))
    assert "must predict “random”" in page.locator(".ta-readout").text_content()
    wrong = {**OBJECTIVES, "next_token_pairs": lambda ids: (ids[:, :-1], ids[:, :-1])}
    assert words(stage(ObjectiveLab(wrong))) == ["", "", "differs"]

"""Tier 2 of SparseExplorer: the script alone in Chromium, and the exported page."""

import pytest
from anatomy.widgets import SparseExplorer
from anatomy.widgets.sparse_scenes import KINDS, LAYERS, SCENES, T

from autograder.recording.widgets import PATTERNS

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
from .test_sparse_tables import WRONG, show

pytestmark = pytest.mark.browser

CONTROLS = [
    ("combobox", "pattern", "pattern", "ArrowDown"), ("slider", "size", "size", "ArrowRight"),
    ("slider", "query", "query", "ArrowLeft"), ("slider", "layers", "layers", "ArrowRight"),
]
GRID = "Grid: one row for each query"


def said(page):
    return page.locator(".ta [aria-live=polite]").text_content()


@pytest.mark.parametrize("role, name, trait_name, key", CONTROLS, ids=[c[2] for c in CONTROLS])
def test_keyboard_moves_every_control_and_the_picture(stage, role, name, trait_name, key):
    assert moves_by_keyboard(stage(SparseExplorer(PATTERNS)), role, name, trait_name, key)


def test_all_controls_are_listed_named_and_keep_their_keys(stage):
    names_its_controls(stage(SparseExplorer(PATTERNS)), SparseExplorer, CONTROLS)


def test_every_pattern_and_size_says_what_python_says(stage):
    """The page counts by itself; both must agree, and what the lines reach must be what the table says."""
    widget = SparseExplorer(PATTERNS)
    page = stage(widget)
    for i, scene in enumerate(SCENES):
        show(widget, scene)
        widget.layers, widget.query = 1 + i % LAYERS, (7 * i) % T
        for name in SparseExplorer.controls:
            page.evaluate("([name, value]) => model.set(name, value)", [name, getattr(widget, name)])
        settle(page)
        found, cells = widget.facts(), page.locator(".ta-number").all_text_contents()
        assert cells[0] == f"{found['pairs']} of 400" and cells[1].startswith(f"{found['all_pairs']} of ")
        assert cells[2] == f"{found['reached']} of 20" and cells[4] == "0"
        assert cells[3] == (str(found["full"]) if found["full"] else "more than 8"), KINDS[scene.kind].name
        drawn = page.get_by_role("img", name="Layers of words").get_attribute("data-inputs")
        assert [int(j) for j in drawn.split()] == widget.reached()[widget.query].nonzero()[0].tolist()
        assert "undefined" not in said(page) and "NaN" not in said(page)


def test_a_click_on_a_row_chooses_the_query(stage):
    page = stage(SparseExplorer(PATTERNS, query=0))
    box = page.get_by_role("img", name=GRID).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 12)
    settle(page)
    assert trait(page, "query") == T - 1 and "query 19 looks at 17 to 19" in said(page)


def test_the_size_rests_where_there_is_only_one(stage):
    page = stage(SparseExplorer(PATTERNS, pattern="full, causal"))
    assert find(page, "slider", "size").is_disabled()
    find(page, "combobox", "pattern").press("ArrowDown")
    settle(page)
    assert find(page, "slider", "size").is_enabled() and "window, causal, 3 keys" in said(page)


def test_layers_grow_the_field(stage):
    page = stage(SparseExplorer(PATTERNS, size=1, query=12))
    for n, reached in ((1, 2), (2, 3), (3, 4), (4, 5)):
        assert f"it depends on {reached} of 20 words" in said(page) and f"after {n} layer" in said(page)
        find(page, "slider", "layers").press("ArrowRight")
        settle(page)


def test_wrong_cells_are_crossed_out_and_told(stage):
    words = lambda page: page.locator(".ta-word").all_text_contents()[-1]
    page = stage(SparseExplorer(PATTERNS, pattern="blocks"))
    assert words(page) == "same"
    page = stage(SparseExplorer({**PATTERNS, "block_mask": WRONG["block_mask"]}, pattern="blocks"))
    crosses = page.get_by_role("img", name=GRID).locator("path.ta-mark").count()
    assert words(page) == "differs" and page.locator(".ta-number").all_text_contents()[-1] == str(crosses) != "0"


def test_refresh_and_cleanup(stage):
    fresh = SparseExplorer(dict.fromkeys(PATTERNS, unfinished))
    page = stage(fresh)
    assert "the reference" in page.locator(".ta-caption").first.text_content()
    draws_refreshed_tables(page, fresh, PATTERNS)
    assert "yours" in page.locator(".ta-caption").first.text_content()
    leaves_nothing_behind(page)


@SCHEMES
def test_exported_page_works_and_reads_well_in_either_scheme(browser, tmp_path, scheme):
    def moves(page):
        find(page, "slider", "layers").press("ArrowRight")
        page.wait_for_function("() => document.querySelector('.ta').dataset.key.endsWith(',5')")

    path = SparseExplorer(PATTERNS, layers=4).save_html(tmp_path / "page.html")
    exports_a_readable_page(browser, path, scheme, moves)


@pytest.mark.parametrize("width", [900, 860])
def test_nothing_is_cut_off_or_overlaps(stage, width):
    page = stage(SparseExplorer(PATTERNS), viewport={"width": width, "height": 900})
    for k in range(len(KINDS)):
        for layers in (1, LAYERS):
            page.evaluate("([k, n]) => { model.set('pattern', k); model.set('layers', n); }", [k, layers])
            settle(page)
            cuts_nothing_off(page)

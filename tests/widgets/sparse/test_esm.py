"""Tier 2 of SparseExplorer: its script alone in Chromium, beyond what every widget promises."""

import pytest
from anatomy.widgets import SparseExplorer
from anatomy.widgets.sparse.scenes import KINDS, LAYERS, SCENES, T

from autograder.recording.widgets.sparse import PATTERNS

from ..page import find, said, settle, trait, words
from .case import CASE
from .test_tables import WRONG, show

pytestmark = pytest.mark.browser

GRID = "Grid: one row for each query"


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
    page = stage(SparseExplorer(PATTERNS, pattern="blocks"))
    assert words(page)[-1] == "same"
    page = stage(SparseExplorer({**PATTERNS, "block_mask": WRONG["block_mask"]}, pattern="blocks"))
    crosses = page.get_by_role("img", name=GRID).locator("path.ta-mark").count()
    assert words(page)[-1] == "differs" and page.locator(".ta-number").all_text_contents()[-1] == str(crosses) != "0"


def test_the_caption_tells_whose_pattern_is_drawn(stage):
    caption = lambda page: page.locator(".ta-caption").first.text_content()
    assert "the reference" in caption(stage(CASE.stubs()))
    assert "yours" in caption(stage(CASE.usual))

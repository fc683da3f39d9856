"""Tier 2 of SparseExplorer: its script alone in Chromium; test_promises.py tests what all widgets share."""

import numpy as np
import pytest
from anatomy.widgets import SparseExplorer
from anatomy.widgets.sparse.scenes import KINDS, LAYERS, SCENES, T

from autograder.recording.widgets.sparse import PATTERNS

from ..page import find, said, settle, trait, words
from .case import CASE
from .test_tables import WRONG, show

pytestmark = pytest.mark.browser

GRID, WAYS, SMALL = "Grid: one row for each query", "Layers of tokens", "All patterns in small"


def area(page, name):
    """The part of that picture that reacts to the pointer."""
    return page.get_by_role("group", name=name).locator(".ta-area")


def at(page, name, column, row, columns, rows):
    """Page position of that cell."""
    box = area(page, name).bounding_box()
    return box["x"] + (column + 0.5) * box["width"] / columns, box["y"] + (row + 0.5) * box["height"] / rows


def point(page, *cell):
    page.mouse.move(*at(page, *cell))
    settle(page)


def click(page, *cell):
    page.mouse.click(*at(page, *cell))
    page.mouse.move(1, 1)
    settle(page)


def shown(page):
    return page.locator(".ta-readout").text_content()


def lit(page):
    return page.get_by_role("group", name=WAYS).locator("circle.ta-lit").count()


def bars(page):
    """(numbers, filled share) of both bars: the pairs scored, and the tokens that reach the query."""
    return page.locator(".ta-svg[aria-label^='Bars']").evaluate("""(e) => {
      const width = (r) => Number(r.getAttribute('width'));
      const widths = (kind) => [...e.querySelectorAll(`rect.${kind}`)].map(width);
      const [frames, filled] = ['ta-axis', 'ta-fill-one'].map(widths);
      return filled.map((wide, i) => [e.querySelectorAll('text')[2 * i + 1].textContent, wide / frames[i]]); }""")


def later(widget):
    """The number of layers beyond those on show, for the pattern of a widget; "never" if the ways end before."""
    kind = KINDS[widget.pattern]
    masks = widget.masks()[: kind.masks] | np.eye(T, dtype=bool)
    wanted = np.ones((T, T)) if kind.ahead else np.tri(T)
    reached = np.eye(T)
    for n in range(1, 1 + T * kind.masks):
        reached = (masks[(n - 1) % kind.masks] @ reached > 0).astype(float)
        if (reached >= wanted).all():
            return str(n)
    return "never"


def test_every_pattern_and_size_says_what_python_says(stage):
    """The page does its own counting; it must agree with Python, and its lines must reach what the table says."""
    widget = SparseExplorer(PATTERNS)
    page = stage(widget)
    for i, scene in enumerate(SCENES):
        show(widget, scene)
        widget.layers, widget.query = 1 + i % LAYERS, (7 * i) % T
        for name in SparseExplorer.controls:
            page.evaluate("([name, value]) => model.set(name, value)", [name, getattr(widget, name)])
        settle(page)
        found, cells = widget.facts(), page.locator(".ta-number").all_text_contents()
        assert cells[1] == "0"
        assert cells[0] == (str(found["full"]) if found["full"] else later(widget)), KINDS[scene.kind].name
        ahead = KINDS[scene.kind].ahead
        every = widget.layers * (T * T if ahead else T * (T + 1) // 2)
        most = T if ahead else widget.query + 1
        shares = bars(page)
        assert [told for told, _ in shares] == [
            f"{found['all_pairs']} of {every}: {int(100 * found['all_pairs'] / every + 0.5)} %",
            f"{found['reached']} of {most}: {int(100 * found['reached'] / most + 0.5)} %",
        ]
        assert [share for _, share in shares] == pytest.approx(
            [found["all_pairs"] / every, found["reached"] / most], abs=1e-3
        )
        drawn = page.get_by_role("group", name=WAYS).get_attribute("data-inputs")
        assert [int(j) for j in drawn.split()] == widget.reached()[widget.query].nonzero()[0].tolist()
        assert "undefined" not in said(page) and "NaN" not in said(page)


def test_a_click_on_a_row_chooses_the_query_and_keys_reach_it_too(stage):
    page = stage(SparseExplorer(PATTERNS, query=0))
    click(page, GRID, 18, 19, T, T)
    assert trait(page, "query") == T - 1 and "query 19 looks at 17 to 19" in said(page)
    kept = shown(page)
    page.keyboard.press("Escape")
    settle(page)
    assert trait(page, "query") == T - 1 and "mask[" not in shown(page)
    page = stage(SparseExplorer(PATTERNS, query=17))
    area(page, GRID).focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    settle(page)
    assert shown(page) == kept and "mask[19, 18] = True" in kept


def test_pointing_at_a_cell_says_if_it_is_scored_or_on_which_way_it_arrives(stage):
    page = stage(SparseExplorer(PATTERNS, query=0, layers=4))
    point(page, GRID, 12, 14, T, T)
    assert "mask[14, 12] = True in layer 4 (rule: 0 ≤ i − j < 3): the pair is scored" in shown(page)
    point(page, GRID, 6, 14, T, T)
    assert "mask[14, 6] = False" in shown(page) and "token 6 arrives by 14 ← 12 ← 10 ← 8 ← 6" in shown(page)
    assert lit(page) == 5  # one token in each layer, and the input
    point(page, GRID, 5, 14, T, T)
    assert "no path yet from 5 to 14, one after 5 layers" in shown(page) and lit(page) == 1
    page.mouse.move(1, 1)
    settle(page)
    assert trait(page, "query") == 0 and "query 0 looks" in shown(page) and lit(page) == 0


def test_every_way_that_is_named_goes_by_scored_pairs(stage):
    """Also in patterns whose layers differ: each step is a pair of its layer, or stays at the token."""
    for pattern in ("strided: near and far in turn", "window, global and random (BigBird)", "hybrid: 3 local, 1 full"):
        widget = SparseExplorer(PATTERNS, pattern=pattern, size=0, layers=5)
        page, seen = stage(widget), 0
        for query, key in ((19, 4), (13, 1), (17, 6), (9, 2)):
            point(page, GRID, key, query, T, T)
            if "arrives by" not in shown(page):
                continue
            way = [int(p) for p in shown(page).split("arrives by ")[1].split(" ← ")]
            assert way[0] == query and way[-1] == key
            at, layer = way[0], widget.layers
            for target in way[1:]:
                while not widget.masks()[layer - 1, at, target]:
                    layer -= 1  # stays at the token
                at, layer, seen = target, layer - 1, seen + 1
            assert layer >= 0
        assert seen


def test_pointing_at_a_token_counts_its_ways(stage):
    widget = SparseExplorer(PATTERNS, layers=4)
    page = stage(widget)
    step = (widget.masks()[0] | np.eye(T, dtype=bool)).astype(int)
    point(page, WAYS, 11, 4, T, 5)
    count = int(np.linalg.matrix_power(step, 4)[14, 11])
    terms = [str(n) for n in np.linalg.matrix_power(step, 3)[12:15, 11]]
    assert f"paths from input token 11 to query 14 = {' + '.join(terms)} = {count}" in shown(page)
    point(page, WAYS, 12, 1, T, 5)
    assert "paths from token 12 of layer 3 to query 14 = 1" in shown(page) and lit(page) == 2
    click(page, WAYS, 3, 0, T, 5)
    assert trait(page, "query") == 3


def test_tokens_of_the_ways_are_walked_by_keys(stage):
    page = stage(SparseExplorer(PATTERNS, layers=2))
    area(page, WAYS).focus()
    for key in ("ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    settle(page)
    assert "paths from token 13 of layer 1 to query 14 = 1" in shown(page) and trait(page, "query") == 14


@pytest.mark.parametrize("width, across", [(820, 6), (390, 6)])
def test_small_pictures_are_compared_by_pointing_and_kept_by_a_click_or_a_key(stage, width, across):
    """Each stands over its name, on a phone in two rows."""
    page = stage(SparseExplorer(PATTERNS, step=1), viewport={"width": width, "height": 1500})
    grid = (across, len(KINDS) // across)
    names = page.get_by_role("group", name=SMALL).locator("text").all_text_contents()
    assert names == [kind.short for kind in KINDS]
    for k in (3, 7):
        point(page, SMALL, k % across, k // across, *grid)
        assert shown(page).startswith(KINDS[k].name) and trait(page, "pattern") == 1
    click(page, SMALL, 7 % across, 7 // across, *grid)
    assert trait(page, "pattern") == 7
    page.keyboard.press("ArrowRight")
    settle(page)
    assert trait(page, "pattern") == 8 and shown(page).startswith(KINDS[8].name)
    assert KINDS[8].name in area(page, SMALL).get_attribute("aria-valuetext" if across == len(KINDS) else "aria-label")


def test_layers_are_added_by_a_step_and_played(stage):
    page = stage(SparseExplorer(PATTERNS, layers=LAYERS - 1), reduced_motion="no-preference")
    step = find(page, "button", "Add a layer")
    for n in (LAYERS, 1):
        step.press("Enter")
        assert trait(page, "layers") == n
    find(page, "button", "Play layers").press("Enter")
    page.wait_for_function("() => model.get('layers') > 2")
    page = stage(SparseExplorer(PATTERNS), reduced_motion="reduce")
    assert page.get_by_role("button", name="Play layers").count() == 0


def test_no_hole_stands_above_the_ways(stage):
    """The query's token and the input keep their heights, whatever the number of layers."""
    page = stage(SparseExplorer(PATTERNS, layers=1))
    heights = set()
    for n in range(1, LAYERS + 1):
        page.evaluate("(n) => model.set('layers', n)", n)
        settle(page)
        rows = (
            page.get_by_role("group", name=WAYS)
            .locator("circle")
            .evaluate_all("(all) => all.map((c) => +c.getAttribute('cy'))")
        )
        assert len(set(rows)) == n + 1
        heights.add((min(rows), max(rows)))
    assert len(heights) == 1 and min(heights)[0] < 20


def test_the_size_rests_where_there_is_only_one(stage):
    page = stage(SparseExplorer(PATTERNS, pattern="full, causal"))
    assert find(page, "slider", "size").is_disabled()
    find(page, "combobox", "pattern").press("ArrowDown")
    settle(page)
    assert find(page, "slider", "size").is_enabled() and "window, causal, 3 keys" in said(page)


def test_layers_grow_the_field(stage):
    page = stage(SparseExplorer(PATTERNS, size=1, query=12))
    for n, reached in ((1, 2), (2, 3), (3, 4), (4, 5)):
        assert f"it depends on {reached} of 20 tokens" in said(page) and f"after {n} layer" in said(page)
        find(page, "slider", "layers").press("ArrowRight")
        settle(page)


def test_wrong_cells_are_crossed_out_and_told(stage):
    page = stage(SparseExplorer(PATTERNS, pattern="blocks"))
    assert words(page)[-1] == "same"
    page = stage(SparseExplorer({**PATTERNS, "block_mask": WRONG["block_mask"]}, pattern="blocks"))
    crosses = page.get_by_role("group", name=GRID).locator("path.ta-mark").count()
    assert words(page)[-1] == "differs" and page.locator(".ta-number").all_text_contents()[-1] == str(crosses) != "0"


def test_the_caption_tells_whose_pattern_is_drawn(stage):
    caption = lambda page: page.locator(".ta-caption").first.text_content()
    assert "the reference" in caption(stage(CASE.stubs()))
    assert "yours" in caption(stage(CASE.usual))


def test_full_attention_fills_both_bars_and_a_window_neither(stage):
    page = stage(SparseExplorer(PATTERNS, pattern="full, causal"))
    assert bars(page) == [["210 of 210: 100 %", 1], ["15 of 15: 100 %", 1]]
    find(page, "combobox", "pattern").press("ArrowDown")
    settle(page)
    assert [told for told, _ in bars(page)] == ["57 of 210: 27 %", "3 of 15: 20 %"]
    assert all(share < 0.3 for _, share in bars(page))


def test_what_an_indexer_rates_is_tinted_and_named_and_nothing_is_where_there_is_none(stage):
    page = stage(SparseExplorer(PATTERNS))
    tint = page.get_by_role("group", name=GRID).locator("path[style*='--ta-soft']")
    for pattern, kind in enumerate(KINDS):
        page.evaluate("(k) => model.set('pattern', k)", pattern)
        settle(page)
        cells = T * (T + 1) // 2 if kind.function == "best_visible" else 0
        assert (tint.get_attribute("d") or "").count("z") == cells, kind.name
        assert page.locator(".ta-caption").first.text_content().startswith("Rated") == (cells > 0)


def test_the_dotted_line_is_named_where_one_is_drawn(stage):
    page = stage(SparseExplorer(PATTERNS))
    named = lambda: "dotted" in page.locator(".ta-caption", has_text="What reaches the query").text_content()
    dotted = lambda: page.get_by_role("group", name=WAYS).locator("path[style*=dasharray]").get_attribute("d") != ""
    seen = set()
    for pattern in range(len(KINDS)):
        page.evaluate("(k) => model.set('pattern', k)", pattern)
        settle(page)
        assert named() == dotted()
        seen.add(named())
    assert seen == {True, False}

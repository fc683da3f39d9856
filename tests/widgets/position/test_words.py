"""Tier 2 of PositionExplorer: where nothing tells places apart, the row of words, and captions of what is drawn."""

import re

import pytest
from anatomy.widgets import PositionExplorer
from anatomy.widgets.position import NAMES, T

from ..page import find, said, settle, trait
from ..stages import set_state
from .case import CASE
from .learners import POSITIONS
from .test_esm import colors, on_map, readout, strip

pytestmark = pytest.mark.browser


def chips(page):
    """(place, color) of each word on show, in order."""
    return strip(page).evaluate("""(e) => {
      const rects = [...e.querySelectorAll('rect')].filter((r) => r.getAttribute('rx'));
      const places = [...e.querySelectorAll('text')].filter((t) => /^\\d+$/.test(t.textContent));
      return rects.map((r, i) => [Number(places[i].textContent), r.style.fill.match(/\\d+/g).map(Number)]); }""")


@pytest.mark.parametrize("width, shown", [(820, T), (390, 14)])
def test_words_have_the_colors_of_the_framed_row(stage, width, shown):
    """All of them, or those around the query, as the learner's function has made them."""
    widget = PositionExplorer({**POSITIONS, "alibi_bias": lambda m, n, s: -POSITIONS["alibi_bias"](m, n, s)})
    page = stage(widget, viewport={"width": width, "height": 900})
    for query in (20, 0, 31):
        set_state(page, {**widget.story[1].state, "query": query, "step": 1, "alone": True})
        widget.scheme, widget.variant, widget.query = NAMES.index("ALiBi"), 1, query
        right = colors(widget.scores())[query].astype(int).tolist()
        found = chips(page)
        assert len(found) == shown and query in [p for p, _ in found]
        assert all(abs(a - b) <= 1 for p, color in found for a, b in zip(color, right[p], strict=True))
        assert [p for p, _ in found] == list(range(found[0][0], found[0][0] + shown))


def test_a_word_is_pointed_at_clicked_and_reached_by_keys(stage):
    page = stage(CASE.make())
    set_state(page, {**PositionExplorer.story[1].state, "step": 1, "alone": True})
    area = page.get_by_role("slider", name="Words")
    box = area.bounding_box()
    page.mouse.move(box["x"] + 12.5 / T * box["width"], box["y"] + 8)
    settle(page)
    assert "S[20, 12] = −1/4 · |−8| = −2.00" in readout(page) and trait(page, "query") == 20
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(2, 2)
    page.keyboard.press("ArrowRight")
    settle(page)
    assert "S[20, 13]" in readout(page)
    page.mouse.move(*on_map(page, 9, 14))  # the map's row is the words' row
    settle(page)
    framed = strip(page).locator("rect[style*='--ta-ink']").get_attribute("x")
    assert float(framed) == pytest.approx(1 + 9 * box["width"] / T, abs=0.5)


def test_without_a_scheme_nothing_can_be_told_apart_and_then_a_scheme_is_switched_on(stage):
    page = stage(CASE.make())
    assert len({str(color) for _, color in chips(page)}) == 1 and "32 keys its largest score" in said(page)
    assert not find(page, "slider", "terms").is_visible(), "there is no variant to choose"
    ends = page.locator(".ta-svg[aria-label^='Heatmap'] text").all_text_contents()
    assert "+1" in ends and not any("e−" in text for text in ends)
    find(page, "combobox", "scheme").select_option(label="ALiBi")
    settle(page)
    assert find(page, "slider", "slope").is_visible() and not strip(page).is_visible()  # the eight are back
    set_state(page, {**PositionExplorer.story[1].state, "step": 1, "alone": True})
    assert len({str(color) for _, color in chips(page)}) == 21  # distances 0 to 20


BAND = "path[style*='fill-opacity']"


@pytest.mark.parametrize("scheme, variant, told", [
    ("no scheme", 0, "every distance has the same score"), ("ALiBi", 1, "each distance has one score"),
    ("sinusoidal", 1, "mean of a distance; band: all its pairs"),
])  # fmt: skip
def test_the_caption_speaks_of_a_band_only_where_one_is_drawn(stage, scheme, variant, told):
    page = stage(CASE.make(scheme=scheme, variant=variant))
    caption = page.locator(".ta-caption", has_text="Score against distance").text_content()
    band = page.get_by_role("group", name="Score against relative position").locator(BAND).get_attribute("d")
    assert told in caption and ("band" in caption) == bool(band)
    assert re.search("line: .*dashes: reference", caption) if scheme != "no scheme" else "dashes: every" in caption


def test_a_curve_with_gaps_has_no_band(stage):
    nothing = lambda slopes, n, s: POSITIONS["alibi_bias"](slopes, n, s) * float("nan")
    page = stage(PositionExplorer({**POSITIONS, "alibi_bias": nothing}, scheme="ALiBi"))
    caption = page.locator(".ta-caption", has_text="Score against distance").text_content()
    assert "mean of a distance" in caption and "band" not in caption

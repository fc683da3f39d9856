"""Tier 2 of PositionExplorer: where nothing tells places apart, the row of words, and captions of what is drawn."""

import re

import numpy as np
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
        widget.scheme, widget.variant, widget.query = NAMES.index("ALiBi"), 0, query
        right = colors(widget.scores())[query].astype(int).tolist()
        found = chips(page)
        assert len(found) == shown and query in [p for p, _ in found]
        assert all(abs(a - b) <= 1 for p, color in found for a, b in zip(color, right[p], strict=True))
        assert [p for p, _ in found] == list(range(found[0][0], found[0][0] + shown))


@pytest.mark.parametrize("step, variant", [(0, 0), (1, 0), (1, 7), (3, 2)])
def test_words_have_as_much_ink_as_softmax_gives_them_weight(stage, step, variant):
    widget = CASE.make(**{**PositionExplorer.story[step].state, "variant": variant})
    page = stage(widget)
    set_state(page, {"alone": True, "step": step})
    ink = strip(page).locator("text", has_text="dog").evaluate_all("(all) => all.map((e) => +e.style.fillOpacity)")
    weights = np.exp(widget.scores()[widget.query])
    assert ink == pytest.approx(weights / weights.max(), abs=1e-3)


def test_a_word_is_pointed_at_clicked_and_reached_by_keys(stage):
    page = stage(CASE.make())
    set_state(page, {**PositionExplorer.story[1].state, "step": 1, "alone": True})
    area = page.get_by_role("slider", name="Words")
    box = area.bounding_box()
    page.mouse.move(box["x"] + 12.5 / T * box["width"], box["y"] + 8)
    settle(page)
    assert "S[20, 12] = −1/2 · |−8| = −4.00" in readout(page) and trait(page, "query") == 20
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


def test_a_smaller_slope_pales_and_flattens(stage):
    """The slopes share their colors and the scale of the curve; kinds of projections have their own."""
    page = stage(CASE.make())
    ends = lambda: page.locator(".ta-svg[aria-label^='Heatmap'] text").all_text_contents()[-3:-1]
    low = lambda: [e for e in page.get_by_role("group", name="Score against relative position").locator("text")
                   .all_text_contents() if e == "−20"]  # fmt: skip
    pale, marks = [], []
    for variant in (0, 3, 7):
        set_state(page, {**PositionExplorer.story[1].state, "step": 1, "alone": True, "variant": variant})
        pale.append(dict(chips(page))[0][2])
        marks.append((ends(), low()))
    assert pale[0] < pale[1] < pale[2] and marks[0] == marks[1] == marks[2] and "−15.5" in marks[0][0]
    limits = set()
    for variant in range(3):
        set_state(page, {"scheme": NAMES.index("sinusoidal"), "variant": variant})
        limits.add(ends()[0])
    assert len(limits) == 2  # 16 twice


HATCHED = "path[style*='url(']"


@pytest.mark.parametrize("scheme, variant", [("learned absolute", 1), ("Shaw", 3), ("Shaw", 0), ("T5, causal", 2),
                                             ("T5, bidirectional", 0), ("DeBERTa", 0), ("ALiBi", 1)])  # fmt: skip
def test_what_no_training_text_trains_is_hatched_and_has_no_score(stage, scheme, variant):
    widget = CASE.make(scheme=scheme, variant=variant, trained=14)
    page = stage(widget)
    steps = {"learned absolute": 6, "Shaw": 5, "ALiBi": 1}  # which leave room for the row of words
    set_state(page, {"alone": True, "step": steps.get(scheme, 0)})
    assert strip(page).is_visible() == (scheme in steps)
    d = page.locator(".ta-svg[aria-label^='Heatmap']").locator(HATCHED).get_attribute("d")
    lacks = widget.untrained()
    cells = sum(int(n) // 6 for n in re.findall(r"h(\d+)", d))  # 6 px each; the way back has a minus
    assert cells == lacks.sum() and ("Hatched" in page.locator(".ta").text_content())
    marks = strip(page).locator("text", has_text=re.compile("^(\\?|dog)$")).all_text_contents()
    assert scheme not in steps or [m == "?" for m in marks] == lacks[20].tolist()
    dots = page.get_by_role("group", name="Score against relative position").locator("circle.ta-here")
    assert dots.evaluate_all("(all) => all.map((e) => e.style.visibility === 'hidden')") == lacks[20].tolist()
    page.mouse.move(*on_map(page, 20, 1))
    settle(page)
    assert ("never trained" in readout(page)) == lacks[20, 1]
    find(page, "slider", "trained on texts of").press("End")
    settle(page)
    assert page.locator(".ta-svg[aria-label^='Heatmap']").locator(HATCHED).get_attribute("d") == ""


def test_small_curves_end_where_their_numbers_are_not_trained(stage):
    page = stage(CASE.make(scheme="Shaw", variant=3))
    drawn = lambda: [len(d.split("L")) for d in page.get_by_role("group", name="The scores of every scheme").locator(
        "path.ta-mine").evaluate_all("(all) => all.map((e) => e.getAttribute('d'))")]  # fmt: skip
    assert drawn() == [2 * T - 1] * len(NAMES)
    set_state(page, {"trained": 16})
    assert dict(zip(NAMES, drawn(), strict=True)) == {
        **dict.fromkeys(NAMES, 63), "learned absolute": 31, "Shaw": 31, "T5, bidirectional": 31, "T5, causal": 47,
    }  # fmt: skip


def test_mere_rounding_is_no_spread(stage):
    """A page of the reference alone says 0; a learner's rounding is told as it is."""
    page = stage(PositionExplorer())
    set_state(page, {**PositionExplorer.story[2].state, "step": 2, "alone": True})
    assert page.locator(".ta-signs .ta-number").all_text_contents()[:2] == ["0", "0"]
    page = stage(CASE.make(scheme="sinusoidal"))
    assert page.locator(".ta-signs .ta-number").first.text_content() != "0"


BAND = "path[style*='fill-opacity']"


@pytest.mark.parametrize("scheme, variant, told", [
    ("no scheme", 0, "all distances alike"), ("ALiBi", 1, "one score a distance"),
    ("sinusoidal", 1, "mean; band: all pairs"),
])  # fmt: skip
def test_the_caption_speaks_of_a_band_only_where_one_is_drawn(stage, scheme, variant, told):
    page = stage(CASE.make(scheme=scheme, variant=variant))
    caption = page.locator(".ta-caption", has_text="Score against distance").text_content()
    band = page.get_by_role("group", name="Score against relative position").locator(BAND).get_attribute("d")
    assert told in caption and ("band" in caption) == bool(band)
    assert (
        re.search("line: .*dashes: reference", caption) if scheme != "no scheme" else "dashes: all distances" in caption
    )


def test_a_curve_with_gaps_has_no_band(stage):
    nothing = lambda slopes, n, s: POSITIONS["alibi_bias"](slopes, n, s) * float("nan")
    page = stage(PositionExplorer({**POSITIONS, "alibi_bias": nothing}, scheme="ALiBi"))
    caption = page.locator(".ta-caption", has_text="Score against distance").text_content()
    assert "line: mean;" in caption and "band" not in caption

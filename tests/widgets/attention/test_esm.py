"""Tier 2 of AttentionExplorer: its script alone in Chromium; test_promises.py tests what all widgets share."""

import math

import pytest
from anatomy.widgets import AttentionExplorer
from anatomy.widgets.attention import SENTENCES

from ..page import said, settle, trait, words
from .case import CASE
from .learners import columns_attention, right_attention

pytestmark = pytest.mark.browser


def test_attention_masked_cells_say_so_and_wrong_sums_show(stage):
    page = stage(CASE.make(step=2, mask="causal", query=1))
    bars = page.get_by_role("group", name="Bars: the weights of the query on show").locator(".ta-strong")
    assert bars.all_text_contents()[2:] == ["masked"] * 6
    page = stage(AttentionExplorer(columns_attention, mask="none"))
    assert words(page) == ["broken", "", "differs"]


def test_attention_says_which_word_and_survives_nan(stage):
    widget = CASE.make(sentence=2, layer=1, head=2, query=4)
    row = widget.weights()[4]
    assert f"largest weight {row.max():.2f} on “{SENTENCES[2][row.argmax()]}”" in said(stage(widget))
    heard = said(stage(AttentionExplorer(lambda q, k, v, mask=None: v * float("nan"))))
    assert "largest weight NaN" in heard and "undefined" not in heard


def test_attention_numbers_in_cells_can_be_read(stage):
    """Black or white text on each shade between the page's color and the ends of the palette."""
    page = stage(CASE.make(step=2))
    page.add_script_tag(
        type="module",
        content=AttentionExplorer._esm.replace(
            "export default widget;",
            """
      const light = (rgb) => rgb.map((v) => v / 255)
        .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      window.worst = Math.min(...[false, true].flatMap((dark) => Array.from({length: 201}, (_, i) => {
        const rgb = palette(dark).at((i - 100) / 100);
        const [a, b] = [light(rgb), inkOn(rgb) === "#000" ? 0 : 1].sort((x, y) => y - x);
        return (a + 0.05) / (b + 0.05);
      })));""",
        ),
    )
    page.wait_for_function("() => window.worst")
    assert page.evaluate("() => worst") >= 4.5


def shown(page):
    """Text of the readout, even while its aria-live is off."""
    return page.locator(".ta-readout").text_content()


def spot(page, name, column, row, columns, rows):
    """Page position of the center of a cell in the area with that name."""
    box = page.locator(f".ta-area[aria-label^='{name}']").bounding_box()
    return box["x"] + (column + 0.5) * box["width"] / columns, box["y"] + (row + 0.5) * box["height"] / rows


def cell(page, query, key):
    return spot(page, "Weights", key, query, 8, 8)


def lit(page):
    """The marked row of the map, column of the map and row of the bars; None for each that is not marked."""
    return page.evaluate("""() => {
      const marks = [...document.querySelectorAll('.ta-panel rect.ta-mark')];
      const seen = (e) => (e.style.visibility === 'hidden' ? null : e);
      const at = (e, name, from, step) => (seen(e) && Math.round((e.getAttribute(name) - from) / step));
      const [column, row, bar] = marks;
      return [at(row, 'y', 20, 25), at(column, 'x', 50, column.getAttribute('width')), at(bar, 'y', 20, 25)];
    }""")


def test_attention_a_cell_pointed_at_shows_its_softmax_and_lights_every_panel(stage):
    widget = CASE.make(step=2)
    page = stage(widget)
    quiet = shown(page)
    assert lit(page) == [4, None, None]
    page.mouse.move(*cell(page, 6, 4))
    settle(page)
    assert lit(page) == [6, 4, 4] and trait(page, "query") == 4
    q, k = (widget._inputs[name][0, 8].double() for name in "qk")
    score = float(q[6] @ k[4]) / math.sqrt(40)
    whole = sum(math.exp(float(q[6] @ k[n]) / math.sqrt(40)) for n in range(7))
    pointed = shown(page).replace("\u2212", "-")
    assert f"w[6, 4] = exp({score:.1f}) ÷ (" in pointed and f") = {math.exp(score) / whole:.3f}" in pointed
    assert f"s[6, 4] = q[6]·k[4] ÷ √40 = {float(q[6] @ k[4]):.1f} ÷ √40 = {score:.1f}" in pointed
    assert f"gives “well” the weight {widget.weights()[6, 4]:.3f}" in pointed
    page.mouse.move(*cell(page, 2, 6))
    settle(page)
    assert "the causal mask sets s[2, 6] = \u2212∞" in shown(page)
    page.mouse.move(1, 1)
    settle(page)
    assert shown(page) == quiet and lit(page) == [4, None, None]


def test_attention_a_click_keeps_a_cell_escape_lets_go_and_keys_do_the_same(stage):
    page = stage(CASE.make(step=2))
    page.mouse.click(*cell(page, 5, 1))
    page.mouse.move(1, 1)
    settle(page)
    assert trait(page, "query") == 5 and lit(page) == [5, 1, 1]
    kept = shown(page)
    page.keyboard.press("Escape")
    settle(page)
    assert lit(page) == [5, None, None] and trait(page, "query") == 5
    page = stage(CASE.make(step=2))
    area = page.locator(".ta-area[aria-label^='Weights']")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        area.press(key)
    settle(page)
    assert trait(page, "query") == 5 and lit(page) == [5, 1, 1] and shown(page) == kept
    page.mouse.click(*spot(page, "Key", 0, 3, 1, 8))  # the bars keep the query
    settle(page)
    assert lit(page) == [5, 3, 3]


def test_attention_words_choose_the_query_and_small_maps_the_head(stage):
    widget = CASE.make(step=2)
    page = stage(widget)
    page.mouse.move(*spot(page, "query token", 2, 0, 8, 1))
    settle(page)
    assert (
        lit(page)[0] == 2
        and "“him” may look at 3 of 8 words; its weights add up to 1.00" in shown(page)
        and trait(page, "query") == 4
    )
    page.mouse.down()
    page.mouse.move(*spot(page, "query token", 5, 0, 8, 1))  # moves along with the pointer
    page.mouse.up()
    settle(page)
    assert trait(page, "query") == 5
    page.mouse.move(*spot(page, "All heads", 1, 3, 4, 4))
    settle(page)
    widget.layer, widget.head, widget.query = 3, 1, 5
    drawn = [t for t in page.locator(".ta-onfill").all_text_contents()[40:48] if t != "·"]
    assert drawn == [f"{x:.2f}" for x in widget.weights()[5][:6]]
    assert (trait(page, "layer"), trait(page, "head")) == (2, 0)
    page.mouse.down()
    page.mouse.up()
    assert (trait(page, "layer"), trait(page, "head")) == (3, 1)
    page.locator(".ta-area[aria-label^='All heads']").press("ArrowUp")
    assert (trait(page, "layer"), trait(page, "head")) == (2, 1)


def test_attention_a_wrong_weight_stands_beside_the_expected_one(stage):
    page = stage(AttentionExplorer(columns_attention, mask="none"))
    page.mouse.move(*cell(page, 0, 0))
    settle(page)
    expected = AttentionExplorer(right_attention, mask="none").weights()[0, 0]
    assert f"(expected {expected:.3f})" in shown(page) and f") = {expected:.3f}" in shown(page)

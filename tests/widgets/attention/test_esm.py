"""Tier 2 of AttentionExplorer: its script alone in Chromium, beyond what every widget promises."""

import pytest
from anatomy.widgets import AttentionExplorer
from anatomy.widgets.attention import SENTENCES

from ..page import said, words
from .case import CASE
from .learners import columns_attention

pytestmark = pytest.mark.browser


def test_attention_masked_cells_say_so_and_wrong_sums_show(stage):
    page = stage(CASE.make(mask="causal", query=1))
    bars = page.get_by_role("img", name="Bars: the weights of the query on show").locator(".ta-strong")
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
    """Black or white on every shade between the page and the palette's ends."""
    page = stage(CASE.make())
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

"""Tier 2 of the first widgets: their scripts alone in Chromium, beyond what every widget promises."""

import pytest
from anatomy.widgets import (
    AttentionExplorer,
    PermutationExplorer,
    RopeExplorer,
    WavelengthExplorer,
)

from .cases import CASES, find, said, settle, trait, words
from .learners import columns_attention, right_frequencies, sign_rope

pytestmark = pytest.mark.browser


def test_rope_play_moves_both_and_the_score_stands_still(stage):
    page = stage(CASES["RopeExplorer"].make(m=60, n=55))
    score = said(page).split("score")[1]
    page.get_by_role("button", name="Play: advance both").press("Enter")
    seen = set()
    for _ in range(8):
        page.wait_for_timeout(160)
        seen.add(tuple(page.evaluate("() => [model.get('m'), model.get('n')]")))
    assert len(seen) > 3 and all(m - n == 5 for m, n in seen)
    assert page.locator(".ta-readout").get_attribute("aria-live") == "off"
    page.get_by_role("button", name="Pause").press("Space")
    stopped = trait(page, "m")
    page.wait_for_timeout(400)
    assert trait(page, "m") == stopped
    assert said(page).split("score")[1] == score
    page.get_by_role("button", name="Play: advance both").press("Enter")
    page.evaluate("() => cleanup()")
    stopped = trait(page, "m")
    page.wait_for_timeout(400)
    assert trait(page, "m") == stopped


def test_rope_with_reduced_motion_steps_but_does_not_play(stage):
    page = stage(CASES["RopeExplorer"].make(), reduced_motion="reduce")
    assert page.get_by_role("button", name="Play: advance both").count() == 0
    page.get_by_role("button", name="Step both +1").press("Enter")
    assert (trait(page, "m"), trait(page, "n")) == (10, 5)


def test_first_change_of_a_frame_is_drawn_at_once_and_later_ones_with_it(stage):
    drawn = stage(CASES["RopeExplorer"].make(m=9, n=4)).evaluate("""async () => {
      const key = () => document.querySelector('.ta').dataset.key.split(',')[0];
      const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      const seen = [];
      await frame();
      await frame();
      model.set('m', 10); model.set('m', 11); seen.push(key());
      await null; seen.push(key());
      model.set('m', 12); await null; seen.push(key());
      model.set('m', 13); await frame(); seen.push(key());
      return seen;
    }""")
    assert drawn == ["9", "11", "11", "13"]


def test_rope_words_beside_the_numbers(stage):
    good = words(stage(CASES["RopeExplorer"].make()))
    assert good == ["ok", "ok", "same"]
    bad = words(stage(RopeExplorer(sign_rope)))
    assert bad == ["broken", "broken", "differs"]


def test_rope_that_gives_nan_is_said_and_not_drawn(stage):
    page = stage(RopeExplorer(lambda x, position_ids, base=1e4: x * float("nan")))
    assert "NaN" in said(page)
    assert words(page) == ["broken", "broken", "differs"]
    assert page.locator("circle.ta-here").evaluate("(e) => e.style.visibility") == "hidden"


def test_attention_masked_cells_say_so_and_wrong_sums_show(stage):
    page = stage(CASES["AttentionExplorer"].make(mask="causal", query=1))
    bars = page.get_by_role("img", name="Bars: the weights of the query on show").locator(".ta-strong")
    assert bars.all_text_contents()[2:] == ["masked"] * 6
    page = stage(AttentionExplorer(columns_attention))
    assert words(page) == ["broken", "", "differs"]


def test_attention_says_which_word_and_survives_nan(stage):
    assert "largest weight 0.37 on “river”" in said(stage(CASES["AttentionExplorer"].make(sentence=2, query=2)))
    heard = said(stage(AttentionExplorer(lambda q, k, v, mask=None: v * float("nan"))))
    assert "largest weight NaN" in heard and "undefined" not in heard


def test_attention_numbers_in_cells_can_be_read(stage):
    """Black or white on every shade between the page and the palette's ends."""
    page = stage(CASES["AttentionExplorer"].make())
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


def test_permutation_words_for_both_choices(stage):
    page = stage(CASES["PermutationExplorer"].make())
    assert words(page) == ["equal", "equal", "same"]
    find(page, "group", "positions").press("ArrowRight")
    settle(page)
    assert words(page) == ["differs, as it should"] * 2 + ["same"]
    page = stage(PermutationExplorer(lambda q, k, v, mask=None: v.cumsum(-2)))
    assert words(page) == ["broken", "broken", "differs"]


def test_wavelength_plane_beyond_a_smaller_dimension(stage):
    page = stage(CASES["WavelengthExplorer"].make(plane=127, dim=256))
    find(page, "slider", "head dimension D").press("Home")
    settle(page)
    assert "plane 15:" in said(page)
    assert page.get_by_role("slider", name="plane to read i").get_attribute("max") == "15"
    page = stage(WavelengthExplorer(lambda D, base=1e4: right_frequencies(D, base) * 0))
    assert words(page)[3:] == ["broken", "broken", "differs"]

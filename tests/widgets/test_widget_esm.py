"""Tier 2: each widget's script alone in Chromium with a fake model, and the exported page."""

import pytest
from anatomy.widgets import (
    AttentionExplorer,
    PermutationExplorer,
    RopeExplorer,
    WavelengthExplorer,
)

from .cases import WIDGETS, find, make
from .learners import columns_attention, right_frequencies, sign_rope, unfinished
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

CONTROLS = [(widget, *control) for widget, (_, controls) in WIDGETS.items() for control in controls]
EACH = pytest.mark.parametrize("widget", WIDGETS, ids=lambda w: w.__name__)


@pytest.mark.parametrize("widget, role, name, trait_name, key", CONTROLS,
                         ids=[f"{c[0].__name__}-{c[3]}" for c in CONTROLS])
def test_keyboard_moves_every_control_and_the_picture(stage, widget, role, name, trait_name, key):
    moves_by_keyboard(stage(make(widget)), role, name, trait_name, key)


@EACH
def test_every_focusable_element_keeps_its_keys_and_has_a_name(stage, widget):
    names_its_controls(stage(make(widget)), widget, WIDGETS[widget][1])


@EACH
def test_tab_reaches_every_control_and_shows_the_focus(stage, widget):
    page = stage(make(widget))
    reached = set()
    for _ in range(len(WIDGETS[widget][1]) + 4):
        page.keyboard.press("Tab")
        found = page.evaluate("""() => {
          const e = document.activeElement;
          const named = e.closest('fieldset')?.querySelector('legend') || e.labels?.[0];
          const name = e.labels?.length ? named.textContent : '';
          return [name, getComputedStyle(e).outlineStyle, parseFloat(getComputedStyle(e).outlineWidth)];
        }""")
        if found[0]:
            reached.add(found[0])
            assert found[1] != "none" and found[2] >= 2
    assert reached == set(page.locator(".ta-control label, .ta legend").all_text_contents())


@EACH
def test_readout_is_live_and_follows(stage, widget):
    page = stage(make(widget))
    readout = page.locator(".ta [aria-live=polite]")
    before = readout.text_content()
    for role, name, _, key in WIDGETS[widget][1]:
        find(page, role, name).press(key)
        settle(page)
    assert readout.text_content() != before and "NaN" not in readout.text_content()


@EACH
def test_cleanup_leaves_nothing_behind(stage, widget):
    leaves_nothing_behind(stage(make(widget)))


@EACH
def test_python_hears_the_last_state_even_when_the_view_closes(stage, widget):
    page = stage(make(widget))
    role, name, _, key = WIDGETS[widget][1][0]
    for _ in range(3):
        find(page, role, name).press(key)
    page.evaluate("() => cleanup()")
    saves = page.evaluate("() => model.saves")
    assert 1 <= saves <= 3  # the last at least; fewer than three when the keys come fast
    page.wait_for_timeout(400)
    assert page.evaluate("() => model.saves") == saves


@EACH
def test_refreshed_tables_are_drawn(stage, widget):
    fresh = widget(unfinished)
    draws_refreshed_tables(stage(fresh), fresh, WIDGETS[widget][0])


@EACH
@SCHEMES
def test_exported_page_works_from_a_file(browser, tmp_path, widget, scheme):
    path = make(widget).save_html(tmp_path / "page.html")
    context = browser.new_context(viewport={"width": 900, "height": 800}, color_scheme=scheme, offline=True)
    page, errors, asked = context.new_page(), [], []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector(".ta-svg")
    role, name, _, key = WIDGETS[widget][1][0]
    readout = page.locator(".ta-readout").text_content()
    find(page, role, name).press(key)
    settle(page)
    assert page.locator(".ta-readout").text_content() != readout
    assert page.evaluate("() => document.querySelector('.ta').dataset.theme") == scheme
    assert not errors and asked == [path.as_uri()]
    context.close()


@EACH
@SCHEMES
def test_all_words_can_be_read(browser, tmp_path, widget, scheme):
    exports_a_readable_page(browser, widget(unfinished).save_html(tmp_path / "page.html"), scheme)


@EACH
@pytest.mark.parametrize("width", [900, 830])
def test_nothing_is_cut_off_or_overlaps(stage, widget, width):
    page = stage(make(widget), viewport={"width": width, "height": 900})
    cuts_nothing_off(page, ".ta-svg text:not(.ta-strong)")


@EACH
def test_lab_theme_wins_over_the_systems(stage, widget):
    page = stage(make(widget), color_scheme="light")
    before = page.locator(".ta").screenshot()
    page.evaluate("() => { document.body.dataset.jpThemeLight = 'false' }")
    settle(page)
    assert page.evaluate("() => document.querySelector('.ta').dataset.theme") == "dark"
    assert page.locator(".ta").screenshot() != before


def test_rope_play_moves_both_and_the_score_stands_still(stage):
    page = stage(make(RopeExplorer, m=60, n=55))
    score = page.locator(".ta-readout").text_content().split("score")[1]
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
    assert page.locator(".ta-readout").text_content().split("score")[1] == score
    page.get_by_role("button", name="Play: advance both").press("Enter")
    page.evaluate("() => cleanup()")
    stopped = trait(page, "m")
    page.wait_for_timeout(400)
    assert trait(page, "m") == stopped


def test_rope_with_reduced_motion_steps_but_does_not_play(stage):
    page = stage(make(RopeExplorer), reduced_motion="reduce")
    assert page.get_by_role("button", name="Play: advance both").count() == 0
    page.get_by_role("button", name="Step both +1").press("Enter")
    assert (trait(page, "m"), trait(page, "n")) == (10, 5)


def test_rope_words_beside_the_numbers(stage):
    good = stage(make(RopeExplorer)).locator(".ta-word").all_text_contents()
    assert good == ["ok", "ok", "same"]
    bad = stage(RopeExplorer(sign_rope)).locator(".ta-word").all_text_contents()
    assert bad == ["broken", "broken", "differs"]


def test_rope_that_gives_nan_is_said_and_not_drawn(stage):
    page = stage(RopeExplorer(lambda x, position_ids, base=1e4: x * float("nan")))
    assert "NaN" in page.locator(".ta-readout").text_content()
    assert page.locator(".ta-word").all_text_contents() == ["broken", "broken", "differs"]
    assert page.locator("circle.ta-here").evaluate("(e) => e.style.visibility") == "hidden"


def test_attention_masked_cells_say_so_and_wrong_sums_show(stage):
    page = stage(make(AttentionExplorer, mask="causal", query=1))
    bars = page.get_by_role("img", name="Bars: the weights of the query on show").locator(".ta-strong")
    assert bars.all_text_contents()[2:] == ["masked"] * 6
    page = stage(AttentionExplorer(columns_attention))
    assert page.locator(".ta-word").all_text_contents() == ["broken", "", "differs"]


def test_attention_numbers_in_cells_can_be_read(stage):
    """Black or white on every shade between the page and the palette's ends."""
    page = stage(make(AttentionExplorer))
    page.add_script_tag(type="module", content=AttentionExplorer._esm.replace("export default widget;", """
      const light = (rgb) => rgb.map((v) => v / 255)
        .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      window.worst = Math.min(...[false, true].flatMap((dark) => Array.from({length: 201}, (_, i) => {
        const rgb = palette(dark).at((i - 100) / 100);
        const [a, b] = [light(rgb), inkOn(rgb) === "#000" ? 0 : 1].sort((x, y) => y - x);
        return (a + 0.05) / (b + 0.05);
      })));"""))
    page.wait_for_function("() => window.worst")
    assert page.evaluate("() => worst") >= 4.5


def test_permutation_words_for_both_choices(stage):
    page = stage(make(PermutationExplorer))
    assert page.locator(".ta-word").all_text_contents() == ["equal", "equal", "same"]
    find(page, "group", "positions").press("ArrowRight")
    settle(page)
    assert page.locator(".ta-word").all_text_contents() == ["differs, as it should"] * 2 + ["same"]
    page = stage(PermutationExplorer(lambda q, k, v, mask=None: v.cumsum(-2)))
    assert page.locator(".ta-word").all_text_contents() == ["broken", "broken", "differs"]


def test_wavelength_plane_beyond_a_smaller_dimension(stage):
    page = stage(make(WavelengthExplorer, plane=127, dim=256))
    find(page, "slider", "head dimension D").press("Home")
    settle(page)
    assert "plane 15:" in page.locator(".ta-readout").text_content()
    assert page.get_by_role("slider", name="plane to read i").get_attribute("max") == "15"
    page = stage(WavelengthExplorer(lambda D, base=1e4: right_frequencies(D, base) * 0))
    assert page.locator(".ta-word").all_text_contents()[3:] == ["broken", "broken", "differs"]

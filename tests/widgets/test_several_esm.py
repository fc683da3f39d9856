"""Tier 2 of the widgets that draw several functions: the script alone in Chromium, and the exported page."""

import pytest
from anatomy.widgets import ActivationExplorer, NormExplorer

from .conftest import tables_of
from .learners import unfinished
from .several_learners import ACTIVATIONS, NORMS, sum_rms_norm, wrong_constant_gelu
from .test_widget_esm import CONTRAST, SCHEMES, find, settle, trait

pytestmark = pytest.mark.browser

# widget → (functions, state, [(role, accessible name, trait, key that moves it)])
WIDGETS = {
    ActivationExplorer: (ACTIVATIONS, {"activation": "swish"}, [
        ("combobox", "activation", "activation", "ArrowDown"),
        ("slider", "input x", "place", "ArrowRight"),
        ("slider", "β of swish", "beta", "ArrowLeft"),
        ("slider", "value branch", "value", "Home"),
        ("slider", "shift of all units", "shift", "ArrowRight"),
    ]),
    NormExplorer: (NORMS, {}, [
        ("slider", "scale", "scale", "ArrowRight"),
        ("slider", "shift", "shift", "ArrowLeft"),
        ("slider", "ε", "eps", "End"),
    ]),
}
CONTROLS = [(widget, *control) for widget, (_, _, controls) in WIDGETS.items() for control in controls]
EACH = pytest.mark.parametrize("widget", WIDGETS, ids=lambda w: w.__name__)


def make(widget, **state):
    functions, usual, _ = WIDGETS[widget]
    return widget(functions, **{**usual, **state})


@pytest.mark.parametrize("widget, role, name, trait_name, key", CONTROLS,
                         ids=[f"{c[0].__name__}-{c[3]}" for c in CONTROLS])
def test_keyboard_moves_every_control_and_the_picture(stage, widget, role, name, trait_name, key):
    page = stage(make(widget))
    before, picture = trait(page, trait_name), page.locator(".ta").screenshot()
    control = find(page, role, name)
    control.focus()
    settle(page)
    assert page.locator(".ta").screenshot() != picture  # the focus can be seen
    page.keyboard.press(key)
    settle(page)
    assert trait(page, trait_name) != before
    page.wait_for_function("() => model.saves === 1")  # Python hears of it a little later
    page.evaluate("() => document.activeElement.blur()")
    settle(page)
    assert page.locator(".ta").screenshot() != picture


@EACH
def test_all_controls_are_listed_named_and_keep_their_keys(stage, widget):
    assert {c[2] for c in WIDGETS[widget][2]} == set(widget.controls)
    page = stage(make(widget))
    elements = "document.querySelectorAll('.ta :is(input, select, button, [tabindex])')"
    assert page.evaluate(f"() => [...{elements}].every((e) => e.dataset.lmSuppressShortcuts === 'true')")
    snapshot = page.locator("body").aria_snapshot()
    for role, name, *_ in WIDGETS[widget][2]:
        assert f'- {role} "{name}"' in snapshot, snapshot
    for unnamed in ("- slider:", "- button:", "- img\n", "- combobox:"):
        assert unnamed not in snapshot + "\n", snapshot


@EACH
def test_readout_is_live_and_follows(stage, widget):
    page = stage(make(widget))
    readout = page.locator(".ta [aria-live=polite]")
    before = readout.text_content()
    role, name, _, key = WIDGETS[widget][2][1]
    find(page, role, name).press(key)
    settle(page)
    assert readout.text_content() != before and "NaN" not in readout.text_content()


@EACH
def test_cleanup_leaves_nothing_behind(stage, widget):
    page = stage(make(widget))
    page.evaluate("() => cleanup()")
    assert page.evaluate("() => Object.values(model.listeners).every((list) => list.length === 0)")
    assert page.evaluate("() => [held.media, held.observers, document.querySelectorAll('.ta').length]") == [0, 0, 0]


@EACH
def test_refreshed_tables_are_drawn(stage, widget):
    functions, usual, _ = WIDGETS[widget]
    fresh = widget(dict.fromkeys(functions, unfinished), **usual)
    page = stage(fresh)
    before = page.locator(".ta").screenshot()
    assert "not written yet" in page.locator(".ta-notice").text_content()
    fresh.refresh(functions)
    page.evaluate("([tables, notice]) => replaceTables(tables, notice)", [tables_of(fresh), fresh.notice])
    settle(page)
    assert page.locator(".ta-notice").is_hidden() and page.locator(".ta").screenshot() != before


@EACH
@SCHEMES
def test_exported_page_works_and_reads_well_in_either_scheme(browser, tmp_path, widget, scheme):
    path = make(widget).save_html(tmp_path / "page.html")
    context = browser.new_context(viewport={"width": 900, "height": 800}, color_scheme=scheme, offline=True)
    page, errors, asked = context.new_page(), [], []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector(".ta-svg")
    found = page.evaluate(CONTRAST)
    assert len(found) > 10
    assert [f for f in found if f[0] < 4.5 or f[2] < 11] == []
    assert page.evaluate("() => document.querySelector('.ta').dataset.theme") == scheme
    assert not errors and asked == [path.as_uri()]
    context.close()


@EACH
@pytest.mark.parametrize("width", [900, 830])
def test_nothing_is_cut_off_or_overlaps(stage, widget, width):
    page = stage(make(widget), viewport={"width": width, "height": 900})
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    clashes = page.evaluate("""() => {
      const texts = [...document.querySelectorAll('.ta-svg text:not(.ta-strong)')].filter((t) => t.textContent);
      const boxes = texts.map((t) => [t.textContent, t.getBoundingClientRect()]);
      return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) => (
        Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1 &&
        Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 3)).map(([b]) => [a, b]));
    }""")
    assert clashes == []


def test_norm_words_beside_the_numbers(stage):
    page = stage(make(NormExplorer))
    assert page.locator(".ta-word").all_text_contents() == ["unchanged", "changed", "equal", "", "", "same"]
    page = stage(NormExplorer({**NORMS, "rms_norm": sum_rms_norm}))
    assert page.locator(".ta-word").all_text_contents() == ["unchanged", "changed", "broken", "", "", "differs"]


def test_norm_that_gives_nan_is_not_drawn(stage):
    page = stage(NormExplorer({**NORMS, "layer_norm": lambda x, weight, bias, eps: x * float("nan")}))
    bars = page.get_by_role("img", name="Bars: the eight entries after LayerNorm").locator("rect.ta-fill-one")
    assert bars.evaluate_all("(all) => all.map((e) => e.style.visibility)") == ["hidden"] * 8
    assert page.locator(".ta-word").last.text_content() == "differs"


def test_activation_words_and_the_slope_by_hand(stage):
    page = stage(make(ActivationExplorer))
    assert page.locator(".ta-word").all_text_contents() == ["same", "ok", "", "", ""]
    find(page, "slider", "β of swish").press("ArrowRight")
    settle(page)
    assert page.locator(".ta-number").all_text_contents()[1] == "β = 1 only"
    page = stage(ActivationExplorer({**ACTIVATIONS, "gelu": wrong_constant_gelu}))
    assert page.locator(".ta-word").all_text_contents() == ["differs", "broken", "", "", ""]


def test_dead_units_are_crossed_out(stage):
    page = stage(make(ActivationExplorer, activation="relu", shift=-4))
    marks = page.get_by_role("img", name="Forty units").locator("text").all_text_contents()
    assert f"{marks.count('×')} of 40" in page.locator(".ta-number").all_text_contents() and marks.count("×") > 10

"""Tier 2 of the widgets that draw several functions: the script alone in Chromium, and the exported page."""

import pytest
from anatomy.widgets import ActivationExplorer, NormExplorer

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
)
from .several_learners import ACTIVATIONS, NORMS, sum_rms_norm, wrong_constant_gelu

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
    moves_by_keyboard(stage(make(widget)), role, name, trait_name, key)


@EACH
def test_all_controls_are_listed_named_and_keep_their_keys(stage, widget):
    names_its_controls(stage(make(widget)), widget, WIDGETS[widget][2])


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
    leaves_nothing_behind(stage(make(widget)))


@EACH
def test_refreshed_tables_are_drawn(stage, widget):
    functions, usual, _ = WIDGETS[widget]
    fresh = widget(dict.fromkeys(functions, unfinished), **usual)
    draws_refreshed_tables(stage(fresh), fresh, functions)


@EACH
@SCHEMES
def test_exported_page_works_and_reads_well_in_either_scheme(browser, tmp_path, widget, scheme):
    exports_a_readable_page(browser, make(widget).save_html(tmp_path / "page.html"), scheme)


@EACH
@pytest.mark.parametrize("width", [900, 830])
def test_nothing_is_cut_off_or_overlaps(stage, widget, width):
    page = stage(make(widget), viewport={"width": width, "height": 900})
    cuts_nothing_off(page, ".ta-svg text:not(.ta-strong)")


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

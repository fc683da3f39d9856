"""Tier 2 of NormExplorer and ActivationExplorer: their scripts alone in Chromium, beyond what every widget promises."""

import pytest
from anatomy.widgets import ActivationExplorer, NormExplorer

from .cases import CASES, find, settle, words
from .several_learners import ACTIVATIONS, NORMS, sum_rms_norm, wrong_constant_gelu

pytestmark = pytest.mark.browser


def test_norm_words_beside_the_numbers(stage):
    page = stage(CASES["NormExplorer"].make())
    assert words(page) == ["unchanged", "changed", "equal", "", "", "same"]
    page = stage(NormExplorer({**NORMS, "rms_norm": sum_rms_norm}))
    assert words(page) == ["unchanged", "changed", "broken", "", "", "differs"]


def test_norm_that_gives_nan_is_not_drawn(stage):
    page = stage(NormExplorer({**NORMS, "layer_norm": lambda x, weight, bias, eps: x * float("nan")}))
    bars = page.get_by_role("img", name="Bars: the eight entries after LayerNorm").locator("rect.ta-fill-one")
    assert bars.evaluate_all("(all) => all.map((e) => e.style.visibility)") == ["hidden"] * 8
    assert page.locator(".ta-word").last.text_content() == "differs"


def test_activation_words_and_the_slope_by_hand(stage):
    page = stage(CASES["ActivationExplorer"].make(activation="swish"))
    assert words(page) == ["same", "ok", "", "", ""]
    find(page, "slider", "β of swish").press("ArrowRight")
    settle(page)
    assert page.locator(".ta-number").all_text_contents()[1] == "β = 1 only"
    page = stage(ActivationExplorer({**ACTIVATIONS, "gelu": wrong_constant_gelu}))
    assert words(page) == ["differs", "broken", "", "", ""]


def test_dead_units_are_crossed_out(stage):
    page = stage(CASES["ActivationExplorer"].make(activation="relu", shift=-4))
    marks = page.get_by_role("img", name="Forty units").locator("text").all_text_contents()
    assert f"{marks.count('×')} of 40" in page.locator(".ta-number").all_text_contents() and marks.count("×") > 10

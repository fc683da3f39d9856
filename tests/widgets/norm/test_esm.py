"""Tier 2 of NormExplorer: its script alone in Chromium, beyond what every widget promises."""

import pytest
from anatomy.widgets import NormExplorer

from ..page import words
from .case import CASE
from .learners import NORMS, sum_rms_norm

pytestmark = pytest.mark.browser


def test_norm_words_beside_the_numbers(stage):
    page = stage(CASE.make())
    assert words(page) == ["unchanged", "changed", "equal", "", "", "same"]
    page = stage(NormExplorer({**NORMS, "rms_norm": sum_rms_norm}))
    assert words(page) == ["unchanged", "changed", "broken", "", "", "differs"]


def test_norm_that_gives_nan_is_not_drawn(stage):
    page = stage(NormExplorer({**NORMS, "layer_norm": lambda x, weight, bias, eps: x * float("nan")}))
    bars = page.get_by_role("img", name="Bars: the eight entries after LayerNorm").locator("rect.ta-fill-one")
    assert bars.evaluate_all("(all) => all.map((e) => e.style.visibility)") == ["hidden"] * 8
    assert page.locator(".ta-word").last.text_content() == "differs"

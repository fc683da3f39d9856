"""The first step of RopeExplorer: two tokens with their positions, and arrows."""

import pytest
from anatomy.widgets import RopeExplorer

from ..stages import set_state
from .case import CASE
from .test_esm import DOTTED

pytestmark = pytest.mark.browser


def test_the_first_step_has_arrows_alone(stage):
    """What later steps explain comes with them, or with what was asked for: a fault, another panel."""
    page = stage(CASE.make())
    button, dials = page.get_by_role("button", name="Stand on k"), page.locator(".ro-dials")
    lines = page.locator(":is(.ro-start.ta-arrow, .ro-wedge)")

    def seen():
        drawn = [d != "" for d in lines.evaluate_all("(all) => all.map((e) => e.getAttribute('d'))")]
        assert len(drawn) == 8 and len(set(drawn)) == 1
        name = dials.locator("svg").first.get_attribute("aria-label")
        return drawn[0], button.is_visible(), "wedge" in name, DOTTED in dials.text_content()

    assert seen() == (False,) * 4
    for state in ({"step": 1}, {"step": 0, "panels": ["dials", "map"]}, {"panels": ["dials"], "stand": True}):
        set_state(page, state)
        assert seen() == (True,) * 4, state
    set_state(page, {"stand": False})
    assert seen() == (False,) * 4


def test_the_tags_name_the_positions(stage):
    page = stage(CASE.make())
    tags = lambda: page.locator(".ro-token text").or_(page.locator(".ro-line text.ta-strong")).all_text_contents()
    assert tags() == ["sat: q, m = 9", "cat: k, n = 4"]
    set_state(page, {"m": 63, "n": 40})
    assert tags() == ["sat: q, m = 63", "cat: k, n = 40"]
    for box in page.locator(".ro-line g:has(> .ro-token)").all():
        around, text = (box.locator(kind).bounding_box() for kind in ("rect", "text"))
        assert around["x"] + 2 < text["x"] and text["x"] + text["width"] < around["x"] + around["width"] - 2


def test_on_load_only_sat_moves():
    assert {name for state in RopeExplorer.opening for name in state} == {"m"}

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


def test_in_the_first_step_q_alone_turns(stage):
    """A dial says how far q has turned, with its whole turns; the distance comes with the second step."""
    page = stage(CASE.make(m=15))
    texts = lambda: page.locator(".ro-dials svg").first.text_content()
    assert (
        "mθ = 15 · 1 = 15= 2 turns + 2.43" in texts()
        and "mθ = 15 · 0.001 = 0.015" in texts()
        and "(m − n)θ" not in texts()
    )
    set_state(page, {"step": 1})
    assert "(m − n)θ = 11 · 1 = 11= 1 turn + 4.72" in texts() and "mθ" not in texts()


@pytest.mark.parametrize("alone", [False, True])
def test_a_control_waits_for_its_step_only_where_the_picture_stands_alone(stage, alone):
    """A notebook's text may speak of any of them. One that stands elsewhere than in the scene is there."""
    page = stage(CASE.make())
    named = {
        "Play both": page.get_by_role("button", name="Step both +1"),
        "front": page.get_by_role("button", name="Three tokens in front"),
        "stand": page.get_by_role("button", name="Stand on k"),
        "hand": page.get_by_role("group", name="A drag moves the"),
        "panels": page.get_by_role("button", name="more panels"),
    }

    def seen(step, **other):
        set_state(page, {**RopeExplorer.story[step].state, "step": step, "alone": alone, **other})
        found = {name for name, control in named.items() if control.is_visible()}
        return found | ({"adds"} if "adds" in page.locator(".ro-dials svg").first.text_content() else set())

    everything = {*named, "adds"}
    assert seen(0) == (set() if alone else everything - {"stand"})
    assert seen(1) == (everything - {"stand", "hand", "panels"} if alone else everything)
    assert seen(2) == (everything - {"hand"} if alone else everything)
    assert seen(3, panels=["line", "dials"]) == everything - ({"stand"} if alone else set())
    assert seen(5, panels=["line", "dials"]) == everything - ({"stand", "hand"} if alone else set())
    assert seen(5, panels=["line", "dials"], more=True) == everything  # who opens more finds all of them again
    assert {"stand", "Play both", "adds"} <= seen(0, stand=True) and "hand" in seen(0, hand="content")
    seen(0)
    assert ("S[9, 4]" in page.locator(".ta-readout").text_content()) != alone  # S comes with the map


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


@pytest.mark.parametrize("width, roomy", [(820, True), (390, True), (640, False)])
def test_a_dial_says_its_speed_in_degrees_and_its_angle_as_a_product_where_there_is_room(stage, width, roomy):
    page = stage(CASE.make(m=12), viewport={"width": width, "height": 900})
    svg = page.locator(".ro-dials svg").first
    texts = svg.text_content()
    assert ("θ = 0.1 = 5.73°" in texts, "mθ = 12 · 0.1 = 1.2" in texts) == (roomy, roomy)
    assert "θ = 0.1" in texts and ("mθ = 1.2" in texts) != roomy
    wide = svg.locator("text").evaluate_all("(all) => all.map((e) => e.getBoundingClientRect().width)")
    slot = svg.bounding_box()["width"] / (2 if width == 390 else 4)
    assert max(wide) < slot

"""Tier 2 of RopeExplorer: its script alone in Chromium; test_promises.py tests what all widgets share."""

import math

import pytest
from anatomy.widgets import (
    RopeExplorer,
)
from anatomy.widgets.rope import POSITIONS

from ..page import said, settle, trait, words
from .case import CASE
from .learners import sign_rope

pytestmark = pytest.mark.browser


def score_of(page):
    """The announced score, without the formula after it, which contains the positions."""
    return said(page).split("score")[1].split("S[")[0]


def test_rope_play_moves_both_and_the_score_stands_still(stage):
    page = stage(CASE.make(m=60, n=55), reduced_motion="no-preference")
    score = score_of(page)
    page.get_by_role("button", name="Play both").press("Enter")
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
    assert score_of(page) == score
    page.get_by_role("button", name="Play both").press("Enter")
    page.evaluate("() => cleanup()")
    stopped = trait(page, "m")
    page.wait_for_timeout(400)
    assert trait(page, "m") == stopped


def test_rope_with_reduced_motion_steps_but_does_not_play(stage):
    page = stage(CASE.make(), reduced_motion="reduce")
    assert page.get_by_role("button", name="Play both").count() == 0
    page.get_by_role("button", name="Step both +1").press("Enter")
    assert (trait(page, "m"), trait(page, "n")) == (10, 5)


def test_a_step_from_the_last_position_goes_back_with_the_distance_kept(stage):
    page = stage(CASE.make(m=POSITIONS - 2, n=POSITIONS - 6), reduced_motion="reduce")
    step = page.get_by_role("button", name="Step both +1")
    step.press("Enter")
    assert (trait(page, "m"), trait(page, "n")) == (POSITIONS - 1, POSITIONS - 5)
    step.press("Enter")
    assert (trait(page, "m"), trait(page, "n")) == (4, 0)


def test_first_change_of_a_frame_is_drawn_at_once_and_later_ones_with_it(stage):
    drawn = stage(CASE.make(m=9, n=4)).evaluate("""async () => {
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
    good = words(stage(CASE.make()))
    assert good == ["ok", "ok", "same"]
    bad = words(stage(RopeExplorer(sign_rope)))
    assert bad == ["broken", "broken", "differs"]


def test_rope_that_gives_nan_is_said_and_not_drawn(stage):
    page = stage(RopeExplorer(lambda x, position_ids, base=1e4: x * float("nan")))
    assert "NaN" in said(page)
    assert words(page) == ["broken", "broken", "differs"]
    assert page.locator("circle.ta-here").evaluate("(e) => e.style.visibility") == "hidden"


MAP, CURVE = 1, 0  # the areas that react to the pointer, in page order


def point_at(page, area, x, y):
    """Moves the pointer to (x, y), as shares of an area's size."""
    box = page.locator(".ta-area").nth(area).bounding_box()
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
    settle(page)


def peeked(page):
    return page.locator(".ta").get_attribute("data-peek")


def test_pointing_at_the_map_shows_that_score_in_every_panel_and_moves_no_trait(stage):
    page = stage(CASE.make(m=9, n=4))
    dials = page.locator(".ta-arrow.ta-one").first.get_attribute("d")
    point_at(page, MAP, 10.5 / POSITIONS, 40.5 / POSITIONS)
    assert (trait(page, "m"), trait(page, "n")) == (9, 4)
    S = CASE.make().scores()
    heard = page.locator(".ta-readout").text_content().replace("\u2212", "-")
    assert f"m = 40, n = 10, m - n = 30:  score q·k = {S[40, 10]:.3f}" in heard
    terms = heard.split("S[40, 10] = ")[1].split(" = ")[0]
    assert abs(sum(float(t) for t in terms.replace("- ", "-").replace("+ ", "+").split()) - S[40, 10]) < 0.03
    assert page.locator(".ta-arrow.ta-one").first.get_attribute("d") != dials
    page.mouse.move(1, 1)
    settle(page)
    assert page.locator(".ta-arrow.ta-one").first.get_attribute("d") == dials and peeked(page) == ""


def test_a_click_on_the_map_keeps_what_arrow_keys_reach_too(stage):
    page = stage(CASE.make(m=9, n=4))
    point_at(page, MAP, 6.5 / POSITIONS, 8.5 / POSITIONS)
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(1, 1)
    settle(page)
    clicked = page.locator(".ta").get_attribute("data-key")
    assert (trait(page, "m"), trait(page, "n")) == (8, 6)
    page = stage(CASE.make(m=9, n=4))
    page.locator(".ta-area").nth(MAP).focus()
    for key in ("ArrowUp", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    settle(page)
    assert page.locator(".ta").get_attribute("data-key") == clicked
    page.keyboard.press("Shift+ArrowDown")
    assert (trait(page, "m"), trait(page, "n")) == (9, 7)


def test_the_curve_is_scrubbed_and_walked(stage):
    page = stage(CASE.make(m=9, n=4))
    point_at(page, CURVE, (20.5 + POSITIONS - 1) / (2 * POSITIONS - 1), 0.5)
    page.mouse.down()
    page.mouse.up()
    assert trait(page, "m") - trait(page, "n") == 20
    page.keyboard.press("ArrowRight")
    assert trait(page, "m") - trait(page, "n") == 21


@pytest.mark.parametrize("trait_name, grip", [("m", 0), ("n", 1)])
def test_an_arrow_follows_the_hand_for_more_than_a_turn(stage, trait_name, grip):
    """In the first dial a position is one radian: 20 steps of 0.4 rad are more than a turn."""
    page = stage(CASE.make(m=9, n=9))
    dial = page.locator(".ta-svg circle.ta-axis").first.bounding_box()
    cx, cy, r = dial["x"] + dial["width"] / 2, dial["y"] + dial["height"] / 2, dial["width"] / 2
    tip = page.locator(".ta-grip").nth(grip).bounding_box()
    x, y = tip["x"] + tip["width"] / 2, tip["y"] + tip["height"] / 2
    start = math.atan2(cy - y, x - cx)
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 21):
        angle = start + step * 0.4
        page.mouse.move(cx + 0.7 * r * math.cos(angle), cy - 0.7 * r * math.sin(angle))
    assert trait(page, trait_name) == 17  # 20 · 0.4 rad = 8 positions
    page.keyboard.press("Escape")
    assert trait(page, trait_name) == 9
    page.mouse.up()


def test_an_arrow_is_a_slider_for_the_keyboard(stage):
    page = stage(CASE.make(m=9, n=4))
    grip = page.get_by_role("slider", name="arrow q: its position m")
    grip.press("ArrowUp")
    grip.press("PageUp")
    assert trait(page, "m") == 18 and grip.get_attribute("aria-valuetext") == "18"

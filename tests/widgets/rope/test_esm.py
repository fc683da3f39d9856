"""Tier 2 of RopeExplorer: its script alone in Chromium, beyond what every widget promises."""

import pytest
from anatomy.widgets import (
    RopeExplorer,
)

from ..page import said, trait, words
from .case import CASE
from .learners import sign_rope

pytestmark = pytest.mark.browser


def test_rope_play_moves_both_and_the_score_stands_still(stage):
    page = stage(CASE.make(m=60, n=55))
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
    page = stage(CASE.make(), reduced_motion="reduce")
    assert page.get_by_role("button", name="Play: advance both").count() == 0
    page.get_by_role("button", name="Step both +1").press("Enter")
    assert (trait(page, "m"), trait(page, "n")) == (10, 5)


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

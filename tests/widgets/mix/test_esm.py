"""Tier 2 of MixExplorer: its script alone in Chromium; test_promises.py tests what all widgets share."""

import pytest
from anatomy.widgets import MixExplorer

from ..frames import HALF, frame, rest
from ..page import find, settle, trait
from .case import CASE

pytestmark = pytest.mark.browser


def shown(page):
    """Text of the readout, even while its aria-live is off."""
    return page.locator(".ta-readout").text_content()


def middle(page, locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def lit(page):
    """Which bars of the beam are lit, and the height of the frame in the panel of shares; None if there is none."""
    return page.evaluate("""() => [
      [...document.querySelectorAll('.ta-touch .ta-fill-one')].map((e) => e.classList.contains('ta-lit')),
      [...document.querySelectorAll('rect.ta-mark')].filter((e) => e.style.visibility === 'visible')
        .map((e) => Math.round((e.getAttribute('y') - 20) / 24))[0] ?? null]""")


def test_a_bar_is_dragged_by_its_top(stage):
    page = stage(CASE.make())
    x, y = middle(page, page.get_by_role("slider", name="bar of sat: its weight"))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 3, y - 82)
    settle(page)
    assert trait(page, "second") == 2 + 4 and "weights 1, 6, 7" in shown(page)
    page.mouse.move(x, y - 500)
    settle(page)
    assert trait(page, "second") == 10
    page.keyboard.press("Escape")
    assert trait(page, "second") == 2  # Escape undoes the drag
    page.mouse.up()
    grip = page.get_by_role("slider", name="bar of sat: its weight")
    grip.press("ArrowUp")
    grip.press("ArrowUp")
    assert trait(page, "second") == 4 and grip.get_attribute("aria-valuenow") == "4"


def texts(page):
    """What the panel of the sum tells, in the order of its nodes."""
    return page.locator(".ta-panel").nth(1).locator("svg text").all_text_contents()


def test_products_are_summed_and_the_parts_lead_to_the_average(stage):
    page = stage(CASE.make(first=2, second=4, third=4))
    told = texts(page)
    for row in (["= 2", "0.20"], ["= 20", "0.40"], ["= 36", "0.40"], ["10", "", "58", "1.00"]):
        assert any(told[i : i + len(row)] == row for i in range(len(told)))
    assert "average = 58 ÷ 10 = 5.8" in told and [t for t in told if t[0:2] == "+ "] == ["+ 0.2", "+ 2", "+ 3.6"]
    bars = [bar.bounding_box() for bar in page.locator(".ta-panel").nth(1).locator("rect.ta-fill-one").all()]
    ends = [bar["x"] + bar["width"] for bar in bars]
    assert [bar["x"] for bar in bars[1:]] == pytest.approx(ends[:-1], abs=0.5), "each begins where the last one ends"
    assert ends[-1] - bars[0]["x"] == pytest.approx(bars[0]["width"] * 5.8 / 0.2, rel=0.02)


def test_a_bar_has_a_block_with_its_value_for_each_unit_of_weight(stage):
    page = stage(CASE.make(first=1, second=0, third=10))
    blocks = page.locator(".ta-touch g text").all()
    assert [block.text_content() for block in blocks if block.is_visible()] == ["1", *["9"] * 10]


def test_the_shares_that_answer_the_last_step_wait_for_it(stage):
    page = stage(CASE.make(), reduced_motion="reduce")
    shares = page.locator("[data-readout]")
    assert all(text.is_visible() for text in shares.all()) and shares.count() == 4 + 3
    for _ in range(5):
        page.get_by_role("button", name="Next step").click()
    settle(page)
    assert not any(text.is_visible() for text in shares.all())
    page.get_by_role("button", name="0.2, 0.4, 0.4").click()
    assert all(text.is_visible() for text in shares.all())


def test_a_word_pointed_at_lights_up_in_both_panels(stage):
    page = stage(CASE.make())
    quiet = shown(page)
    assert "(1·1 + 2·5 + 7·9) ÷ (1 + 2 + 7) = 74 ÷ 10 = 7.4" in quiet
    page.mouse.move(*middle(page, page.locator(".ta-touch .ta-fill-one").nth(2)))
    settle(page)
    pointed = shown(page)
    assert "[7·9]" in pointed and "share of mat: 7 ÷ 10 = 0.7" in pointed
    assert lit(page) == [[False, False, True], 2]
    page.mouse.move(2, 2)
    settle(page)
    assert shown(page) == quiet and lit(page) == [[False] * 3, None]
    area = page.locator(".ta-area")
    box = area.bounding_box()
    page.mouse.click(box["x"] + 20, box["y"] + box["height"] * 5 / 6)
    page.mouse.move(2, 2)
    settle(page)
    assert shown(page) == pointed and lit(page) == [[False, False, True], 2]
    page.keyboard.press("Escape")
    settle(page)
    assert shown(page) == quiet
    area.press("ArrowDown")
    area.press("ArrowDown")
    settle(page)
    assert shown(page) == pointed  # keys and mouse lead to the same state


def test_the_expected_place_is_drawn_where_it_differs(stage):
    def state(page):
        mine, expected = page.locator("path.ta-fill-two"), page.locator("path.ta-reference")
        return mine.get_attribute("d") == expected.get_attribute("d"), expected.evaluate("(e) => e.style.visibility")

    assert state(stage(CASE.make()))[1] == "hidden"
    page = stage(MixExplorer(lambda values, weights: (values * weights[:, None]).sum(0) / 3))
    assert state(page) == (False, "visible") and "(expected 7.400)" in shown(page)
    page = stage(MixExplorer(lambda values, weights: values.mean(0)))
    assert (
        state(page) == (False, "visible")
        and "dashed: the expected one" in page.locator(".ta-caption").first.text_content()
    )


def test_no_weight_at_all_is_said(stage):
    page = stage(CASE.make(first=0, second=1, third=0))
    find(page, "slider", "weight of sat").press("ArrowLeft")
    settle(page)
    assert "nothing to average" in shown(page) and "no number answers that" in shown(page)
    assert "average = 0 ÷ 0 = –" in texts(page) and not [told for told in texts(page) if told[:1] == "+"]
    assert page.locator("path.ta-fill-two").evaluate("(e) => e.style.visibility") == "hidden"


def tilt(page):
    """Angle of the beam in degrees, clockwise."""
    return float(page.locator("svg g").first.get_attribute("transform").removeprefix("rotate(").split()[0])


def test_the_beam_tips_while_the_triangle_is_on_its_way(moving):
    """Towards the heavier side, and it is level again where the bars balance."""
    page = moving(CASE.make())
    assert tilt(page) == 0
    for key, side in (("Home", -1), ("End", 1)):
        find(page, "slider", "weight of mat").press(key)
        first = tilt(page) * side
        frame(page, HALF)
        assert first > 0.5 and tilt(page) * side > 0.1
        rest(page)
        assert tilt(page) == 0


def test_the_beam_stays_tipped_on_a_wrong_average(stage):
    low, high = (lambda v, w: v.mean(0) - 2), (lambda v, w: v.mean(0) + 4)
    assert tilt(stage(MixExplorer(low))) > 1 and tilt(stage(MixExplorer(high))) < -1


def swing(page, ms):
    """Degrees clockwise by which the held beam is tipped so many ms after the last change; 0 where nothing swings."""
    return page.evaluate(
        """(ms) => {
          const [move] = document.querySelector('.ta svg g').getAnimations();
          if (!move) return 0;
          move.pause();
          move.currentTime = ms;
          const {a, b} = new DOMMatrix(getComputedStyle(move.effect.target).transform);
          return Math.atan2(b, a) * 180 / Math.PI;
        }""",
        ms,
    )


def held(page, word, up):
    """Takes hold of the bar and drags its top up by that many units; down below 0."""
    x, y = middle(page, page.get_by_role("slider", name=f"bar of {word}: its weight"))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 20 * up)
    settle(page)


def free(page):
    """The page, where motion is allowed from now on: what a widget shows on load has not begun."""
    page.emulate_media(reduced_motion="no-preference")
    return page


@pytest.mark.parametrize("word, up, side", [("cat", 5, -1), ("mat", 3, 1), ("mat", -6, -1)])
def test_a_beam_whose_bar_is_held_tips_to_the_heavier_side_and_comes_to_rest(stage, word, up, side):
    page = free(stage(CASE.make()))
    held(page, word, up)
    assert swing(page, 0) * side > 1, "the side that has become heavier goes down"
    assert swing(page, 280) * side < 0 < swing(page, 560) * side, "it swings"
    assert abs(swing(page, 899)) < 0.1 and tilt(page) == 0, "and is level where the bars balance"
    page.mouse.up()


def test_a_word_whose_number_is_the_average_tips_nothing(stage):
    page = stage(CASE.make(first=3, second=0, third=3), reduced_motion="no-preference")
    held(page, "sat", 4)
    assert trait(page, "second") == 4 and swing(page, 0) == 0


def test_nothing_swings_with_reduced_motion_or_without_a_hand(stage):
    page = stage(CASE.make(), reduced_motion="reduce")
    held(page, "cat", 5)
    assert trait(page, "first") == 6 and swing(page, 0) == 0
    page = free(stage(CASE.make()))
    page.evaluate("() => model.set('first', 6)")
    settle(page)
    assert swing(page, 0) == 0


@pytest.mark.parametrize("weight", [0, 4, 10])
def test_words_and_the_frame_of_the_focus_leave_the_grip_free(stage, weight):
    page = stage(CASE.make(first=weight))
    grip = page.get_by_role("slider", name="bar of cat: its weight")
    find(page, "slider", "weight of mat").press("ArrowLeft")
    page.keyboard.press("Tab")
    assert grip.evaluate("(e) => e === document.activeElement && e.matches(':focus-visible')")
    frame_of = grip.evaluate("(e) => parseFloat(getComputedStyle(e).outlineOffset)")
    text = page.locator("text", has_text=f"cat × {weight}").bounding_box()
    top = grip.bounding_box()["y"] - frame_of - 2
    assert text["y"] + text["height"] <= top + 2, "a letter's box is a little higher than the letter"
    assert text["y"] >= page.locator(".ta-caption").first.bounding_box()["y"] + 16

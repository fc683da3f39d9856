"""Tier 2 of AttentionExplorer's grip: dragging it changes a score, and the softmax follows."""

import re

import pytest
from anatomy.widgets import AttentionExplorer
from anatomy.widgets.attention import REACH

from ..page import find, settle, trait
from .case import CASE
from .learners import unscaled_attention
from .test_esm import cell, shown, spot

pytestmark = pytest.mark.browser
BARS = "Bars: the weights of the query on show"
GRIP = ".ta-handle[role=slider]"


def middle(page):
    box = page.locator(GRIP).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def over(page, key):
    """Moves the pointer to the bar of that key, between its number and its name."""
    page.mouse.move(*spot(page, "Key", 0, key, 1, 8))
    settle(page)


def pulled(page, by, release=True):
    x, y = middle(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by, y, steps=6)
    settle(page)
    if release:
        page.mouse.up()
        page.mouse.move(1, 1)
        settle(page)


def moved(page):
    return trait(page, "moved"), trait(page, "nudge")


def drawn(page):
    """Numbers of the bars, numbers of the query's row in the map, shades of the words."""
    bars = page.get_by_role("group", name=BARS).locator(".ta-strong").all_text_contents()
    query = trait(page, "query")
    row = page.locator(".ta-onfill").all_text_contents()[8 * query : 8 * query + 8]
    shades = page.locator(".ta-svg").first.locator("rect.ta-axis").evaluate_all("(all) => all.map((e) => e.style.fill)")
    return bars, row, shades


def expected(page, widget):
    """The same numbers from Python, in the page's state."""
    for name in widget.controls:
        setattr(widget, name, trait(page, name))
    row = widget.weights()[widget.query]
    may = [n <= widget.query for n in range(8)]  # the causal mask
    return (
        [f"{w:.3f}" if ok else "masked" for w, ok in zip(row, may, strict=True)],
        [f"{w:.2f}" if ok else "·" for w, ok in zip(row, may, strict=True)],
    )


def test_a_dragged_score_takes_all_weights_along_and_keys_do_the_same(stage):
    page = stage(CASE.make(step=2))
    before = drawn(page)
    over(page, 4)
    pulled(page, 40)
    key, nudge = moved(page)
    assert key == 4 and 10 <= nudge <= REACH
    by_hand = drawn(page)
    assert by_hand[:2] == expected(page, CASE.make()) and all(a != b for a, b in zip(by_hand, before, strict=True))
    said, name = shown(page), page.locator(".ta").get_attribute("data-key")
    score = f"exp({4.1 + nudge / 10:.1f})"  # 4.08: no tie in rounding
    assert f"4.1 + {nudge / 10:.1f}" in page.get_by_role("group", name=BARS).locator("text").all_text_contents()
    assert f"w[4, 4] = {score} ÷ (" in said and f"√40 + {nudge / 10:.1f} = {4.1 + nudge / 10:.1f}" in said
    assert f"= 0.412 before × {float(by_hand[0][4]) / 0.412:.1f}" in said

    page = stage(CASE.make(step=2))
    over(page, 4)
    grip = page.locator(GRIP)
    for _ in range(nudge):
        grip.press("ArrowRight")
    page.mouse.move(1, 1)
    settle(page)
    assert moved(page) == (4, nudge) and drawn(page) == by_hand
    assert shown(page) == said and page.locator(".ta").get_attribute("data-key") == name
    weight = float(by_hand[0][4])
    assert grip.get_attribute("aria-label") == "grip: score of “well”"
    told = re.fullmatch(r"score ([\d.]+), weight ([\d.]+)", grip.get_attribute("aria-valuetext"))
    assert float(told[1]) == pytest.approx(4.1 + nudge / 10) and float(told[2]) == pytest.approx(weight, abs=0.006)


def test_the_grip_waits_at_the_longest_bar_and_its_tip_stays_under_the_hand(stage):
    page = stage(CASE.make(step=2))
    assert page.locator(GRIP).get_attribute("aria-label") == "grip: score of “very”"
    x = middle(page)[0]
    for by in (25, 40, -30):
        pulled(page, by, release=False)
        assert abs(middle(page)[0] - x - by) < 4, by  # a step of 0.1 is at most three pixels
        x = middle(page)[0]
        page.mouse.up()
    assert moved(page)[0] == 3
    pulled(page, -300)
    assert moved(page) == (3, -REACH)
    page.keyboard.press("Escape")
    settle(page)
    assert page.locator(GRIP).get_attribute("aria-label") == "grip: score of “very”"  # it stays at the moved score
    pulled(page, 600)
    assert moved(page) == (3, REACH)
    page.locator(GRIP).press("Home")
    assert moved(page) == (3, -REACH)


def test_a_hand_that_comes_to_the_grip_still_points_at_that_key(stage):
    page = stage(CASE.make(step=2))
    over(page, 2)
    at = middle(page)
    page.mouse.move(*at, steps=8)
    settle(page)
    assert middle(page) == at and "gives “him” the weight" in shown(page)
    page.mouse.move(1, 1)
    settle(page)
    assert page.locator(".ta").get_attribute("data-peek") == "" and moved(page) == (-1, 0)


def test_escape_takes_a_drag_back_with_what_was_moved_before(stage):
    page = stage(CASE.make(step=2, moved=4, nudge=12))
    before, said = drawn(page), shown(page)
    over(page, 3)
    pulled(page, -30, release=False)
    assert moved(page)[0] == 3 and moved(page)[1] < 0 and drawn(page) != before
    page.keyboard.press("Escape")
    page.mouse.up()
    page.mouse.move(1, 1)
    settle(page)
    assert moved(page) == (4, 12) and drawn(page) == before and shown(page) == said


@pytest.mark.parametrize("how", ["mouse", "key"])
def test_a_masked_key_has_no_grip_and_says_why_when_it_is_pressed(stage, how):
    """The grip stays where there is a score to be moved, and moves that one."""
    page = stage(CASE.make(step=2))
    before, at = drawn(page), middle(page)
    over(page, 6)
    if how == "mouse":
        assert middle(page) == at and "“well” gives “pad” the weight 0.000" in shown(page)
        page.mouse.down()
        page.mouse.up()
    else:
        page.mouse.move(1, 1)
        find(page, "slider", "Key of the query on show").press("End")
        page.keyboard.press("Enter")
    page.mouse.move(1, 1)
    settle(page)
    assert moved(page) == (-1, 0) and drawn(page) == before
    assert "“pad” is masked: its score is −∞, and stays −∞ whatever is added." in shown(page)
    grip = page.locator(GRIP)
    assert middle(page) == at and grip.get_attribute("aria-label") == "grip: score of “very”"
    assert grip.get_attribute("aria-valuetext") == "score 4.3, weight 0.50"
    grip.press("ArrowRight")
    settle(page)
    assert moved(page) == (3, 1) and "masked" not in shown(page)


@pytest.mark.parametrize("width", [390, 860])
def test_the_grip_of_a_full_bar_leaves_its_number_free(stage, width):
    page = stage(CASE.make(step=2, query=0), viewport={"width": width, "height": 900})
    number = page.get_by_role("group", name=BARS).locator(".ta-strong").first
    assert number.text_content() == "1.000"
    grip, box = page.locator(GRIP).bounding_box(), number.bounding_box()
    assert grip["x"] + grip["width"] + 2 < box["x"]
    assert abs(grip["y"] + grip["height"] / 2 - box["y"] - box["height"] / 2) < 3, "they are in one row"


def test_a_number_travels_with_its_bar(stage):
    """From one layer to the next, in every frame: the bar is as long as its number says."""
    page = stage(CASE.make(step=2, layer=3), reduced_motion="no-preference")
    frames = page.evaluate("""async () => {
      const bars = () => {
        const canvas = document.querySelector('.ta-svg[aria-label^="Bars"]');
        const [lengths, numbers] = ["rect.ta-fill-one", ".ta-strong"].map((kind) => [...canvas.querySelectorAll(kind)]);
        return lengths.map((bar, i) => [Number(bar.getAttribute("width")), Number(numbers[i].textContent)]).slice(0, 5);
      };
      const sliders = [...document.querySelectorAll("input[type=range]")];
      const slider = sliders.find((e) => e.labels[0].textContent === "layer");
      slider.value = 2;
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      const seen = [];
      for (let i = 0; i < 25; i++) {
        await new Promise(requestAnimationFrame);
        seen.push(bars());
      }
      return seen;
    }""")
    assert len({str(bars) for bars in frames}) > 4, "it travels"
    full = max(length / weight for length, weight in frames[-1] if weight > 0.3)
    assert all(abs(length - weight * full) < 1.5 for bars in frames for length, weight in bars)


def test_the_button_puts_the_score_back(stage):
    page = stage(CASE.make(step=2))
    before, said = drawn(page), shown(page)
    back = page.get_by_role("button", name="Put back")
    assert back.get_attribute("aria-disabled") == "true"
    page.locator(GRIP).press("PageUp")
    settle(page)
    assert moved(page) == (3, 8) and drawn(page) != before and back.get_attribute("aria-disabled") == "false"
    back.press("Enter")
    page.locator(GRIP).press("Escape")
    settle(page)
    assert trait(page, "nudge") == 0 and drawn(page) == before and shown(page) == said
    assert back.get_attribute("aria-disabled") == "true"


@pytest.mark.parametrize("role, label, name, key", [control[:4] for control in CASE.controls[1:6]])
def test_other_scores_put_it_back(stage, role, label, name, key):
    page = stage(CASE.make(moved=4, nudge=12, step=4))  # the step to which all controls have come
    find(page, role, label).press(key)
    settle(page)
    assert moved(page) == (-1, 0) and trait(page, name) != getattr(CASE.make(), name)


def test_another_head_puts_it_back_and_another_query_keeps_it(stage):
    page = stage(CASE.make(step=2, moved=2, nudge=12))
    page.mouse.click(*spot(page, "query token", 3, 0, 8, 1))
    settle(page)
    assert moved(page) == (2, 12) and drawn(page)[:2] == expected(page, CASE.make())
    page.mouse.click(*spot(page, "query token", 1, 0, 8, 1))
    page.mouse.move(1, 1)
    settle(page)
    assert moved(page) == (2, 12) and "“him” is masked here: −∞ + 1.2 = −∞." in shown(page)
    assert drawn(page)[:2] == expected(page, CASE.make())
    page.mouse.move(*spot(page, "All heads", 1, 0, 4, 4))  # another head is shown without the change
    settle(page)
    assert "is masked here" not in shown(page) and moved(page) == (2, 12)
    page.mouse.down()
    page.mouse.up()
    settle(page)
    assert moved(page) == (-1, 0) and (trait(page, "layer"), trait(page, "head")) == (0, 1)


def test_a_learners_own_weights_are_moved_and_the_reference_beside_them(stage):
    page = stage(AttentionExplorer(unscaled_attention, moved=4, nudge=10))
    widget, right = AttentionExplorer(unscaled_attention, moved=4, nudge=10), CASE.make(moved=4, nudge=10)
    assert drawn(page)[:2] == expected(page, widget)
    page.mouse.move(*cell(page, 4, 3))
    settle(page)
    assert f"the weight {widget.weights()[4, 3]:.3f} = " in shown(page)
    assert f"(expected {right.weights()[4, 3]:.3f})" in shown(page)


def test_a_finger_drags_the_grip(stage):
    """A tap chooses the bar; dragging the grip on it with the finger moves the score."""
    page = stage(CASE.make(), has_touch=True)
    page.touchscreen.tap(*spot(page, "Key", 0, 4, 1, 8))
    settle(page)
    x, y = middle(page)
    finger = page.context.new_cdp_session(page)
    send = lambda kind, points: finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    send("touchStart", [{"x": x, "y": y}])
    send("touchMove", [{"x": x + 15, "y": y}])
    send("touchMove", [{"x": x + 35, "y": y}])
    send("touchEnd", [])
    settle(page)
    assert moved(page)[0] == 4 and moved(page)[1] > 8 and drawn(page)[:2] == expected(page, CASE.make())

"""CacheStepper's store: tokens fly into their slots, which hold a key and a value; a window loses the older ones."""

import numpy as np
import pytest
from anatomy.widgets import CacheStepper

from ..frames import HALF, frame, rest
from ..page import said
from ..stages import set_state
from .case import CASE
from .learners import top_left

WINDOW = {"store": 1, "plan": [1] * 8, "chunk": 6}
FLIGHT = """(share) => {
  const all = document.querySelector('.ta').getAnimations({subtree: true}).filter((a) => !(a instanceof CSSTransition));
  return all.map((a) => {
    a.pause();
    a.currentTime = share * a.effect.getTiming().duration;
    const {x, y, width, height} = a.effect.target.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
  });
}"""


def store(page):
    return page.locator("svg[aria-label^='Slots']")


def chips(page):
    """{token: (texts, crossed out?, x)} of those that are shown."""
    found = {}
    for chip in store(page).locator("> g").all():
        if chip.is_visible():
            texts = [text.text_content() for text in chip.locator("text").all() if text.is_visible()]
            found[int(texts[0])] = (texts[1:], chip.locator("path").is_visible(), round(chip.bounding_box()["x"]))
    return found


def middle(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.browser
@pytest.mark.parametrize("width", [820, 390])
def test_a_new_token_flies_from_its_cell_into_its_slot(moving, width):
    page = moving(CASE.make(chunk=1, store=1), viewport={"width": width, "height": 1000})
    cell = middle(page.locator("svg[aria-label^='One row'] rect").nth(8 * 5 + 5))
    slot = middle(store(page).locator("rect.ta-axis").nth(2))  # 5 mod 3
    page.get_by_role("button", name="Step", exact=True).press("Enter")
    ways = [page.evaluate(FLIGHT, share) for share in (0, 0.5, 0.999)]
    assert [len(way) for way in ways] == [1, 1, 1], "one token is new"
    first, half, end = (np.array(way[0]) for way in ways)
    assert first == pytest.approx(cell, abs=2) and end == pytest.approx(slot, abs=2)
    assert half == pytest.approx((first + end) / 2, abs=3), "on a straight way"


@pytest.mark.browser
def test_the_token_that_is_overwritten_moves_aside(moving):
    page = moving(CASE.make(chunk=1, store=1))
    before = chips(page)
    page.get_by_role("button", name="Step", exact=True).press("Enter")
    frame(page, HALF)
    midway = chips(page)
    rest(page)
    after = chips(page)
    assert not before[2][1] and after[2][1] and before[2][2] < midway[2][2] < after[2][2]


@pytest.mark.browser
def test_without_motion_nothing_flies(stage):
    page = stage(CASE.make(chunk=1, store=1))
    page.get_by_role("button", name="Step", exact=True).press("Enter")
    assert page.evaluate(FLIGHT, 0) == [] and list(chips(page)) == [0, 1, 2, 3, 4, 5]


@pytest.mark.browser
def test_a_slot_holds_a_key_and_a_value_until_the_window_loses_its_token(stage):
    page = stage(CASE.make(**WINDOW))
    held = chips(page)
    assert [token for token, (_, crossed, _) in held.items() if crossed] == [0, 1, 2, 3]
    for token, (texts, crossed, _) in held.items():
        assert texts[1:] == ([] if crossed else ["K", "V"]), token
    assert store(page).get_by_text("lost to query 6").is_visible()
    row = page.locator("svg[aria-label^='One row'] .ta-onfill").all_text_contents()[8 * 6 : 8 * 7]
    assert row[:4] == ["×"] * 4 and "×" not in row[4:], "its query would see them"
    set_state(page, {"store": 0})
    assert not any(crossed for _, crossed, _ in chips(page).values()) and "lost" not in said(page)
    assert not store(page).get_by_text("lost").count()


@pytest.mark.browser
def test_pages_are_named_and_set_apart(stage):
    page = stage(CASE.make(chunk=3, store=2))
    border = store(page).locator("path[style*='1.6']")
    heads = lambda: [text for text in store(page).locator("> text").all_text_contents() if text.startswith("page")]
    assert heads() == ["page 0", "page 1", "page 2"] and border.is_visible()
    set_state(page, {"store": 0})
    assert heads() == [] and not border.is_visible()


def price_of(widget):
    """The share of the newest query's weight, without a window, of the words that it has lost."""
    n = widget.readings()
    if widget.view == 0:
        weights = widget._table("w_cached_attention", 256, 8, 8)
    else:
        weights = np.exp(widget._table("restart" if widget.origin else "scores", 256, 8, 8))
    row = weights[(1 << n["stop"]) - 1, n["stop"] - 1, : n["stop"]].astype(float)  # one by one: every cut is set
    return row[: n["lost"]].sum() / row.sum()


@pytest.mark.parametrize("state", [{}, {"view": 1}, {"view": 1, "origin": 1}, {"chunk": 3}])
def test_the_price_of_the_window_is_counted(state):
    widget = CASE.make(**{**WINDOW, **state})
    n = widget.readings()
    assert n["lost"] == widget.chunk - 2 and n["price"] == pytest.approx(price_of(widget), abs=1e-6)
    lost = f"has lost {n['lost']} word{'s' * (n['lost'] > 1)} to the window, which would get {n['price']:.2f}"
    assert lost in widget.alt and "each with its key and value" in widget.alt
    widget.store = 0
    assert widget.readings()["lost"] == 0 and "lost" not in widget.alt


@pytest.mark.browser
@pytest.mark.parametrize("state", [{}, {"view": 1}, {"view": 1, "origin": 1}, {"chunk": 3}])
def test_the_line_names_the_price(stage, state):
    widget = CASE.make(**{**WINDOW, **state})
    n = widget.readings()
    words = "1 word" if n["lost"] == 1 else f"{n['lost']} words"
    told = f"query {widget.chunk} has lost {words}, which would get {n['price']:.2f} of its weight"
    assert told in said(stage(widget))


def test_the_price_is_that_of_the_learners_own_weights():
    state = {"store": 1, "plan": [4, 4], "chunk": 1}
    prices = [widget.readings()["price"] for widget in (CASE.make(**state), CacheStepper(top_left, **state))]
    assert abs(prices[0] - prices[1]) > 0.01

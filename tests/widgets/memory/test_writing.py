"""MemoryExplorer's last write: the products that are added and removed, and what they amount to."""

import numpy as np
import pytest
from anatomy.widgets import MemoryExplorer
from anatomy.widgets.memory.texts import KEYS, VECTORS, pairs_of, text_of

from autograder.exercises.u14_cheaper_attention.delta import MISTAKES

from ..frames import rest
from ..page import find, settle
from ..stages import set_state
from .case import CASE

ALIKE = text_of((0, 0), (2, 1))
CROWDED = {"text": text_of((2, 1), (0, 2), (2, 1)), "decay": 0.5, "rate": 0.5}
FLIGHTS = """(share) => document.querySelector('.ta').getAnimations({subtree: true})
  .filter((a) => a.effect.target.tagName === 'use').map((a) => {
    a.pause();
    const {delay, duration} = a.effect.getTiming();
    a.currentTime = delay + share * duration;
    const {x, y, width, height} = a.effect.target.getBoundingClientRect();
    return [x, y, x + width, y + height];
  })"""


def products(page):
    """For each picture of a product: its numbers above, at its left, in its cells, and its sign."""
    found = []
    for picture in page.locator("svg:has(use)").all():
        *texts, sign = picture.locator(":scope > text").all_text_contents()
        cells = picture.locator("g text").all_text_contents()
        beside = [float(text.replace("−", "-")) for text in texts]
        inside = [float(text.replace("−", "-")) for text in cells]
        found.append((beside[:3], beside[3:], np.reshape(inside, (3, 3)), sign))
    return found


@pytest.mark.browser
@pytest.mark.parametrize("state", [{"text": ALIKE}, {"text": ALIKE, "rate": 0.5, "decay": 0.5}, CROWDED])
def test_each_product_is_a_column_times_a_row_and_together_they_are_what_was_written(stage, state):
    widget = CASE.make(**state)
    key, _ = pairs_of(widget.text)[-1]
    before = CASE.make(**{**state, "text": text_of(*pairs_of(widget.text)[:-1])})
    sums = [widget.decay * before.state(rule) for rule in (0, 1)]
    shown = products(stage(widget))
    assert [sign for *_, sign in shown] == ["+", "−", "+"] and shown[1][0] != [0, 0, 0]
    for i, (above, beside, cells, sign) in enumerate(shown):
        assert beside == list(VECTORS[key])
        assert cells == pytest.approx((widget.rate if i else 1) * np.outer(beside, above), abs=0.011)
        sums[i > 0] += cells if sign == "+" else -cells
    for rule in (0, 1):
        assert sums[rule] == pytest.approx(widget.state(rule), abs=0.021)
    assert shown[1][0] == pytest.approx(widget.held(), abs=0.006)


@pytest.mark.parametrize("state", [{"text": ALIKE}, CROWDED])
def test_what_is_held_is_read_before_the_write(state):
    widget = CASE.make(**state)
    key, _ = pairs_of(widget.text)[-1]
    held, after = widget.held(), widget.state(1)
    widget.text = text_of(*pairs_of(widget.text)[:-1])
    assert held == pytest.approx(widget.decay * widget.reads(1, key), abs=1e-6)
    assert np.abs(after - widget.state(1)).max() > 0.1
    told = f"the delta rule first removes the {KEYS[key]}'s key times what it held, kitchen "
    assert told in CASE.make(**state).alt and "last write" not in CASE.make(text=0).alt


@pytest.mark.browser
def test_nothing_written_shows_nothing(stage):
    page = stage(CASE.make(text=0))
    assert page.get_by_text("nothing yet").count() == 3
    assert not "".join(page.locator("svg:has(use) g text").all_text_contents())


@pytest.mark.browser
def test_a_function_that_writes_something_else_is_crossed_out(stage):
    """The delta rule that only adds: the kitchen should have been removed."""
    wrong = next(m.fn for m in MISTAKES if m.name == "added")
    crosses = lambda page: [
        (path.get_attribute("d") or "").count("M")
        for path in page.locator("svg:has(use) path[style*='--ta-bad']").all()
    ]
    text = text_of((0, 0), (0, 1))
    assert crosses(stage(CASE.make(text=text))) == [0, 0, 0]
    assert crosses(stage(MemoryExplorer({**CASE.given[0], "delta_rule": wrong}, text=text))) == [0, 0, 1]


@pytest.mark.browser
def test_a_cell_that_is_pointed_at_is_marked_in_its_products(stage):
    page = stage(CASE.make(text=ALIKE))
    shown = lambda: [m.is_visible() for m in page.locator("svg:has(use) rect.ta-mark").all()]
    assert shown() == [False] * 3
    page.locator("[aria-label^='correcting (delta rule): the memory']").press("Enter")
    settle(page)
    assert shown() == [False, True, True]


@pytest.mark.browser
def test_what_is_written_flies_into_the_memories_and_what_is_taken_back_does_not(moving):
    page = moving(CASE.make(text=text_of((0, 0))))
    memory = [page.locator("svg[aria-label^='Memory'] rect.ta-axis").nth(rule).bounding_box() for rule in (0, 1)]
    page.locator(".ta-area[aria-label^='Pairs']").press("Enter")
    starts, ends = page.evaluate(FLIGHTS, 0), page.evaluate(FLIGHTS, 0.8)
    assert len(starts) == 3
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        goal = memory[i > 0]
        around = goal["x"], goal["y"], goal["x"] + goal["width"], goal["y"] + goal["height"]
        assert end == pytest.approx(around, abs=8) and start[1] > around[3], i
    find(page, "button", "Take back").press("Enter")
    rest(page)
    assert page.evaluate(FLIGHTS, 0) == [], "not even what was on its way"


@pytest.mark.browser
def test_without_motion_nothing_flies(stage):
    page = stage(CASE.make(text=text_of((0, 0))))
    set_state(page, {"text": ALIKE})
    assert page.evaluate(FLIGHTS, 0) == []


@pytest.mark.browser
@pytest.mark.parametrize("state", [{"text": 0}, {"text": ALIKE}, CROWDED])
def test_the_numbers_that_the_last_write_changed_are_framed_and_it_is_named(stage, state):
    """What the decay alone has made smaller is not framed."""
    widget = CASE.make(**state)
    pairs = pairs_of(widget.text)
    before = CASE.make(**{**state, "text": text_of(*pairs[:-1])})
    page = stage(widget)
    for rule in (0, 1):
        changed = np.abs(widget.state(rule) - widget.decay * before.state(rule)) > 0.005
        framed = page.locator(f"[data-frames='{rule}']").get_attribute("d")
        assert framed.count("M") == changed.sum() and bool(changed.any()) == bool(pairs)
    told = page.locator("p.ta-note[data-part=products]").text_content()
    assert (
        ("puppy – garden" in told and "(0.8, 0, 0.6)" in told)
        if pairs and pairs[-1] == (2, 1)
        else (told == "Nothing is written yet.")
    )


@pytest.mark.browser
def test_a_write_moves_no_product(stage):
    """The sentence about the last write is longer for some pairs."""
    page = stage(CASE.make(text=text_of((0, 0))))
    tops = []
    for pair in [(0, 0), (1, 2), (2, 1)]:
        set_state(page, {"text": text_of((0, 0), pair)})
        tops.append(page.locator("svg:has(use)").first.bounding_box()["y"])
    assert len(set(tops)) == 1, tops

"""Tier 2 of MemoryExplorer: its script alone in Chromium; test_promises.py tests what all widgets share."""

import re

import pytest
from anatomy.widgets import MemoryExplorer
from anatomy.widgets.memory.texts import pairs_of, text_of

from autograder.exercises.u14_cheaper_attention.delta import MISTAKES

from ..page import find, settle, trait, words
from ..stages import set_state
from .case import CASE

pytestmark = pytest.mark.browser


def shown(page):
    return page.locator(".ta-readout").text_content()


def area(page, name):
    return page.locator(f'[aria-label^="{name}"].ta-area')


def press(page, key, place):
    box = area(page, "Pairs").bounding_box()
    page.mouse.click(box["x"] + (place + 0.5) / 3 * box["width"], box["y"] + (key + 0.5) / 3 * box["height"])
    settle(page)


def test_a_press_writes_a_pair_and_a_full_memory_keeps_what_it_holds(stage):
    page = stage(CASE.make(text=0))
    written = [(0, 0), (0, 1), (2, 2)]
    for n, pair in enumerate(written, 1):
        press(page, *pair)
        assert pairs_of(trait(page, "text")) == written[:n]
    assert page.get_by_text("full: three pairs").count() == 1
    press(page, 1, 1)
    assert pairs_of(trait(page, "text")) == written
    back = find(page, "button", "Take back")
    for n in (2, 1, 0):
        assert back.get_attribute("aria-disabled") == "false"
        back.press("Enter")
        assert pairs_of(trait(page, "text")) == written[:n]
    settle(page)
    assert back.get_attribute("aria-disabled") == "true" and page.get_by_text("press a cell").count() == 1


def test_the_keyboard_writes_too(stage):
    page = stage(CASE.make(text=0))
    grid = area(page, "Pairs")
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        grid.press(key)
    settle(page)
    assert pairs_of(trait(page, "text")) == [(1, 1)]


def test_numbers_and_bars_are_those_of_python(stage):
    state = {"text": text_of((0, 0), (2, 1), (0, 2)), "asked": 2, "decay": 0.5, "rate": 0.5}
    widget, page = CASE.make(**state), stage(CASE.make(**state))
    drawn = [float(text.replace("−", "-")) for text in page.locator(".ta-onfill").all_text_contents()]
    assert drawn == pytest.approx([*widget.state(0).flatten(), *widget.state(1).flatten()], abs=0.006)
    wide = page.locator("rect.ta-fill-one").evaluate_all("(all) => all.map((e) => +e.getAttribute('width'))")
    read = [abs(v) for rule in (0, 1) for v in widget.reads(rule)]
    unit = wide[0] / read[0]
    assert wide == pytest.approx([unit * v for v in read], abs=0.05) and unit > 20


@pytest.mark.parametrize("rule", [0, 1])
def test_the_formula_of_a_cell_is_true(stage, rule):
    """Each side of it is computed from the numbers that it names."""
    state = {"text": text_of((0, 0), (2, 1), (0, 2)), "decay": 0.5, "rate": 0.5}
    page = stage(CASE.make(**state))
    box = area(page, ("adding", "correcting (delta rule)")[rule] + ": the memory's").bounding_box()
    for i in range(3):
        for j in range(3):
            page.mouse.move(box["x"] + (j + 0.5) / 3 * box["width"], box["y"] + (i + 0.5) / 3 * box["height"])
            settle(page)
            text = page.locator(".ta-formula").text_content().replace("−", "-").replace("·", "*")
            _, made, value = re.sub("decay |rate |dog's key |new |held ", "", text).split(" = ")
            assert eval(made) == pytest.approx(float(value), abs=0.011), text


def test_the_line_names_only_what_is_read(stage):
    assert "Asked for the dog, adding reads: kitchen 1.00, garden 1.00. The delta rule reads: garden 1.00." in shown(
        stage(CASE.make(text=text_of((0, 0), (0, 1))))
    )
    assert "adding reads: nothing. The delta rule reads: nothing." in shown(stage(CASE.make(text=0)))


def test_the_products_come_with_the_second_step(stage):
    page = stage(MemoryExplorer())
    set_state(page, {**MemoryExplorer.story[0].state, "alone": True, "step": 0})
    product = page.locator("svg:has(use)").first
    assert not product.is_visible()
    set_state(page, {**MemoryExplorer.story[1].state, "step": 1})
    assert product.is_visible()


def test_what_would_be_written_is_told_before(stage):
    page = stage(CASE.make(text=text_of((0, 0))))
    box = area(page, "Pairs").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 6, box["y"] + box["height"] / 6)
    settle(page)
    assert "the delta rule reads 1.00 there, and writes 1 · (1 − 1.00) = 0.00" in shown(page)
    assert trait(page, "text") == text_of((0, 0))


def test_a_wrong_rule_is_crossed_out_and_told(stage):
    wrong = next(m.fn for m in MISTAKES if m.name == "added")
    page = stage(MemoryExplorer({**CASE.given[0], "delta_rule": wrong}))
    assert words(page)[2:] == ["same", "same"]  # one pair alone
    press(page, 0, 1)
    assert words(page)[2:] == ["same", "differs"]
    marks = page.locator("path.ta-mark").evaluate_all(
        "(all) => all.map((e) => e.getAttribute('d').split('M').length - 1)"
    )
    assert marks == [0, 1]
    area(page, "correcting (delta rule): the memory's").press("Enter")
    settle(page)
    assert "(new 0 − held 1.00) = 0.00, but the function says 1.00" in shown(page)


def test_decay_and_rate_are_folded_away_at_first(stage):
    page = stage(CASE.make())
    assert not page.get_by_role("group", name="decay", exact=True).is_visible()
    find(page, "button", "decay, rate").press("Enter")
    settle(page)
    assert page.get_by_role("group", name="decay", exact=True).is_visible()
    set_state(page, {"more": False})
    assert MemoryExplorer(step=5).more and not MemoryExplorer().more

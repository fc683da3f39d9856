"""Each picture reacts to the pointer: hovering shows, a click keeps, Escape releases, and keys do the same."""

from itertools import product

import pytest

from .cases import CASES
from .page import settle

pytestmark = pytest.mark.browser

EACH = pytest.mark.parametrize("name", CASES)
SPOTS = ((0.27, 0.31), (0.63, 0.71), (0.45, 0.12))


def point_at(page, area, spot):
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    page.mouse.move(box["x"] + spot[0] * box["width"], box["y"] + spot[1] * box["height"])
    settle(page)


def state(page):
    """Number of saved states, and the picture's own name for its state."""
    return page.evaluate("() => [model.saves, document.querySelector('.ta').dataset.key]")


def peek(page):
    return page.locator(".ta").get_attribute("data-peek")


def areas(page):
    return page.locator(".ta-area:visible").all()


def shown(page):
    return page.locator(".ta-readout").text_content()


@EACH
def test_hover_shows_numbers_and_changes_no_trait(stage, name):
    """Each area shows other words at one of three spots or more; nothing is saved; leaving restores everything."""
    case = CASES[name]
    page = stage(case.usual)
    traits = "(names) => names.map((n) => JSON.stringify(model.get(n)))"
    before, values = shown(page), page.evaluate(traits, list(case.widget.controls))
    assert areas(page), "nothing answers a pointer"
    wrong = []
    for area in areas(page):
        heard, label = set(), area.get_attribute("aria-label")
        for spot in SPOTS:
            point_at(page, area, spot)
            if peek(page):
                heard.add(shown(page))
                assert page.locator(".ta-readout").get_attribute("aria-live") == "off"
        if not heard or heard == {before}:
            wrong.append(f"{label}: nothing new is said there")
        elif not any(map(is_a_number_with_its_formula, heard)):
            wrong.append(f"{label}: no number with its formula in {sorted(heard)}")
        page.mouse.move(0, 0)
        settle(page)
        if peek(page) or shown(page) != before:
            wrong.append(f"{label}: what was pointed at stays")
    assert not wrong, "\n".join(wrong)
    assert page.evaluate(traits, list(case.widget.controls)) == values and page.evaluate("() => model.saves") == 0


def is_a_number_with_its_formula(words):
    return any(sign in words for sign in "=÷×≤→:") and any(c.isdigit() for c in words)


@EACH
@pytest.mark.parametrize("width", [820, 390])
def test_nothing_moves_under_the_hand(stage, name, width):
    """The formula of a hover has its space reserved: the picture stays under the pointer."""
    page = stage(CASES[name].usual, viewport={"width": width, "height": 1500})
    high = page.locator(".ta").bounding_box()["height"]
    moved = {}
    for area in areas(page):
        for spot in product((0.03, 0.4, 0.97), (0.1, 0.9)):
            point_at(page, area, spot)
            if (now := page.locator(".ta").bounding_box()["height"]) != pytest.approx(high, abs=0.6):
                moved[f"{area.get_attribute('aria-label')}, {shown(page)}"] = now - high
        page.mouse.move(0, 0)
    assert not moved


@EACH
def test_a_click_keeps_and_escape_lets_go(stage, name):
    """After a click, the state stays or the target stays held until Escape."""
    page = stage(CASES[name].usual)
    for i in range(len(areas(page))):
        area = areas(page)[i]
        before = state(page)[1]
        for spot in SPOTS:
            point_at(page, area, spot)
            page.mouse.down()
            page.mouse.up()
            page.mouse.move(0, 0)
            settle(page)
            if state(page)[1] != before or peek(page):
                break
        else:
            pytest.fail(f"a click on {area.get_attribute('aria-label')} keeps nothing")
        page.keyboard.press("Escape")
        settle(page)
        assert peek(page) == ""


@EACH
def test_arrow_keys_reach_what_the_hand_reaches(stage, name):
    """In each area, arrow keys change the state or the held target, and the change is announced."""
    page = stage(CASES[name].usual)
    for i in range(len(areas(page))):
        areas(page)[i].focus()
        seen = set()
        for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
            page.keyboard.press(key)
            settle(page)
            seen.add((state(page)[1], peek(page), shown(page)))
        assert len(seen) > 1, areas(page)[i].get_attribute("aria-label")
        page.keyboard.press("Escape")


@EACH
def test_handles_are_sliders_that_keys_move(stage, name):
    page = stage(CASES[name].usual)
    for handle in page.locator(".ta-handle[role=slider]:visible").all():
        handle.focus()
        seen = {state(page)[1]}
        for key in ("ArrowRight", "ArrowLeft", "ArrowLeft"):
            page.keyboard.press(key)
            settle(page)
            seen.add(state(page)[1])
        assert len(seen) > 1, handle.get_attribute("aria-label")


@EACH
def test_a_tap_chooses_and_a_swipe_scrolls(stage, name):
    """A finger that moves up or down scrolls the page: areas take only sideways moves, handles take all."""
    page = stage(CASES[name].usual, has_touch=True)
    actions = page.evaluate(
        "() => [...document.querySelectorAll('.ta-area')].map((e) => getComputedStyle(e).touchAction)"
    )
    assert set(actions) == {"pan-y"}
    box = areas(page)[0].bounding_box()
    before = (state(page)[1], peek(page))
    for spot in SPOTS:
        page.touchscreen.tap(box["x"] + spot[0] * box["width"], box["y"] + spot[1] * box["height"])
        settle(page)
        if (state(page)[1], peek(page)) != before:
            return
    pytest.fail("no tap chose anything")


def built_anew(page, change, *what):
    """Calls ``change(*what)``, which resizes the page; returns once the widget is rebuilt for it."""
    page.evaluate("() => { document.querySelector('.ta-title').dataset.before = 'yes'; }")
    change(*what)
    page.wait_for_function("() => !document.querySelector('.ta-title').dataset.before")
    settle(page)


@EACH
def test_a_narrow_room_builds_it_anew_and_keeps_the_focus(stage, name):
    page = stage(CASES[name].usual)
    page.evaluate("() => model.set('step', 1)")  # the first step goes without most controls
    settle(page)
    slider = page.locator(".ta :is(input, select):visible").first
    slider.focus()
    label = slider.evaluate("(e) => e.labels[0].textContent")
    built_anew(page, page.set_viewport_size, {"width": 390, "height": 800})
    assert page.evaluate("() => document.activeElement.labels?.[0].textContent") == label
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    held = page.evaluate("() => Object.values(model.listeners).map((l) => l.length)")
    built_anew(page, page.set_viewport_size, {"width": 900, "height": 800})
    built_anew(page, page.set_viewport_size, {"width": 390, "height": 800})
    assert page.evaluate("() => Object.values(model.listeners).map((l) => l.length)") == held  # no listeners pile up


@EACH
def test_a_page_that_has_no_room_yet_gets_no_picture_of_negative_size(stage, name):
    """A notebook lays out its cells one by one: for a moment a widget has 20 px. (stage fails on any error.)"""
    page = stage(CASES[name].usual)
    lay_out = "(width) => { document.querySelector('.ta').parentElement.style.width = width + 'px'; }"
    for width in (20, 900):
        built_anew(page, page.evaluate, lay_out, width)
    assert page.locator(".ta-svg:visible").first.bounding_box()["width"] > 0

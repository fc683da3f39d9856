"""Tier 2 of WavelengthExplorer: its script alone in Chromium; test_promises.py tests what all widgets share."""

import pytest
from anatomy.widgets import (
    WavelengthExplorer,
)

from ..page import find, said, settle, trait, words
from .case import CASE
from .learners import right_frequencies

pytestmark = pytest.mark.browser


def test_wavelength_plane_beyond_a_smaller_dimension(stage):
    page = stage(CASE.make(plane=127, dim=256))
    find(page, "slider", "head dim D").press("Home")
    settle(page)
    assert "plane 15:" in said(page)
    assert page.get_by_role("slider", name="plane to read i").get_attribute("max") == "15"
    page = stage(WavelengthExplorer(lambda D, base=1e4: right_frequencies(D, base) * 0))
    assert words(page)[3:] == ["broken", "broken", "differs"]


def readout(page):
    """Text of the readout, even while its aria-live is off."""
    return page.locator(".ta-readout").text_content()


def on_plane(page, plane, planes=64):
    """Screen position above the points of that plane."""
    box = page.get_by_role("slider", name="Planes", exact=True).bounding_box()
    return box["x"] + (plane + 0.5) * box["width"] / planes, box["y"] + 0.8 * box["height"]


def views(page):
    """The ring on the points, and the wave below them."""
    return page.evaluate("""() => [document.querySelector('circle.ta-mark').getAttribute('cx'),
      document.querySelector('path.ta-mine').getAttribute('d')]""")


def test_a_plane_pointed_at_shows_its_formula_and_its_wave(stage):
    page = stage(CASE.make(plane=50))
    quiet, before = readout(page), views(page)
    page.mouse.move(*on_plane(page, 48))
    settle(page)
    assert "λ[48] = 2π ÷ θ[48] = 6.283 ÷ 0.001 = 6,283 tokens" in readout(page)
    ring, wave = views(page)
    assert ring != before[0] and wave != before[1] and trait(page, "plane") == 50
    page.mouse.move(2, 2)
    settle(page)
    assert readout(page) == quiet and views(page) == before


def test_click_and_arrow_key_give_the_same_plane(stage):
    page = stage(CASE.make(plane=50))
    page.mouse.click(*on_plane(page, 51))
    page.mouse.move(2, 2)
    settle(page)
    assert trait(page, "plane") == 51
    by_hand = readout(page), views(page)
    page.evaluate("() => model.set('plane', 50)")
    page.get_by_role("slider", name="Planes", exact=True).press("ArrowRight")
    settle(page)
    assert trait(page, "plane") == 51 and (readout(page), views(page)) == by_hand


def test_the_line_of_the_context_is_dragged(stage):
    page = stage(CASE.make())
    open_points = (
        "() => [...document.querySelectorAll('.ta-open-two')].filter((e) => e.style.display !== 'none').length"
    )
    assert page.evaluate(open_points) == 64 - 46
    grip = page.locator(".ta-handle").bounding_box()
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 30)
    settle(page)
    by_hand = trait(page, "context")
    assert by_hand in (32768, 65536) and f"context {by_hand:,}" in page.locator(".ta-strong").all_text_contents()
    page.mouse.move(x, 0)
    settle(page)
    assert trait(page, "context") == 1_048_576 and page.evaluate(open_points) == 0
    page.mouse.up()
    page.mouse.move(x, y)
    assert trait(page, "context") == 1_048_576  # after the release
    find(page, "slider", "context length").press("ArrowLeft")  # the same by keyboard
    settle(page)
    assert "context 524,288" in page.locator(".ta-strong").all_text_contents()


def test_too_many_turns_are_a_block(stage):
    page = stage(CASE.make(plane=0))
    assert views(page)[1] == "" and "652 turns" in page.locator(".ta-svg text").all_text_contents()
    page.evaluate("() => model.set('plane', 63)")
    settle(page)
    assert views(page)[1].count("L") >= 60

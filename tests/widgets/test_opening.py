"""On load each widget shows once what can be done with it; any touch ends that, and nothing has changed."""

from contextlib import contextmanager
from io import BytesIO

import pytest
from PIL import Image, ImageChops

from .cases import CASES
from .frames import frame, frozen, places, rest
from .page import settle, trait
from .stages import set_state, state_of

pytestmark = pytest.mark.browser
FREE = {"reduced_motion": "no-preference"}
MS = 260  # for each state
CONTROLS = """() => [...document.querySelectorAll('.ta-controls :is(input, select, output)')]
  .map((e) => [e.value, e.checked ?? ''])"""
EACH = pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.widget.opening])


def test_most_widgets_have_an_opening():
    assert sum(bool(case.widget.opening) for case in CASES.values()) >= 15


@EACH
def test_it_moves_and_comes_back(draw, name):
    widget = CASES[name].make()
    calm = picture(unseen(draw, widget))
    with opening(draw, widget) as page:
        pictures = [shown(page)]
        for _ in range(len(widget.opening) + 1):
            frame(page, MS)
            pictures.append(shown(page))
        distinct = len({str(state) for state in widget.opening})
        moves = sum(a != b for a, b in zip(pictures, pictures[1:], strict=False))
        assert moves >= max(1, distinct - 1)  # one of its states may be the scene's own
        assert rest(page) == []
    assert same(picture(page), calm)
    assert all(trait(page, k) == v for k, v in widget.story[0].state.items())


@EACH
@pytest.mark.parametrize("touch", ["pointerdown", "keydown"])
def test_a_touch_ends_it(draw, name, touch):
    widget = CASES[name].make()
    calm = picture(unseen(draw, widget))
    with opening(draw, widget) as page:
        frame(page, MS)
        frame(page, MS)
        page.evaluate(
            "(kind) => document.querySelector('.ta-title').dispatchEvent(new Event(kind, {bubbles: true}))", touch
        )
        assert rest(page) == []
    assert same(picture(page), calm)
    assert page.locator("[aria-live=polite]").count() == 1


@EACH
def test_the_controls_show_what_the_opening_shows(draw, stage, name):
    """While a state of the opening is shown, each control stands where it would if the learner had set that state."""
    widget = CASES[name].make()
    other, there = stage(CASES[name].make()), []
    for state in widget.opening:
        set_state(other, {k: v for k, v in state.items() if k in widget.controls})
        there.append(other.evaluate(CONTROLS))
    with opening(draw, widget) as page:
        seen = []
        for _ in range(2):
            frame(page, MS)
            seen.append(page.evaluate(CONTROLS))
    assert all(controls in there for controls in seen)
    assert len({str(c) for c in seen}) > 1 or len({str(c) for c in there}) == 1


@EACH
def test_a_widget_in_another_state_stands_still(stage, name):
    step = next(
        (step for step in CASES[name].widget.story[1:] if step.state != CASES[name].widget.story[0].state), None
    )
    widget = CASES[name].make(**step.state)
    calm = picture(stage(widget))
    with frozen(stage(widget, **FREE)) as page:
        frame(page, MS)
        assert rest(page) == []
    assert same(picture(page), calm)


def picture(page):
    """What is seen; with reduced motion, because there is no Play then."""
    page.emulate_media(reduced_motion="reduce")
    settle(page)
    return Image.open(BytesIO(page.locator(".ta").screenshot(animations="disabled"))).convert("RGB")


def same(a, b):
    """Alike to every pixel, up to the one level of 255 by which a busy browser rounds an edge another way."""
    return a.size == b.size and max(high for _, high in ImageChops.difference(a, b).getextrema()) <= 1


def shown(page):
    return places(page), page.locator(".ta").text_content()


def unseen(draw, widget, **options):
    """A page with the widget, far below what is seen."""
    return draw(widget._esm, widget._css, state_of(widget), '<div style="height: 3000px"></div>', **options)


@contextmanager
def opening(draw, widget):
    """A page whose opening has begun and waits for ``frame``: it was frozen before anybody could see the widget."""
    page = unseen(draw, widget, **FREE)
    with frozen(page):
        page.locator(".ta").evaluate("(e) => e.scrollIntoView()")
        page.wait_for_function("() => waiting.size > 0", polling=20)
        yield page

"""Each widget has enough room: in a notebook, for its letters on a phone, for a finger, and in a grayscale print.

At 820 px it is at most 600 px high, so that controls and picture are visible together. On a phone and at 200 % zoom,
nothing overflows and letters have at least 11 px. Pointer targets have 24 px (WCAG 2.5.8). Series are distinguishable
without their colors.
"""

import pytest

from .cases import CASES
from .measuring import (
    LEAST_GRAY,
    LOOKS,
    SERIES,
    SMALL_LETTERS,
    SMALL_TARGETS,
    STICKING_OUT,
    alike_in_gray,
    gray_contrast,
    told_apart,
)
from .page import settle
from .stages import CALM, set_state

EACH = pytest.mark.parametrize("name", CASES)
HIGH, LETTER, TARGET = 600, 11, 24
# Width of the page and device pixels per CSS pixel. 410 is 820 px at 200 % zoom.
NARROW = {"a phone": (390, 3), "820 px at 200 %": (410, 2)}
NARROWEST = (320, 2)  # 640 px at 200 %: WCAG 1.4.10 requires no less


def _options(width, pixels=1):
    return {"viewport": {"width": width, "height": 900}, "device_scale_factor": pixels}


def _height(page):
    return page.evaluate("() => document.querySelector('.ta').getBoundingClientRect().height")


def _measured(page):
    """{problem: places}, each empty if there is none."""
    return {
        "sticks out": page.evaluate(STICKING_OUT),
        "letters": page.evaluate(SMALL_LETTERS, LETTER),
        "targets": page.evaluate(SMALL_TARGETS, TARGET),
    }


@pytest.mark.browser
@EACH
def test_controls_and_picture_are_seen_together_and_can_be_hit(stages, name):
    with stages.showing(CASES[name].usual, CALM, **_options(820)) as page:
        found = {f"height over {HIGH}": max(0, round(_height(page) - HIGH)), **_measured(page)}
    assert not {k: v for k, v in found.items() if v}


@pytest.mark.browser
@EACH
def test_every_step_of_the_story_has_room(stages, name):
    """Even with its question answered."""
    found = {}
    with stages.showing(CASES[name].usual, CALM, **_options(820)) as page:
        for i, step in enumerate(CASES[name].widget.story):
            set_state(page, {**step.state, "step": i})
            page.get_by_role("region", name="What to try").get_by_role(
                "button", name=step.choices[step.answer], exact=True
            ).click()
            settle(page)
            if _height(page) > HIGH:
                found[step.says] = round(_height(page))
    assert not found


@pytest.mark.browser
@EACH
@pytest.mark.parametrize("where", NARROW)
def test_nothing_is_too_small_or_sticks_out(stages, name, where):
    case = CASES[name]
    with stages.showing(case.usual, CALM, **_options(*NARROW[where])) as page:
        found = {}
        for state in ({}, *(s for s in case.crowded if s)):
            set_state(page, state)
            found |= {f"{what}, {state}": places for what, places in _measured(page).items() if places}
    assert not found


@pytest.mark.browser
@EACH
def test_nothing_sticks_out_of_the_narrowest_page(stages, name):
    with stages.showing(CASES[name].usual, CALM, **_options(*NARROWEST)) as page:
        assert page.evaluate(STICKING_OUT) == []


@pytest.mark.browser
@EACH
def test_a_gray_print_tells_series_apart(stages, name):
    case = CASES[name]
    found = {}
    with stages.showing(case.usual, CALM, **_options(820)) as page:
        for state in ({}, *(s for s in case.crowded if s)):
            set_state(page, state)
            if lines := alike_in_gray(page.evaluate(LOOKS, SERIES)):
                found[str(state)] = lines
    assert not found


# ---- tests of the measurements -----------------------------------------------------------------------------------

SPOILS = {
    "letters": (
        "[...document.querySelectorAll('.ta-svg text')].find((e) => e.textContent.trim() && e.checkVisibility())"
        ".style.fontSize = '9px'",
        lambda page: page.evaluate(SMALL_LETTERS, LETTER),
    ),
    "letters of a shrunken drawing": (
        "(() => { const s = document.querySelector('.ta-svg'); s.style.width = s.clientWidth * 0.6 + 'px'; })()",
        lambda page: page.evaluate(SMALL_LETTERS, LETTER),
    ),
    "a wide part": (
        "document.querySelector('.ta-controls').style.width = '950px'",
        lambda page: page.evaluate(STICKING_OUT),
    ),
    "a small button": (
        "document.querySelector('.ta button').style.cssText = 'min-height: 0; height: 18px; padding: 0'",
        lambda page: page.evaluate(SMALL_TARGETS, TARGET),
    ),
    "a small handle": (
        """document.querySelector('.ta-svg').append(svgHandle())""",
        lambda page: page.evaluate(SMALL_TARGETS, TARGET),
    ),
}
HANDLE = """() => { window.svgHandle = (stroke = 0) => {
  const dot = document.createElementNS(document.querySelector('svg').namespaceURI, 'circle');
  for (const [k, v] of Object.entries({cx: 60, cy: 60, r: 6, class: 'ta-handle', tabindex: 0, 'stroke-width': stroke,
    style: 'stroke: transparent; pointer-events: all'})) dot.setAttribute(k, v);
  return dot;
}; }"""


@pytest.mark.browser
@pytest.mark.parametrize("what", SPOILS)
def test_what_is_spoiled_is_found(stages, what):
    script, measure = SPOILS[what]
    with stages.showing(CASES["RopeExplorer"].usual, CALM, **_options(820)) as page:
        page.evaluate(HANDLE)
        assert measure(page) == []
        page.evaluate(f"() => {{ {script} }}")
        settle(page)
        assert measure(page)


@pytest.mark.browser
def test_the_area_that_takes_the_pointer_counts(stages):
    """A dot of 12 px with a transparent outline up to 24 px is easy to hit."""
    with stages.showing(CASES["RopeExplorer"].usual, CALM, **_options(820)) as page:
        page.evaluate(HANDLE)
        page.evaluate("() => document.querySelector('.ta-svg').append(svgHandle(13))")
        assert page.evaluate(SMALL_TARGETS, TARGET) == []


@pytest.mark.browser
def test_series_of_one_shape_and_gray_are_found(stages):
    """Bars in two of the course's colors have the same gray; a dashed line is distinguishable from a solid one."""
    with stages.showing(CASES["RopeExplorer"].usual, CALM, **_options(820)) as page:
        page.evaluate("""() => {
          const make = (tag, more) => {
            const e = document.createElementNS(document.querySelector('svg').namespaceURI, tag);
            for (const [k, v] of Object.entries(more)) e.setAttribute(k, v);
            return e;
          };
          const svg = make('svg', {width: 99, height: 50, 'aria-label': 'bars'});
          svg.append(make('rect', {width: 40, height: 20, class: 'ta-fill-one'}),
            make('rect', {y: 22, width: 40, height: 20, class: 'ta-fill-two'}),
            make('path', {d: 'M0 45H90', class: 'ta-mine'}), make('path', {d: 'M0 48H90', class: 'ta-reference'}));
          document.querySelector('.ta').append(svg);
        }""")
        found = alike_in_gray([look for look in page.evaluate(LOOKS, SERIES) if look[0] == "bars"])
    assert len(found) == 1 and "fill-one and fill-two (rect), 1." in found[0]


def test_gray_contrast_is_wcags():
    assert gray_contrast(0, 1) == gray_contrast(1, 0) == 21 and gray_contrast(0.3, 0.3) == 1
    look = {"shape": "rect", "open": False, "pattern": False, "dashes": "none", "outline": "", "width": 0, "light": 0.2}
    assert told_apart(look, look) == "" and told_apart(look, {**look, "pattern": True}) == "pattern"
    darker = {**look, "light": (0.25 / LEAST_GRAY - 0.05) * 0.99}
    assert told_apart(look, darker) == "gray" and told_apart(look, {**look, "light": 0.18}) == ""
    line = {**look, "shape": "path", "open": True, "width": 1.5}
    assert told_apart(line, {**line, "width": 3}) == "width" and told_apart(line, {**line, "dashes": "6px"}) == "dashes"

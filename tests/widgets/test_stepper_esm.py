"""Tier 2 of CacheStepper: the script alone in Chromium, and the exported page."""

import pytest
from anatomy.widgets import CacheStepper

from .conftest import tables_of
from .learners import unfinished
from .test_stepper_tables import right, top_left
from .test_widget_esm import CONTRAST, SCHEMES, find, settle, trait

pytestmark = pytest.mark.browser

CONTROLS = [
    ("combobox", "chunk plan", "plan", "ArrowDown"), ("combobox", "store", "store", "ArrowDown"),
    ("slider", "step", "step", "ArrowRight"),
]


@pytest.mark.parametrize("role, name, trait_name, key", CONTROLS, ids=[c[2] for c in CONTROLS])
def test_keyboard_moves_every_control_and_the_picture(stage, role, name, trait_name, key):
    page = stage(CacheStepper(right))
    before, picture = trait(page, trait_name), page.locator(".ta").screenshot()
    said = page.locator(".ta [aria-live=polite]").text_content()
    find(page, role, name).focus()
    settle(page)
    assert page.locator(".ta").screenshot() != picture  # the focus can be seen
    page.keyboard.press(key)
    settle(page)
    assert trait(page, trait_name) != before
    page.wait_for_function("() => model.saves === 1")
    page.evaluate("() => document.activeElement.blur()")
    settle(page)
    assert page.locator(".ta").screenshot() != picture
    assert page.locator(".ta [aria-live=polite]").text_content() != said


def test_all_controls_are_listed_named_and_keep_their_keys(stage):
    assert {c[2] for c in CONTROLS} == set(CacheStepper.controls)
    page = stage(CacheStepper(right))
    elements = "document.querySelectorAll('.ta :is(input, select, button, [tabindex])')"
    assert page.evaluate(f"() => [...{elements}].every((e) => e.dataset.lmSuppressShortcuts === 'true')")
    snapshot = page.locator("body").aria_snapshot()
    for role, name, *_ in CONTROLS:
        assert f'- {role} "{name}"' in snapshot, snapshot


def test_page_and_python_say_the_same(stage):
    for state in ({}, {"plan": 4, "step": 3}, {"plan": 3, "step": 1, "store": 1}, {"plan": 1, "step": 9, "store": 2}):
        widget = CacheStepper(right, **state)
        said = stage(widget).locator(".ta [aria-live=polite]").text_content()
        n = widget.figures()
        assert f"tokens {n['start']} to {n['stop'] - 1} are computed, {n['read']} keys are read, " in said
        assert f"{n['stored']} tokens are kept" in said


def test_a_wrong_mask_is_told(stage):
    assert stage(CacheStepper(top_left, step=3)).locator(".ta-word").all_text_contents()[-1] == "differs"
    assert stage(CacheStepper(right, step=3)).locator(".ta-word").all_text_contents()[-1] == "same"


def test_refresh_and_cleanup(stage):
    fresh = CacheStepper(unfinished)
    page = stage(fresh)
    assert "not written yet" in page.locator(".ta-notice").text_content()
    fresh.refresh(right)
    page.evaluate("([tables, notice]) => replaceTables(tables, notice)", [tables_of(fresh), fresh.notice])
    settle(page)
    assert page.locator(".ta-notice").is_hidden()
    page.evaluate("() => cleanup()")
    assert page.evaluate("() => Object.values(model.listeners).every((list) => list.length === 0)")
    assert page.evaluate("() => [held.media, held.observers, document.querySelectorAll('.ta').length]") == [0, 0, 0]


@SCHEMES
def test_exported_page_works_and_reads_well_in_either_scheme(browser, tmp_path, scheme):
    path = CacheStepper(right).save_html(tmp_path / "page.html")
    context = browser.new_context(viewport={"width": 900, "height": 800}, color_scheme=scheme, offline=True)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector(".ta-svg")
    found = page.evaluate(CONTRAST)
    assert len(found) > 10 and [f for f in found if f[0] < 4.5 or f[2] < 11] == [] and not errors
    context.close()


@pytest.mark.parametrize("state", [{}, {"store": 1, "plan": 1, "step": 11}, {"store": 2, "plan": 2, "step": 0}])
def test_nothing_is_cut_off_or_overlaps(stage, state):
    page = stage(CacheStepper(right, **state), viewport={"width": 860, "height": 900})
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    clashes = page.evaluate("""() => {
      const texts = [...document.querySelectorAll('.ta-svg text')].filter((t) => t.textContent);
      const boxes = texts.map((t) => [t.textContent, t.getBoundingClientRect()]);
      const out = boxes.filter(([, p]) => p.right > innerWidth || p.left < 0).map(([a]) => a);
      return out.concat(boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) => (
        Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1 &&
        Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 3)).map(([b]) => [a, b])));
    }""")
    assert clashes == []

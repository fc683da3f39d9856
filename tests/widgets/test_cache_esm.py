"""Tier 2 of CacheCalculator: the script alone in Chromium, and the exported page."""

import pytest
from anatomy.widgets import CacheCalculator

from .conftest import tables_of
from .learners import unfinished
from .test_cache_tables import right
from .test_widget_esm import CONTRAST, SCHEMES, find, settle, trait

pytestmark = pytest.mark.browser

CONTROLS = [
    ("combobox", "model", "model", "ArrowDown"), ("combobox", "attention", "kind", "ArrowDown"),
    ("combobox", "layers", "stack", "End"), ("combobox", "GPU", "gpu", "ArrowUp"),
    ("slider", "tokens per user", "tokens", "ArrowRight"), ("slider", "users", "users", "ArrowLeft"),
    ("group", "bytes per number", "itemsize", "ArrowRight"),
]


@pytest.mark.parametrize("role, name, trait_name, key", CONTROLS, ids=[c[2] for c in CONTROLS])
def test_keyboard_moves_every_control_and_the_picture(stage, role, name, trait_name, key):
    page = stage(CacheCalculator(right))
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
    assert {c[2] for c in CONTROLS} == set(CacheCalculator.controls)
    page = stage(CacheCalculator(right))
    elements = "document.querySelectorAll('.ta :is(input, select, button, [tabindex])')"
    assert page.evaluate(f"() => [...{elements}].every((e) => e.dataset.lmSuppressShortcuts === 'true')")
    snapshot = page.locator("body").aria_snapshot()
    for role, name, *_ in CONTROLS:
        assert f'- {role} "{name}"' in snapshot, snapshot


def test_page_and_python_say_the_same(stage):
    for state in ({}, {"model": 12, "tokens": 32768, "users": 64}, {"model": 13, "gpu": 5, "users": 1024}):
        widget = CacheCalculator(right, **state)
        said = stage(widget).locator(".ta [aria-live=polite]").text_content()
        n = widget.figures()
        assert f"{n['per_token']:,.0f} bytes per token" in said and f"{n['fit']:,} fit on" in said


def test_a_formula_that_differs_is_told(stage):
    page = stage(CacheCalculator(lambda n_layers, n_kv_heads, head_dim, itemsize=2: n_layers * n_kv_heads * head_dim))
    assert page.locator(".ta-word").all_text_contents()[-1] == "differs"
    assert stage(CacheCalculator(right)).locator(".ta-word").all_text_contents()[-1] == "same"


def test_refresh_and_cleanup(stage):
    fresh = CacheCalculator(unfinished)
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
    path = CacheCalculator(right).save_html(tmp_path / "page.html")
    context = browser.new_context(viewport={"width": 900, "height": 800}, color_scheme=scheme, offline=True)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector(".ta-svg")
    found = page.evaluate(CONTRAST)
    assert len(found) > 10 and [f for f in found if f[0] < 4.5 or f[2] < 11] == [] and not errors
    context.close()


@pytest.mark.parametrize("state", [{}, {"users": 1024}, {"model": 11, "users": 1}, {"model": 13, "gpu": 5, "users": 8}])
def test_nothing_is_cut_off_or_overlaps(stage, state):
    page = stage(CacheCalculator(right, **state), viewport={"width": 860, "height": 900})
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

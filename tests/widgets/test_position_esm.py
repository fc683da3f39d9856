"""Tier 2 of PositionExplorer: its script alone in Chromium, and the exported page."""

import pytest
from anatomy.widgets import PositionExplorer
from anatomy.widgets.position import NAMES, SCHEMES

from .conftest import tables_of
from .learners import unfinished
from .position_learners import POSITIONS, cosine_only
from .test_widget_esm import CONTRAST, find, settle, trait
from .test_widget_esm import SCHEMES as COLOR_SCHEMES

pytestmark = pytest.mark.browser

CONTROLS = [("combobox", "scheme", "scheme", "ArrowDown"), ("slider", "variant", "variant", "ArrowRight"),
            ("slider", "query position", "query", "ArrowLeft")]


def make(**state):
    return PositionExplorer(POSITIONS, **state)


@pytest.mark.parametrize("role, name, trait_name, key", CONTROLS, ids=[c[2] for c in CONTROLS])
def test_keyboard_moves_every_control_and_the_picture(stage, role, name, trait_name, key):
    page = stage(make())
    before, picture = trait(page, trait_name), page.locator(".ta").screenshot()
    control = find(page, role, name)
    control.focus()
    settle(page)
    assert page.locator(".ta").screenshot() != picture  # the focus can be seen
    page.keyboard.press(key)
    settle(page)
    assert trait(page, trait_name) != before
    page.evaluate("() => document.activeElement.blur()")
    settle(page)
    assert page.locator(".ta").screenshot() != picture


def test_all_controls_are_named_and_keep_their_keys(stage):
    assert {c[2] for c in CONTROLS} == set(PositionExplorer.controls)
    page = stage(make())
    elements = "document.querySelectorAll('.ta :is(input, select, button, [tabindex])')"
    assert page.evaluate(f"() => [...{elements}].every((e) => e.dataset.lmSuppressShortcuts === 'true')")
    snapshot = page.locator("body").aria_snapshot()
    for role, name, *_ in CONTROLS:
        assert f'- {role} "{name}"' in snapshot, snapshot
    for unnamed in ("- slider:", "- button:", "- img\n", "- combobox:"):
        assert unnamed not in snapshot + "\n", snapshot


@pytest.mark.parametrize("scheme", NAMES)
def test_every_scheme_is_drawn_and_read_out(stage, scheme):
    page = stage(make(scheme=scheme))
    said = page.locator(".ta [aria-live=polite]").text_content()
    assert said.startswith(scheme) and "NaN" not in said
    assert page.locator(".ta-word").last.text_content() == "same"
    line = page.get_by_role("img", name="Score against relative position").locator("path.ta-mine")
    assert line.evaluate("(e) => e.style.visibility") == "visible" and len(line.get_attribute("d")) > 300


def test_words_follow_the_variant(stage):
    page = stage(make())
    words = lambda: page.locator(".ta-word").all_text_contents()
    assert words() == ["distance only", "no direction", "same"]
    find(page, "slider", "variant").press("ArrowRight")
    settle(page)
    assert words() == ["place counts", "direction", "same"]
    find(page, "slider", "variant").press("ArrowRight")
    settle(page)
    assert words() == ["distance only", "direction", "same"]
    assert "scores key 17 highest" in page.locator(".ta-readout").text_content()


def test_a_variant_that_the_next_scheme_lacks_is_drawn_back(stage):
    page = stage(make(scheme="ALiBi", variant=7))
    find(page, "combobox", "scheme").select_option(label="Shaw")
    settle(page)
    assert trait(page, "variant") == len(SCHEMES[NAMES.index("Shaw")][3]) - 1
    assert "Shaw, K = 16" in page.locator(".ta-readout").text_content()


def test_a_wrong_function_differs_and_the_others_do_not(stage):
    page = stage(PositionExplorer({**POSITIONS, "sinusoid": cosine_only}))
    assert page.locator(".ta-word").last.text_content() == "differs"
    find(page, "combobox", "scheme").select_option(label="ALiBi")
    settle(page)
    assert page.locator(".ta-word").last.text_content() == "same"


def test_refreshed_tables_are_drawn(stage):
    fresh = PositionExplorer(dict.fromkeys(POSITIONS, unfinished))
    page = stage(fresh)
    assert page.locator(".ta-word").last.text_content() == "not yours yet"
    before = page.locator(".ta").screenshot()
    assert "not written yet" in page.locator(".ta-notice").text_content()
    fresh.refresh(POSITIONS)
    page.evaluate("([tables, notice]) => replaceTables(tables, notice)", [tables_of(fresh), fresh.notice])
    settle(page)
    assert page.locator(".ta-notice").is_hidden() and page.locator(".ta").screenshot() != before


def test_cleanup_leaves_nothing_behind(stage):
    page = stage(make())
    page.evaluate("() => cleanup()")
    assert page.evaluate("() => Object.values(model.listeners).every((list) => list.length === 0)")
    assert page.evaluate("() => [held.media, held.observers, document.querySelectorAll('.ta').length]") == [0, 0, 0]


@COLOR_SCHEMES
def test_exported_page_works_and_reads_well_in_either_scheme(browser, tmp_path, scheme):
    path = make(variant=1).save_html(tmp_path / "page.html")
    context = browser.new_context(viewport={"width": 900, "height": 800}, color_scheme=scheme, offline=True)
    page, errors, asked = context.new_page(), [], []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector(".ta-svg")
    found = page.evaluate(CONTRAST)
    assert len(found) > 10
    assert [f for f in found if f[0] < 4.5 or f[2] < 11] == []
    assert page.evaluate("() => document.querySelector('.ta').dataset.theme") == scheme
    assert not errors and asked == [path.as_uri()]
    context.close()


@pytest.mark.parametrize("scheme", NAMES)
def test_nothing_is_cut_off_or_overlaps(stage, scheme):
    page = stage(make(scheme=scheme), viewport={"width": 830, "height": 900})
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    clashes = page.evaluate("""() => {
      const texts = [...document.querySelectorAll('.ta-svg text')].filter((t) => t.textContent);
      const boxes = texts.map((t) => [t.textContent, t.getBoundingClientRect()]);
      return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) => (
        Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1 &&
        Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 3)).map(([b]) => [a, b]));
    }""")
    assert clashes == []

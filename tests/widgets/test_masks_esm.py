"""Tier 2 of MaskExplorer and ObjectiveLab: the script alone in Chromium, and the exported page."""

import pytest
import torch
from anatomy.widgets import MaskExplorer, ObjectiveLab

from autograder.recording.widgets import MASKS, OBJECTIVES

from .conftest import tables_of
from .learners import unfinished
from .test_widget_esm import CONTRAST, SCHEMES, find, settle, trait

pytestmark = pytest.mark.browser

# widget → (functions, state, [(role, accessible name, trait, key that moves it)])
WIDGETS = {
    MaskExplorer: (MASKS, {"mask": "prefix LM"}, [
        ("combobox", "mask", "mask", "ArrowDown"),
        ("slider", "query", "query", "ArrowRight"),
        ("slider", "size", "size", "ArrowLeft"),
        ("slider", "layers", "layers", "End"),
    ]),
    ObjectiveLab: (OBJECTIVES, {"objective": "blank_infilling"}, [
        ("combobox", "objective", "objective", "ArrowUp"),
        ("slider", "place", "place", "ArrowRight"),
        ("slider", "random draw", "draw", "End"),
    ]),
}
CONTROLS = [(widget, *control) for widget, (_, _, controls) in WIDGETS.items() for control in controls]
EACH = pytest.mark.parametrize("widget", WIDGETS, ids=lambda w: w.__name__)


def make(widget, **state):
    functions, usual, _ = WIDGETS[widget]
    return widget(functions, **{**usual, **state})


def words(page):
    return page.locator(".ta-word").all_text_contents()


@pytest.mark.parametrize("widget, role, name, trait_name, key", CONTROLS,
                         ids=[f"{c[0].__name__}-{c[3]}" for c in CONTROLS])
def test_keyboard_moves_every_control_and_the_picture(stage, widget, role, name, trait_name, key):
    page = stage(make(widget))
    before, picture = trait(page, trait_name), page.locator(".ta").screenshot()
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


@EACH
def test_all_controls_are_listed_named_and_keep_their_keys(stage, widget):
    assert {c[2] for c in WIDGETS[widget][2]} == set(widget.controls)
    page = stage(make(widget))
    elements = "document.querySelectorAll('.ta :is(input, select, button, [tabindex])')"
    assert page.evaluate(f"() => [...{elements}].every((e) => e.dataset.lmSuppressShortcuts === 'true')")
    snapshot = page.locator("body").aria_snapshot()
    for role, name, *_ in WIDGETS[widget][2]:
        assert f'- {role} "{name}"' in snapshot, snapshot
    for unnamed in ("- slider:", "- img\n", "- combobox:"):
        assert unnamed not in snapshot + "\n", snapshot


@EACH
def test_every_setting_is_drawn_and_said(stage, widget):
    """The list from end to end, each with the last value of the other controls: no error, no missing word."""
    page = stage(make(widget))
    first = WIDGETS[widget][2][0][2]
    count = page.locator("select option").count()
    for i in range(count):
        for place in (0, 31):
            page.evaluate("([name, i, place]) => { model.set(name, i); for (const k of ['query', 'size', 'place']) "
                          "model.set(k, place); }", [first, i, place])
            settle(page)
            said = page.locator(".ta-readout").text_content()
            assert said and "undefined" not in said and "NaN" not in said, (i, place, said)
            drawn = " ".join(page.locator(".ta-svg text").all_text_contents())
            assert "undefined" not in drawn and "NaN" not in drawn, (i, place, drawn)


@EACH
def test_cleanup_leaves_nothing_behind(stage, widget):
    page = stage(make(widget))
    page.evaluate("() => cleanup()")
    assert page.evaluate("() => Object.values(model.listeners).every((list) => list.length === 0)")
    assert page.evaluate("() => [held.media, held.observers, document.querySelectorAll('.ta').length]") == [0, 0, 0]


@EACH
def test_refreshed_tables_are_drawn(stage, widget):
    functions, usual, _ = WIDGETS[widget]
    fresh = widget(dict.fromkeys(functions, unfinished), **usual)
    page = stage(fresh)
    before = page.locator(".ta").screenshot()
    assert "not written yet" in page.locator(".ta-notice").text_content()
    fresh.refresh(functions)
    page.evaluate("([tables, notice]) => replaceTables(tables, notice)", [tables_of(fresh), fresh.notice])
    settle(page)
    assert page.locator(".ta-notice").is_hidden() and page.locator(".ta").screenshot() != before


@EACH
@SCHEMES
def test_exported_page_works_and_reads_well_in_either_scheme(browser, tmp_path, widget, scheme):
    path = make(widget).save_html(tmp_path / "page.html")
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


@EACH
@pytest.mark.parametrize("width", [900, 830])
def test_nothing_is_cut_off_or_overlaps(stage, widget, width):
    page = stage(make(widget), viewport={"width": width, "height": 900})
    first = WIDGETS[widget][2][0][2]
    for i in range(page.locator("select option").count()):
        page.evaluate("([name, i]) => model.set(name, i)", [first, i])
        settle(page)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        clashes = page.evaluate("""() => {
          const texts = [...document.querySelectorAll('.ta-svg text')].filter((t) => t.textContent);
          const boxes = texts.map((t) => [t.textContent, t.getBoundingClientRect()]);
          return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) => (
            Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1 &&
            Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 3)).map(([b]) => [a, b]));
        }""")
        assert clashes == [], i


def test_a_click_on_a_row_chooses_the_query(stage):
    page = stage(make(MaskExplorer, mask="causal", query=0))
    grid = page.get_by_role("img", name="Grid: one row for each query")
    box = grid.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 10)
    settle(page)
    assert trait(page, "query") == 7 and "may look at 8 of 8" in page.locator(".ta-readout").text_content()


def test_a_leak_is_called_one_and_crossed_out(stage):
    assert words(stage(make(MaskExplorer, mask="causal"))) == ["", "no leak", "", "same"]
    wrong = {**MASKS, "causal_mask": lambda T, S=None: torch.ones(T, S or T).tril((S or T) - T + 1) > 0}
    page = stage(MaskExplorer(wrong, mask="causal"))
    assert words(page) == ["", "leak", "", "differs"]
    crosses = page.get_by_role("img", name="Grid: one row for each query").locator("path.ta-mark")
    assert crosses.count() == 7


def test_layers_extend_the_reach_of_a_narrow_mask(stage):
    narrow = {**MASKS, "causal_mask": lambda T, S=8: torch.ones(T, S).tril(S - T).triu(S - T - 1) > 0}
    page = stage(MaskExplorer(narrow, mask="causal", query=6, layers=1))
    assert "after 1 layer it depends on 2 of 8" in page.locator(".ta-readout").text_content()
    find(page, "slider", "layers").press("End")
    settle(page)
    assert "after 4 layers it depends on 5 of 8" in page.locator(".ta-readout").text_content()


def test_the_lab_says_what_is_seen_and_asked(stage):
    page = stage(make(ObjectiveLab, objective="next_token_pairs", place=3))
    assert "sees one dog saw two → must predict “cats”" in page.locator(".ta-readout").text_content()
    page = stage(make(ObjectiveLab, objective="nsp_pair", place=0, draw=1))
    assert "must predict “random”" in page.locator(".ta-readout").text_content()
    wrong = {**OBJECTIVES, "next_token_pairs": lambda ids: (ids[:, :-1], ids[:, :-1])}
    assert words(stage(ObjectiveLab(wrong))) == ["", "", "differs"]

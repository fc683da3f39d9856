"""The promises of all widgets in a browser: keys, names, themes, room, fresh tables, cleanup."""

import pytest

from .cases import CASES
from .page import find, said, settle, trait
from .stages import set_state, tables_of

pytestmark = pytest.mark.browser

EACH = pytest.mark.parametrize("name", CASES)
MOVES = [(name, *control, *[{}] * (5 - len(control))) for name, case in CASES.items() for control in case.controls]
# The name of a control: for radio buttons the group's, because the Tab key lands there.
NAME = """(e) => {
  const group = e.type === 'radio' && e.closest('fieldset')?.querySelector('legend');
  return (group || e.labels?.[0])?.textContent.trim() || '';
}"""
LABELS = f"""() => [...document.querySelectorAll('.ta :is(input, select)')]
  .filter((e) => !e.disabled && e.checkVisibility({{ visibilityProperty: true }})).map({NAME})"""
CLASHES = """(selector) => {
  const texts = [...document.querySelectorAll(selector)].filter((t) => t.textContent);
  const boxes = texts.map((t) => [t.textContent, t.getBoundingClientRect(), t]);
  const seen = (t) => getComputedStyle(t).visibility !== 'hidden';
  // A question mark may stand where a number waits, as long as only one of them is seen.
  const inTurn = (s, t) => seen(s) !== seen(t) &&
    [[s, t], [t, s]].some(([a, b]) => a.matches('.ta-until') && b.matches('[data-readout]'));
  const out = boxes.filter(([, p]) => p.right > innerWidth || p.left < 0).map(([a]) => a);
  return out.concat(boxes.flatMap(([a, p, s], i) => boxes.slice(i + 1).filter(([, q, t]) => (
    !inTurn(s, t) &&
    Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1 &&
    Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 3)).map(([b]) => [a, b])));
}"""


@pytest.mark.parametrize("name, role, label, moved, key, state", MOVES, ids=[f"{m[0]}-{m[2]}" for m in MOVES])
def test_keyboard_moves_every_control_and_the_picture(stage, name, role, label, moved, key, state):
    """Focus is visible; a key changes the trait, the picture and the readout, and is saved once."""
    case = CASES[name]
    page = stage(case.make(**state) if state else case.usual)
    before, picture, heard = trait(page, moved), page.locator(".ta").screenshot(), said(page)
    find(page, role, label).focus()
    settle(page)
    assert page.locator(".ta").screenshot() != picture, "the focus cannot be seen"
    page.keyboard.press(key)
    settle(page)
    assert trait(page, moved) != before
    page.wait_for_function("() => model.saves === 1")
    page.evaluate("() => document.activeElement.blur()")
    settle(page)
    assert page.locator(".ta").screenshot() != picture
    assert (said(page) != heard) == (moved not in case.silent) and "NaN" not in said(page)


def test_a_click_on_one_widget_hides_no_focus_on_the_next(stages):
    """Chromium shows focus set by a script unless the mouse was used last, and pages are reused."""
    for click in (True, False):
        with stages.showing(CASES["ActivationExplorer"].make(look="gate and units")) as page:
            slider = find(page, "slider", "value v")
            slider.focus()
            assert slider.evaluate("(e) => e.matches(':focus-visible')")
            if click:
                page.evaluate("() => document.activeElement.blur()")
                slider.click()
                assert not slider.evaluate("(e) => e.matches(':focus-visible')")


@EACH
def test_controls_have_names_and_keep_their_keys(stage, name):
    """All traits that can be moved are listed; each control has a name and keeps its keys from the notebook's
    shortcuts; the Tab key reaches each, with visible focus."""
    case = CASES[name]
    assert {c[2] for c in case.controls} == set(case.widget.controls)
    page = stage(case.usual)
    elements = "document.querySelectorAll('.ta :is(input, select, button, [tabindex])')"
    assert page.evaluate(f"() => [...{elements}].length") >= len(case.controls)
    assert page.evaluate(f"() => [...{elements}].every((e) => e.dataset.lmSuppressShortcuts === 'true')")
    snapshot = page.locator("body").aria_snapshot()
    for unnamed in ("- slider:", "- button:", "- img\n", "- combobox:", "- radio\n"):
        assert unnamed not in snapshot + "\n", snapshot
    assert _reached_by_tab(page, page.evaluate(f"() => [...{elements}].length")) == set(page.evaluate(LABELS))


def _reached_by_tab(page, count):
    """Names of the controls that ``count`` tabs and two more reach; each must show its focus."""
    reached = set()
    for _ in range(count + 2):
        page.keyboard.press("Tab")
        label, style, width = page.evaluate(f"""() => {{
          const e = document.activeElement;
          return [({NAME})(e), getComputedStyle(e).outlineStyle, parseFloat(getComputedStyle(e).outlineWidth)];
        }}""")
        if label:
            reached.add(label)
            assert style != "none" and width >= 2, label
    return reached


@EACH
def test_refreshed_tables_are_drawn_and_cleanup_leaves_nothing(stage, name):
    """Stubs show the reference and a notice; right functions are drawn without a notice; after cleanup no listener,
    observer or element remains."""
    case = CASES[name]
    fresh = case.stubs()
    page = stage(fresh)
    before = page.locator(".ta").screenshot()
    assert "not written yet" in page.locator(".ta-notice").text_content()
    fresh.refresh(case.given[0])
    page.evaluate("([tables, notice]) => replaceTables(tables, notice)", [tables_of(fresh), fresh.notice])
    settle(page)
    assert page.locator(".ta-notice").is_hidden() and page.locator(".ta").screenshot() != before
    assert page.evaluate("() => held.media > 0 && held.observers > 0"), "the counting counts nothing"
    page.evaluate("() => cleanup()")
    assert page.evaluate("() => Object.values(model.listeners).every((list) => list.length === 0)")
    assert page.evaluate("() => [held.media, held.observers, document.querySelectorAll('.ta').length]") == [0, 0, 0]


@EACH
def test_python_hears_the_last_state_even_when_the_view_closes(stage, name):
    page = stage(CASES[name].usual)
    role, label, _, key = CASES[name].controls[0][:4]
    for _ in range(3):
        find(page, role, label).press(key)
    page.evaluate("() => cleanup()")
    saves = page.evaluate("() => model.saves")
    assert 1 <= saves <= 3  # at least the last; fewer than three if the keys come fast
    page.wait_for_timeout(400)
    assert page.evaluate("() => model.saves") == saves


@EACH
@pytest.mark.parametrize("width", [900, 830])
def test_nothing_is_cut_off_or_overlaps(stage, name, width):
    """The page needs no sideways scrolling; no text of the drawing leaves it or overlaps another."""
    case = CASES[name]
    page = stage(case.usual, viewport={"width": width, "height": 900})
    found = {}
    for state in case.crowded:
        set_state(page, state)
        if not page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"):
            found[f"the page scrolls sideways, {state}"] = True
        if lines := page.evaluate(CLASHES, case.drawn):
            found[f"words, {state}"] = lines
    assert not found


@EACH
def test_lab_theme_wins_over_the_systems(stage, name):
    page = stage(CASES[name].usual, color_scheme="light")
    before = page.locator(".ta").screenshot()
    page.evaluate("() => { document.body.dataset.jpThemeLight = 'false' }")
    settle(page)
    assert page.evaluate("() => document.querySelector('.ta').dataset.theme") == "dark"
    assert page.locator(".ta").screenshot() != before


THEMES = [  # where a page states its theme, the word for light, the word for dark
    ("body", "data-vscode-theme-kind", "vscode-light", "vscode-dark"),
    ("body", "data-vscode-theme-kind", "vscode-high-contrast-light", "vscode-high-contrast"),
    ("documentElement", "theme", "light", "dark"),
]


@pytest.mark.parametrize("place, name, light, dark", THEMES, ids=["VS Code", "high contrast", "Colab"])
def test_other_pages_themes_win_over_the_systems_too(stage, place, name, light, dark):
    """These pages put outputs in frames; a dark system theme does not mean that the surrounding page is dark."""
    for system, word, want in (("dark", light, "light"), ("light", dark, "dark")):
        page = stage(CASES["MixExplorer"].usual, color_scheme=system)
        page.evaluate("([place, name, word]) => document[place].setAttribute(name, word)", [place, name, word])
        settle(page)
        assert page.evaluate("() => document.querySelector('.ta').dataset.theme") == want


@pytest.mark.parametrize("name", ["MaskExplorer", "ObjectiveLab"])
def test_every_setting_is_drawn_and_said(stage, name):
    """All list entries, each with the smallest and largest values of other controls: no error, no missing word."""
    page = stage(CASES[name].usual)
    first = CASES[name].controls[0][2]
    count = page.locator("select option").count()
    for i in range(count):
        for place in (0, 31):
            page.evaluate(
                "([name, i, place]) => { model.set(name, i); for (const k of ['query', 'size', 'place']) "
                "model.set(k, place); }",
                [first, i, place],
            )
            settle(page)
            heard = said(page)
            assert heard and "undefined" not in heard and "NaN" not in heard, (i, place, heard)
            drawn = " ".join(page.locator(".ta-svg text").all_text_contents())
            assert "undefined" not in drawn and "NaN" not in drawn, (i, place, drawn)

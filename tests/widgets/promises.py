"""What every widget promises in a browser: one function for each promise, for the widgets' own test files to call."""

import pytest

from .cases import find
from .conftest import tables_of

SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])
READOUT = ".ta [aria-live=polite]"
CLASHES = """(selector) => {
  const texts = [...document.querySelectorAll(selector)].filter((t) => t.textContent);
  const boxes = texts.map((t) => [t.textContent, t.getBoundingClientRect()]);
  const out = boxes.filter(([, p]) => p.right > innerWidth || p.left < 0).map(([a]) => a);
  return out.concat(boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) => (
    Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1 &&
    Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 3)).map(([b]) => [a, b])));
}"""
CONTRAST = """() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const color = numbers(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const e of document.querySelectorAll('.ta *')) {
    const own = [...e.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim());
    if (!own || e.dataset.ink || !e.getClientRects().length) continue;
    const style = getComputedStyle(e);
    const ink = numbers(e.namespaceURI.includes('svg') ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(e))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), e.textContent.trim().slice(0, 40), parseFloat(style.fontSize)]);
  }
  return found;
}"""


def settle(page):
    """Two frames: one for the drawing that was asked for, one for it to be on the screen."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def trait(page, name):
    return page.evaluate("(name) => model.get(name)", name)


def moves_by_keyboard(page, role, name, trait_name, key):
    """The focus can be seen; a key changes the trait and the picture and is saved once. Returns whether the readout
    changed as well."""
    before, picture = trait(page, trait_name), page.locator(".ta").screenshot()
    said = page.locator(READOUT).text_content()
    find(page, role, name).focus()
    settle(page)
    assert page.locator(".ta").screenshot() != picture, "the focus cannot be seen"
    page.keyboard.press(key)
    settle(page)
    assert trait(page, trait_name) != before
    page.wait_for_function("() => model.saves === 1")
    page.evaluate("() => document.activeElement.blur()")
    settle(page)
    assert page.locator(".ta").screenshot() != picture
    return page.locator(READOUT).text_content() != said


def names_its_controls(page, widget, controls):
    """``controls`` (role, name, trait, …) are all that the widget has; each has its name, and keeps its keys from the
    notebook's shortcuts."""
    assert {c[2] for c in controls} == set(widget.controls)
    elements = "document.querySelectorAll('.ta :is(input, select, button, [tabindex])')"
    assert page.evaluate(f"() => [...{elements}].length") >= len(controls)
    assert page.evaluate(f"() => [...{elements}].every((e) => e.dataset.lmSuppressShortcuts === 'true')")
    snapshot = page.locator("body").aria_snapshot()
    for role, name, *_ in controls:
        assert f'- {role} "{name}"' in snapshot, snapshot
    for unnamed in ("- slider:", "- button:", "- img\n", "- combobox:", "- radio\n"):
        assert unnamed not in snapshot + "\n", snapshot


def leaves_nothing_behind(page):
    """After cleanup there is no listener, no observer and no element left."""
    assert page.evaluate("() => held.media > 0 && held.observers > 0"), "the counting counts nothing"
    page.evaluate("() => cleanup()")
    assert page.evaluate("() => Object.values(model.listeners).every((list) => list.length === 0)")
    assert page.evaluate("() => [held.media, held.observers, document.querySelectorAll('.ta').length]") == [0, 0, 0]


def draws_refreshed_tables(page, fresh, functions):
    """``fresh`` shows the reference for empty stubs; refreshed with ``functions`` it draws them, without a notice."""
    before = page.locator(".ta").screenshot()
    assert "not written yet" in page.locator(".ta-notice").text_content()
    fresh.refresh(functions)
    page.evaluate("([tables, notice]) => replaceTables(tables, notice)", [tables_of(fresh), fresh.notice])
    settle(page)
    assert page.locator(".ta-notice").is_hidden() and page.locator(".ta").screenshot() != before


def exports_a_readable_page(browser, path, scheme, moves=lambda page: None):
    """The saved page works offline, asks for nothing else, follows the color scheme, and its text is large and dark
    enough. ``moves`` does something on it."""
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
    moves(page)
    assert not errors and asked == [path.as_uri()]
    context.close()


def cuts_nothing_off(page, selector=".ta-svg text"):
    """The page needs no sideways scrolling, and no text of the drawing leaves it or lies on another."""
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(CLASHES, selector) == []

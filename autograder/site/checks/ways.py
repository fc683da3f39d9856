"""Checks other ways to read the site: only by keyboard, from disk, without scripts, on paper, by searching."""

from pathlib import Path
from typing import Any

from . import Finding
from .looking import ALL_ALIVE, PHONE, WIDE, WIDER

# Elements that must get the focus when one presses Tab from top to bottom. Inside a widget the arrow keys take over, so
# each widget counts as one place.
_PLACES = """() => {
  const seen = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getClientRects().length && e.tabIndex >= 0;
  window.taPlaces = new Set([...document.querySelectorAll("a[href], button, summary, [tabindex='0']")]
    .filter((e) => seen(e) && !e.closest(".ta") && !e.closest("details:not([open]) > :not(summary)")));
  window.taWidgets = new Set([...document.querySelectorAll(".ta-live .ta")]);
  document.addEventListener("focusin", (event) => {
    window.taPlaces.delete(event.target);
    window.taWidgets.delete(event.target.closest(".ta"));
  });
  return window.taPlaces.size;
}"""
# What is in sight no more was not missed: the theme's link to the top shows only while a page is scrolled up.
_LEFT = """() => [...window.taPlaces, ...window.taWidgets]
  .filter((e) => e.checkVisibility({ visibilityProperty: true })).map((e) => e.outerHTML.slice(0, 120))"""


def keyboard(browser: Any, base: str, names: list[str]) -> Finding:
    """Checks that Tab reaches everything and the focus is visible."""
    missed, walked = [], 0
    for name in names:
        for window in (WIDE, PHONE):
            context = browser.new_context(viewport=window, reduced_motion="reduce")
            page = context.new_page()
            page.goto(f"{base}{name}")
            page.evaluate(ALL_ALIVE)
            count = page.evaluate(_PLACES)
            walked += count
            for _ in range(6 * count + 400):
                page.keyboard.press("Tab")
                if not page.evaluate("() => window.taPlaces.size + window.taWidgets.size"):
                    break
            missed += [f"{name} ({window['width']} px): {one}" for one in page.evaluate(_LEFT)]
            outline = page.evaluate("""() => { document.querySelector("article a[href]").focus({ focusVisible: true });
              return getComputedStyle(document.activeElement).outlineStyle; }""")
            if outline == "none":
                missed.append(f"{name}: the focus can't be seen")
            context.close()
    return Finding("places that pressing Tab misses", f"{len(missed)} of {walked}", "0", missed)


def without_scripts(browser: Any, base: str, names: list[str]) -> Finding:
    """Checks pages with scripts off: text, formulas with a size, pictures with alt text, hints that unfold."""
    wrong = []
    context = browser.new_context(viewport=WIDE, java_script_enabled=False)
    page = context.new_page()
    counts = {"formulas": 0, "pictures": 0, "folds": 0}
    for name in names:
        page.goto(f"{base}{name}")
        said = page.locator("article").inner_text()
        if len(said) < 150:
            wrong.append(f"{name}: {len(said)} letters of text")
        # A formula in a folded hint has no size.
        for formula in page.locator("article math:not(details:not([open]) math)").all()[:40]:
            counts["formulas"] += 1
            box = formula.bounding_box()
            if box is None or box["width"] < 2 or box["height"] < 4:
                wrong.append(f"{name}: a formula without a size, {formula.inner_text()!r}")
        for picture in page.locator("article img").all():
            counts["pictures"] += 1
            box = picture.bounding_box()
            words = picture.get_attribute("alt")
            if words is None or box is None or box["width"] < 10:
                wrong.append(f"{name}: a picture without words or size, {picture.get_attribute('src')}")
        folds = page.locator("article .ta-hints > details > summary")
        counts["folds"] += folds.count()
        if folds.count():
            folds.first.click()
            if page.locator("article .ta-hints > details[open] p").count() == 0:
                wrong.append(f"{name}: a hint does not unfold")
    context.close()
    told = ", ".join(f"{n} {what}" for what, n in counts.items())
    return Finding("without scripts", f"{told} in {len(names)} pages", "", wrong)


def paper(browser: Any, base: str, names: list[str]) -> Finding:
    """Checks printed pages: no sidebars, dark text on white even if the screen is dark, nothing cut off at the side."""
    wrong, sheets = [], 0
    for name in names:
        context = browser.new_context(viewport={"width": 794, "height": 1123}, color_scheme="dark")
        page = context.new_page()
        page.goto(f"{base}{name}")
        page.emulate_media(media="print")
        for part in (".sidebar-drawer", ".toc-drawer", ".mobile-header"):
            if page.locator(part).first.is_visible():
                wrong.append(f"{name}: {part} is printed")
        paper_, ink = page.evaluate("""() => { const s = getComputedStyle(document.body);
          const sum = (c) => c.match(/[\\d.]+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0);
          return [s.backgroundColor === "rgba(0, 0, 0, 0)" ? 765 : sum(s.backgroundColor), sum(s.color)]; }""")
        if paper_ < 700 or ink > 250:
            wrong.append(f"{name}: paper {paper_ / 3:.0f} and ink {ink / 3:.0f} of 255")
        if wider := page.evaluate(WIDER):
            wrong.append(f"{name}: wider than the sheet, {wider}")
        pdf = page.pdf(format="A4")
        sheets += pdf.count(b"/Type /Page\n") or pdf.count(b"/Type /Page")
        context.close()
    if not sheets:
        wrong.append("nothing was printed")
    return Finding("on paper", f"{len(names)} pages on {sheets} sheets", "", wrong)


def searching(browser: Any, base: str, queries: dict[str, str]) -> Finding:
    """Checks that each query finds the expected page. queries: words → a page's address."""
    wrong = []
    context = browser.new_context(viewport=WIDE)
    page = context.new_page()
    for words, wanted in queries.items():
        page.goto(f"{base}search.html?q={words}")
        try:
            page.wait_for_selector("#search-results ul.search li a", timeout=20_000)
            # In every language this line is empty until all results are shown.
            page.wait_for_function("() => document.querySelector('#search-results .search-summary').textContent")
        except Exception:
            wrong.append(f"{words!r} finds nothing")
            continue
        found = page.eval_on_selector_all("#search-results ul.search li a", "(all) => all.map((a) => a.href)")
        if not any(wanted in address for address in found):
            wrong.append(f"{words!r} does not find {wanted}; it finds {[Path(a).name for a in found[:5]]}")
    context.close()
    return Finding(
        f"searches, {base.partition(':')[0]}", f"{len(queries) - len(wrong)} of {len(queries)} find", "", wrong
    )


def themes(browser: Any, base: str, name: str) -> Finding:
    """Checks that the theme button also changes widgets and figures, and that "auto" follows the system."""
    wrong = []
    context = browser.new_context(viewport=WIDE, color_scheme="dark", reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{base}{name}")
    page.evaluate(ALL_ALIVE)
    seen = set()
    for _ in range(3):
        # Two frames: the widget is notified of the change, then draws.
        page.evaluate("() => new Promise((d) => requestAnimationFrame(() => requestAnimationFrame(d)))")
        theme = page.evaluate("() => document.body.dataset.theme")
        told = page.evaluate("() => document.body.dataset.jpThemeLight ?? null")
        widget = page.evaluate("() => document.querySelector('.ta-live .ta').dataset.theme")
        seen.add(theme)
        expected = {"light": ("true", "light"), "dark": ("false", "dark"), "auto": (None, "dark")}[theme]
        if (told, widget) != expected:
            wrong.append(f"theme {theme}: the page tells {told!r}, the widget is {widget}")
        page.locator(".theme-toggle:visible").first.click()
    if seen != {"light", "dark", "auto"}:
        wrong.append(f"the button went through {sorted(seen)}")
    context.close()
    return Finding("themes", "the button, widgets and figures agree" if not wrong else "they differ", "", wrong)

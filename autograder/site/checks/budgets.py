"""Weights and times, in a real browser over HTTP: the first page, the units' pages, what is loaded when.

What counts is the body of each answer as it is sent: text compressed with gzip, pictures and fonts as they are.
Headers are not counted.
"""

import re
import statistics
from pathlib import Path
from typing import Any

from . import Finding
from .serving import Served

KIB = 1024
FIRST_PAGE, UNIT_PAGE = 300, 500  # KiB
DRAWN = 1.0  # seconds
WINDOW = {"width": 1280, "height": 800}
# State, tables, script and picture of a widget: what is loaded for a widget and for nothing else.
OF_WIDGETS = re.compile(r"_static/live/(?!core\.js|widgets\.css)")


def first_page(browser: Any, site: Served) -> list[Finding]:
    """The first page: all that is sent before anybody touches it, and when the widget on it is drawn."""
    times, sizes = [], []
    for _ in range(5):
        with _fresh(browser, site) as page:
            page.goto(f"{site.address}index.html")
            page.wait_for_selector(".ta-live[data-ms] .ta-svg")
            times.append(page.evaluate(_DRAWN) / 1000)
            page.wait_for_load_state("networkidle")
            sizes.append(sum(size for _, size in site.sent) / KIB)
    size, middle = max(sizes), statistics.median(times)
    heavy = [f"{size:.0f} KiB"] if size > FIRST_PAGE else []
    slow = [f"{middle:.2f} s"] if middle > DRAWN else []
    return [
        Finding("first page, sent before any touch", f"{size:.0f} KiB", f"{FIRST_PAGE} KiB", heavy),
        Finding("first page, widget drawn (median of 5)", f"{middle:.2f} s", f"{DRAWN:.0f} s", slow),
    ]


# The last frame after the widget's own script has drawn; the clock begins with the navigation.
_DRAWN = """() => new Promise((done) => requestAnimationFrame(() => {
  const entries = performance.getEntriesByName("ta-drawn");
  done(entries.length ? entries[0].startTime : performance.now());
}))"""


def unit_pages(browser: Any, site: Served, names: list[str]) -> list[Finding]:
    """Each unit's page without its widgets, and whether these load when they are scrolled to and not before."""
    sizes, heavy, early, twice, dead, live = {}, [], [], [], [], 0
    for name in names:
        with _fresh(browser, site) as page:
            page.goto(f"{site.address}{name}")
            page.wait_for_load_state("networkidle")
            plain = [(path, size) for path, size in site.sent if not OF_WIDGETS.search(path)]
            sizes[name] = sum(size for _, size in plain) / KIB
            if sizes[name] > UNIT_PAGE:
                heavy.append(f"{name}: {sizes[name]:.0f} KiB")
            boxes = page.evaluate(_BOXES)
            sent = {path for path, _ in site.sent}
            for box in boxes:
                state = f"_static/live/{box['state']}.js"
                if box["top"] > WINDOW["height"] + 400 and state in sent:
                    same = [b for b in boxes if b["state"] == box["state"] and b["top"] <= WINDOW["height"] + 400]
                    if not same:
                        early.append(f"{name}: {box['state']} is loaded, {box['top']:.0f} px below the window's top")
            for number, box in enumerate(boxes):
                page.locator(".ta-live").nth(number).scroll_into_view_if_needed()
                try:
                    page.wait_for_selector(f".ta-live[data-state='{box['state']}'][data-ms]", timeout=60_000)
                    live += 1
                except Exception:
                    failed = page.locator(".ta-live").nth(number).get_attribute("data-failed")
                    dead.append(f"{name}: {box['state']} does not come to life: {failed}")
            paths = [path for path, _ in site.sent if "/live/" in path]
            twice += [f"{name}: {path} is loaded twice" for path in set(paths) if paths.count(path) > 1]
    largest = max(sizes, key=lambda name: sizes[name])
    return [
        Finding(
            "pages of units, before widgets",
            f"at most {sizes[largest]:.0f} KiB ({Path(largest).stem})",
            f"{UNIT_PAGE} KiB",
            heavy,
        ),
        Finding("widgets of units that load when scrolled to", f"{live}, {len(early)} too early", "0", early + dead),
        Finding("files of widgets loaded twice in a page", str(len(twice)), "0", twice),
    ]


_BOXES = """() => [...document.querySelectorAll(".ta-live")].map((box) => (
  { state: box.dataset.state, top: box.getBoundingClientRect().top }))"""


class _fresh:
    """A page with an empty cache, closed at the end; the server's list begins anew."""

    def __init__(self, browser: Any, site: Served) -> None:
        self._context = browser.new_context(viewport=WINDOW)
        site.sent.clear()

    def __enter__(self) -> Any:
        return self._context.new_page()

    def __exit__(self, *_: object) -> None:
        self._context.close()

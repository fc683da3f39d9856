"""Sizes and times, in a real browser over HTTP: the first page, the units' pages, and when each file is loaded.

Sizes are those of the response bodies as sent: text compressed with gzip, pictures and fonts as they are. Headers are
not counted.
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
# State, tables, script and picture of a widget: files that are loaded only for widgets.
OF_WIDGETS = re.compile(r"_static/live/(?!core\.js|widgets\.css)")


def first_page(browser: Any, site: Served) -> list[Finding]:
    """The first page: the bytes sent before any interaction, and the time until its widget is drawn."""
    times, sizes = [], []
    for _ in range(5):
        with _fresh(browser, site) as page:
            page.goto(f"{site.address}index.html")
            page.wait_for_selector(".ta-live[data-ms] .ta-svg:visible")
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


# Time at which the widget's own script has drawn, in ms since the navigation began.
_DRAWN = """() => new Promise((done) => requestAnimationFrame(() => {
  const entries = performance.getEntriesByName("ta-drawn");
  done(entries.length ? entries[0].startTime : performance.now());
}))"""


def unit_pages(browser: Any, site: Served, names: list[str]) -> list[Finding]:
    """Size of each unit's page without its widgets, and whether widgets load only when they are scrolled to."""
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
    """Context manager: a page with an empty cache, closed at the end; clears the server's list of responses."""

    def __init__(self, browser: Any, site: Served) -> None:
        self._context = browser.new_context(viewport=WINDOW)
        site.sent.clear()

    def __enter__(self) -> Any:
        return self._context.new_page()

    def __exit__(self, *_: object) -> None:
        self._context.close()

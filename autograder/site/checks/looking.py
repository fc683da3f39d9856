"""Checks every page in a real browser: no findings of axe, no errors, no requests to other sites, no wider than a
phone, reachable by keyboard. All widgets run during the checks: in light mode, in dark mode and on a phone.
"""

import json
from collections.abc import Iterable
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT  # contains axe-core; nothing is downloaded

from . import Finding

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
# The ways in which a page is checked: name → (window, color scheme).
WAYS = {"light": (WIDE, "light"), "dark": (WIDE, "dark"), "phone": (PHONE, "light")}

# Scrolls through the page, so that everything lazy loads, and waits until all loading is finished.
ALL_ALIVE = """async () => {
  const step = innerHeight * 0.8;
  for (let y = 0; y < document.documentElement.scrollHeight; y += step) {
    scrollTo(0, y);
    await new Promise((done) => setTimeout(done, 15));
  }
  // What stands where a widget was still a picture has moved since: each box is gone to by itself.
  for (const box of document.querySelectorAll(".ta-live:not([data-ms])")) {
    box.scrollIntoView();
    const last = performance.now() + 20000;
    while (!box.dataset.ms && !box.dataset.failed && performance.now() < last)
      await new Promise((done) => setTimeout(done, 20));
  }
  const waiting = () => [...document.images].some((i) => !i.complete && i.checkVisibility() && i.clientWidth);
  const last = performance.now() + 20000;
  while (waiting() && performance.now() < last) await new Promise((done) => setTimeout(done, 30));
  scrollTo(0, 0);
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
# Widths at which something other than on a desktop or a phone happens: a tablet, both ways, and the commonest laptop.
BETWEEN = (768, 1024, 1366)
WIDER = """() => {
  const room = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= room) return "";
  const clipped = (e) => { for (let p = e.parentElement; p; p = p.parentElement)
    if (/auto|scroll|hidden|clip/.test(getComputedStyle(p).overflowX)) return true; return false; };
  const first = [...document.querySelectorAll("body *")].find((e) => {
    const box = e.getBoundingClientRect(); return box.width && box.right > room + 1 && !clipped(e); });
  return `${document.documentElement.scrollWidth} px: ${first ? first.outerHTML.slice(0, 120) : "no element"}`;
}"""
# What can be pressed but lies outside the window, where nothing scrolls to it. A drawer waits there to be opened.
_OUTSIDE = """() => {
  const room = document.documentElement.clientWidth;
  const waits = (e) => { const drawer = e.closest(".toc-drawer, .sidebar-drawer");
    return drawer && getComputedStyle(drawer).position === "fixed"; };
  const scrolls = (e) => { for (let p = e.parentElement; p && p !== document.body; p = p.parentElement)
    if (/auto|scroll/.test(getComputedStyle(p).overflowX)) return true; return false; };
  return [...document.querySelectorAll("a[href], button, summary, select, .toc-drawer")].filter((e) => {
    const box = e.getBoundingClientRect();
    return box.width && (box.right > room + 1 || box.left < -1) && e.checkVisibility({ visibilityProperty: true })
      && !e.matches(".skip-to-content") && !e.closest(".ta") && !waits(e) && !scrolls(e);
  }).map((e) => `outside the window: ${e.outerHTML.slice(0, 120)}`)[0] ?? "";
}"""
# Elements that a mouse can use but Tab does not reach. Inside widgets, arrow keys move the focus.
_OUT_OF_REACH = """() => {
  const seen = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getClientRects().length;
  const bad = [];
  for (const e of document.querySelectorAll("a[href], button, input, select, textarea, summary, label[for^='__']")) {
    if (!seen(e) || e.closest(".ta") || e.matches(".overlay, .sidebar-toggle, .toctree-checkbox")) continue;
    if (e.tabIndex < 0 && !e.disabled) bad.push(e.outerHTML.slice(0, 120));
  }
  for (const e of document.querySelectorAll("article *")) {
    if (!seen(e) || e.closest(".ta")) continue;
    const style = getComputedStyle(e);
    const scrolls = (/auto|scroll/.test(style.overflowX) && e.scrollWidth > e.clientWidth + 1)
      || (/auto|scroll/.test(style.overflowY) && e.scrollHeight > e.clientHeight + 1);
    if (scrolls && e.tabIndex < 0 && !e.querySelector("a, button, summary, [tabindex='0']"))
      bad.push(`scrolls: ${e.outerHTML.slice(0, 120)}`);
  }
  return bad;
}"""


def every_page(browser: Any, base: str, names: Iterable[str], ways: Iterable[str] = tuple(WAYS)) -> list[Finding]:
    """Runs all these checks on all pages. base: address of the site, over HTTP or file."""
    names = list(names)
    axe, wide, reach, errors, requests = [], [], [], [], []
    alive = 0
    for way in ways:
        window, scheme = WAYS[way]
        # Otherwise animations would be judged while half faded.
        context = browser.new_context(viewport=window, color_scheme=scheme, reduced_motion="reduce")
        page = context.new_page()
        where = {"": ""}

        def asked(request: Any, where: dict[str, str] = where) -> None:
            if not request.url.startswith((base, "data:", "blob:")):
                requests.append(f"{where['']}: {request.url}")

        page.on("request", asked)
        page.on("pageerror", lambda error, where=where: errors.append(f"{where['']}: {error}"))
        page.on(
            "console",
            lambda said, where=where: errors.append(f"{where['']}: {said.text}") if said.type == "error" else None,
        )
        for name in names:
            where[""] = f"{name} ({way})"
            page.goto(f"{base}{name}")
            page.evaluate(ALL_ALIVE)
            alive += page.locator(".ta-live[data-ms]").count()
            errors += [
                f"{where['']}: {box.get_attribute('data-state')}: {box.get_attribute('data-failed')}"
                for box in page.locator(".ta-live:not([data-ms])").all()
            ]
            page.evaluate("() => document.querySelectorAll('article details').forEach((d) => { d.open = true; })")
            page.evaluate("() => new Promise((done) => setTimeout(done, 60))")
            for width in (window["width"], *(BETWEEN if way == "light" else ())):
                page.set_viewport_size({**window, "width": width})
                if cut := page.evaluate(WIDER) or page.evaluate(_OUTSIDE):
                    wide.append(f"{where['']}, {width} px: {cut}")
            page.set_viewport_size(window)
            reach += [f"{where['']}: {one}" for one in page.evaluate(_OUT_OF_REACH)]
            axe += [f"{where['']}: {line}" for line in violations(page)]
        context.close()
    looks = f"{len(names)} pages, {len(list(ways))} ways"
    return [
        Finding("axe-core's findings", f"{len(axe)} in {looks}", "0", axe),
        Finding("pages cut off by the window, 390 to 1366 px", str(len(wide)), "0", wide),
        Finding("what Tab does not reach", str(len(reach)), "0", reach),
        Finding("errors of scripts, widgets that stay pictures", f"{len(errors)}; {alive} came alive", "0", errors),
        Finding("requests to elsewhere", str(len(requests)), "0", requests),
    ]


def violations(page: Any) -> list[str]:
    """A line for each violated rule of axe-core, with the first place and the reason."""
    if not page.evaluate("() => Boolean(window.axe)"):
        page.evaluate(AXE_SCRIPT)
    # With preload axe would fetch style sheets a second time, which a page on disk may not do.
    options = {"preload": False, "runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]}
    # As one string: Playwright takes long to hand over a large result value by value.
    found = page.evaluate("async (options) => JSON.stringify((await axe.run(document, options)).violations)", options)
    lines = []
    for rule in json.loads(found):
        first = rule["nodes"][0]
        why = "; ".join(check["message"] for check in first["any"] + first["all"] + first["none"])
        lines.append(f"{rule['id']} × {len(rule['nodes'])}: {first['html'][:160]} ({why[:200]})")
    return lines

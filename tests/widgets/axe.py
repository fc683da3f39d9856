"""axe-core in a page: violations of WCAG 2.2 A and AA and of good practice.

The script comes from the package axe-playwright-python; nothing is downloaded.
"""

import json

from axe_playwright_python.base import AXE_SCRIPT

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# As one string: Playwright takes long to hand over a large result value by value.
RUN = "async ([within, options]) => JSON.stringify((await axe.run(within ?? document, options)).%s)"
# Rules that do not apply to the bare stage, each with its reason.
NOT_ON_STAGE = {
    "region": "landmarks are the page's that a widget stands in; the saved page has its own and is asked for them",
}


def violations(page, within=None, without=()):
    """A line for each broken rule: its name, how often, the first place, and why. Empty if there is none.

    within: CSS selector of a part of the page; without it, rules about whole pages are checked as well
    without: names of rules to leave out
    """
    if not page.evaluate("() => Boolean(window.axe)"):
        page.evaluate(AXE_SCRIPT)
    options = {
        "runOnly": {"type": "tag", "values": TAGS},
        "rules": {rule: {"enabled": False} for rule in without},
        "resultTypes": ["violations"],
    }
    found = page.evaluate(RUN % "violations", [within, options])
    return [_line(v) for v in json.loads(found)]


def passed(page):
    """Names of the rules that found something to check, and passed."""
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate(RUN % "passes.map((rule) => rule.id)", [None, {"runOnly": {"type": "tag", "values": TAGS}}])
    return set(json.loads(found))


def _line(violation):
    first = violation["nodes"][0]
    why = "; ".join(check["message"] for check in first["any"] + first["all"] + first["none"])
    return f"{violation['id']} × {len(violation['nodes'])}: {first['html'][:160]} ({why})"

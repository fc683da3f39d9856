"""axe-core in a page: what it finds against WCAG 2.2 A and AA and against good practice.

The script comes out of the package axe-playwright-python; nothing is fetched.
"""

from axe_playwright_python.base import AXE_SCRIPT

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Rules that are left out on the bare stage, each with its reason.
NOT_ON_STAGE = {
    "region": "landmarks are the page's that a widget stands in; the saved page has its own and is asked for them",
}


def violations(page, within=None, without=()):
    """A line for each rule that is broken: its name, how often, the first place, and why. Empty when all is well.

    within: CSS selector of a part of the page; rules for whole pages are asked of whole pages only
    without: names of rules to leave out
    """
    if not page.evaluate("() => Boolean(window.axe)"):
        page.evaluate(AXE_SCRIPT)
    options = {
        "runOnly": {"type": "tag", "values": TAGS},
        "rules": {rule: {"enabled": False} for rule in without},
        "resultTypes": ["violations"],
    }
    found = page.evaluate("([within, options]) => axe.run(within ?? document, options)", [within, options])
    return [_line(v) for v in found["violations"]]


def passed(page):
    """Names of the rules that found something to look at, and were kept."""
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate("(tags) => axe.run(document, {runOnly: {type: 'tag', values: tags}})", TAGS)
    return {rule["id"] for rule in found["passes"]}


def _line(violation):
    first = violation["nodes"][0]
    why = "; ".join(check["message"] for check in first["any"] + first["all"] + first["none"])
    return f"{violation['id']} × {len(violation['nodes'])}: {first['html'][:160]} ({why})"

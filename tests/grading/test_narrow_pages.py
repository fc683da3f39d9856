"""The class report and the feedback page on a phone: nothing is wider than the page, and columns stay readable."""

import pytest

from . import made_pages

pytestmark = pytest.mark.browser

BEYOND = """() => [...document.querySelectorAll("body *")]
  .filter((e) => !e.closest("pre") && e.getBoundingClientRect().right > innerWidth + 1)
  .map((e) => `${e.tagName} ${e.textContent.slice(0, 40)}`)"""
# For tables whose last column takes the remaining width: the widths of its cells, and the width of the table.
WIDE = """() => [...document.querySelectorAll("th.wide:last-child")].map((th) => {
  const cells = [...th.closest("table").querySelectorAll("tbody td:last-child")];
  return [th.closest("table").offsetWidth, Math.max(...cells.map((cell) => cell.offsetWidth))];
})"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return {
        "report": made_pages.report_page(tmp_path_factory.mktemp("report")),
        "feedback": made_pages.feedback_page(),
    }


@pytest.mark.parametrize("width", [320, 390, 820])
@pytest.mark.parametrize("kind", ["report", "feedback"])
def test_nothing_reaches_beyond_the_page(browser, pages, kind, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.set_content(pages[kind])
    page.evaluate("() => document.querySelectorAll('details').forEach((d) => { d.open = true })")
    assert page.evaluate(BEYOND) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") == width
    page.close()


def test_on_a_phone_the_wide_column_has_the_whole_width(browser, pages):
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.set_content(pages["report"])
    found = page.evaluate(WIDE)
    assert len(found) >= 4 and all(cell > 0.9 * table for table, cell in found), found
    page.close()

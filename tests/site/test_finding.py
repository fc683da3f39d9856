"""What readers find things with: the filter above the claims, and the excerpts among the results of a search."""

import pytest

from autograder.notebooks import facts
from autograder.site.checks.serving import served
from autograder.site.pages import claims

pytestmark = pytest.mark.browser
EVERY = [claim for name in facts.names() for claim in facts.claims(name)]
SHOWN = "(rows) => rows.filter((row) => row.checkVisibility()).map((row) => row.cells[0].textContent.trim())"


@pytest.fixture
def table(browser, site):
    """The page of claims from disk, and a function that gives the units of the rows that are shown."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{site.as_uri()}/claims.html")
    yield page, lambda: page.eval_on_selector_all(".ta-claims tbody tr", SHOWN)
    context.close()


def test_claims_are_filtered_by_unit_kind_and_words(table):
    page, units = table
    assert units() == [claim.unit[:2] for claim in EVERY]
    page.get_by_label("Unit").select_option("01")
    assert units() == [claim.unit[:2] for claim in EVERY if claim.unit.startswith("01")]
    page.get_by_label("Rests on").select_option(claims.word("models"))
    both = [c for c in EVERY if c.unit.startswith("01") and "models" in c.kinds]
    assert units() == ["01"] * len(both) and 0 < len(both) < len(units()) + 1
    page.get_by_label("Unit").select_option("")
    page.get_by_label("Rests on").select_option("")
    page.get_by_label("Words").fill("SEQ2SEQ bert")
    found = [c for c in EVERY if all(word in f"{c.claim} {c.verdict}".lower() for word in ("seq2seq", "bert"))]
    assert units() == [c.unit[:2] for c in found] and found
    assert page.locator(".ta-filter output").inner_text() == f"{len(found)} of {len(EVERY)} claims"
    page.get_by_label("Words").fill("no claim says this")
    assert units() == [] and page.locator(".ta-filter output").inner_text().startswith("0 of")


def test_the_keyboard_alone_filters_and_the_way_on_is_a_link_that_is_shown(table):
    page, units = table
    page.get_by_label("Unit").focus()
    page.keyboard.type("05")  # a list of choices takes the one that begins so
    only = [claim for claim in EVERY if claim.unit.startswith("05")]
    assert units() == ["05"] * len(only)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("palm")
    page.keyboard.press("Enter")  # neither leaves the page nor loses the words
    assert units() == ["05"] * sum("palm" in f"{c.claim} {c.verdict} {c.evidence}".lower() for c in only)
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.closest('tr').checkVisibility()")


def test_without_scripts_the_table_is_whole(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.as_uri()}/claims.html")
    assert len(page.eval_on_selector_all(".ta-claims tbody tr", SHOWN)) == len(EVERY)
    assert not page.locator(".ta-filter").is_visible()
    context.close()


@pytest.mark.parametrize("words", ["rotary", "softmax", "attention"])
def test_excerpts_are_of_the_text(browser, site, words):
    with served(site) as host:
        page = browser.new_page()
        page.goto(f"{host.address}search.html?q={words}")
        page.wait_for_function("() => document.querySelector('#search-results .search-summary')?.textContent")
        page.wait_for_load_state("networkidle")
        results = page.eval_on_selector_all(
            "#search-results ul.search li",
            "(all) => all.map((li) => ['a', '.context'].map((part) => li.querySelector(part)?.textContent ?? ''))",
        )
        page.close()
    excerpts = [(title, text) for title, text in results if text]
    assert len(excerpts) > 5
    for title, text in excerpts:
        assert "install the course" not in text and "#" not in text[: len(title) + 2], (title, text)
        heading = title.rpartition(" > ")[2]
        assert " " not in heading or not text.startswith(heading), (title, text)
        assert text == " ".join(text.split())

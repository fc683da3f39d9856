"""The site in a browser: weights, times, axe, keyboard, scripts off, paper, search, from a host and from disk.

`make site-check` checks the whole site; so do these tests with --all.
"""

import pytest

from autograder.site.checks import budgets, looking, ways
from autograder.site.checks.serving import served

from ..conftest import every_one

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SOME = ["index.html", "claims.html", "units/00-start-here.html", "gallery/rope.html"]
SOME += ["press/00-weighted_average.html"]


@pytest.fixture(scope="module")
def host(site):
    with served(site) as running:
        yield running


@pytest.fixture(scope="module")
def own(run):
    return [f"units/{name}.html" for name in run]


def all_good(*findings):
    assert not [problem for finding in findings for problem in finding.wrong]


def test_the_first_page_is_light_and_soon_there(browser, host):
    weight, time = budgets.first_page(browser, host)
    all_good(weight)
    # The time limit is for an idle machine, and `make site-check` enforces it; here, other programs may be running.
    assert float(time.measured.split()[0]) < 10 * budgets.DRAWN


def test_units_are_light_and_their_widgets_load_when_scrolled_to(browser, host, own):
    all_good(*budgets.unit_pages(browser, host, own))


def test_every_kind_of_page_is_accessible_and_fits_a_phone(request, browser, host, pages):
    names = [pages.name(p) for p in pages.text] if every_one(request.config) else [*SOME, "search.html"]
    all_good(*looking.every_page(browser, host.address, names))


def test_pages_live_from_disk(browser, site):
    all_good(*looking.every_page(browser, f"{site.as_uri()}/", SOME, ways=["light"]))


def test_tab_reaches_everything(browser, host):
    all_good(ways.keyboard(browser, host.address, SOME[1:]))


def test_without_scripts_all_is_there_but_the_search(browser, host, own):
    all_good(ways.without_scripts(browser, host.address, [*own, *SOME]))


def test_paper(browser, host, own):
    all_good(ways.paper(browser, host.address, own[:1]))


def test_the_theme_is_one(browser, host):
    all_good(ways.themes(browser, host.address, "gallery/rope.html"))


@pytest.mark.parametrize("where", ["host", "disk"])
def test_search_finds(browser, site, host, where):
    base = host.address if where == "host" else f"{site.as_uri()}/"
    queries = {"softmax": "units/01-attention", "rotary": "units/06-rope", "gradebook": "docs/instructors"}
    all_good(ways.searching(browser, base, queries))

"""Two languages side by side: each page leads to the same place of the other language."""

import posixpath

import pytest
from bs4 import BeautifulSoup

from autograder.site import neighbors
from autograder.site.build import HERE

from .conftest import CHINESE

SITE = ("index", "units/one", "docs/index")
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<body><aside><form class="sidebar-search-container"></form></aside><article><h1>{title}</h1>{parts}</article>
<script src="{root}site.js"></script></body></html>"""
PART = '<section id="{id}"><h2>{title}</h2><div style="height: 2000px"></div></section>'
CELL = f'<div class="ta-anchor" id="say-one"></div>{PART}'


def page_of(folder, language, name, titles=("one", "two", "three")):
    path = neighbors.home(folder, language) / f"{name}.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    first, second, cell = titles
    parts = PART.format(id=first, title=first) + PART.format(id=second, title=second) + CELL.format(id=cell, title=cell)
    script = (HERE / "static").as_uri() + "/"
    path.write_text(PAGE.format(title=name, parts=parts, root=script), encoding="utf-8")
    return path


@pytest.fixture
def both(tmp_path):
    """A folder with a site in two languages, whose headings have other ids in Chinese."""
    for name in SITE:
        page_of(tmp_path, "en", name)
        page_of(tmp_path, CHINESE, name, ("id1", "id2", "id3"))
    return tmp_path


def line_of(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").nav


def test_pages_lead_to_the_same_page_of_the_other_language(both):
    before = {path: path.read_text() for path in both.rglob("*.html")}
    neighbors.linked(both, ["en", CHINESE])
    for path in before:
        line = line_of(path)
        assert line.get_text() == "English / 简体中文"
        assert (path.parent / line.a["href"]).is_file() and "://" not in line.a["href"]
        assert posixpath.basename(line.a["href"]) == path.name
        assert line.a["hreflang"] != line.select_one("[aria-current]")["lang"]
    once = {path: path.read_text() for path in both.rglob("*.html")}
    neighbors.linked(both, ["en", CHINESE])
    assert {path: path.read_text() for path in both.rglob("*.html")} == once
    (neighbors.home(both, "en") / "index.html").unlink()
    neighbors.linked(both, ["en", CHINESE])
    left = neighbors.home(both, CHINESE)
    assert all(path.read_text() == before[path] for path in left.rglob("*.html")), "there is one language only"
    assert not (both / "index.html").exists()


def test_a_page_without_counterpart_leads_to_the_nearest_and_says_so(both):
    alone = [page_of(both, "en", name) for name in ("units/two", "docs/two")]
    neighbors.linked(both, ["en", CHINESE])
    for path, nearest in zip(alone, ("index.html", "docs/index.html"), strict=True):
        line = line_of(path)
        assert (path.parent / line.a["href"]).resolve() == neighbors.home(both, CHINESE) / nearest
        assert "does not exist there" in line.small.get_text()


def test_the_page_above_both_leads_to_each(both):
    neighbors.linked(both, ["en", CHINESE])
    door = BeautifulSoup((both / "index.html").read_text(encoding="utf-8"), "html.parser")
    assert [a["href"] for a in door.select("a")] == ["html/index.html", f"{CHINESE}/html/index.html"]


@pytest.mark.browser
@pytest.mark.parametrize(
    ("start", "place", "arrives"),
    [
        ("", 0, ""),
        ("", 2600, "#id2"),  # scrolled to the second heading
        ("#two", None, "#id2"),
        ("#say-one", None, "#say-one"),  # a cell has the same anchor in all languages
        ("", 4700, "#say-one"),
    ],
)
def test_a_change_of_language_keeps_the_place(browser, both, start, place, arrives):
    neighbors.linked(both, ["en", CHINESE])
    page = browser.new_page(viewport={"width": 800, "height": 600})
    page.goto((neighbors.home(both, "en") / "units" / "one.html").as_uri() + start)
    if place is not None:
        page.evaluate(f"scrollTo(0, {place})")
    page.evaluate("document.querySelector('.ta-languages a').click()")
    page.wait_for_url(f"**/{CHINESE}/html/units/one.html{arrives}")
    shown = page.evaluate("(id) => id && document.getElementById(id).getBoundingClientRect().top", arrives[1:])
    assert not arrives or abs(shown) < 600
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize(("locale", "there"), [("zh-CN", f"{CHINESE}/html"), ("en-GB", "html"), ("fr", "html")])
def test_the_page_above_opens_the_readers_language(browser, both, locale, there):
    neighbors.linked(both, ["en", CHINESE])
    context = browser.new_context(locale=locale)
    page = context.new_page()
    page.goto((both / "index.html").as_uri())
    page.wait_for_url(f"{both.as_uri()}/{there}/index.html")
    context.close()

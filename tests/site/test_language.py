"""The site in Chinese: one unit with its outputs, the others untranslated; and English, unchanged."""

import dataclasses
import json
import re

import nbformat
import pytest
from anatomy.system import translation
from bs4 import BeautifulSoup

from autograder.languages import catalogues
from autograder.notebooks import address
from autograder.site import executing, foreign, open_in_links, pages, texts, theme, units
from autograder.site.build import ROOT
from autograder.site.checks import files, ways
from autograder.site.live import Shelf

from .conftest import CHINESE

UNIT = "units/00-start-here"
ENGLISH = "units/02-normalization"  # not translated
IS_TRANSLATED = catalogues.path_of(CHINESE, ENGLISH.removeprefix("units/")).exists()


@pytest.fixture(scope="module")
def spoken(chinese_site):
    """All pages of the Chinese site, read once."""
    return files.Pages(chinese_site)


@pytest.fixture(scope="module")
def soup(chinese_site):
    """Returns a page of the Chinese site by its path without suffix."""
    read = {}

    def page(name):
        if name not in read:
            text = (chinese_site / f"{name}.html").read_text(encoding="utf-8")
            read[name] = BeautifulSoup(text, "html.parser")
        return read[name]

    return page


def test_a_units_page_speaks(soup):
    page = soup(UNIT)
    with translation.speaking(CHINESE):
        title = translation.said("00-start-here", "Start here")
    assert page.html["lang"] == "zh-CN" and title != "Start here"
    article = page.select_one("article")
    assert article.get("lang") is None and article.h1.get_text().startswith(title)
    line = article.select_one(".ta-signs-line").get_text()
    assert "难度" in line and "分钟" in line and "1 / 5" in line
    assert any("提示 1" in hint.get_text() for hint in article.select(".ta-hints summary"))
    assert article.select_one(".ta-verdict > .admonition-title").get_text().startswith("结论：")
    assert article.select_one(".ta-predict > .admonition-title").get_text() == "先预测"
    assert "安装" in article.select_one(".ta-open").get_text()
    assert {p.strong.get_text() for p in article.select(".ta-quiz p[data-right]")} == {"正确。", "还不对。"}
    assert article.select_one("section.ta-is-trial h2").get_text().startswith("待审论断")
    assert "speak(" not in article.get_text(), "the cell that tells a kernel its language is left out"


def test_what_it_put_out_speaks(chinese_site, soup):
    box = soup(UNIT).select_one('.ta-live[data-widget="mix"]')
    state = (chinese_site / "_static" / "live" / f"{box['data-state']}.js").read_text(encoding="utf-8")
    told = json.loads(state.partition("=")[2].rstrip(";\n"))
    assert told["spec"]["title"] == "三个词的加权平均" and "权重" in box.img["alt"]
    assert soup(UNIT).select_one(".ta-came-out summary").get_text().startswith("实际结果")


def test_no_blank_stands_between_chinese_lines(soup):
    broken = re.compile(r"[\u3000-\u303f\u3400-\u9fff]\n[\u3000-\u303f\u3400-\u9fff]")
    assert not [p.get_text() for p in soup(UNIT).select("article p") if broken.search(p.get_text())]


def test_the_frame_speaks(soup):
    for name in ("index", UNIT, "map", "search"):
        page = BeautifulSoup(str(soup(name)), "html.parser")
        for part in page.select("article, script, style, .sidebar-tree, .toc-tree, title:not(symbol title)"):
            part.decompose()
        shown = " ".join(
            [*page.stripped_strings, *(e["aria-label"] for e in page.find_all(attrs={"aria-label": True}))]
        )
        assert not [word for word in theme.SAID if re.search(rf"\b{re.escape(word)}\b", shown)], name
    assert soup("index").select_one(".caption-text").get_text() == "课程"


def test_what_is_english_says_so(soup):
    assert soup("glossary").html["lang"] == "zh-CN"
    for name in ("contributors", "docs/jupyterhub"):
        assert soup(name).select_one("article")["lang"] == "en", name
        assert soup(name).select_one(".ta-english-only").get_text() == "本页只有英文版。"
    for name in ("gallery/index", "map", "glossary", "claims", "references", "notation", "docs/students"):
        assert soup(name).select_one("article").get("lang") is None, name
        assert not soup(name).select(".ta-english-only"), name
    links = {a.get_text(): a.get("lang") for a in soup(UNIT).select(".sidebar-tree a")}
    assert links["课程地图"] is None and links["The course on a JupyterHub"] == "en"


@pytest.mark.skipif(IS_TRANSLATED, reason="take another unit that nobody has translated")
def test_a_unit_without_translation_is_english_and_says_so(soup):
    article = soup(ENGLISH).select_one("article")
    assert article["lang"] == "en" and article.h1.get_text().startswith("Normalization")
    assert article.select(".ta-verdict") and "install" in article.select_one(".ta-open").get_text()
    assert soup(ENGLISH).select_one(".toc-tree")["lang"] == "en"
    assert [a["lang"] for a in soup(UNIT).select(".sidebar-tree a") if "02-norm" in a["href"]] == ["en"]
    assert [a["lang"] for a in soup("index").select(".ta-way a") if "02-norm" in a["href"]] == ["en"]


@pytest.mark.parametrize("check", [files.links, files.outside, files.solutions])
def test_files_are_in_order(spoken, check):
    assert not check(spoken).wrong


def test_what_is_downloaded_speaks(chinese_site):
    book = nbformat.read(chinese_site / "notebooks" / "00-start-here.ipynb", as_version=4)
    assert any('speak("zh_CN")' in cell.source for cell in book.cells)


@pytest.mark.browser
def test_chinese_words_are_found_from_disk(browser, chinese_site):
    assert not ways.searching(browser, f"{chinese_site.as_uri()}/", {"加权平均": UNIT, "softmax": UNIT}).wrong


def test_outputs_of_a_language_are_kept_apart():
    path = ROOT / "solutions" / "00-start-here" / "00-start-here.ipynb"
    assert executing.key(path) == executing.key(path, "en") != executing.key(path, CHINESE)


def test_titles_of_english_pages_next_door():
    english = foreign.English({"map", "units/two"}, {"map": "课程地图", "units/two": ""})
    door = '<a class="next-page" href="{}"><div class="title">Title</div></a>'
    assert ">课程地图<" in english.marked(door.format("../map.html"), "units/one")
    assert 'class="title" lang="en">Title<' in english.marked(door.format("two.html"), "units/one")
    assert english.marked(door.format("one.html"), "index") == door.format("one.html")


# ---- English

CELLS = {
    "c-1": "# Title\n\nWords.",
    "ask-p1": "**Predict first.** Which?\n\n*one* · *two*",
    "say-a": "### Exercise 00.1: A\n`a.b` · difficulty ●○○○○ · about 5 min · 1 point\n\nWrite it.",
    "c-2": "**Verdict: no.** Because.\n\n*Evidence: computed above.*",
}
ASKED = {"question": "Which?", "choices": [{"text": "one", "right": True, "why": "So."}]}
PAGE = """# Title

<div class="ta-open" role="group" aria-label="Open this unit"><p>To write in it and be checked, \
<a href="../docs/students.html">install the course</a>; then <code>anatomy lab</code> opens your own copy. \
<a download href="../notebooks/00-start-here.ipynb">Download</a></p></div>


Words.
<div class="ta-anchor" id="ask-p1"></div>
:::::{admonition} Predict first
:class: ta-predict
Which?

- one
- two
:::::
<div class="ta-anchor" id="say-a"></div>
### Exercise 00.1: A

::::::{container} ta-statement
<p class="ta-signs-line"><span><code>a.b</code></span><span>difficulty <span aria-hidden="true">●○○○○</span>\
<span class="ta-unseen">1 / 5</span></span><span>about 5 min</span><span>1 point</span></p>

Write it.
::::::
<div class="ta-anchor" id="c-2"></div>
:::::{admonition} Verdict: no
:class: ta-verdict
Because.

*Evidence: computed above.*
:::::


<div class="ta-anchor" id="quiz"></div>
<div class="ta-quiz" role="group" aria-labelledby="quiz-1"><p id="quiz-1">Which?</p><details><summary>one</summary>\
<p data-right="true"><strong>Right.</strong> So.</p></details></div>"""


def english_page(folder):
    cells = [nbformat.v4.new_markdown_cell(source, id=name) for name, source in CELLS.items()]
    book = nbformat.v4.new_notebook(cells=[*cells, nbformat.v4.new_code_cell("quiz()", id="quiz")])
    facts = {"unit": "00-start-here", "quizzes": [ASKED]}
    return "\n".join(cell.source for cell in units.Unit(book, book, facts, folder, Shelf(folder)).page().cells)


def test_english_pages_are_what_they_were(tmp_path, monkeypatch):
    nowhere = dataclasses.replace(address.read(), owner="", name="")  # the course may have a public address
    monkeypatch.setattr(open_in_links.address, "read", lambda: nowhere)
    assert english_page(tmp_path) == PAGE
    before = pages.collected()
    with translation.speaking(CHINESE):
        spoken = english_page(tmp_path)
        collected = pages.collected()
        assert "安装" in spoken and ">Right.<" not in spoken
        english = pages.english()
    assert english_page(tmp_path) == PAGE and pages.collected() == before
    assert all(collected[name] == before[name] for name in english)
    assert all(collected[name] != before[name] for name in set(before) - english)


def test_the_theme_stays_as_it_is_in_english():
    page = '<body><a>Skip to content</a><article role="main">Next</article><span>Next</span></body>'
    assert theme.spoken(page) == page == foreign.English().marked(page, "index")
    with translation.speaking(CHINESE):
        assert theme.spoken(page) == page.replace("Skip to content", "跳到正文").replace("<span>Next", "<span>下一页")


def test_a_verdict_has_its_word_anywhere_in_its_bold_sentence():
    cell = nbformat.v4.new_markdown_cell("**这个任务上的结论：有用。** 因为。", id="c-1")
    with translation.speaking(CHINESE):
        assert "{admonition} 这个任务上的结论：有用\n" in texts.shown(cell)
    assert texts.shown(cell) == cell.source

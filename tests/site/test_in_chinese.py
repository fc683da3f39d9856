"""The Chinese site is Chinese: no English sentence is left on its pages but those that are English on purpose."""

import re
import tomllib

import pytest
from anatomy.system import translation
from bs4 import BeautifulSoup

from autograder import ROOT
from autograder.languages import catalogues, documents
from autograder.site import graph, pages, translated
from autograder.site.checks import files

from .conftest import CHINESE

LIST = tomllib.loads((ROOT / "docs" / "english.zh_CN.toml").read_text(encoding="utf-8"))
WORDS = 4  # so many English words in a row are a sentence, or the larger part of one
WORD = r"[A-Za-z][\w'’.-]+"  # letters alone are symbols
SENTENCE = re.compile(rf"{WORD}(?:[ ,;:…]+{WORD}){{{WORDS - 1},}}")
AUTHORS = "et al."
HEADING = re.compile(r"^#+ ", re.M)


def english_left(html):
    """The English sentences in a page's article, without what is English on purpose."""
    article = BeautifulSoup(html, "html.parser").select_one("article")
    for part in article.select(", ".join(LIST["elements"])):
        part.replace_with("·")
    found = []
    # A sentence doesn't run on from one block into the next.
    for block in article.find_all(["p", "li", "td", "th", "dt", "dd", "h1", "h2", "h3", "h4", "summary", "label"]):
        text = " ".join(block.get_text().split())
        for phrase in (*LIST["phrases"], *LIST["examples"], AUTHORS):
            text = text.replace(phrase, "·")
        found += SENTENCE.findall(text)
    return list(dict.fromkeys(found))


def test_pages_that_are_english_only_are_listed():
    assert pages.english() == set(LIST["pages"])


@pytest.mark.parametrize("name", ["docs", "site"])
def test_no_sentence_of_the_site_waits_for_its_translation(name):
    catalog = catalogues.read(catalogues.path_of(CHINESE, name))
    left = [m.id for m in catalogues.messages(catalog) if not catalogues.is_translated(m)]
    assert not left, f"{len(left)} without a translation in {name}.po, the first: {left[0]!r}"


def test_a_line_that_changes_is_english_until_it_is_translated():
    known = {"Begin": "开始", "Run it.": "运行它。", "a | b |": "甲 | 乙 |"}
    text = "# Begin\n\n- Run it.\n- Run it twice.\n\n```sh\nRun it.\n```\n\n## Begin\n"
    shown = documents.translated(text, lambda words: known.get(words, words))
    assert "- 运行它。\n- Run it twice.\n\n```sh\nRun it.\n```" in shown
    assert re.findall(r'id="([\w-]+)"></div>\n\n#+ (.+)', shown) == [("begin", "开始"), ("begin-1", "开始")]


def test_a_page_has_the_same_headings_in_both_languages():
    """A change of the language keeps the place by the heading's number."""
    english = pages.collected()
    with translation.speaking(CHINESE):
        chinese = pages.collected()
    assert set(english) == set(chinese)
    for name, text in english.items():
        assert len(HEADING.findall(text)) == len(HEADING.findall(chinese[name])), name


def test_claims_are_quoted_from_the_chinese_unit():
    with translation.speaking(CHINESE):
        spoken = translated.claims("04-ffn-and-gating")
    for claim in spoken:
        assert re.search("[\u4e00-\u9fff]", claim.claim) and re.search("[\u4e00-\u9fff]", claim.verdict), claim
        assert claim.evidence.startswith("依据：")


def test_a_chinese_title_fits_its_box():
    lines = graph._wrapped("前馈网络与它的门控", 84)
    assert "".join(lines) == "前馈网络与它的门控" and len(lines) == 2
    assert max(len(line) for line in lines) * 2 * graph.LETTER <= 84


def test_no_english_sentence_is_left(chinese_site):
    read = files.Pages(chinese_site)
    left = {}
    for page, text in read.text.items():
        name = read.name(page).removesuffix(".html")
        if name not in LIST["pages"] and "<article" in text:
            left[name] = english_left(text)
    assert len(left) > 40
    count = sum(map(len, left.values()))
    told = "\n".join(f"{name}: {sentence}" for name, found in left.items() for sentence in found)
    assert not count, f"{count} English sentences on Chinese pages:\n{told}"


def test_what_is_listed_is_needed():
    texts = [
        documents.source(name) for name in ("jupyterhub", "on-push", "threat-model")
    ]  # whose titles other pages name
    for path in sorted((catalogues.FOLDER / CHINESE).rglob("*.po")):
        texts += [text for m in catalogues.messages(catalogues.read(path)) for text in catalogues.texts(m)]
    every = "\n".join(texts)
    assert not [phrase for phrase in (*LIST["phrases"], *LIST["examples"]) if phrase not in every]

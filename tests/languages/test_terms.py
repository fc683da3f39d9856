"""One Chinese word for each term, in all catalogs: ``docs/terms.zh_CN.toml``."""

import re
import tomllib
from functools import cache

import pytest

from autograder import ROOT
from autograder.authoring.wording import NOT_WORDS
from autograder.languages import catalogues

LANGUAGE = "zh_CN"
PATHS = sorted((ROOT / "locale" / LANGUAGE).rglob("*.po"))


@cache
def terms():
    listed = tomllib.loads((ROOT / "docs" / f"terms.{LANGUAGE}.toml").read_text(encoding="utf-8"))["terms"]
    return [
        (re.compile(rf"(?<![\w-])(?:{t['english']})(?![\w-])", re.I), t["use"], re.compile("|".join(t["not"])),
         tuple(t.get("but", ())))
        for t in listed
    ]  # fmt: skip


def strangers(english, text):
    """(word that is not written, what to write instead) for each slip in one translation."""
    english, text = NOT_WORDS.sub(" ", english), NOT_WORDS.sub(" ", text)
    for speaks, use, rejected, but in terms():
        if not speaks.search(english):
            continue
        shown = text
        for phrase in but:
            shown = shown.replace(phrase, " " * len(phrase))
        yield from ((found.group(), use) for found in rejected.finditer(shown))


def pairs(path):
    for message in catalogues.messages(catalogues.read(path)):
        if catalogues.is_translated(message):
            english, text = message.id, message.string
            many = (english, text) if isinstance(english, tuple) else ((english,), (text,))
            yield many[0][0], " ".join(many[1])


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_each_term_has_one_word(path):
    found = [(word, use, text[:120]) for english, text in pairs(path) for word, use in strangers(english, text)]
    assert not found, "\n".join(f"{word}: write {use} in “{text}”" for word, use, text in found)


def test_another_word_is_found():
    assert list(strangers("The attention weights", "这里的注意力权值")) == [("注意力权值", "注意力权重")]
    assert not list(strangers("The attention weights", "这里的注意力权重"))
    assert not list(strangers("`mask` and nothing else", "`mask`，遮罩")), "the English speaks of no term"

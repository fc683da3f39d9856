"""Pages of ``docs/`` in other languages, from ``docs.po``: each line with words is an entry, and so is each definition
of the glossary.

A line that changes in English has no translation any more. So no page goes stale: the line is English again until
somebody translates it, and ``tests/site/test_in_chinese.py`` fails until then. Code blocks are the same everywhere.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

from mdit_py_plugins.anchors.index import slugify

from autograder import ROOT

from . import catalogues

# Pages for readers of the course. Those for contributors and for whoever runs a hub are in English only.
SPOKEN = ("learners", "students", "instructors", "mirrors")
TERM = "glossary"  # the catalog's context of terms and their definitions
_FENCE = re.compile(r"^ *(```+|~~~+)")
_LINE = re.compile(r"((?: *(?:#+|[-*>]|\d+\.) )* *)(.*)")
_CODE = re.compile(r"`[^`]*`")


def source(name: str) -> str:
    """The English text of ``docs/NAME.md``."""
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def glossary() -> dict[str, dict[str, Any]]:
    """Term → its entry in ``docs/glossary.toml``."""
    return tomllib.loads((ROOT / "docs" / "glossary.toml").read_text(encoding="utf-8"))


def context(name: str) -> str:
    """The catalog's context of a page's lines."""
    return f"docs/{name}"


def lines(text: str) -> Iterator[tuple[str, str]]:
    """(beginning, words) of each line, which are the line; no words in code blocks and where there is only code."""
    fenced = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        found = _LINE.fullmatch(line)
        if fenced or found is None or not re.search("[A-Za-z]", _CODE.sub("", found[2])):
            yield line, ""
        else:
            yield found[1], found[2]


def translated(text: str, said: Callable[[str], str]) -> str:
    """A page with its words replaced. Headings keep the English anchors, to which links lead."""
    shown, taken = [], dict[str, int]()
    for begins, words in lines(text):
        other = said(words) if words else ""
        if begins.startswith("#") and words and other != words:
            anchor = slugify(words)
            taken[anchor] = taken.get(anchor, 0) + 1
            number = f"-{taken[anchor] - 1}" if taken[anchor] > 1 else ""
            shown.append(f'<div class="ta-anchor" id="{anchor}{number}"></div>\n')
        shown.append(begins + (other or words))
    return "\n".join(shown)


def page(name: str, language: str) -> str:
    """``docs/NAME.md`` in a language that has catalogs."""
    known = {
        m.id: m.string for m in catalogues.read(catalogues.path_of(language, "docs")) if m.context == context(name)
    }
    return translated(source(name), lambda words: str(known.get(words) or words))

"""The papers that the course cites, the places that cite them, and their data from ``docs/references.toml``."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from anatomy import atlas

from autograder import ROOT
from autograder.notebooks import facts

from . import links

LINK = re.compile(r"\[([^\]]+)\]\((https?://[^)\s]+)\)")
NUMBER = re.compile(r"(?:arxiv\.org/abs/|arXiv:)(\d{4}\.\d{4,5})")
CODE = ("https://github.com/", "https://nlp.seas.harvard.edu/")  # code and explanations of code: cited, but not papers
NAMED = re.compile(r"(.+?) ((?:19|20)\d\d)")


@dataclass(frozen=True)
class Citation:
    """One link to a paper: its key (arXiv number or address), its link text, its unit and its cell."""

    key: str
    words: str
    unit: str
    cell: str


@cache
def papers() -> dict[str, dict[str, Any]]:
    """Key → dict of ``authors``, ``year``, ``title``."""
    found: dict[str, dict[str, Any]] = tomllib.loads((ROOT / "docs" / "references.toml").read_text(encoding="utf-8"))[
        "papers"
    ]
    return found


def key(address: str) -> str:
    """The key of the paper at an address."""
    found = NUMBER.search(address)
    return found[1] if found else address.rstrip(".,")


@cache
def all_links() -> list[Citation]:
    """All external links in the units' texts, to code and papers, in course order."""
    out = []
    for name in facts.names():
        unit = facts.unit(name)
        for cell in unit.cells:
            out += [Citation(key(address), words, name, cell.id) for words, address in LINK.findall(cell.source)]
            if not cell.markdown:
                out += [Citation(number, "", name, cell.id) for number in NUMBER.findall(cell.source)]
        for exercise in unit.text["exercises"]:
            place = f"say-{exercise['id'].replace('.', '-')}"
            out += [Citation(key(address), words, name, place) for words, address in LINK.findall(exercise["worth"])]
    return out


@cache
def citations() -> dict[str, list[Citation]]:
    """Key → citations; only papers."""
    found: dict[str, list[Citation]] = {}
    for link in all_links():
        if not link.key.startswith(CODE):
            found.setdefault(link.key, []).append(link)
    return found


@cache
def in_atlas() -> dict[str, list[str]]:
    """Key → titles of the models for which the atlas cites this paper."""
    found: dict[str, list[str]] = {}
    for row in atlas.models():
        for number in dict.fromkeys(NUMBER.findall(" ".join([*row.references, *row.remarks]))):
            found.setdefault(number, []).append(row.title)
    return found


@cache
def in_code() -> set[str]:
    """Keys of papers named in the code of the learner's package or of the reference solutions."""
    folders = (ROOT / "course" / "anatomy", ROOT / "autograder" / "reference")
    files = (p for folder in folders for p in sorted(folder.rglob("*")) if p.suffix in (".py", ".js"))
    return {number for p in files for number in NUMBER.findall(p.read_text(encoding="utf-8"))}


def every_key() -> list[str]:
    """Keys of all papers cited in a unit, in the text shown after a check, in the atlas, or in the code."""
    return list(dict.fromkeys([*citations(), *in_atlas(), *sorted(in_code())]))


def reference(paper: str) -> str:
    """``Vaswani et al. (2017): *Attention Is All You Need*`` with its link; if unknown, the link text of a citation."""
    known = papers().get(paper)
    if known is None:
        words = next((c.words for c in citations().get(paper, []) if c.words), paper)
        return f"[{words}]({links.paper(paper)})"
    return f"{known['authors']} ({known['year']}): [{known['title']}]({links.paper(paper)})"


def short(paper: str) -> str:
    """``Vaswani et al. 2017`` with its link, as Markdown."""
    known = papers()[paper]
    return f"[{known['authors']} {known['year']}]({links.paper(paper)})"

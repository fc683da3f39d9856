"""Which papers the course cites, and where; what is known of each from ``docs/references.toml``."""

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
CODE = ("https://github.com/", "https://nlp.seas.harvard.edu/")  # code and its explanation: cited, and no paper
NAMED = re.compile(r"(.+?) ((?:19|20)\d\d)")


@dataclass(frozen=True)
class Citation:
    """One link to a paper in a text: its key (arXiv number or address), its words, the unit and the cell it is in."""

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
    """The key of a paper at that address."""
    found = NUMBER.search(address)
    return found[1] if found else address.rstrip(".,")


@cache
def all_links() -> list[Citation]:
    """Every link of the units' texts that leaves the course, code and papers, in course order."""
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
    """Key → its citations, of papers alone."""
    found: dict[str, list[Citation]] = {}
    for link in all_links():
        if not link.key.startswith(CODE):
            found.setdefault(link.key, []).append(link)
    return found


@cache
def in_atlas() -> dict[str, list[str]]:
    """Key → titles of the models for which the atlas cites it."""
    found: dict[str, list[str]] = {}
    for row in atlas.models():
        for number in dict.fromkeys(NUMBER.findall(" ".join([*row.references, *row.remarks]))):
            found.setdefault(number, []).append(row.title)
    return found


@cache
def in_code() -> set[str]:
    """Keys of papers that the learner's package or the references name where they compute something."""
    folders = (ROOT / "course" / "anatomy", ROOT / "autograder" / "reference")
    files = (p for folder in folders for p in sorted(folder.rglob("*")) if p.suffix in (".py", ".js"))
    return {number for p in files for number in NUMBER.findall(p.read_text(encoding="utf-8"))}


def every_key() -> list[str]:
    """Every paper cited in a unit, in what is shown after a check, in the atlas, or in the code behind them."""
    return list(dict.fromkeys([*citations(), *in_atlas(), *sorted(in_code())]))


def reference(paper: str) -> str:
    """``Vaswani et al. (2017): *Attention Is All You Need*`` with its link; where unknown, as it is cited."""
    known = papers().get(paper)
    if known is None:
        words = next((c.words for c in citations().get(paper, []) if c.words), paper)
        return f"[{words}]({links.paper(paper)})"
    return f"{known['authors']} ({known['year']}): [{known['title']}]({links.paper(paper)})"


def short(paper: str) -> str:
    """``Vaswani et al. 2017`` with its link, as Markdown."""
    known = papers()[paper]
    return f"[{known['authors']} {known['year']}]({links.paper(paper)})"

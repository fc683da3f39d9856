"""Checks of a site's files without a browser: links and anchors, resources loaded from other sites, tables that are in
two files, lines of solutions, characters in formulas that the font lacks.
"""

import html
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
from bs4 import BeautifulSoup, SoupStrainer

from autograder import ROOT

from ..math_font import characters
from ..units import secret_lines
from . import Finding

LOADS = (("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("use", "href"))
_CSS_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)")
_MATH = re.compile(r"<math.*?</math>", re.S)
_NOT_SHOWN = re.compile(r"<annotation.*?</annotation>|<[^>]+>", re.S)
# The browser stretches this over a letter and doesn't take it from the font.
NOT_IN_FONT = {"\u203e", "\n"}


class Pages:
    """All pages of a site, read once."""

    def __init__(self, site: Path) -> None:
        self.site = site
        self.text = {p: p.read_text(encoding="utf-8") for p in sorted(site.rglob("*.html"))}
        self._ids: dict[Path, set[str]] = {}

    def name(self, page: Path) -> str:
        """The page's address within the site."""
        return page.relative_to(self.site).as_posix()

    def ids(self, page: Path) -> set[str]:
        """The anchors of a page."""
        if page not in self._ids:
            self._ids[page] = set(map(html.unescape, re.findall(r'\bid="([^"]+)"', self.text[page])))
        return self._ids[page]

    def addresses(self, page: Path) -> Iterable[tuple[str, str, str]]:
        """(tag, attribute, address) of everything that the page links to or loads."""
        soup = BeautifulSoup(self.text[page], "html.parser", parse_only=SoupStrainer(["a", *(t for t, _ in LOADS)]))
        for tag, attribute in (("a", "href"), *LOADS):
            for element in soup.find_all(tag):
                if element.get(attribute):
                    yield tag, attribute, str(element[attribute])


def links(pages: Pages) -> Finding:
    """Checks that every address within the site leads to a file, and its anchor to an id in it."""
    count, dead = 0, []
    for page in pages.text:
        for tag, _, address in pages.addresses(page):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.is_file():
                dead.append(f"{pages.name(page)}: <{tag}> leads to {address}, which is not there")
            elif parts.fragment and target in pages.text and tag == "a":
                if unquote(parts.fragment) not in pages.ids(target):
                    dead.append(f"{pages.name(page)}: {address} has no place #{parts.fragment}")
    return Finding("dead links, anchors included", f"{len(dead)} of {count:,}", "0", dead)


def outside(pages: Pages) -> Finding:
    """Checks that nothing is loaded from other sites. Links may lead there, over https."""
    found = []
    for page in pages.text:
        for tag, attribute, address in pages.addresses(page):
            if urlsplit(address).netloc and (tag != "a" or urlsplit(address).scheme == "http"):
                found.append(f"{pages.name(page)}: <{tag} {attribute}={address!r}>")
    for sheet in sorted(pages.site.rglob("*.css")):
        for address in _CSS_URL.findall(sheet.read_text(encoding="utf-8")):
            if urlsplit(address).netloc:
                found.append(f"{pages.name(sheet)}: {address}")
    return Finding("addresses that load from elsewhere", str(len(found)), "0", found)


def tables(site: Path) -> Finding:
    """Checks that each widget's table is in only one file."""
    counts: Counter[str] = Counter()
    files = sorted((site / "_static" / "live").glob("tables-*.js"))
    for path in files:
        _, _, told = path.read_text(encoding="utf-8").partition("=")
        counts.update(table for table, _ in json.loads(told.rstrip(";\n"))["index"])
    twice = [f"table {name} stands in {n} files" for name, n in counts.items() if n > 1]
    if not counts:
        twice.append("there is no table at all")
    return Finding("tables of widgets, each in one file", f"{len(counts)} tables in {len(files)} files", "once", twice)


def solutions(pages: Pages, solved: Path = ROOT / "solutions", released: Path = ROOT / "course") -> Finding:
    """Checks that no page contains a line of a solution, except lines that the released notebooks show."""
    secret: set[str] = set()
    shown = ""
    for path in sorted(solved.glob("*/*.ipynb")):
        public = nbformat.read(released / path.parent.name / path.name, as_version=4)
        secret |= secret_lines(nbformat.read(path, as_version=4), public)
        shown += "\n".join(cell.source for cell in public.cells)
    secret = {line for line in secret if line not in shown}  # another unit's text may show it
    leaks = []
    for page, text in pages.text.items():
        plain = html.unescape(re.sub(r"<[^>]+>", "", text))
        leaks += [f"{pages.name(page)}: {line}" for line in secret if line in plain]
    if not secret:
        leaks.append("there is no line of a solution to look for")
    return Finding("lines of solutions in pages", f"{len(leaks)} of {len(secret)}", "0", leaks)


def formulas(pages: Pages) -> Finding:
    """Checks that the math font has every character of every formula."""
    font, count, lacking = characters(), 0, set()
    for text in pages.text.values():
        for formula in _MATH.findall(text):
            count += 1
            lacking |= {c for c in html.unescape(_NOT_SHOWN.sub("", formula)) if ord(c) not in font}
    missing = [f"{sign!r} (U+{ord(sign):04X})" for sign in sorted(lacking - NOT_IN_FONT)]
    return Finding("signs of formulas that the font lacks", f"{len(missing)}, in {count:,} formulas", "0", missing)

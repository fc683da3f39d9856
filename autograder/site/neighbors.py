"""Links the site's languages: a line in the sidebar of each page leads to the same page in other languages.

The addresses are relative: sites in folders next to each other, ``html`` and ``zh_CN/html`` as here, are linked on disk
and on any host. A site that is hosted alone must be built alone, so that it has no such line. The page above these
folders (``door``) leads to the reader's language.

``site.js`` adds the place on the page to an address: the same cell, or the heading with the same number, since headings
have other anchors in another language.
"""

import html
import posixpath
import re
from collections.abc import Sequence
from pathlib import Path

from anatomy.system import files, translation
from anatomy.system.translation import ENGLISH

from .words import _, name_of

_LINE = re.compile(r'<nav class="ta-languages".*?</nav>\n?', re.S)
_BEFORE = '<form class="sidebar-search-container"'
# Without a script a reader chooses; with one the browser's language does, unless a page was asked for.
DOOR = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Transformer Anatomy</title>
<h1>Transformer Anatomy</h1>
<ul>
{items}
</ul>
<script>
const wanted = navigator.languages.map((name) => name.toLowerCase().split("-")[0]);
const links = [...document.querySelectorAll("a")];
const found = wanted.map((name) => links.find((a) => a.lang.split("-")[0] === name)).find(Boolean) ?? links[0];
location.replace(found.href);
</script>
</html>
"""


def home(folder: Path, language: str) -> Path:
    """Where the pages of a language are: ``html``, or ``zh_CN/html``."""
    return folder / "html" if language == ENGLISH else folder / language / "html"


def linked(folder: Path, languages: Sequence[str]) -> None:
    """Adds the line to the pages of all built languages, and removes it where there is one language only."""
    sites = {name: home(folder, name) for name in languages if (home(folder, name) / "index.html").is_file()}
    for language, site in sites.items():
        for page in sorted(site.rglob("*.html")):
            name = page.relative_to(site)
            there = {other: sites[other] / _nearest(sites[other], name) for other in sites}
            old = page.read_text(encoding="utf-8")
            with translation.speaking(language):
                new = _with_line(old, language, page, there)
            if new != old:
                files.replace(page, new.encode())
    if len(sites) > 1:
        files.replace(folder / "index.html", door(folder, sites).encode())
    else:
        (folder / "index.html").unlink(missing_ok=True)


def door(folder: Path, sites: dict[str, Path]) -> str:
    """The page above the folders of several languages."""
    items = "\n".join(
        f'<li><a lang="{_tag(name)}" href="{site.relative_to(folder).as_posix()}/index.html">{name_of(name)}</a></li>'
        for name, site in sites.items()
    )
    return DOOR.format(items=items)


def without_line(text: str) -> str:
    """The HTML of a page as built, without the line that links to other languages."""
    return _LINE.sub("", text)


def _nearest(site: Path, name: Path) -> Path:
    """The same page of a site, or the first page of the nearest folder that has one."""
    tried = [name, *(parent / "index.html" for parent in name.parents)]
    return next(path for path in tried if (site / path).is_file())


def _with_line(text: str, language: str, page: Path, there: dict[str, Path]) -> str:
    text = without_line(text)
    if len(there) < 2:
        return text
    items = " / ".join(_item(other, other == language, page, path) for other, path in there.items())
    line = f'<nav class="ta-languages" aria-label="{html.escape(_("Languages"))}">{items}</nav>\n'
    return text.replace(_BEFORE, line + _BEFORE, 1)


def _item(language: str, here: bool, page: Path, path: Path) -> str:
    tag, name = _tag(language), html.escape(name_of(language))
    if here:
        return f'<span aria-current="true" lang="{tag}">{name}</span>'
    address = posixpath.relpath(path.as_posix(), page.parent.as_posix())
    if path.name == page.name and path.parent.name == page.parent.name:
        return f'<a href="{address}" lang="{tag}" hreflang="{tag}">{name}</a>'
    lacks = html.escape(_("this page does not exist there; leads to the nearest one"))
    return f'<a data-nearest href="{address}" lang="{tag}" hreflang="{tag}">{name}</a> <small>({lacks})</small>'


def _tag(language: str) -> str:
    return language.replace("_", "-")

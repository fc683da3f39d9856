"""Links the site's languages: a line in the sidebar of each page leads to the same page in other languages.

The addresses are relative: sites in folders next to each other, ``html`` and ``zh_CN/html`` as here, are linked on disk
and on any host. A site that is hosted alone must be built alone, so that it has no such line.
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


def home(folder: Path, language: str) -> Path:
    """Where the pages of a language are: ``html``, or ``zh_CN/html``."""
    return folder / "html" if language == ENGLISH else folder / language / "html"


def linked(folder: Path, languages: Sequence[str]) -> None:
    """Adds the line to the pages of all built languages, and removes it where it would lead nowhere."""
    sites = {name: home(folder, name) for name in languages if (home(folder, name) / "index.html").is_file()}
    for language, site in sites.items():
        for page in sorted(site.rglob("*.html")):
            name = page.relative_to(site)
            there = {other: sites[other] / name for other in sites if (sites[other] / name).is_file()}
            old = page.read_text(encoding="utf-8")
            with translation.speaking(language):
                new = _with_line(old, language, page, there)
            if new != old:
                files.replace(page, new.encode())


def without_line(text: str) -> str:
    """The HTML of a page as built, without the line that links to other languages."""
    return _LINE.sub("", text)


def _with_line(text: str, language: str, page: Path, there: dict[str, Path]) -> str:
    text = without_line(text)
    if len(there) < 2:
        return text
    items = " / ".join(_item(other, other == language, page, path) for other, path in there.items())
    line = f'<nav class="ta-languages" aria-label="{html.escape(_("Languages"))}">{items}</nav>\n'
    return text.replace(_BEFORE, line + _BEFORE, 1)


def _item(language: str, here: bool, page: Path, path: Path) -> str:
    tag, name = language.replace("_", "-"), html.escape(name_of(language))
    if here:
        return f'<span aria-current="true" lang="{tag}">{name}</span>'
    address = posixpath.relpath(path.as_posix(), page.parent.as_posix())
    return f'<a href="{address}" lang="{tag}" hreflang="{tag}">{name}</a>'

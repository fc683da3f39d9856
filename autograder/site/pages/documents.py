"""The pages in ``docs/``, those for readers in the site's language. Links to each other and to CONTRIBUTING.md lead to
pages.
"""

import posixpath
import re
from pathlib import Path

from autograder import ROOT
from autograder.languages import documents

from ..open_in_links import repository
from ..words import written

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^ *(```+|~~~+)", re.M)


def pages() -> dict[str, str]:
    """``docs/x.md`` becomes the page ``docs/x``. CONTRIBUTING.md already has a page, ``contributors``."""
    folders = ROOT / "docs", ROOT / "docs" / "contributing"
    sources = {path.relative_to(ROOT).as_posix(): path for folder in folders for path in sorted(folder.glob("*.md"))}
    names = {source: source.removesuffix(".md").lower() for source in sources} | {"CONTRIBUTING.md": "contributors"}
    return {names[source]: _linked(_spoken(path), source, names) for source, path in sources.items()}


def english() -> set[str]:
    """Pages that are in English only."""
    return set(pages()) - {f"docs/{name}" for name in documents.SPOKEN}


def _spoken(path: Path) -> str:
    text, here = path.read_text(encoding="utf-8"), documents.context(path.stem)
    if path.parent.name != "docs" or path.stem not in documents.SPOKEN:
        return text
    shown = documents.translated(text, lambda words: written(here, words))
    # The English anchors of a translated page are known to links only once it is read, as are those of other pages.
    return text if shown == text else shown.replace("](#", f"]({path.name}#")


def _linked(text: str, source: str, names: dict[str, str]) -> str:
    """The text with its links resolved: to a page, else to the file in the repository, else as code."""

    def resolved(found: re.Match[str]) -> str:
        label, target = found[1], found[2]
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        path, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if path in names:
            there = posixpath.relpath(f"{names[path]}.md", posixpath.dirname(source))
            return f"[{label}]({there}{f'#{anchor}' if anchor else ''})"
        if repository():
            return f"[{label}]({repository()}/blob/main/{path}{f'#{anchor}' if anchor else ''})"
        return f"{label} (`{path}`)" if label.strip("`") != path else f"`{path}`"

    lines, fenced = [], False
    for line in text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        lines.append(line if fenced else _LINK.sub(resolved, line))
    return "\n".join(lines)

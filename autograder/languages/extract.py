"""What the package and the widgets say when they run: ``_("…")``, ``ngettext`` and so on in Python, ``t("…")`` in JavaScript."""

import io
from collections.abc import Iterator
from pathlib import Path

from babel.messages.extract import extract

from autograder import ROOT

from .words import Entry, Found

PACKAGE = ROOT / "course" / "anatomy"
WIDGETS = PACKAGE / "widgets"
_PYTHON = {"_": None, "N_": None, "ngettext": (1, 2), "pgettext": ((1, "c"), 2)}
_JAVASCRIPT = {"t": None}
SAYS = "widget"  # the context of what widgets say: a short word there may need another translation than elsewhere


def of_package() -> list[Entry]:
    """Entries of ``messages.po``: the package but for its widgets."""
    found = Found()
    for path in sorted(PACKAGE.rglob("*.py")):
        if not path.is_relative_to(WIDGETS):
            _add(found, path, "python", "")
    for path in sorted(PACKAGE.rglob("*.js")):
        if not path.is_relative_to(WIDGETS):
            _add(found, path, "javascript", "")
    return list(found.entries.values())


def of_widgets() -> list[Entry]:
    """Entries of ``widgets.po``."""
    found = Found()
    # Tools first: their words are in every widget.
    for path in sorted(WIDGETS.rglob("*"), key=lambda p: (p.parent.name != "tools", p)):
        if path.suffix in (".py", ".js"):
            _add(found, path, {".py": "python", ".js": "javascript"}[path.suffix], SAYS)
    return list(found.entries.values())


def words_of(path: Path) -> Iterator[tuple[str | None, str, str, list[str]]]:
    """(context, English, its plural or "", comments for translators) of every call in a file."""
    method, keywords = ("python", _PYTHON) if path.suffix == ".py" else ("javascript", _JAVASCRIPT)
    options = {"parse_template_string": "true", "encoding": "utf-8"}
    source = io.BytesIO(path.read_bytes())
    for _, says, comments, context in extract(
        method, source, keywords, ["Translators:"], options, strip_comment_tags=True
    ):
        english, plural = (says, "") if isinstance(says, str) else (says[0], says[1])
        yield context, english, plural, comments


def _add(found: Found, path: Path, method: str, context: str) -> None:
    where = path.relative_to(PACKAGE).as_posix()
    for own, english, plural, comments in words_of(path):
        found.add(own or context, english, where, " ".join(comments), True, plural)

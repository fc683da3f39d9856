"""Finds the texts that the package and its widgets show, in their sources.

In Python ``_("…")``, ``N_("…")`` and ``ngettext("…", "…", n)``, and the texts of a story's ``Step(…)``; in JavaScript
``tr("…")`` and ``N_("…")``, as ``anatomy.system.translation`` finds them when it gives a page its translations.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from anatomy.atlas import spoken
from anatomy.program.gallery import CONTEXT as CONTEXT_OF_GALLERY
from anatomy.system.translation import asked_for
from anatomy.widgets.tools.words import CONTEXT

from autograder import ROOT
from autograder.notebooks.gallery import described

from . import atlas, documents
from .words import Entry, Found

PACKAGE = ROOT / "course" / "anatomy"
WIDGETS = PACKAGE / "widgets"
# Rooms whose texts stand on pages, of students and of instructors. What commands print stays in English.
GRADING = [
    path
    for room in ("grading/base", "grading/source", "grading/intake", "grading/judging", "grading/pages", "judge")
    for path in sorted((ROOT / "autograder" / room).glob("*.py"))
]
SITE = ROOT / "autograder" / "site"
STEP_WORDS = 6  # number of a Step's text arguments, which come before its state


def of_package() -> list[Entry]:
    """Entries of ``messages.po``: the package without its widgets, and the pages of grading.

    The titles of the gallery and its reasons to look come last: the package shows them, and so does the site.
    """
    found = _entries([*(p for p in _sources(PACKAGE) if not p.is_relative_to(WIDGETS)), *GRADING], "")
    shown = Found()
    for widget, about in described().items():
        for english in (about.title, about.why):
            shown.add(CONTEXT_OF_GALLERY, english, f"gallery#{widget}", "", True)
    return [*found, *shown.entries.values()]


def of_widgets() -> list[Entry]:
    """Entries of ``widgets.po``; texts that all widgets share come first."""
    return _entries(sorted(_sources(WIDGETS), key=lambda p: (p.parent.name != "tools", p)), CONTEXT)


def of_site() -> list[Entry]:
    """Entries of ``site.po``: the site's own words, then what to try with each widget; the package uses none."""
    found = Found()
    for path in _sources(SITE):
        for english, plural in said_in(path) if path.suffix == ".py" else ():
            found.add("", english, _shown(path), "", plural=plural)
    for widget, about in described().items():
        found.add("", about.tries, f"gallery#{widget}", "")
    return list(found.entries.values())


def of_docs() -> list[Entry]:
    """Entries of ``docs.po``: the lines of the pages in ``docs/`` that are for readers, the glossary, the atlas."""
    found = Found()
    for name in documents.SPOKEN:
        for _begins, english in documents.lines(documents.source(name)):
            found.add(documents.context(name), english, f"docs/{name}.md", "")
    for term, entry in documents.glossary().items():
        found.add(documents.TERM, term, "docs/glossary.toml", "")
        found.add(documents.TERM, entry["says"], "docs/glossary.toml", "")
    for phrase in atlas.phrases():
        found.add(spoken.CONTEXT, phrase, "course/anatomy/atlas/models.json", "", runs=True)
    return list(found.entries.values())


def _sources(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.suffix in (".py", ".js"))


def _entries(paths: list[Path], context: str) -> list[Entry]:
    found = Found()
    for path in paths:
        for english, plural in said_in(path):
            found.add(context, english, _shown(path), "", True, plural)
    return list(found.entries.values())


def _shown(path: Path) -> str:
    return path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else ROOT).as_posix()


def said_in(path: Path) -> Iterator[tuple[str, str]]:
    """(English, its plural or "") for each text that a file marks for translation, in order."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".js":
        yield from ((english, "") for english in asked_for(source))
        return
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        if name in ("_", "N_") and call.args:
            yield from ((text, "") for text in _literals(call.args[0]))
        elif name in ("ngettext", "one_or_many"):
            both = [text for argument in call.args[:2] for text in _literals(argument)]
            if len(both) == 2:  # variables hold texts that ``one_or_many`` marks elsewhere
                yield both[0], both[1]
        elif name == "Step":
            for argument in call.args[:STEP_WORDS]:
                yield from ((text, "") for text in _literals(argument))


def _literals(node: ast.expr) -> Iterator[str]:
    """A string, or the strings of a tuple or of both branches of a conditional expression."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Tuple(elts=several):
            for each in several:
                yield from _literals(each)
        case ast.IfExp(body=yes, orelse=no):
            yield from _literals(yes)
            yield from _literals(no)

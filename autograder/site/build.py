"""Builds the site: sources for Sphinx into build/site/html-source, pages into build/site/html.

In another language the pages are in build/site/LANGUAGE/html.
"""

import io
import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import nbformat
from anatomy.program import gallery, units
from anatomy.system import files, translation
from anatomy.system.translation import ENGLISH, said
from nbformat import NotebookNode

from autograder import ROOT
from autograder.languages import catalogues, notebooks
from autograder.notebooks.source import SourceError

from . import executing, neighbors, pages, press, translated
from .foreign import English
from .furnishing import furnished
from .live import Shelf, widget_of
from .open_in_links import NOTEBOOKS
from .units import STATE, VIEW, Unit, facts_of
from .words import _

HERE = Path(__file__).parent
BUILD = ROOT / "build" / "site"
_PLACE = re.compile(r"\{\{widget:(\w+)\}\}")
_PRESS = re.compile(r"\{\{press:([\w.]+)\}\}")


class NotBuilt(RuntimeError):
    """Sphinx reported warnings or errors, which are in the message."""


class Site:
    """One build of the site.

    Args:
        out: folder for the pages; its old contents are deleted.
        source: folder with ``course`` and ``solutions``, in English.
        language: language of the search and of everything that has a catalog (docs/contributing/language.md).
        run: units whose outputs are shown; None: all. The pages of other units have text but no outputs.
    """

    def __init__(
        self,
        out: Path = BUILD / "html",
        source: Path = ROOT,
        language: str = ENGLISH,
        run: Sequence[str] | None = None,
    ) -> None:
        self.out, self._course, self._language = out, source, language
        self._run = units.names() if run is None else list(run)
        self._source = out.parent / f"{out.name}-source"
        self._static = self._source / "_static"
        self._english = English()  # parts in English on a site in another language
        self._released: dict[str, bytes] = {}

    def build(self) -> None:
        """Writes all pages. Raises NotExecuted, Leak, BadFormula, NotBuilt, CatalogueError."""
        with translation.speaking(self._language):
            self._build()

    def _build(self) -> None:
        self._released = self._notebooks()
        shown = self._course / "course" / "gallery" / "gallery.ipynb"
        solved = [self._course / "solutions" / name / f"{name}.ipynb" for name in self._run]
        spoken = [path for path in solved if self._speaks(path.stem)]
        # An untranslated unit is completely in English, including its outputs.
        outputs = executing.executed([p for p in solved if p not in spoken])
        outputs |= executing.executed([*spoken[:1], shown, *spoken[1:]], self._language)
        shutil.rmtree(self._source, ignore_errors=True)
        shelf = Shelf(self._static)
        self._write_units(outputs, shelf)
        self._write_pages(_by_widget(outputs["gallery"]), shelf)
        shelf.write()
        own = [path for path in (HERE / "static").iterdir() if path.name != "live.js"]  # which ``live`` writes
        # The font with its license; Temml isn't on the site, only what it wrote.
        own += [*(HERE / "vendor").glob("*.woff2"), HERE / "vendor" / "latin-modern-LICENSE.txt"]
        for path in sorted(own):
            files.replace(self._static / path.name, path.read_bytes())
        for path in sorted((ROOT / "docs" / "pictures").glob("*.webp")):
            files.replace(self._source / "docs" / "pictures" / path.name, path.read_bytes())
        for path in sorted(gallery.folder().glob("*.webp")):
            files.replace(self._static / "gallery" / path.name, path.read_bytes())
        self._sphinx()
        self._finish()

    def _write_units(self, outputs: dict[str, NotebookNode], shelf: Shelf) -> None:
        facts = facts_of(ROOT / "assets" / "units", units.names())
        for name, about in facts.items():
            released = nbformat.reads(self._released[name].decode(), as_version=4)
            unit = Unit(released, outputs.get(name, released), about, self._static, shelf)
            with translation.speaking(self._language if self._speaks(name) else ENGLISH):
                page = unit.page()
            files.replace(self._source / "units" / f"{name}.ipynb", nbformat.writes(page).encode())

    def _speaks(self, name: str) -> bool:
        """True if a unit is in the site's language."""
        return f"units/{name}" not in self._english.pages

    def _notebooks(self) -> dict[str, bytes]:
        """dict unit → its released notebook; translated ones are made from the catalogs of the site's language."""
        language, every = self._language, units.names()
        english = {name: (self._course / "course" / name / f"{name}.ipynb").read_bytes() for name in every}
        if language == ENGLISH:
            return english
        spoken = [name for name in every if notebooks.lookup_of(language, name)]
        left = {f"units/{name}" for name in every if name not in spoken}
        left |= {chosen.page for chosen in press.CHOSEN if chosen.unit not in spoken}
        self._english = English(pages.english() | left)
        return english | {name: translated.released(language, name) for name in spoken}

    def _write_pages(self, alive: dict[str, tuple[dict[str, Any], str, str]], shelf: Shelf) -> None:
        texts = pages.collected()
        every = {*texts, *(f"units/{name}" for name in units.names())}
        for path, text in texts.items():
            root = "../" * path.count("/")

            def placed(found: re.Match[str], root: str = root, first: bool = path == "index") -> str:
                return shelf.box(*alive[found[1]], root, eager=first)

            def pressed(found: re.Match[str], root: str = root) -> str:
                chosen = press.of(found[1])
                released = nbformat.reads(self._released[chosen.unit].decode(), as_version=4)
                return f"{press.asked(chosen, released)}\n\n{press.box(chosen, released, shelf, root)}"

            text = _PLACE.sub(placed, text)
            with translation.speaking(ENGLISH if path in self._english.pages else self._language):
                text = _PRESS.sub(pressed, text)
            if path == "index":
                titles = {path: _title(path, texts) for path in every - {"index"}}
                self._english.titles = {path: titles[path] for path in self._english.pages}
                text += _toctrees(pages.headed(every), titles)
            files.replace(self._source / f"{path}.md", text.encode())

    def _sphinx(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        said = run_sphinx(self._source, self.out, self._language, [str(self._static)])
        if said:
            raise NotBuilt(f"Sphinx says:\n{said}")

    def _finish(self) -> None:
        for page in sorted(self.out.rglob("*.html")):
            name = page.relative_to(self.out).with_suffix("").as_posix()
            text = self._english.marked(furnished(page.read_text(encoding="utf-8")), name)
            files.replace(page, text.encode())
        for name, content in self._released.items():
            files.replace(self.out / NOTEBOOKS / f"{name}.ipynb", content)
        for left in (".buildinfo", "objects.inv"):
            (self.out / left).unlink(missing_ok=True)
        files.replace(self.out / ".nojekyll", b"")  # so that GitHub Pages also serves folders that begin with _


def run_sphinx(source: Path, out: Path, language: str, static: list[str]) -> str:
    """Builds pages from a folder of MyST files; returns Sphinx's warnings and errors.

    static: folders of static files for the pages.
    """
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    said = io.StringIO()
    settings = {"html_static_path": static, "language": language}
    # docutils keeps its directives globally: restore them, so that the next build starts from the same state.
    with patch_docutils(HERE), docutils_namespace():
        trees = source / ".doctrees"
        app = Sphinx(source, HERE, out, trees, "html", settings, status=None, warning=said, freshenv=True)
        app.build(force_all=True)
    return said.getvalue().strip()


def _by_widget(gallery: NotebookNode) -> dict[str, tuple[dict[str, Any], str, str]]:
    """dict widget's folder → (model, picture, alt text), from the executed gallery."""
    models = gallery.metadata["widgets"][STATE]["state"]
    found = {}
    for cell in gallery.cells:
        for data in (o.get("data", {}) for o in cell.get("outputs", [])):
            if VIEW in data:
                model = models[data[VIEW]["model_id"]]
                kind = widget_of(model)
                if kind is not None:
                    found[kind.recording] = (model, data["image/png"], data["text/plain"])
    return found


def _toctrees(headings: Iterable[tuple[str, list[str]]], titles: dict[str, str]) -> str:
    parts = []
    for heading, paths in headings:
        listed = "\n".join(_entry(path, titles[path]) for path in paths)
        parts.append(f"\n\n```{{toctree}}\n:hidden:\n:caption: {_(heading)}\n\n{listed}\n```\n")
    return "".join(parts)


def _entry(path: str, title: str) -> str:
    """A line of a toctree; units have their number before the title. title: "" for the page's own title."""
    name = path.removeprefix("units/")
    if name in units.names():
        return f"{name[:2]} {title or units.load(name)['title']} <{path}>"
    return f"{title} <{path}>" if title else path


def _title(path: str, texts: dict[str, str]) -> str:
    """The title of a page in the current language; "" if that is the same as the English title."""
    name = path.removeprefix("units/")
    if name in units.names():
        english = units.load(name)["title"]
        shown = said(name, english)
    else:
        heading = re.search(r"^# (.+)$", texts[path], re.M)
        english = heading[1] if heading else ""
        shown = _(english)
    return "" if shown == english else shown


def main(arguments: Sequence[str] | None = None) -> int:
    """The command ``python -m autograder.site``; returns its exit status."""
    import argparse

    parser = argparse.ArgumentParser(prog="make site", description="Build the site into build/site/html.")
    parser.add_argument("--unit", action="append", choices=units.names(), help="run this unit; others lack outputs")
    parser.add_argument("--language", default="en", help="that has catalogs in locale/: zh_CN")
    parser.add_argument("--source", type=Path, default=ROOT, help="folder with course/ and solutions/")
    parser.add_argument("--out", type=Path, help="where the pages go")
    given = parser.parse_args(arguments)
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")  # so that two builds of the same sources give the same bytes
    out = (given.out or neighbors.home(BUILD, given.language)).resolve()
    try:
        Site(out, given.source.resolve(), given.language, given.unit).build()
    except (RuntimeError, SourceError, ValueError) as error:
        print(f"The site was not built. {error}", file=sys.stderr)
        return 1
    if given.out is None:
        neighbors.linked(BUILD, [ENGLISH, *catalogues.languages()])
    print(f"The site is in {out}: open {out / 'index.html'}")
    return 0

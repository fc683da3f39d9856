"""Builds the site: sources for Sphinx into build/site/source, pages into build/site/html."""

import io
import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import nbformat
from anatomy import files, units
from nbformat import NotebookNode

from autograder import ROOT

from . import executing, pages
from .furnishing import furnished
from .live import Shelf, widget_of
from .open_in_links import NOTEBOOKS
from .units import STATE, VIEW, Unit, facts_of

HERE = Path(__file__).parent
BUILD = ROOT / "build" / "site"
_PLACE = re.compile(r"\{\{(widget|picture):(\w+)\}\}")


class NotBuilt(RuntimeError):
    """Sphinx has something to say against the pages; the message holds it."""


class Site:
    """One build of the site.

    Args:
        out: folder for the pages; what is in it goes.
        source: folder with ``course`` and ``solutions``, in the language of the build.
        language: of the theme's own words and of the search, as Sphinx names it.
        run: units whose outputs are shown; None: all. The others' pages have their text and no output.
    """

    def __init__(
        self,
        out: Path = BUILD / "html",
        source: Path = ROOT,
        language: str = "en",
        run: Sequence[str] | None = None,
    ) -> None:
        self.out, self._course, self._language = out, source, language
        self._run = units.names() if run is None else list(run)
        self._source = out.parent / f"{out.name}-source"
        self._static = self._source / "_static"

    def build(self) -> None:
        """Writes all pages. Raises NotExecuted, Leak, BadFormula, NotBuilt."""
        gallery = self._course / "course" / "gallery" / "gallery.ipynb"
        solved = [self._course / "solutions" / name / f"{name}.ipynb" for name in self._run]
        outputs = executing.executed([*solved[:1], gallery, *solved[1:]])
        shutil.rmtree(self._source, ignore_errors=True)
        shelf = Shelf(self._static)
        self._write_units(outputs, shelf)
        self._write_pages(_by_widget(outputs["gallery"]), shelf)
        shelf.write()
        for path in sorted((HERE / "static").glob("site.*")) + sorted((HERE / "vendor").glob("*.woff2")):
            files.replace(self._static / path.name, path.read_bytes())
        self._sphinx()
        self._finish()

    def _write_units(self, outputs: dict[str, NotebookNode], shelf: Shelf) -> None:
        facts = facts_of(ROOT / "assets" / "units", units.names())
        for name, about in facts.items():
            released = nbformat.read(self._released(name), as_version=4)
            unit = Unit(released, outputs.get(name, released), about, self._static, shelf)
            files.replace(self._source / "units" / f"{name}.ipynb", nbformat.writes(unit.page()).encode())

    def _released(self, name: str) -> Path:
        return self._course / "course" / name / f"{name}.ipynb"

    def _write_pages(self, alive: dict[str, tuple[dict[str, Any], str, str]], shelf: Shelf) -> None:
        texts = pages.collected()
        every = {*texts, *(f"units/{name}" for name in units.names())}
        for path, text in texts.items():
            root = "../" * path.count("/")

            def placed(found: re.Match[str], root: str = root, first: bool = path == "index") -> str:
                model, png, alt = alive[found[2]]
                box = shelf.box(model, png, alt, root, eager=first)
                return box if found[1] == "widget" else _picture_of(box)

            text = _PLACE.sub(placed, text)
            if path == "index":
                text += _toctrees(pages.headed(every))
            files.replace(self._source / f"{path}.md", text.encode())

    def _sphinx(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        said = run_sphinx(self._source, self.out, self._language, [str(self._static)])
        if said:
            raise NotBuilt(f"Sphinx says:\n{said}")

    def _finish(self) -> None:
        for page in sorted(self.out.rglob("*.html")):
            files.replace(page, furnished(page.read_text(encoding="utf-8")).encode())
        for name in units.names():
            files.replace(self.out / NOTEBOOKS / f"{name}.ipynb", self._released(name).read_bytes())
        for left in (".buildinfo", "objects.inv"):
            (self.out / left).unlink(missing_ok=True)
        files.replace(self.out / ".nojekyll", b"")  # folders that begin with _ are pages too


def run_sphinx(source: Path, out: Path, language: str, static: list[str]) -> str:
    """Makes pages of a folder of MyST files; returns what Sphinx has to say against them.

    static: folders of files that go with the pages.
    """
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    said = io.StringIO()
    settings = {"html_static_path": static, "language": language}
    # docutils keeps directives in one place for the whole process: the next build is to find it as this one did.
    with patch_docutils(HERE), docutils_namespace():
        trees = source / ".doctrees"
        app = Sphinx(source, HERE, out, trees, "html", settings, status=None, warning=said, freshenv=True)
        app.build(force_all=True)
    return said.getvalue().strip()


def _by_widget(gallery: NotebookNode) -> dict[str, tuple[dict[str, Any], str, str]]:
    """dict widget's folder → (model, picture, words), from the executed gallery."""
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


def _picture_of(box: str) -> str:
    """The picture alone, for a card whose title stands beside it."""
    picture = re.search(r"<img [^>]*>", box)
    assert picture
    return re.sub(r' alt="[^"]*"', ' alt=""', picture[0])


def _toctrees(headings: Iterable[tuple[str, list[str]]]) -> str:
    parts = []
    for heading, paths in headings:
        listed = "\n".join(map(_entry, paths))
        parts.append(f"\n\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n{listed}\n```\n")
    return "".join(parts)


def _entry(path: str) -> str:
    """A line of a toctree; units have their number before the title."""
    name = path.removeprefix("units/")
    return f"{name[:2]} {units.load(name)['title']} <{path}>" if name in units.names() else path


def main(arguments: Sequence[str] | None = None) -> int:
    """The command ``python -m autograder.site``; returns its exit status."""
    import argparse

    parser = argparse.ArgumentParser(prog="make site", description="Build the site into build/site/html.")
    parser.add_argument("--unit", action="append", choices=units.names(), help="run this unit; others lack outputs")
    parser.add_argument("--language", default="en", help="as Sphinx names it: en, zh_CN")
    parser.add_argument("--source", type=Path, default=ROOT, help="folder with course/ and solutions/ in that language")
    parser.add_argument("--out", type=Path, default=BUILD / "html", help="where the pages go")
    given = parser.parse_args(arguments)
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")  # two builds of the same give the same bytes
    try:
        Site(given.out.resolve(), given.source.resolve(), given.language, given.unit).build()
    except (executing.NotExecuted, NotBuilt, RuntimeError, ValueError) as error:
        print(f"The site was not built. {error}", file=sys.stderr)
        return 1
    print(f"The site is in {given.out}: open {given.out / 'index.html'}")
    return 0

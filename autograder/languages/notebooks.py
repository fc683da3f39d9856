"""Builds notebooks in another language from the same source.

``python -m autograder.languages.notebooks zh_CN [--unit 00-start-here]`` (make build LANG=zh_CN) writes them to
``build/zh_CN/course/``. Cells, ids, code, checksums of judged cells and everything else that a grader reads are the
same as in the English notebook; only words differ, and an additional cell at the start sets the package's language.
Untranslated texts stay in English, with a note. A unit without a catalogue is completely in English.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat
from anatomy.app.build_stamp import sign, unit_of
from anatomy.system import files
from anatomy.system.translation import ENGLISH
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets.config import Config

from autograder import ROOT, exercises
from autograder.notebooks import code_words, generated, wording
from autograder.notebooks.first_cell import FIRST_CELL
from autograder.notebooks.gallery import gallery_notebook
from autograder.notebooks.numbers import fill
from autograder.notebooks.release import SAID, Resources, release_notebook
from autograder.notebooks.source import SourceError, Words, read_words, to_json
from autograder.settings import Class

from . import catalogues

SPEAK = "speak"  # id of the cell that sets the language


def lookup_of(language: str, unit: str, folder: Path = catalogues.FOLDER) -> wording.Lookup | None:
    """Function that translates a unit's texts into a language; None if the unit's translation has not begun.

    Raises CatalogueMissing for a language without catalogues.
    """
    if language not in catalogues.languages(folder):
        known = ", ".join(catalogues.languages(folder)) or "none"
        raise CatalogueMissing(f"There are no catalogues of {language!r}. Languages: {known}")
    path = catalogues.path_of(language, unit, folder)
    if not path.exists():
        return None
    texts = {}
    for source in (path, catalogues.path_of(language, "notebooks", folder)):
        for message in catalogues.messages(catalogues.read(source)):
            if catalogues.is_translated(message) and isinstance(message.id, str):
                texts[message.context, message.id] = catalogues.texts(message)[0]
    return lambda mark: texts.get((mark.context, mark.says))


class CatalogueMissing(catalogues.CatalogueError):
    """The language has no catalogues; the message lists the existing languages."""


def notebook(
    unit: str, language: str, lookup: wording.Lookup, config: Config | None = None, spelled: bool = False
) -> NotebookNode:
    """The released notebook of a unit in another language. spelled: may recorded numbers be English words?

    Raises the same errors as ``source.read_unit``.
    """
    return release_notebook(source(unit, language, lookup, spelled), config, phrases(lookup))


def source(unit: str, language: str, lookup: wording.Lookup, spelled: bool = False) -> NotebookNode:
    """nbgrader's source notebook of a unit in another language; arguments and errors are those of ``notebook``."""
    book, _, words = read_words(unit)
    translate(book, words, lookup, spelled)
    book.cells.insert(_after_first(book), speak_cell(language))
    return sign(book, unit)


def phrases(lookup: wording.Lookup) -> dict[str, str]:
    """The words that a release adds, in another language."""
    return {english: wording.translated(wording.said(english), lookup) for english in wording.OF_RELEASE}


class InLanguage(NbGraderPreprocessor):
    """``nbgrader generate_assignment`` in the class's language: the first step, which needs the whole notebook."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """The source notebook in the language of ``c.Class.language``; in English the notebook as it is.

        Raises CatalogueError, SourceError.
        """
        language = Class(config=self.config).language
        unit = unit_of(nb)
        lookup = lookup_of(language, unit) if language != ENGLISH else None
        if lookup is None:
            return nb, resources
        resources[SAID] = phrases(lookup)
        return source(unit, language, lookup), resources


def _after_first(book: NotebookNode) -> int:
    """Index after the cell that installs the package on Colab and Kaggle; 0 if there is no such cell."""
    return next((n + 1 for n, cell in enumerate(book.cells) if cell["id"] == FIRST_CELL), 0)


def translate(book: NotebookNode, words: Words, lookup: wording.Lookup, spelled: bool = False) -> None:
    """Translates a source notebook in place. Texts that only the staff sees stay in English."""

    def filled(text: str) -> str:
        return fill(text, times, spelled)

    times = {}
    times = {k: wording.translated(v, lookup, filled) if isinstance(v, str) else v for k, v in words.times.items()}
    for cell in book.cells:
        if words.cells.get(cell["id"]):
            cell["source"] = wording.translated(words.cells[cell["id"]], lookup, filled)
        elif cell.cell_type == "code" and words.may_change(cell):
            cell["source"] = code_words.replaced(
                cell.source, lambda piece: lookup(wording.Mark(words.unit, piece.text, piece.kind, {}))
            )


def speak_cell(language: str) -> NotebookNode:
    """The cell that sets a notebook's language; grading runs it too, so that feedback is in that language."""
    cell = nbformat.v4.new_code_cell(f'from anatomy import speak\n\nspeak("{language}")', id=SPEAK)
    cell.metadata["tags"] = ["setup"]
    return cell


def outputs(language: str, units: Sequence[str] | None = None, config: Config | None = None) -> dict[str, bytes]:
    """dict ``course/NN-name/NN-name.ipynb`` → bytes of the notebooks in a language.

    Without ``units``: all units and the gallery, whose text is in English but whose widgets use the language.
    Raises CatalogueError, SourceError, exercises.SpecError, exercises.UnknownName.
    """
    made = {}
    for unit in units or exercises.units():
        exercises.unit_module(unit)
        lookup = lookup_of(language, unit)
        book = notebook(unit, language, lookup or (lambda mark: mark.says), config, spelled=lookup is None)
        made[f"course/{unit}/{unit}.ipynb"] = to_json(book)
    gallery = ROOT / "solutions" / "gallery.py"
    if units is None and gallery.exists():
        book = gallery_notebook(gallery)
        book.cells.insert(0, speak_cell(language))
        made["course/gallery/gallery.ipynb"] = to_json(sign(book, "gallery"))
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m autograder.languages.notebooks", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("language", help="e.g. zh_CN")
    parser.add_argument("--unit", action="append", help="only this unit")
    options = parser.parse_args(argv)
    folder = ROOT / "build" / options.language
    try:
        made = {folder / name: content for name, content in outputs(options.language, options.unit).items()}
        stale = generated.stale_files(made)
        changed = generated.changed_by_hand(stale)
        if changed:
            print(f"what you wrote there is in {generated.keep_copies(changed, ROOT).relative_to(ROOT)}")
        for path in stale:
            files.replace(path, made[path])
    except (catalogues.CatalogueError, SourceError, exercises.SpecError, exercises.UnknownName, OSError) as error:
        print("\n".join(f"build: {line}" for line in str(error).split("\n")), file=sys.stderr)
        return 2
    print(f"{len(made)} notebooks in {folder}, {len(stale)} of them new")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Compiles the translations that the package reads at run time: one ``.mo`` per language, in the learners' folders.

The files are committed, so that a checkout, a zip and a wheel need only Python's own gettext: learners need neither
babel nor a build. Entries are sorted and have no dates, so every run gives the same bytes.
"""

import io
from collections.abc import Iterable
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo

from autograder import ROOT
from autograder.notebooks.numbers import fill

from . import catalogues
from .words import Entry

KEPT = ("Content-Type", "Language", "Plural-Forms")  # header lines; the others tell the time and the program
FOLDER = ROOT / "course" / "anatomy" / "locale"


class _Dateless(Catalog):
    """A catalogue with only the header lines that gettext needs."""

    @property
    def mime_headers(self) -> list[tuple[str, str]]:
        """(name, value) of each line."""
        return [(name, value) for name, value in super().mime_headers if name in KEPT]


def path_of(language: str) -> Path:
    """The path at which gettext looks for the .mo file."""
    return FOLDER / language / "LC_MESSAGES" / "anatomy.mo"


def to_bytes(parts: Iterable[tuple[list[Entry], Catalog]], language: str) -> bytes:
    """The .mo file of the translated texts that the package shows, with recorded facts filled in."""
    made = _Dateless(locale=catalogues.checked(language), fuzzy=False, charset="utf-8")
    for entries, catalog in parts:
        for entry in entries:
            if entry.filled is None:
                continue
            message = catalog.get(entry.english, entry.context or None)
            if message is None or not catalogues.is_translated(message):
                continue
            if entry.plural:
                made.add((entry.english, entry.plural), message.string, context=entry.context or None)
            else:
                made.add(entry.filled, _filled(str(message.string)), context=entry.context or None)
    file = io.BytesIO()
    write_mo(file, made)
    return file.getvalue()


def _filled(text: str) -> str:
    return fill(text, spelled=False)

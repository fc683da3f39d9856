"""What the package reads when it runs: one ``.mo`` per language, in the learners' wing.

It is committed: a checkout, a zip and a wheel then speak the language with Python's own gettext, and neither babel nor
a build stands between a learner and a lesson. Entries are sorted and nothing says when: the same bytes at every run.
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

KEPT = ("Content-Type", "Language", "Plural-Forms")  # of the header; the others say when and by what it was made
FOLDER = ROOT / "course" / "anatomy" / "locale"


class _Dateless(Catalog):
    """A catalogue whose header says what gettext needs to know."""

    @property
    def mime_headers(self) -> list[tuple[str, str]]:
        """(name, value) of each line."""
        return [(name, value) for name, value in super().mime_headers if name in KEPT]


def path_of(language: str) -> Path:
    """Where gettext looks for it."""
    return FOLDER / language / "LC_MESSAGES" / "anatomy.mo"


def to_bytes(parts: Iterable[tuple[list[Entry], Catalog]], language: str) -> bytes:
    """The .mo file of what is translated and shown by the package, with recorded facts filled in."""
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

"""Catalogues as files, ``locale/LANGUAGE/*.po``: updated from the sources, always in the same format."""

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from babel import Locale, UnknownLocaleError
from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import PoFileError, read_po, write_po

from autograder import ROOT

from .words import Entry

FOLDER = ROOT / "locale"
# Lines of babel's header that change at each run or contain no information.
_LEFT_OUT = (
    "POT-Creation-Date",
    "PO-Revision-Date",
    "Last-Translator",
    "Language-Team",
    "Report-Msgid-Bugs-To",
    "Generated-By",
)


class CatalogueError(ValueError):
    """A language or a catalogue is unusable; the message says what to do."""


@dataclass(frozen=True)
class Count:
    """How much of a catalogue is translated."""

    translated: int
    total: int


def languages(folder: Path = FOLDER) -> list[str]:
    """Names of the languages that have catalogues, e.g. ``zh_CN``."""
    return sorted(p.parent.name for p in folder.glob("*/notebooks.po"))


def checked(language: str) -> str:
    """The language, if it is a valid gettext name. Raises CatalogueError for an invalid name and for English."""
    try:
        locale = Locale.parse(language)
    except (UnknownLocaleError, ValueError, TypeError):
        raise CatalogueError(f"{language!r} is no language's name: write it like zh_CN, de or pt_BR") from None
    if locale.language == "en" or not re.fullmatch(r"[a-z]{2,3}(_[A-Za-z]{2,4})*", language):
        raise CatalogueError(f"{language!r}: write another language than English in this form: zh_CN, de, pt_BR")
    return language


def path_of(language: str, name: str, folder: Path = FOLDER) -> Path:
    """The file of a catalog; name: ``notebooks``, ``messages``, ``widgets``, ``site`` or a unit."""
    below = folder / language
    return (below / "units" if name[:1].isdigit() else below) / f"{name}.po"


def read(path: Path) -> Catalog:
    """Read a catalogue from its file. Raises CatalogueError, with the line, if it is not a valid .po file."""
    try:
        return read_po(io.BytesIO(path.read_bytes()), locale=path_language(path), abort_invalid=True)
    except (PoFileError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{path.name}: {error}") from None


def path_language(path: Path) -> str:
    """The language of a catalogue, from its folder."""
    return path.parent.parent.name if path.parent.name == "units" else path.parent.name


def updated(entries: Iterable[Entry], old: Catalog | None, language: str) -> Catalog:
    """A catalogue of these entries in their order, with the translations from ``old`` for the same texts.

    A translation whose English text is gone is kept at the end as obsolete, so that a translator can reuse it.
    It never guesses a translation from a similar sentence, because readers would trust the guess.
    """
    new = Catalog(locale=checked(language), project="transformer-anatomy", version="1", charset="utf-8")
    for entry in entries:
        key: str | tuple[str, str] = (entry.english, entry.plural) if entry.plural else entry.english
        where: list[Any] = [(w, None) for w in entry.where]  # without line numbers, which change too often
        made = new.add(key, context=entry.context or None, locations=where)
        made.auto_comments = list(entry.kinds)
        kept = old.get(key, entry.context or None) if old is not None else None
        if kept is not None and not kept.fuzzy:
            made.string, made.user_comments = _fitting(kept, made, new), list(kept.user_comments)
    if old is not None:
        gone = [*(m for m in old if m.id), *old.obsolete.values()]
        for message in gone:
            if any(texts(message)) and new.get(message.id, message.context) is None:
                new.obsolete[new._key_for(message.id, message.context)] = message
    return new


def _fitting(kept: Message, made: Message, catalog: Catalog) -> str | tuple[str, ...]:
    if not made.pluralizable:
        return texts(kept)[0]
    return (*texts(kept), *[""] * catalog.num_plurals)[: catalog.num_plurals]


def texts(message: Message) -> list[str]:
    """The translations of an entry, one for each plural form; "" for a missing one."""
    found = message.string
    return [found] if isinstance(found, str) else [t or "" for t in found or [""]]


def messages(catalog: Catalog) -> Iterator[Message]:
    """The entries of a catalogue without its header."""
    return (m for m in catalog if m.id)


def count(catalog: Catalog) -> Count:
    """How much of a catalogue is translated; an entry counts once all its plural forms are translated."""
    every = list(messages(catalog))
    return Count(sum(is_translated(m) for m in every), len(every))


def is_translated(message: Message) -> bool:
    """True if an entry is translated, with all plural forms."""
    return all(texts(message)) and not message.fuzzy


def to_bytes(catalog: Catalog) -> bytes:
    """The file of a catalogue: in the order of the text, without dates and line numbers, one line per paragraph."""
    for message in [*catalog, *catalog.obsolete.values()]:
        message.flags -= {"python-format", "python-brace-format"}  # a "%" in a sentence doesn't make it a format string
    made = io.BytesIO()
    write_po(made, catalog, width=0, include_lineno=False)
    lines = made.getvalue().decode().split("\n")
    start = next(n for n, line in enumerate(lines) if line.startswith('msgid ""'))
    header = [f"# {catalog.locale_identifier}: see docs/contributing/language.md."]
    kept = [line for line in lines[start:] if not line.startswith(tuple(f'"{name}:' for name in _LEFT_OUT))]
    return "\n".join([*header, *kept]).rstrip("\n").encode() + b"\n"

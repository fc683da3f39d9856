"""Marks the translatable words of a notebook: the marks pass through the build as part of a cell's text.

``said("about {n} min", n=5)`` is a *mark*: English words with their context and their values, encoded as text that
can be inserted in any other text. The build assembles cells from marks and from language-independent text, keeps the
marked text of each cell, and gives the cell itself the English text (``english``). ``translated`` renders the same
marked text in another language. So one source gives all languages, and the build sees everything that it examines
(headings, claims, ids, minutes) in English.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .numbers import fill

WRITE_HERE = "Write your answer here: double-click, or select this cell and press Enter."
NOT_ASKED_FOR = ", not asked for in your course"  # behind an exercise's points
OF_RELEASE = {WRITE_HERE: "in the place of a written answer", NOT_ASKED_FOR: "behind an exercise's points"}
BUILD = "build"  # the context of the build's own words, which are the same in all units
_OPEN, _CLOSE = "\ue000", "\ue001"  # in Unicode's private use area: they never occur in a text
_MARK = re.compile(f"{_OPEN}(.*?){_CLOSE}", re.S)
_BETWEEN = re.compile(r"(\n[ \t]*(?:\n[ \t]*)+)")
_FIRST, _LAST = '<div lang="en">\n\n', "\n\n<sup>EN</sup>\n\n</div>"  # around text that is not translated yet
_HEADING = re.compile(r"(#+ +)(.+)")
_FOLDED = re.compile(r"(?:</?details>|\n)+")


@dataclass(frozen=True)
class Mark:
    """One piece of translatable text. context, says: its key in a catalogue. kind: what it is, for a translator.

    values: values of its ``{placeholders}``. is_plain: it is plain text, not Markdown. is_block: it is a paragraph,
    which can be marked as not translated.
    """

    context: str
    says: str
    kind: str
    values: dict[str, Any]
    is_plain: bool = False
    is_block: bool = False

    def text(self) -> str:
        """The mark encoded as text, to be inserted in another text."""
        fields = [self.context, self.says, self.kind, self.values, self.is_plain, self.is_block]
        return f"{_OPEN}{json.dumps(fields)}{_CLOSE}"


def said(english: str, **values: Any) -> str:
    """The build's own words, as a mark. Values may be marks themselves."""
    return Mark(BUILD, english, "", values).text()


def line(context: str, english: str, kind: str, is_plain: bool = False) -> str:
    """An author's words within a line, as a mark."""
    return Mark(context, english, kind, {}, is_plain).text()


def paragraphs(context: str, source: str, kind: str = "") -> str:
    """An author's Markdown with a mark for each paragraph; displayed formulas and code fences get none."""
    made, fenced = [], False
    for piece in _BETWEEN.split(source):
        text = piece.strip()
        if fenced or text.startswith("```"):
            fenced ^= text.count("```") % 2 == 1
            made.append(piece)
            continue
        heading = _HEADING.match(piece)
        if not text or re.fullmatch(r"\$\$.*\$\$", text, re.S) or _FOLDED.fullmatch(text):
            made.append(piece)
        elif heading:  # a unit's first heading is its title, which also appears on pages
            made.append(heading[1] + line(context, heading[2], "heading"))
            if piece[heading.end() :].strip():
                made.append(_block(context, piece[heading.end() :], kind))
            else:
                made.append(piece[heading.end() :])
        else:
            made.append(_block(context, piece, kind))
    return "".join(made)


def _block(context: str, piece: str, kind: str) -> str:
    """A paragraph as a mark, with the line breaks around it outside."""
    text = piece.strip("\n")
    before, _, after = piece.partition(text)
    return before + Mark(context, text, kind, {}, is_block=True).text() + after


def marks(marked: str) -> Iterator[Mark]:
    """Every mark of a marked text, those in values too."""
    for found in _MARK.finditer(marked):
        mark = Mark(*json.loads(found[1]))
        yield mark
        for value in mark.values.values():
            yield from marks(value) if isinstance(value, str) else ()


Lookup = Callable[[Mark], str | None]


def english(marked: str) -> str:
    """A marked text in English, with the placeholders of recorded facts unchanged."""
    return translated(marked, lambda mark: mark.says, lambda text: text)


def translated(marked: str, lookup: Lookup, filled: Callable[[str], str] = fill) -> str:
    """A marked text in the language of ``lookup``; missing translations stay English, and paragraphs are marked so.

    filled: fills in the placeholders of recorded facts.
    """

    def shown(found: re.Match[str]) -> str:
        mark = Mark(*json.loads(found[1]))
        text = lookup(mark)
        missing, text = text is None, filled(mark.says if text is None else text)
        if mark.values:
            values = mark.values.items()
            text = text.format(**{k: translated(v, lookup, filled) if isinstance(v, str) else v for k, v in values})
        if mark.is_plain:
            text = as_it_is(text)
        return in_english(text) if missing and mark.is_block else text

    return _MARK.sub(shown, marked).replace(_LAST + "\n\n" + _FIRST, "\n\n")


def in_english(paragraph: str) -> str:
    """A paragraph marked as not translated yet, visibly and for screen readers."""
    return f"{_FIRST}{paragraph}{_LAST}"


def as_it_is(text: str) -> str:
    """Markdown that shows ``text`` literally."""
    return re.sub(r"([\\`*_\[\]<>$#|~])", r"\\\1", text)

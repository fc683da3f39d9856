"""Collects the texts to translate: the entries of the catalogues, from the sources, in the order of the text."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from anatomy.notebook import printing
from anatomy.program.cost import REASON
from anatomy.program.units import cell_id
from anatomy.system.translation import PICTURE

from autograder import ROOT
from autograder.notebooks import code_words, wording
from autograder.notebooks.numbers import fill
from autograder.notebooks.release import release_notebook
from autograder.notebooks.source import read_words

_WORD = re.compile(r"(?<![\w.-])[A-Za-z]?[a-z]{2,}(?![\w(])")  # in "GPT-2", "q_proj" and "norm(x)" is none


@dataclass
class Entry:
    """One text to translate. context, english, plural: the key. where: places that show it. kinds: kinds of text.

    filled: the English text, with recorded facts filled in, by which the package looks it up at run time; None if only
    the build needs it.
    """

    context: str
    english: str
    plural: str = ""
    where: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    filled: str | None = None


class Found:
    """Collects entries: the same text in the same context is one entry."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], Entry] = {}

    def add(self, context: str, english: str, where: str, kind: str, runs: bool = False, plural: str = "") -> None:
        """Adds one place of an entry. runs: True if the package looks it up at run time."""
        if context != wording.BUILD and not any(c.isalpha() for c in english):
            return
        entry = self.entries.setdefault((context, english), Entry(context, english, plural))
        for known, new in ((entry.where, where), (entry.kinds, kind)):
            if new and new not in known:
                known.append(new)
        if runs:
            entry.filled = fill(english)

    def add_marked(self, marked: str, where: str, runs: bool = False) -> Iterator[wording.Mark]:
        """Adds the marked parts of a text; yields those that belong to the build itself."""
        for mark in wording.marks(marked):
            if mark.context == wording.BUILD:
                yield mark
            else:
                self.add(mark.context, mark.says, where, mark.kind, runs or mark.kind in RUN)


# Kinds of texts in notebooks that the package shows too.
RUN = {
    "heading",  # the first is the unit's title
    "title of the exercise",
    "prediction",
    "option of a prediction",
    "question",
    "choice",
    "why something is not allowed",
}


def of_unit(unit: str) -> tuple[list[Entry], list[wording.Mark]]:
    """(entries of a unit's catalogue, the build's own phrases in it). Raises like ``notebooks.source.read_unit``."""
    book, _, words = read_words(unit)
    found, phrases = Found(), list[wording.Mark]()
    by_cell: dict[str, list[str]] = {}
    for cell, marked in words.said:
        by_cell.setdefault(cell, []).append(marked)
    for cell in release_notebook(book).cells:
        where = f"{unit}#{cell['id']}"
        if cell.cell_type == "code":
            for piece in code_words.pieces(cell.source) if words.may_change(cell) else ():
                found.add(unit, piece.text, where, f"{piece.kind} in code")
            for text in printed(cell.source):
                found.add(printing.CONTEXT, text, where, "what a cell prints", True)
            for name, text in code_words.shown(cell.source):
                context = unit if name == "reveal" else PICTURE
                found.add(context, text, where, "why it came out so" if name == "reveal" else "picture in words", True)
        else:
            phrases += found.add_marked(words.cells.get(cell["id"], ""), where)
        for marked in by_cell.pop(cell["id"], []):
            phrases += found.add_marked(marked, where, runs=True)
    for name in words.times.values():
        phrases += [m for m in wording.marks(name) if m.context == wording.BUILD] if isinstance(name, str) else []
    for exercise in recorded(unit):
        _add_recorded(found, exercise, f"{unit}#{cell_id('check', exercise['id'])}")
    return list(found.entries.values()), phrases


def printed(source: str) -> Iterator[str]:
    """Texts with words that a cell prints; none for a cell that is not pure Python (magics)."""
    try:
        yield from filter(is_words, printing.texts(ast.parse(source)))
    except SyntaxError:
        return


def is_words(text: str) -> bool:
    """False for numbers, and for names and formulas, which are the same in every language."""
    return _WORD.search(re.sub(r"\{\w\}", "", text)) is not None


def recorded(unit: str) -> list[dict[str, Any]]:
    """The records of a unit's exercises in ``assets/recordings``; [] if there are none."""
    path = ROOT / "assets" / "recordings" / f"{unit}.json"
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["exercises"] if path.exists() else []
    return found


def _add_recorded(found: Found, exercise: dict[str, Any], where: str) -> None:
    name = exercise["id"]
    if exercise["forbidden_message"]:
        found.add(name, exercise["forbidden_message"], where, "why something is not allowed", True)
    for case in exercise["cases"]:
        found.add(name, case["shows"], where, "what a case shows", True)
        for step in case["program"]["steps"]:
            if "cost" in step:
                found.add(REASON, step["cost"]["because"], where, "why a limit is enough", True)
    for message in exercise["mistakes"].values():
        found.add(name, message, where, "mistake", True)

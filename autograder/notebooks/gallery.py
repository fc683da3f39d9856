"""Builds the gallery: every widget in one notebook, with no code to write and nothing to grade."""

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nbformat
from anatomy.app.build_stamp import sign
from anatomy.widgets import REGISTERED
from nbformat import NotebookNode

from autograder import ROOT, exercises

from . import address, first_cell
from .cells import SourceError, read_cells
from .source import KERNEL, name_cells, plain_code

_CALL = re.compile(r"^widgets\.(\w+)\(\)$", re.M)
_WHERE = re.compile(r" *\(units? ([^)]*)\)$")


class About(NamedTuple):
    """What the gallery says of a widget, in English: why to look at it, and what to try, in Markdown. units: names."""

    title: str
    why: str
    tries: str
    units: Sequence[str]


def gallery_notebook(path: Path) -> NotebookNode:
    """Notebook from ``solutions/gallery.py``: its markdown and code cells unchanged, without outputs.

    Raises SourceError.
    """
    read, problems = read_cells(path)
    if problems:
        raise SourceError(*problems)
    cells = [plain_code(c) if c.code else nbformat.v4.new_markdown_cell(c.source) for c in read]
    name_cells("gallery", cells)
    first_cell.put_in(cells, "gallery", address.read())
    book = nbformat.from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": KERNEL, "cells": cells})
    return sign(book, "gallery")


@cache
def described() -> dict[str, About]:
    """Widget's folder → what the gallery's notebook says of it."""
    return _described(nbformat.read(ROOT / "course" / "gallery" / "gallery.ipynb", as_version=4))


def listing(book: NotebookNode) -> bytes:
    """Bytes of ``assets/gallery/gallery.json``, which ``anatomy.program.gallery`` reads."""
    entries = [
        {
            "name": REGISTERED[folder].__name__,
            "folder": folder,
            "units": about.units,
            "title": about.title,
            "why": about.why,
        }
        for folder, about in _described(book).items()
    ]
    return (json.dumps(entries, indent=1, ensure_ascii=False) + "\n").encode()


def _described(book: NotebookNode) -> dict[str, About]:
    by_class = {kind.__name__: name for name, kind in REGISTERED.items()}
    found, heading, says = {}, "", ""
    for cell in book.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            heading, _blank, says = cell.source.removeprefix("## ").partition("\n")
        elif (call := _CALL.search(cell.source)) and call[1] in by_class:
            why, _blank, tries = says.strip().partition("\n\n")
            where = _WHERE.search(heading)
            numbers = re.findall(r"\d+", where[1]) if where else []
            units = [unit for unit in exercises.units() if unit[:2] in numbers]
            found[by_class[call[1]]] = About(_WHERE.sub("", heading), why, tries, units)
    return found

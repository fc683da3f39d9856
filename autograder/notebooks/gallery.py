"""Builds the gallery: every widget in one notebook, with no code to write and nothing to grade."""

import re
from functools import cache
from pathlib import Path

import nbformat
from anatomy.app.build_stamp import sign
from anatomy.widgets import REGISTERED
from nbformat import NotebookNode

from autograder import ROOT

from . import address, first_cell
from .cells import SourceError, read_cells
from .source import KERNEL, name_cells, plain_code

_CALL = re.compile(r"^widgets\.(\w+)\(\)$", re.M)
_WHERE = re.compile(r" *\(units? [^)]*\)$")


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
def described() -> dict[str, tuple[str, str]]:
    """Widget's folder → (title, what to try in Markdown), in English, from the gallery's notebook."""
    cells = nbformat.read(ROOT / "course" / "gallery" / "gallery.ipynb", as_version=4).cells
    by_class = {kind.__name__: name for name, kind in REGISTERED.items()}
    found, heading, says = {}, "", ""
    for cell in cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            heading, _blank, says = cell.source.removeprefix("## ").partition("\n")
        elif call := _CALL.search(cell.source):
            found[by_class[call[1]]] = (_WHERE.sub("", heading), says.strip())
    return found

"""The gallery: every widget in one notebook, with no code to write and nothing to grade."""

from pathlib import Path

import nbformat
from anatomy.fingerprint import sign
from nbformat import NotebookNode

from . import address, first_cell
from .cells import SourceError, read_cells
from .source import KERNEL, name_cells, plain_code


def gallery_notebook(path: Path) -> NotebookNode:
    """Notebook from ``solutions/gallery.py``: markdown and code cells as they are, without outputs.

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

"""The gallery: every widget in one notebook, with no code to write and nothing to grade."""

import jupytext
import nbformat
from anatomy.fingerprint import sign

from .source import KERNEL, name_cells, plain_code


def gallery_notebook(path):
    """Notebook from ``solutions/gallery.py``: markdown and code cells as they are, without outputs."""
    book = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent")
    cells = [
        plain_code(c) if c.cell_type == "code" else nbformat.v4.new_markdown_cell(c.source.strip("\n"))
        for c in book.cells
    ]
    name_cells("gallery", cells)
    book = nbformat.from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": KERNEL, "cells": cells})
    return sign(book, "gallery")

"""Tells what the build wrote into a notebook from what was written into it later.

Every generated notebook carries, in its metadata, ``anatomy = {"unit": …, "cells": {cell id: 12 hexadecimal digits},
"digest": …}``. The digest covers the whole notebook, so that one answer, one output or one moved cell shows; the
cells' marks stay in a learner's copy, where they tell which cells are still as released.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

KEY = "anatomy"
Notebook = dict[str, Any]  # as in the file: plain dicts and lists
Cell = dict[str, Any]


class NotANotebook(ValueError):
    """The bytes are not a notebook of format 4; the message says why."""


def parse(data: bytes | str) -> Notebook:
    """Notebook (plain dicts and lists) from a file's bytes, safe to read cell by cell.

    Raises NotANotebook for anything but a notebook of format 4.
    """
    try:
        book = json.loads(data)
    except (ValueError, RecursionError):
        raise NotANotebook("it is empty" if not data.strip() else "it cannot be read as JSON") from None
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list) or book.get("nbformat") != 4:
        raise NotANotebook("it is no notebook of format 4")
    if not isinstance(book.setdefault("metadata", {}), dict):
        raise NotANotebook("its metadata is damaged")
    for cell in cells:
        if (
            not isinstance(cell, dict)
            or cell.get("cell_type") not in ("code", "markdown", "raw")
            or not isinstance(cell.setdefault("metadata", {}), dict)
            or not _is_text(cell.get("source", ""))
        ):
            raise NotANotebook("one of its cells is damaged")
        if not isinstance(cell.get("id", ""), str):
            del cell["id"]
    return book


def _is_text(source):
    return isinstance(source, str) or isinstance(source, list) and all(isinstance(line, str) for line in source)


def text_of(cell: Cell) -> str:
    """A cell's source as one string; files keep it as a list of lines."""
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def mark(cell: Cell) -> str:
    """12 hexadecimal digits of a cell's type and source."""
    return hashlib.sha256(_bytes(f"{cell['cell_type']}\n{text_of(cell)}")).hexdigest()[:12]


def _bytes(text):
    return text.encode("utf-8", "surrogatepass")  # a lone surrogate is legal JSON


def plain(book: Notebook) -> Notebook:
    """The notebook with every source as one string: two notebooks with the same content are equal in this form."""
    return {**book, "cells": [{**c, "source": text_of(c)} for c in book["cells"]]}


def digest(book: Notebook) -> str:
    """64 hexadecimal digits of everything in a notebook except the digest itself."""
    about = {k: v for k, v in _about(book).items() if k != "digest"}
    whole = plain(book) | {"metadata": {**book["metadata"], KEY: about}}
    return hashlib.sha256(json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _about(book):
    about = book["metadata"].get(KEY)
    return about if isinstance(about, dict) else {}


def sign(book: Notebook, unit: str) -> Notebook:
    """Writes the stamp into a notebook's metadata; returns the same notebook."""
    book["metadata"][KEY] = {"unit": unit, "cells": {c["id"]: mark(c) for c in book["cells"]}}
    book["metadata"][KEY]["digest"] = digest(book)
    return book


def unit_of(book: Notebook) -> str:
    """The unit that the notebook says it belongs to, or ''."""
    unit = _about(book).get("unit")
    return unit if isinstance(unit, str) else ""


def marks(book: Notebook) -> dict[str, str]:
    """dict cell id → mark, as released; {} if the notebook has none."""
    found = _about(book).get("cells")
    return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


def release_of(book: Notebook) -> str:
    """The digest that the notebook was released with, which identifies its release, or ''."""
    found = _about(book).get("digest")
    return found if isinstance(found, str) else ""


def is_as_built(book: Notebook) -> bool:
    """Whether the notebook holds nothing but what the build wrote."""
    return bool(release_of(book)) and release_of(book) == digest(book)


def file_is_as_built(path: Path) -> bool:
    """The same for a file; a file that cannot be read as a notebook is not as built."""
    try:
        return is_as_built(parse(path.read_bytes()))
    except (OSError, NotANotebook):
        return False


def to_bytes(book: Notebook) -> bytes:
    """The bytes of a notebook's file, in the form that Jupyter writes."""
    split = {**book, "cells": [{**c, "source": text_of(c).splitlines(True)} for c in book["cells"]]}
    text = json.dumps(split, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    try:
        return text.encode()
    except UnicodeEncodeError:
        return (json.dumps(split, indent=1, sort_keys=True) + "\n").encode()

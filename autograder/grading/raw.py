"""The cells of a notebook file as they came: JSON objects of which nothing else is known.

Every format of notebooks that has been in use for fifteen years is read; in the older ones (2 and 3) the cells stand in
worksheets, and a code cell's source is called ``input``.
"""

import json
from typing import Any

from .opening import BadSubmission

MARK = "anatomy"  # cell metadata of a rebuilt notebook: {"role": …, "exercise": …}
MAX_SOURCE = 200_000  # characters of one cell
RawCell = dict[str, Any]  # a cell as it came: only that it is a JSON object is known


def cells_of(data: bytes) -> list[RawCell]:
    """The cells of a notebook file, whatever else stands in it. Raises BadSubmission."""
    if not data.strip(b"\x00 \t\r\n"):
        raise BadSubmission(
            "submission.empty_file", "The file is empty: nothing arrived. Save the notebook and submit it again."
        )
    try:
        book = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise BadSubmission(
            "submission.not_json",
            "The file is not a notebook: it cannot be read as JSON. It may "
            "have been cut off on the way, or be another kind of file.",
        ) from None
    cells = book.get("cells") if isinstance(book, dict) else None
    if cells is None and isinstance(book, dict):
        cells = _in_worksheets(book.get("worksheets"))
    if not isinstance(cells, list):
        raise BadSubmission(
            "submission.not_a_notebook", "The file is JSON, but not a notebook: it has no list of cells."
        )
    return [c for c in cells if isinstance(c, dict)]


def _in_worksheets(sheets: Any) -> list[Any] | None:
    if not isinstance(sheets, list):
        return None
    parts = [s["cells"] for s in sheets if isinstance(s, dict) and isinstance(s.get("cells"), list)]
    return [cell for part in parts for cell in part] if parts else None


def grade_id_of(cell: RawCell) -> str | None:
    """nbgrader's mark of a cell, or None."""
    meta = cell.get("metadata")
    marks = meta.get("nbgrader") if isinstance(meta, dict) else None
    value = marks.get("grade_id") if isinstance(marks, dict) else None
    return value if isinstance(value, str) else None


def source_of(cell: RawCell) -> str:
    """The text of a cell; "" where it has none."""
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(s for s in source if isinstance(s, str))
    # A lone surrogate is legal JSON and no text: it would stop whatever prints or stores it.
    return source.encode("utf-8", "replace").decode() if isinstance(source, str) else ""


def squeezed(source: str) -> str:
    """A source whose white space does not matter; no cell of the course is as long as what is left as it is."""
    return " ".join(source.split()) if len(source) <= MAX_SOURCE else source

"""Reads the raw cells of a notebook file: JSON objects whose contents are not validated.

Reads every notebook format of the last fifteen years. In the older ones (2 and 3) the cells are in worksheets, and a
code cell's source is called ``input``.
"""

import json
import re
from typing import Any

from anatomy.system.translation import N_, _

from .opening import BadSubmission

MAX_SOURCE = 200_000  # characters of one cell
RawCell = dict[str, Any]  # a cell of the file: any JSON object
_CONFLICT = re.compile(rb"^(?:<{7}|={7}|>{7})(?: |\r?$)", re.MULTILINE)
_KINDS = (  # (first bytes, description of such a file)
    (b"%PDF", N_("a PDF")),
    (b"PK\x03\x04", N_("a zip archive, or a document that is one")),
    (b"\x1f\x8b", N_("a compressed archive")),
    (b"\x89PNG", N_("a picture")),
    (b"\xff\xd8\xff", N_("a picture")),
    (b"<", N_("a web page, such as one that asks to sign in")),
    (b"import ", N_("a Python script")),
    (b"from ", N_("a Python script")),
    (b"#", N_("a Python script or a Markdown text")),
)


def cells_of(data: bytes) -> list[RawCell]:
    """The cells of a notebook file; everything else in it is ignored. Raises BadSubmission."""
    if not data.strip(b"\x00 \t\r\n"):
        raise BadSubmission(
            "submission.empty_file", _("The file is empty: nothing arrived. Save the notebook and submit it again.")
        )
    try:
        book = json.loads(_text_of(data))
    except (ValueError, RecursionError) as error:
        raise BadSubmission("submission.not_json", _what_it_is(data, error)) from None
    cells = book.get("cells") if isinstance(book, dict) else None
    if cells is None and isinstance(book, dict):
        cells = _in_worksheets(book.get("worksheets"))
    if not isinstance(cells, list):
        raise BadSubmission(
            "submission.not_a_notebook", _("The file is JSON, but not a notebook: it has no list of cells.")
        )
    return [c for c in cells if isinstance(c, dict)]


def _text_of(data: bytes) -> str:
    """Decodes a file: UTF-8, or UTF-16, which some editors write. Raises UnicodeDecodeError."""
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    bare = next((code for code, begin in (("utf-16-le", b"{\0"), ("utf-16-be", b"\0{")) if data.startswith(begin)), "")
    return data.decode("utf-16" if wide else bare or "utf-8-sig")


def _what_it_is(data: bytes, error: Exception) -> str:
    """Message about a file that cannot be read as JSON: what it seems to be, and what to do."""
    begin = data.lstrip()[:16]
    for first, kind in _KINDS:
        if begin.startswith(first):
            said = _("The file is not a notebook but {kind}. Submit the notebook itself, the file that ends in .ipynb.")
            return said.format(kind=_(kind))
    if found := _CONFLICT.search(data):
        said = _(
            "The file holds the marks of a merge that git could not make, from line {line} on, and so is no notebook "
            "any more. Choose one of the two versions, open it in JupyterLab, save it, and submit it again."
        )
        return said.format(line=data.count(b"\n", 0, found.start()) + 1)
    if isinstance(error, UnicodeDecodeError):
        return _(
            "The file is not a notebook as Jupyter writes it: its text is not in UTF-8. Another program may have saved "
            "it in another encoding. Open it in JupyterLab, save it, and submit it again; or save it as UTF-8 there."
        )
    if isinstance(error, json.JSONDecodeError) and (
        error.pos >= len(error.doc.rstrip()) - 1 or error.msg.startswith("Unterminated string")
    ):
        return _("The file ends in the middle: it was cut off on the way. Save the notebook and submit it again.")
    if isinstance(error, json.JSONDecodeError):
        said = _(
            "The file is not a notebook: it cannot be read as JSON (line {line}). Another program may have changed it. "
            "Open it in JupyterLab, or take an earlier version of it, save it, and submit it again."
        )
        return said.format(line=error.lineno)
    return _(
        "The file is not a notebook: it cannot be read as JSON. Another program may have changed it. Open it in "
        "JupyterLab, or take an earlier version of it, save it, and submit it again."
    )


def _in_worksheets(sheets: Any) -> list[Any] | None:
    if not isinstance(sheets, list):
        return None
    parts = [s["cells"] for s in sheets if isinstance(s, dict) and isinstance(s.get("cells"), list)]
    return [cell for part in parts for cell in part] if parts else None


def grade_id_of(cell: RawCell) -> str | None:
    """nbgrader's mark of a cell (its ``grade_id``), or None."""
    meta = cell.get("metadata")
    marks = meta.get("nbgrader") if isinstance(meta, dict) else None
    value = marks.get("grade_id") if isinstance(marks, dict) else None
    return value if isinstance(value, str) else None


def source_of(cell: RawCell) -> str:
    """The text of a cell; "" if it has none."""
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(s for s in source if isinstance(s, str))
    # JSON allows lone surrogates, but they cannot be encoded: printing or storing one would fail.
    return source.encode("utf-8", "replace").decode() if isinstance(source, str) else ""


def squeezed(source: str) -> str:
    """A source with normalized white space, for comparisons; unchanged if it is longer than any cell of the course."""
    return " ".join(source.split()) if len(source) <= MAX_SOURCE else source

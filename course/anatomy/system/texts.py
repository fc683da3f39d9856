"""Makes text from outside safe to show: without characters that mislead, short, and inert in a page."""

import html
import re
from collections.abc import Callable
from typing import TextIO

# Characters that are invisible but change what readers see (control and direction characters, marks of no width, tags),
# and halves of a surrogate pair, which cannot be written to a file at all. Tabs and line breaks stay, and so do the two
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
    """Prints a line whose names (of a folder, of a file) may hold anything. stream: sys.stdout if it is None."""
    print(printable(line), file=stream)


def short(text: str, limit: int) -> str:
    """At most ``limit`` printable characters of a text; an ellipsis shows that it was longer."""
    text = printable(text[: 2 * limit + 1])  # the rest is not even read
    return text if len(text) <= limit else text[: limit - 1] + "…"


def escaped(text: str) -> str:
    """The text as HTML for a place between tags: shown as it is, without any effect as markup or as TeX.

    Notebooks and their pages typeset ``$…$``, ``\\(…\\)``, ``\\begin{…}`` and the like wherever one piece of text holds
    them, and TeX can hold links. Within an element of its own, such a sign opens and closes nothing. (Character
    references would not do: they become plain signs before anything is typeset. For attributes use html.escape
    instead.)
    """
    return _TEX.sub(r"<span>\g<0></span>", html.escape(printable(text)))


def with_code(text: str) -> str:
    """``escaped``, with the text between backticks set as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escaped(text))


class Full(Exception):
    """A text has reached its limit; what was written so far stays."""


class Writer:
    """A text in the making that never becomes longer than its limit, nor takes more than four steps for each character.

    Code that prints a value of unknown size or shape writes through a Writer, including the parts of the value.
    """

    def __init__(self, characters: int) -> None:
        self._parts: list[str] = []
        self._characters, self._steps = characters, 4 * characters

    def put(self, text: str) -> None:
        """Adds the printable characters of a text. Raises Full after adding as much as there was room for."""
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
    """What ``write`` puts into a Writer of that many characters, with an ellipsis if that was not everything."""
    out = Writer(characters)
    try:
        write(out)
    except Full:
        return f"{out}…"
    return str(out)

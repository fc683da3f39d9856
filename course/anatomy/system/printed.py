"""Keeps what a learner's code prints while it is checked: the beginning, and how much it was.

A check calls a function once in each case. So the output is kept by case, and shown where it helps: below the
smallest case that fails.
"""

import contextlib
import html
import io
import sys
from collections.abc import Iterator

from .texts import escaped
from .translation import _, ngettext

LINES, WIDTH = 20, 200  # of what is shown
DEBUGGERS = ("pdb", "bdb", "cmd", "IPython.core.debugger")  # these talk with the learner while the code waits


class Kept(io.TextIOBase):
    """A stream that keeps the first LINES lines and counts the others. beside: the stream for a debugger's output."""

    def __init__(self, beside: object = None) -> None:
        self.beside = beside
        self.first: list[str] = []
        self.ends = 0  # lines that are complete
        self.open = False  # is the last line incomplete?
        self._last = ""

    @property
    def lines(self) -> int:
        """Number of lines that were printed."""
        return self.ends + self.open

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):  # the message of other streams
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self.beside is not None and sys._getframe(1).f_globals.get("__name__") in DEBUGGERS:
            self.beside.write(text)  # type: ignore[attr-defined]
            return len(text)
        if len(self.first) < LINES:
            *whole, self._last = (self._last + text).split("\n")
            self.first += [line[: WIDTH + 1] for line in whole[: LINES - len(self.first)]]
            self._last = self._last[: WIDTH + 1]
        self.ends += text.count("\n")
        self.open = not text.endswith("\n") if text else self.open
        return len(text)

    def shown(self) -> list[str]:
        """The first lines, with long ones cut off."""
        last = [self._last] if self._last and len(self.first) < LINES else []
        return [line if len(line) <= WIDTH else line[:WIDTH] + "…" for line in [*self.first, *last]]


@contextlib.contextmanager
def kept() -> Iterator[Kept]:
    """Keeps what is printed inside, to the standard output and the standard error."""
    sink = Kept(beside=sys.stdout)
    with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
        yield sink


def below(sink: Kept) -> tuple[str, str]:
    """(HTML, text) of what was printed in the case that a verdict shows; empty if nothing was."""
    lines = sink.shown()
    if not lines:
        return "", ""
    title, rest = _("Your code printed in this case:"), sink.lines - len(lines)
    more = ngettext("… and {n} more line", "… and {n} more lines", rest).format(n=f"{rest:,}") if rest > 0 else ""
    text = "\n".join([title, *(f"  {line}" for line in lines), *([f"  {more}"] if more else [])])
    code = '<pre style="margin:0 0 0 1em;white-space:pre-wrap">' + escaped("\n".join(lines)) + "</pre>"
    return f"<p>{html.escape(title)}</p>{code}" + (f"<p>{html.escape(more)}</p>" if more else ""), text

"""Turns untrusted text into Markdown that shows it and does nothing else."""

import re
import textwrap

from anatomy.system.texts import printable

WIDTH = 100  # characters of a line: preformatted text is not wrapped by the page


def as_text(text: str) -> str:
    """Markdown that shows a text as it was typed: no HTML, no links, no external images, no TeX.

    Text between fences is escaped when it becomes HTML, and TeX renderers skip preformatted text.
    """
    lines = [part for line in printable(text.replace("\r\n", "\n")).split("\n") for part in _wrapped(line.rstrip())]
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return "\n".join([fence, *lines, fence])


def as_typed(text: str) -> str:
    """Undoes ``as_text``, except for its line breaks in long lines."""
    lines = text.split("\n")
    return "\n".join(lines[1:-1]) if len(lines) > 2 and lines[0] == lines[-1] == "`" * len(lines[0]) else text


def _wrapped(line: str) -> list[str]:
    if len(line) <= WIDTH:
        return [line]
    return textwrap.wrap(line, WIDTH, replace_whitespace=False, drop_whitespace=True) or [""]

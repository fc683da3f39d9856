"""Text in a fixed-width font, in which a Chinese character is twice as wide as a letter."""

import unicodedata
from collections.abc import Sequence


def columns(text: str) -> int:
    """How many columns a text takes: two for each wide character."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def padded(text: str, width: int, right: bool = False) -> str:
    """The text with spaces after it, so that it takes ``width`` columns. right: before it instead."""
    spaces = " " * (width - columns(text))
    return spaces + text if right else text + spaces


def aligned(rows: Sequence[Sequence[str]], right: Sequence[bool] = ()) -> list[str]:
    """The lines of a table. right: for each column, whether its cells end at the same place (none does by default)."""
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    sides = right or [False] * len(widths)
    return ["  ".join(map(padded, row, widths, sides)).rstrip() for row in rows]

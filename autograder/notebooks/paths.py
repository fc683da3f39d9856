"""Divides a unit's cells into the core path and the extensions, and estimates how long each takes."""

import re
from collections.abc import Iterable
from typing import Any

from nbformat import NotebookNode

from autograder.judge.spec import Exercise

from . import wording, written

HEADING = re.compile(r"^(#+) +(?:\d+\. +)?(Extension: )?", re.M)
WORDS_PER_MINUTE, LINES_PER_MINUTE = 150, 20  # slow reading, with pictures; given code is only read


class Paths:
    """Follows a unit's cells in their order.

    ``extension``: whether the current place is in an extension. ``aside``: the cells of extensions.
    """

    def __init__(self) -> None:
        self.extension, self._level = False, 0
        self.aside: list[NotebookNode] = []
        self._minutes = {False: 0.0, True: 0.0}
        self._written = False

    def heading(self, source: str) -> None:
        """Reads a text cell: an extension begins with its heading and lasts to the next one of its level or above."""
        found = HEADING.match(source)
        if not found:
            return
        level = len(found[1])
        if self.extension and level <= self._level:
            self.extension = False
        if found[2] and not self.extension:
            self.extension, self._level = True, level

    def count(self, cells: Iterable[NotebookNode]) -> None:
        """Counts the cells made at the current place."""
        for cell in cells:
            if self.extension:
                self.aside.append(cell)
            self._minutes[self.extension] += _reading(cell)
            self._written |= written.is_written(cell)

    def reading(self) -> dict[str, int]:
        """Minutes of reading: ``core``, ``extensions``."""
        return {"core": round(self._minutes[False]), "extensions": round(self._minutes[True])}

    def times(self, specs: Iterable[Exercise]) -> dict[str, Any]:
        """Facts for the unit's text: ``time`` (a marked phrase), ``core`` and ``extensions`` (minutes)."""
        specs = list(specs)
        core, more = ([e for e in specs if e.extension is which] for which in (False, True))
        spent = {
            "core": to_five(self._minutes[False] + sum(e.minutes for e in core)),
            "extensions": to_five(self._minutes[True] + sum(e.minutes for e in more)),
        }
        if more:
            time = wording.said(
                "about {minutes} minutes for the core path ({exercises}), {more} more for the extensions ({others})",
                minutes=spent["core"],
                exercises=_exercises(core),
                more=spent["extensions"],
                others=_exercises(more),
            )
        else:
            time = wording.said(
                "about {minutes} minutes ({exercises})", minutes=spent["core"], exercises=_exercises(core)
            )
        if self._written:
            time = wording.said("{time}, {minutes} for writing", time=time, minutes=written.MINUTES)
        return {"time": time, **spent}


def to_five(minutes: float) -> int:
    """The nearest five minutes, at least five."""
    return max(5, 5 * round(minutes / 5))


def _exercises(specs: list[Exercise]) -> str:
    return wording.said("{n} exercise" if len(specs) == 1 else "{n} exercises", n=len(specs))


def _reading(cell: NotebookNode) -> float:
    name = cell.get("id", "")
    if cell.cell_type == "markdown":
        # The written question has its own minutes, and learners never see the text of the answer cell.
        return (
            0
            if name.startswith(("hint-", "say-written-", "written-", "compare-"))
            else len(cell.source.split()) / WORDS_PER_MINUTE
        )
    # Code that learners write is counted in the minutes of its exercise.
    return 0 if name.startswith(("solve-", "check-")) else len(cell.source.splitlines()) / LINES_PER_MINUTE


def core_minutes(text: dict[str, Any]) -> int:
    """Minutes for a unit's core path, reading included, rounded to five. text: as returned by ``read_unit``."""
    writing: int = sum(e["minutes"] for e in text["exercises"] if not e["extension"])
    return to_five(writing + text["reading"]["core"])

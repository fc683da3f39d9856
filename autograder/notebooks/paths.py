"""Divides a unit's cells into the core path and the extensions, and estimates how long each takes."""

import re
from collections.abc import Iterable
from typing import Any

from anatomy.program.units import cell_id, to_five
from nbformat import NotebookNode

from autograder.judge.spec import Exercise

from . import wording, written

HEADING = re.compile(r"^(#+) +(?:(\d+)\. +)?(Extension: )?", re.M)
# A first reading by somebody who knows PyTorch and no Transformers. Two estimates by hand for an average student are
# 125 to 165 minutes for the core path of a unit.
WORDS_PER_MINUTE, LINES_PER_MINUTE = 130, 12
MINUTES = {"output": 0.2, "prediction": 1.0, "quiz": 3.0, "widget": 3.0}
WIDGET = re.compile(r"^\w*(Explorer|View|Stepper|Calculator|Lab|Atlas)\(", re.M)
SITTING = 100  # minutes; a longer core path is divided in two


class Paths:
    """Follows a unit's cells in their order.

    ``extension``: whether the current place is in an extension. ``aside``: the cells of extensions.
    """

    def __init__(self) -> None:
        self.extension, self._level = False, 0
        self.aside: list[NotebookNode] = []
        self._minutes = {False: 0.0, True: 0.0}
        self._written = False
        self._begun: list[str] = []  # ids of the answer cells so far
        self._sections: list[tuple[str, float, int]] = []  # of the core path: number, minutes and exercises before it

    def heading(self, source: str) -> None:
        """Reads a text cell: an extension begins with its heading and lasts to the next one of its level or above."""
        found = HEADING.match(source)
        if not found:
            return
        level = len(found[1])
        if self.extension and level <= self._level:
            self.extension = False
        if found[3] and not self.extension:
            self.extension, self._level = True, level
        if found[2] and level == 2 and not self.extension:
            self._sections.append((found[2], self._minutes[False], len(self._begun)))

    def count(self, cells: Iterable[NotebookNode]) -> None:
        """Counts the cells made at the current place."""
        for cell in cells:
            if self.extension:
                self.aside.append(cell)
            self._minutes[self.extension] += _reading(cell)
            name = cell.get("id", "")
            self._begun += [name] if name.startswith("solve-") else []
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
        time = wording.said(
            "about {minutes} minutes for the core path ({exercises})"
            if more
            else "about {minutes} minutes ({exercises})",
            minutes=spent["core"],
            exercises=_exercises(core),
        )
        if spent["core"] > SITTING and self._sections:
            time = wording.said(
                "{time}, in two sittings with a break before section {section}", time=time, section=self._middle(specs)
            )
        if more:
            time = wording.said(
                "{time}, {more} more for the extensions ({others})",
                time=time,
                more=spent["extensions"],
                others=_exercises(more),
            )
        if self._written:
            time = wording.said("{time}, {minutes} for writing", time=time, minutes=written.MINUTES)
        return {"time": time, **spent}

    def _middle(self, specs: Iterable[Exercise]) -> str:
        """The number of the core path's section before which about half of its minutes are spent."""
        minutes = {cell_id("solve", e.id): e.minutes for e in specs if not e.extension}
        whole = self._minutes[False] + sum(minutes.values())
        before = {n: read + sum(minutes.get(e, 0) for e in self._begun[:met]) for n, read, met in self._sections}
        return min(before, key=lambda n: abs(before[n] - whole / 2))


def _exercises(specs: list[Exercise]) -> str:
    return wording.said("{n} exercise" if len(specs) == 1 else "{n} exercises", n=len(specs))


def _reading(cell: NotebookNode) -> float:
    """Minutes for reading a cell and its output."""
    name = cell.get("id", "")
    if cell.cell_type == "markdown":
        # The written question has its own minutes, and learners never see the text of the answer cell.
        aside = name.startswith(("hint-", "say-written-", "written-", "compare-"))
        return 0 if aside else len(cell.source.split()) / WORDS_PER_MINUTE
    if name.startswith(("solve-", "check-")):  # counted in the minutes of its exercise
        return 0
    if name.startswith("predict-"):
        return MINUTES["prediction"]
    if name == "quiz":
        return MINUTES["quiz"]
    widget = MINUTES["widget"] if WIDGET.search(cell.source) else 0
    return len(cell.source.splitlines()) / LINES_PER_MINUTE + MINUTES["output"] + widget

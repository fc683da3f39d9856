"""What the notebook of a drill calls: the check with the same verdict as in the unit, hints one by one, the question.

Nothing here touches ``progress``. The notebooks are written by ``anatomy drill``.
"""

import re
import time
from collections.abc import Callable
from typing import Any

from ..app import build_stamp
from ..judge.verdict import Verdict
from ..notebook.after_check import FIRST_HINT, Shown, bare, inline
from ..notebook.checks import check, check_and_note
from ..program import units
from ..progress import drills
from ..system import files, installation, translation
from ..system.store import Entry
from ..system.translation import _, ngettext

_HINT = re.compile(r"<details><summary>(.*?)</summary>")


def begin(exercise: str, name: str, timed: bool = False) -> "Drill":
    """Begins a drill, or goes on with it after a restart.

    Args:
        exercise: its id, e.g. ``"rope.rotate_half"``.
        name: of the drill, as its notebook is called.
        timed: whether to say how long it took. If the command did not open the notebook itself, the time runs from
            here.
    """
    drills.opened(name, exercise, int(time.time()))
    return Drill(exercise, name, timed)


class Drill:
    """One drill of an exercise."""

    def __init__(self, exercise: str, name: str, timed: bool):
        self._exercise, self._name, self._timed = exercise, name, timed

    def __repr__(self):
        entry = self._entry()
        if entry["passed_at"] is not None:
            return self._took(entry)
        tries = entry["tries"]
        if not tries:
            return _("Begun. Write the function below, then check it.")
        return ngettext("{n} try so far", "{n} tries so far", tries).format(n=tries)

    def _entry(self) -> Entry:
        return drills.kept(self._name, self._exercise)

    def check(self, exercise_id: str, *functions: Callable[..., Any]) -> None:
        """As ``anatomy.check``, with the try recorded for this drill only; that of another exercise is as ever."""
        if exercise_id == self._exercise:
            check_and_note(exercise_id, functions, self._noted)
        else:
            check(exercise_id, *functions)

    def _noted(self, verdict: Verdict) -> tuple[tuple[str, str], dict[str, Any]]:
        if any(m.name == "generic.not_written" for m in verdict.mistakes):
            return ("", ""), {}  # the blank stub is no try
        entry, shown = drills.tried(self._name, self._exercise, verdict.passed), Shown()
        if verdict.passed:
            for line in filter(None, (self._took(entry), self._comes_back(entry))):
                shown.add(f"<p>{inline(line)}</p>", line)
        elif entry["tries"] >= FIRST_HINT and entry["passed_at"] is None:
            line = _("Stuck? `drill.hint()` below shows one hint at a time.")
            shown.add(f"<p>{inline(line)}</p>", bare(line))
        return shown.both(), {}

    def _took(self, entry):
        seconds = drills.seconds_taken(entry)
        if not self._timed or seconds is None:
            return _("From blank, passed on try {n}.").format(n=entry["tries"])
        return _("From blank, passed on try {n} after {time}.").format(n=entry["tries"], time=clock(seconds))

    def _comes_back(self, entry):
        try:
            minutes = units.exercise(self._exercise)[1]["minutes"]
            from .schedule import next_day  # needs a library that only the command needs

            day = next_day(self._exercise)
        except (ImportError, KeyError, TypeError):
            return ""
        how = _(drills.SAID[drills.rating(entry, minutes)])
        return _("This counts as {how}, so it comes back on {day}.").format(how=how, day=day) if day else ""

    def hint(self) -> None:
        """Shows one hint more than the last time; the first needs a try that failed."""
        entry = self._entry()
        if entry["passed_at"] is not None:
            print(_("It has passed: you need none."))
        elif not entry["tries"]:
            print(_("Write something and check it first. The hints are here afterwards."))
        elif not (hints := hints_in(self._cell("hint", self._exercise))):
            print(_("There is no hint to this exercise here; its notebook may have some."))
        else:
            shown = drills.hinted(self._name, self._exercise)["hints"]
            _markdown("\n\n".join(f"**{head}**\n\n{text}" for head, text in hints[:shown]))

    def question(self) -> None:
        """Shows the unit's question in words and, folded, what a good answer names; only after a pass."""
        unit = units.exercise(self._exercise)[0]
        if self._entry()["passed_at"] is None:
            print(_("First the check has to pass. Then this cell asks a question."))
        elif not (asked := self._cell("say", f"written-{unit}")):
            print(_("The released notebook of {unit} has no question to ask.").format(unit=unit))
        else:
            _markdown(f"{asked}\n\n{self._cell('compare', f'written-{unit}')}")

    def _cell(self, kind, name):
        """The text of a cell of the released notebook; "" if there is none."""
        unit = units.exercise(self._exercise)[0]
        path = installation.place(language=translation.language()).released / unit / f"{unit}.ipynb"
        try:
            cells = build_stamp.parse(files.read(path))["cells"]
        except (OSError, build_stamp.NotANotebook):
            return ""
        wanted = f"{kind}-{name}" if name.startswith("written-") else units.cell_id(kind, name)
        return next((build_stamp.text_of(c) for c in cells if c.get("id") == wanted), "")


def hints_in(markdown: str) -> list[tuple[str, str]]:
    """(heading, text) of the hints of an exercise, which lie folded one in the other."""
    _before, *rest = _HINT.split(markdown)
    texts = [text.replace("</details>", "").strip() for text in rest[1::2]]
    return list(zip(rest[::2], texts, strict=True))


def clock(seconds: int) -> str:
    """``clock(200)`` is ``"3 min 20 s"``."""
    if seconds < 60:
        return _("{n} s").format(n=seconds)
    hours, minutes = divmod(seconds // 60, 60)
    if hours:
        return _("{n} h {m} min").format(n=hours, m=minutes)
    return _("{n} min {s} s").format(n=minutes, s=seconds % 60)


def _markdown(text):
    from IPython.display import Markdown, display

    display(Markdown(text))

"""Progress: what is done, what is next, and how predictions and questions came out, over the whole course.

A unit is done when the exercises of its core path are passed. Its extensions count extra and are never required.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..judge.verdict import Verdict
from ..program import units
from ..program.assets import MissingRecording
from ..program.units import Known
from ..system import store
from ..system.installation import how_to_repair
from ..system.store import Entry
from ..system.translation import _, listed, said


def note(verdict: Verdict) -> Entry:
    """Records one try of an exercise; returns the exercise's entry.

    ``tries`` counts only up to the first pass: later checks neither add to it nor take the pass back. ``blank`` says
    how many of them were of a stub as it came, which *Run All Cells* checks, too.
    """
    blank = any(m.name == "generic.not_written" for m in verdict.mistakes)
    now = int(time.time())

    def change(data):
        entry = data.setdefault(verdict.exercise, {"tries": 0, "best": 0.0, "passed_on_try": None})
        entry["best"] = max(entry["best"], verdict.score)
        if entry["passed_on_try"] is None:
            entry["tries"] += 1
            if blank:
                entry["blank"] = entry.get("blank", 0) + 1
            if verdict.passed:
                entry |= {"passed_on_try": entry["tries"], "passed_at": now}

    return store.update("progress", change)[0][verdict.exercise]


def note_looked_up(exercise_id: str) -> None:
    """Records that the whole answer was shown before the exercise was passed, and when that was first."""
    now = int(time.time())

    def change(data):
        entry = data.setdefault(exercise_id, {"tries": 0, "best": 0.0, "passed_on_try": None})
        if entry["passed_on_try"] is None:
            entry.setdefault("looked_up_at", now)

    store.update("progress", change)


@dataclass
class UnitView:
    """One unit as ``progress()`` shows it.

    length: minutes of its core path, reading included. problem: why its data cannot be read, else "".
    """

    name: str
    title: str
    exercises: list[tuple[Known, Entry]] = field(default_factory=list)  # the learner's entry, or {}
    predictions: tuple[int, int] = (0, 0)  # held, judged so far
    quiz: tuple[int, int, int] = (0, 0, 0)  # right on first try, answered, asked
    claims: tuple[int, int] = (0, 0)  # decided, all
    length: int = 0
    problem: str = ""

    @property
    def core(self) -> list[tuple[Known, Entry]]:
        """The exercises of the core path, in the form of ``exercises``."""
        return [(e, entry) for e, entry in self.exercises if not is_extension(e)]

    @property
    def extensions(self) -> list[tuple[Known, Entry]]:
        """The extensions, in the form of ``exercises``."""
        return [(e, entry) for e, entry in self.exercises if is_extension(e)]

    @property
    def done(self) -> int:
        """Exercises passed of the core path."""
        return _count(self.core)

    @property
    def extensions_done(self) -> int:
        """Extensions passed."""
        return _count(self.extensions)

    @property
    def points(self) -> tuple[float, float]:
        """(reached, possible) on the core path."""
        return _reached(self.core), sum(e["points"] for e, _ in self.core)

    @property
    def extra(self) -> float:
        """Points reached in extensions."""
        return _reached(self.extensions)

    @property
    def looked_up(self) -> int:
        """Exercises of either kind whose answer was looked up before a pass."""
        return sum(looked_up(entry) for _, entry in self.exercises)

    @property
    def minutes(self) -> float:
        """Minutes left on the core path: its length, with as much of it gone as of the time for its exercises."""
        everything = sum(e["minutes"] for e, _ in self.core)
        still_open = sum(e["minutes"] for e, entry in self.core if not passed(entry))
        return units.to_five(self.length * still_open / everything) if still_open else 0


def _count(exercises):
    return sum(passed(entry) for _, entry in exercises)


def _reached(exercises):
    return sum(min(entry.get("best", 0.0), e["points"]) for e, entry in exercises)


def is_extension(exercise: Known) -> bool:
    """Whether an exercise is an extension, according to its unit."""
    return bool(exercise.get("extension"))


def passed(entry: Entry) -> bool:
    """Whether an exercise was passed, according to its entry."""
    return entry.get("passed_on_try") is not None


def looked_up(entry: Entry) -> bool:
    """Whether the whole answer was looked up before the exercise was passed, according to its entry."""
    return entry.get("looked_up_at") is not None


def attempts(entry: Entry) -> int:
    """Tries of something that the learner wrote, according to an exercise's entry."""
    return entry.get("tries", 0) - entry.get("blank", 0)


def views() -> list[UnitView]:
    """A UnitView for each unit, in course order. A unit that cannot be read has a ``problem`` and hides no other."""
    tries, predictions, quizzes, claims = map(store.read, ("progress", "predictions", "quizzes", "claims"))
    out = []
    for name in units.names():
        try:
            unit = units.load(name)
            judged = [predictions[p["id"]]["held"] for p in unit["predictions"] if p["id"] in predictions]
            judged = [held for held in judged if held is not None]
            answered = [quizzes[q["id"]] for q in unit["quizzes"] if q["id"] in quizzes]
            out.append(
                UnitView(
                    name,
                    said(name, unit["title"]),
                    [(e, tries.get(e["id"], {})) for e in unit["exercises"]],
                    (sum(judged), len(judged)),
                    (sum(a["right_on_first"] for a in answered), len(answered), len(unit["quizzes"])),
                    (sum(bool(claims.get(c["id"])) for c in unit["claims"]), len(unit["claims"])),
                    units.core_minutes(unit),
                )
            )
        except (MissingRecording, OSError) as error:
            out.append(UnitView(name, name, problem=str(error)))
        except (KeyError, TypeError):
            problem = _("Its description is damaged. {repair}").format(repair=how_to_repair("make build"))
            out.append(UnitView(name, name, problem=problem))
    return out


def unit_view(unit: str) -> UnitView:
    """The UnitView of one unit. Raises ValueError for an unknown one."""
    return view_in(views(), unit)


def whats_next(after: str | None = None) -> dict[str, Any] | None:
    """The next exercise to do, or None when all are passed.

    Core exercises come first: the next open one after the given one in its unit, then earlier ones still open there,
    then those of the following units, and finally those of the units before. Extensions come only when the core path of
    the whole course is done, in the same order. After an extension, however, whatever is open below it in its unit
    comes first, core or extension: a learner who does extensions continues with them.

    Args:
        after: an exercise that was just passed; None for the one that was passed last, of either kind.

    Returns:
        dict with ``unit``, ``title`` (the unit's), ``exercise`` (its description in the unit), ``begun`` (was anything
        in that unit tried yet) and ``href``, a relative link: to the exercise's cell, or to the page of a new unit,
        whose first cells an exercise needs.
    """
    return next_in(views(), after)


def next_in(all_units: Sequence[UnitView], after: str | None = None) -> dict[str, Any] | None:
    """As ``whats_next``, for given views."""
    order = [(u, e, entry) for u in all_units for e, entry in u.exercises]
    if after is None:
        # Older entries have no time; for them the order of the course decides.
        done = [(entry.get("passed_at", 0), i) for i, (*__, entry) in enumerate(order) if passed(entry)]
        at = max(done)[1] if done else -1
    else:
        at = next((i for i, (_, e, _) in enumerate(order) if e["id"] == after), -1)
    here = order[at][0] if at >= 0 else None
    # Stable sorts: open exercises of this unit, below or above, come before other units; then core before extensions.
    coming = sorted(order[at + 1 :] + order[: at + 1], key=lambda item: item[0] is not here)
    goes_on = after is not None and here is not None and is_extension(order[at][1])
    below = {e["id"] for u, e, _ in order[at + 1 :] if u is here} if goes_on else set()
    still_open = [item for item in coming if not passed(item[2]) and item[1]["id"] != after]
    still_open.sort(key=lambda item: is_extension(item[1]) and item[1]["id"] not in below)
    if not still_open:
        return None
    unit, e = still_open[0][:2]
    begun = any(known for _, known in unit.exercises)
    return {
        "unit": unit.name,
        "title": unit.title,
        "exercise": e,
        "begun": begun,
        "href": units.link(unit.name, units.cell_id("say", e["id"]) if begun else None),
    }


def view_in(all_units: Sequence[UnitView], unit: str) -> UnitView:
    """The view of one unit. Raises ValueError for an unknown one."""
    for view in all_units:
        if view.name == unit:
            return view
    known = listed(u.name for u in all_units)
    raise ValueError(_("There is no unit {unit!r}. Units: {known}").format(unit=unit, known=known))

"""An instructor's own selection of the course: its units in order, and what exercises are worth (``c.Course``).

The generated files in the repository stay those of the whole course. The selection is applied where they leave it, in
the student package and the wheel, and where points are given.
"""

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anatomy.program import units as known
from anatomy.system.installation import FIRST
from traitlets.config import Config
from traitlets.config.loader import ConfigFileNotFound, PyFileConfigLoader

from autograder import ROOT
from autograder.settings import Course

if TYPE_CHECKING:
    from autograder.judge.spec import Exercise

ORDER = "assets/course.json"  # in a package: the order of its units
MOST = 100  # points of an exercise


@dataclass(frozen=True)
class OwnCourse:
    """A selection. units: those that students receive, in order; empty for all. points: exercise → its points, where
    they are the instructor's; an exercise with 0 is not asked for."""

    units: tuple[str, ...] = ()
    points: Mapping[str, float] = field(default_factory=dict)

    def config(self) -> Config:
        """The selection as it stands in class_settings.py."""
        return Config({"Course": {"units": list(self.units), "points": dict(self.points)}})

    def left_out(self) -> list[str]:
        """The units that students don't receive."""
        return [u for u in known.names() if self.units and u not in self.units]

    def spec(self, exercise: "Exercise") -> "Exercise":
        """An exercise with its points in this course. One that is not asked for is an extension, worth nothing."""
        if exercise.id not in self.points:
            return exercise
        made = copy.copy(exercise)
        made.points = self.points[exercise.id]
        made.extension = exercise.extension or not made.points
        return made

    def described(self, exercises: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The same for exercises as the student package describes them, in assets/units and assets/recordings."""
        made = []
        for about in exercises:
            more = {}
            if (worth := self.points.get(about["id"])) is not None:
                more = {"points": worth, "extension": bool(about.get("extension")) or not worth}
            made.append({**about, **more})
        return made

    def remarks(self) -> list[str]:
        """Sentences on units that build on one that is left out."""
        from .facts import unit

        gone = self.left_out()
        pairs = [(u, [n for n in unit(u).needs.core if n in gone]) for u in known.names() if u not in gone]
        return [f"{u} builds on {', '.join(lacks)}, which your course leaves out." for u, lacks in pairs if lacks]


class BadSelection(ValueError):
    """What c.Course says cannot be; one sentence in a line."""


def of(config: Config) -> OwnCourse:
    """The selection that a configuration holds. Raises BadSelection."""
    made = Course(config=config)
    if problems := [f"nbgrader_config.py or class_settings.py: {p}" for p in _problems(made)]:
        raise BadSelection("\n".join(problems))
    return OwnCourse(tuple(made.units), {name: float(worth) for name, worth in made.points.items()})


def _problems(made: Course) -> Iterator[str]:
    for unit in dict.fromkeys(made.units):
        if unit not in known.names():
            yield f"c.Course.units names {unit!r}. The units are {', '.join(known.names())}."
        elif made.units.count(unit) > 1:
            yield f"c.Course.units names {unit} twice."
    if made.units and FIRST not in made.units:
        yield f"c.Course.units lacks {FIRST}, by which students' commands find the course. Add it."
    for name, worth in made.points.items():
        try:
            known.exercise(str(name))
        except KeyError:
            yield f"c.Course.points names {name!r}, which is no exercise."
        if isinstance(worth, bool) or not isinstance(worth, int | float) or not 0 <= worth <= MOST:
            yield f"c.Course.points gives {name} {worth!r}; write a number from 0 to {MOST}, where 0 is not asked for."


_used: list[OwnCourse] = []


def use(own: OwnCourse) -> None:
    """Makes this the selection of the process."""
    _used[:] = [own]


def current() -> OwnCourse:
    """The selection of the process: the last one given to ``use``, else that of the folder's settings."""
    return _used[0] if _used else _read(Path.cwd() if Path("nbgrader_config.py").exists() else ROOT)


@cache
def _read(root: Path) -> OwnCourse:
    try:
        return of(PyFileConfigLoader("nbgrader_config.py", str(root)).load_config())
    except ConfigFileNotFound:
        return OwnCourse()


def applied(files: Mapping[str, bytes], own: OwnCourse) -> dict[str, bytes]:
    """The descriptions in a package (dict name → bytes) with the selection applied; without the units left out."""
    gone, made = own.left_out(), dict[str, bytes]()
    for name, content in files.items():
        folder, _, file = name.rpartition("/")
        if any(name in (f"course/{u}/{u}.ipynb", f"assets/units/{u}.json") for u in gone):
            continue
        if own.points and file.endswith(".json") and folder in ("assets/units", "assets/recordings"):
            data = json.loads(content)
            if isinstance(data, dict) and isinstance(data.get("exercises"), list):
                there = own.described(data["exercises"])
                if there != data["exercises"]:
                    content = json.dumps(data | {"exercises": there}, ensure_ascii=False).encode()
        made[name] = content
    if own.units:
        made[ORDER] = json.dumps({"units": list(own.units)}).encode()
    return made

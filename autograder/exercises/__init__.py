"""The specs of all exercises: a package ``uNN_name`` for each unit, and in it a module for each exercise.

The folder says to which unit an exercise belongs, and the unit's text in which order they come.
"""

import importlib
import pkgutil
import re
import traceback
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from autograder import ROOT

if TYPE_CHECKING:  # the specs bring torch along; the names of the units don't need it
    from autograder.judge.spec import Exercise

HERE = Path(__file__).parent


class UnknownName(KeyError):
    """No such unit or exercise; the message names the known ones."""

    def __str__(self) -> str:
        return str(self.args[0])


class SpecError(ValueError):
    """The specs of a unit cannot be used as they are: one sentence in a line, with file and line."""


def _modules() -> list[str]:
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name.startswith("u"))


def units() -> list[str]:
    """Names of the units that have specs, e.g. ``06-rope``, in course order."""
    return [_unit(m) for m in _modules()]


def _unit(module: str) -> str:
    number, _, name = module[1:].partition("_")
    return f"{number}-{name.replace('_', '-')}"


def unit_module(unit: str) -> str:
    """Name of a unit's module (or package) here, e.g. ``u06_rope``. Raises UnknownName, which names the units."""
    module = next((m for m in _modules() if _unit(m) == unit), None)
    if module is None:
        raise UnknownName(f"There is no unit {unit!r}. Units: {', '.join(units())}")
    return module


def spec_files(module: str) -> list[Path]:
    """All files with a unit's specs."""
    return sorted((HERE / module).glob("*.py"))


def spec_modules(unit: str) -> list[str]:
    """Full names of the modules that hold a unit's specs. Raises UnknownName."""
    module = unit_module(unit)
    return [f"{__name__}.{module}.{p.stem}" for p in spec_files(module) if p.stem != "__init__"]


@cache
def of_unit(unit: str) -> list["Exercise"]:
    """Exercises of one unit, in the order of its text; one without a text comes last. Only that unit is imported.

    Raises UnknownName for an unknown unit; SpecError where its specs cannot be imported, or two have the same id.
    """
    found = list(_defined(unit))
    ids = [e.id for e in found]
    twice = [i for i in dict.fromkeys(ids) if ids.count(i) > 1]
    if twice:
        module = unit_module(unit)
        raise SpecError("\n".join(f"{_place(module, i)}: {i} is the id of two exercises" for i in twice))
    for exercise in found:
        exercise.unit = unit
    written = _written(unit)
    return sorted(found, key=lambda e: written.index(e.id) if e.id in written else len(written))


def _written(unit: str) -> list[str]:
    """Ids of the exercises that a unit's text has, in its order."""
    source = ROOT / "solutions" / f"{unit}.py"
    text = source.read_text(encoding="utf-8") if source.exists() else ""
    return re.findall(r'^# %%.*\bexercise="([^"]+)"', text, re.M)


def _imported(name: str) -> ModuleType:
    """The module, or a SpecError that says where it could not be imported."""
    try:
        return importlib.import_module(name)
    except SyntaxError as error:
        raise SpecError(f"{_shown(Path(error.filename or ''))}:{error.lineno}: {error.msg}") from error
    except Exception as error:  # whatever a spec's own lines raise
        here = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).parent.is_relative_to(HERE)]
        place = next((f for f in reversed(here) if f.filename != __file__), None)
        if place is None:
            raise
        said = f"{type(error).__name__}: {error}"
        raise SpecError(f"{_shown(Path(place.filename))}:{place.lineno}: {said}") from error


def _defined(unit: str) -> Iterator["Exercise"]:
    """Every exercise that a unit's modules hold under a name or in a list, each once."""
    from autograder.judge.spec import Exercise

    seen: list[Exercise] = []
    for name in spec_modules(unit):
        for value in vars(_imported(name)).values():
            for item in value if isinstance(value, list | tuple) else [value]:
                if isinstance(item, Exercise) and not any(item is other for other in seen):
                    seen.append(item)
                    yield item


def not_recorded(chosen: Iterable["Exercise"]) -> list[str]:
    """Sentences on the exercises that no recording holds: their checks have nothing to compare with."""
    from anatomy.program import records

    try:
        known = set(records.known_exercises())
    except records.MissingRecording:
        known = set()
    return [f"{e.id} has no recording yet: run `make record UNIT={e.unit}`" for e in chosen if e.id not in known]


def place_of(exercise: "Exercise") -> tuple[Path, int]:
    """File and line at which the spec of an exercise gives its id."""
    return _place_of(unit_module(exercise.unit), exercise.id)


def _place_of(module: str, exercise_id: str) -> tuple[Path, int]:
    for path in spec_files(module):
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if re.search(rf"""\bid=["']{re.escape(exercise_id)}["']""", line):
                return path, number
    return HERE / module / "__init__.py", 1  # an id that is put together


def _place(module: str, exercise_id: str) -> str:
    path, line = _place_of(module, exercise_id)
    return f"{_shown(path)}:{line}"


def _shown(path: Path) -> Path:
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def all_exercises() -> list["Exercise"]:
    """Every exercise of the course, in order. Raises SpecError."""
    return [e for u in units() for e in of_unit(u)]


def get(exercise_id: str) -> "Exercise":
    """One exercise by id.

    Raises UnknownName for an unknown id, SpecError.
    """
    for e in all_exercises():
        if e.id == exercise_id:
            return e
    raise UnknownName(f"There is no exercise {exercise_id!r}.")

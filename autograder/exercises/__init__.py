"""The specs of all exercises: each module (or package) ``uNN_name`` holds a list ``EXERCISES``, in course order."""

import importlib
import pkgutil
from functools import cache


class UnknownName(KeyError):
    """No such unit or exercise; the message names the known ones."""

    def __str__(self):
        return self.args[0]


def _modules():
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name.startswith("u"))


def units():
    """Names of the units that have specs, e.g. ``06-rope``, in course order."""
    return [_unit(m) for m in _modules()]


def _unit(module):
    number, _, name = module[1:].partition("_")
    return f"{number}-{name.replace('_', '-')}"


@cache
def of_unit(unit):
    """Exercises of one unit, in order. Only that unit's module is imported.

    Raises UnknownName for an unknown unit.
    """
    module = next((m for m in _modules() if _unit(m) == unit), None)
    if module is None:
        raise UnknownName(f"There is no unit {unit!r}. Units: {', '.join(units())}")
    exercises = importlib.import_module(f"{__name__}.{module}").EXERCISES
    wrong = [e.id for e in exercises if e.unit != unit]
    if wrong:
        raise ValueError(f"{module}.py: {', '.join(wrong)} say another unit than {unit}")
    return list(exercises)


def all_exercises():
    """Every exercise of the course, in order."""
    return [e for u in units() for e in of_unit(u)]


def get(exercise_id):
    """One exercise by id.

    Raises UnknownName for an unknown id.
    """
    for e in all_exercises():
        if e.id == exercise_id:
            return e
    raise UnknownName(f"There is no exercise {exercise_id!r}.")

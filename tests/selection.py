"""Finds the unit of each test. ``pytest --unit 04`` runs only the tests of that unit.

A test's file (``test_u04_…``) or its parameters (an exercise, a unit's name, a unit's file) tell its unit; if neither
does, the test needs a mark ``unit("04-ffn-and-gating")``.
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from autograder import ROOT, exercises

# Folders of tests without units: with --unit nothing in them is imported (test_selection.py checks that this is right).
WITHOUT_UNITS = ("reference", "sandbox", "widgets")

_MODULE = re.compile(r"(?:test_)?u(\d\d)_\w+")


@cache
def names() -> list[str]:
    """The units, looked up once for thousands of tests."""
    return exercises.units()


def full_name(short: str) -> str:
    """The unit's full name, e.g. ``04-ffn-and-gating`` for ``04`` or ``04-ffn``. Raises exercises.UnknownName."""
    known = names()
    found = [u for u in known if u == short] or [u for u in known if u.startswith(short)]
    if len(found) != 1:
        raise exercises.UnknownName(f"There is no unit {short!r}. Units: {', '.join(known)}")
    return found[0]


@cache
def unit_of_path(path: Path) -> str | None:
    """The unit that a file belongs to, as its notebook, source, spec, text, recording or test; None if to none."""
    for part in path.parts:
        part = part.split(".")[0]
        if part in names():
            return part
        if module := _MODULE.fullmatch(part):
            return next((u for u in names() if u.startswith(module[1] + "-")), None)
    return None


def units_of(item: pytest.Item) -> set[str]:
    """Names of the units that a test belongs to; most belong to one or to none."""
    found = {full_name(mark.args[0]) for mark in item.iter_markers("unit")}
    found.add(_unit_of_file(item.path))
    for value in item.callspec.params.values() if hasattr(item, "callspec") else ():
        found |= set(_units_of_value(value))
    return found - {None}


@cache
def _unit_of_file(path: Path) -> str | None:
    """The unit of a file; ignores the names of folders above the repository."""
    return unit_of_path(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def _units_of_value(value: object) -> Iterable[str | None]:
    if isinstance(value, str):
        yield value if value in names() else None
    elif isinstance(value, Path):
        yield _unit_of_file(value)
    elif getattr(value, "unit", None) in names():
        yield value.unit


def mark_units(items: list[pytest.Item]) -> None:
    """Marks each test with its units, so that ``-m`` and plugins see them too."""
    for item in items:
        told = {full_name(mark.args[0]) for mark in item.iter_markers("unit")}
        for unit in sorted(units_of(item) - told):
            item.add_marker(pytest.mark.unit(unit))


def selected(item: pytest.Item, units: set[str], whole: list[Path]) -> bool:
    """Whether a test belongs to one of these units, or is in one of the files and folders to run as a whole."""
    return not units.isdisjoint(units_of(item)) or any(item.path.is_relative_to(p) for p in whole)


def may_hold(path: Path, units: set[str], whole: list[Path]) -> bool:
    """Whether a file or folder may contain a selected test, judged by its name."""
    if any(path.is_relative_to(p) or p.is_relative_to(path) for p in whole):
        return True
    inside = path.relative_to(ROOT / "tests") if path.is_relative_to(ROOT / "tests") else path
    unit = unit_of_path(inside)
    return inside.parts[:1] not in [(name,) for name in WITHOUT_UNITS] and (unit is None or unit in units)

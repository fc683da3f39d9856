"""What can be known of a unit without its specs: ids, titles and points of its exercises, and its version.

Specs bring torch along, which takes seconds of processor time, and most commands of an instructor grade nothing. So
what they need is kept as JSON in the user's cache folder, with a hash of all that it was made from. It is made anew
if any of that has changed, or if the file is damaged or cannot be read.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import nbformat
from anatomy.program.units import grade_id
from anatomy.system.files import replace

from autograder import ROOT

from .masters import Counted, Points, imported, master, own_points, require_known, source_notebook_path, version_of

LARGEST = 1 << 20  # bytes; a unit has some ten thousand


@dataclass(frozen=True)
class Asked:
    """One exercise. stub: the source of its answer cell in the released notebook."""

    id: str
    title: str
    points: float
    extension: bool
    stub: str


@dataclass(frozen=True)
class Outline(Counted):
    """A unit without its specs; the attributes are those of ``Master``."""

    unit: str
    version: str
    exercises: tuple[Asked, ...]
    written: Mapping[str, float]

    @cached_property
    def checks(self) -> dict[str, Asked]:  # type: ignore[override]
        """grade_id of the check cell → exercise."""
        return {grade_id(e.id): e for e in self.exercises}

    @cached_property
    def answers(self) -> dict[str, Asked]:  # type: ignore[override]
        """grade_id of the answer cell → exercise."""
        return {grade_id(e.id, "solve"): e for e in self.exercises}

    @property
    def notebook(self) -> nbformat.NotebookNode:
        """The released notebook; this imports the specs."""
        return master(self.unit).notebook


def outline(unit: str) -> Outline:
    """The Outline of a unit in the instructor's own course, made once per process. Raises UnknownUnit."""
    return _outline(unit, own_points(unit))


@cache
def _outline(unit: str, points: Points) -> Outline:
    require_known(unit)
    version = version_of(unit, points)
    key, path = _key(unit, version), _path(unit)
    known = _kept(path, key)
    if known is None:
        known = _made(unit)
        _keep(path, key, known)
    return Outline(unit, version, known[0], known[1])


Known = tuple[tuple[Asked, ...], dict[str, float]]  # exercises, written


def _made(unit: str) -> Known:
    """From the specs and the notebook."""
    trusted = master(unit)
    cells = {c.metadata.get("nbgrader", {}).get("grade_id"): c.source for c in trusted.notebook.cells}
    asked = [
        Asked(e.id, e.title, float(e.points), bool(e.extension), cells.get(name, ""))
        for name, e in trusted.answers.items()
    ]
    return tuple(asked), dict(trusted.written)


def _key(unit: str, version: str) -> str:
    """A hash of all that an outline is made from, and of the code that makes it.

    The version has the specs, the notebook, own points and what makes the release, but none for the written answer.
    The order of the exercises is that of the unit's text.
    """
    digest = hashlib.sha256(f"{version} {metadata.version('nbgrader')}".encode())
    text = ROOT / "solutions" / f"{unit}.py"
    for path in (source_notebook_path(unit), text, *sorted(imported(["autograder.grading.base.outlines"]))):
        data = path.read_bytes() if path.exists() else b""
        digest.update(f"\n{path.name} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def _path(unit: str) -> Path | None:
    """The file of a unit: one for each copy of the course. None if this user has no folder for such files."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    course = hashlib.sha256(os.fsencode(ROOT)).hexdigest()[:12]
    return folder / "transformer-anatomy" / "outlines" / course / f"{unit}.json"


def _kept(path: Path | None, key: str) -> Known | None:
    """What ``_keep`` stored under this key, or None."""
    if path is None:
        return None
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read(LARGEST))
        known = found["known"]
        if found["key"] != key or found["sum"] != _sum(key, known):
            return None
        return tuple(Asked(**e) for e in known["exercises"]), {str(n): float(p) for n, p in known["written"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _keep(path: Path | None, key: str, known: Known) -> None:
    """Stores what is known; where nothing can be written, the next command makes it again."""
    if path is None:
        return
    plain = {"exercises": [asdict(e) for e in known[0]], "written": known[1]}
    try:
        replace(path, json.dumps({"key": key, "sum": _sum(key, plain), "known": plain}).encode())
    except OSError:
        pass


def _sum(key: str, known: Any) -> str:
    return hashlib.sha256((key + json.dumps(known, sort_keys=True)).encode()).hexdigest()

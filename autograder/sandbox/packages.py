"""Selects the installed packages that students have: those of requirements.lock, without packages of the staff.

Sandboxes run on the staff's interpreter, where ``transformers`` or ``scipy`` may be installed; code that imports them
would pass here and fail on a student's machine, or use a ready-made solution. So sandboxes see only the students'
packages in each folder of packages. Packages that students have besides requirements.lock (for example in a computer
room) are listed in the file requirements-students.txt next to it, one name per line; their dependencies are included.
Without a requirements.lock everything is visible.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from autograder import ROOT

LOCK, MORE = "requirements.lock", "requirements-students.txt"
# In every student's environment, though in no lock file: the installer, and the course's own package.
_ALWAYS = frozenset({"pip", "setuptools", "wheel", "transformer-anatomy"})


@dataclass
class Selection:
    """The visible part of a folder of packages.

    names     visible entries
    gone      paths below these that are hidden, where packages of students and staff share a folder
    scripts   names of the students' programs in bin
    """

    names: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    scripts: set[str] = field(default_factory=set)


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _listed(file: Path) -> set[str]:
    """Names of the packages that a requirements file lists; empty if there is no such file."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    names = (re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", line.strip()) for line in lines)
    return {normalized(m[0]) for m in names if m}


def _installed(folder: str) -> dict[str, Path]:
    """Normalized name → metadata folder, for all packages in a folder of packages."""
    infos = (i for i in Path(folder).glob("*-info") if i.suffix in (".dist-info", ".egg-info"))
    return {normalized(info.name.partition("-")[0]): info for info in infos}


def _needed(names: Iterable[str]) -> set[str]:
    """These packages and their dependencies on this system, found through the metadata; without optional extras."""
    from packaging.requirements import InvalidRequirement, Requirement  # part of every environment of this course

    installed = {name: info for folder in reversed(sys.path) for name, info in _installed(folder or ".").items()}
    found: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        try:
            text = (installed[name] / "METADATA").read_text(encoding="utf-8", errors="replace")
        except (KeyError, OSError):
            continue
        for line in text.partition("\n\n")[0].splitlines():
            if line.startswith("Requires-Dist:"):
                try:
                    requirement = Requirement(line.partition(":")[2].strip())
                except InvalidRequirement:
                    continue
                if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                    todo.append(normalized(requirement.name))
    return found


def listed_packages(root: Path = ROOT) -> frozenset[str]:
    """Normalized names of the packages that students are asked to install, without dependencies."""
    return frozenset(_listed(root / LOCK) | _listed(root / MORE))


def student_packages(root: Path = ROOT) -> frozenset[str] | None:
    """Normalized names of the packages that students have; None without a lock file."""
    locked = _listed(root / LOCK)
    # The dependencies here may go beyond the lock file: another build of torch has dependencies of its own.
    return frozenset(_needed(locked | _listed(root / MORE) | _ALWAYS)) if locked else None


def _files(info: Path) -> list[str]:
    """The files of an installed package, relative to the parent folder of ``info`` (its metadata)."""
    try:
        lines = (info / "RECORD").read_text(encoding="utf-8").splitlines()
        return [line[1:].partition('"')[0] if line[:1] == '"' else line.partition(",")[0] for line in lines]
    except OSError:  # installed by something else than pip
        try:
            tops = (info / "top_level.txt").read_text(encoding="utf-8").split()
        except OSError:
            tops = [info.name.partition("-")[0]]
        return [path for top in tops for path in (f"{top}/__init__.py", f"{top}.py", f"{top}.so")]


def select(folder: Path, students: frozenset[str]) -> Selection | None:
    """The part of a folder of packages that students have; None if they have everything in it."""
    ours: dict[str, set[str]] = {}
    theirs: dict[str, set[str]] = {}
    for name, info in _installed(str(folder)).items():
        files = theirs if name in students else ours
        for path in [*_files(info), f"{info.name}/METADATA"]:
            files.setdefault(path.partition("/")[0], set()).add(path)
    if not ours:
        return None
    shown = Selection(set(theirs) - {".."} | {"__pycache__"})
    shown.scripts = {os.path.basename(p) for p in theirs.get("..", ()) if os.path.dirname(p).endswith("/bin")}
    for top in ours.keys() & theirs.keys() - {"..", "__pycache__"}:
        keep = {p for path in theirs[top] for p in (path, *map(str, Path(path).parents))}
        for path in ours[top] - theirs[top]:
            parts = Path(path).parts
            outermost = next(
                "/".join(parts[: n + 1]) for n in range(len(parts)) if "/".join(parts[: n + 1]) not in keep
            )
            shown.gone.add(outermost)
    return shown


@functools.cache
def selection(folder: str) -> Selection | None:
    """Cached ``select`` for a folder of this interpreter; an empty Selection if the folder is not on sys.path."""
    students = student_packages()
    if students is None:
        return None
    return select(Path(folder), students) if folder in sys.path else Selection()


@functools.cache
def staff_modules() -> frozenset[str]:
    """Names of the top-level modules that this interpreter can import and students don't have."""
    found: set[str] = set()
    for folder in dict.fromkeys(sys.path):
        if "site-packages" not in folder and "dist-packages" not in folder:
            continue
        shown = selection(folder)
        if shown is not None:
            names = {n for n in os.listdir(folder) if n not in shown.names and not n.endswith("-info")}
            found |= {n.partition(".")[0] for n in names}
            found -= {n.partition(".")[0] for n in shown.names}
    return frozenset(found - {""})


class StudentsPathFinder:
    """Python's path-based module finder, which treats the staff's own packages as not installed."""

    def __init__(self, names: frozenset[str]):
        self.names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return None if name.partition(".")[0] in self.names else PathFinder.find_spec(name, path, target)

    @staticmethod
    def find_distributions(*args: Any, **kwargs: Any) -> Any:
        """Returns () once the package importlib_metadata is imported: it removes the method and does the search."""
        find = getattr(PathFinder, "find_distributions", None)
        return find(*args, **kwargs) if find else ()

    invalidate_caches = staticmethod(PathFinder.invalidate_caches)


def hide_staff_modules() -> None:
    """Make later imports of this process fail for packages that students don't have: for sessions without their own
    view, and so that imports before a sandbox is entered don't bring in such packages."""
    if (names := staff_modules()) and PathFinder in sys.meta_path:
        sys.meta_path[sys.meta_path.index(PathFinder)] = StudentsPathFinder(names)

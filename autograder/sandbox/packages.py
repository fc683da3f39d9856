"""Which installed packages students have: those of requirements.lock, and nothing that only the staff installed.

Sandboxes run on the staff's interpreter, where ``transformers`` or ``scipy`` may be installed; code that imports them
would pass here and fail at home, or find another author's solution. So of each folder of packages only the entries of
students' packages are shown. Packages that students have besides requirements.lock (installed in a computer room,
say) are named in the file requirements-students.txt beside it, one name a line; what these need comes along.
Where there is no requirements.lock everything is shown.
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
    """What of a folder of packages is shown. names: entries; gone: paths below these that are covered nevertheless,
    where a students' and a staff's package share a folder; scripts: names of the students' programs in bin."""

    names: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    scripts: set[str] = field(default_factory=set)


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _listed(file: Path) -> set[str]:
    """Names of the packages that a requirements file lists; empty where there is none."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    names = (re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", line.strip()) for line in lines)
    return {normalized(m[0]) for m in names if m}


def _installed(folder: str) -> dict[str, Path]:
    """Normalized name → folder of metadata, of all packages in a folder of packages."""
    infos = (i for i in Path(folder).glob("*-info") if i.suffix in (".dist-info", ".egg-info"))
    return {normalized(info.name.partition("-")[0]): info for info in infos}


def _needed(names: Iterable[str]) -> set[str]:
    """These packages and what they need here, followed through the metadata; extras that nobody asked for are not."""
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
    """Normalized names of the packages that students are told to install, without what these need."""
    return frozenset(_listed(root / LOCK) | _listed(root / MORE))


def student_packages(root: Path = ROOT) -> frozenset[str] | None:
    """Normalized names of the packages that students have; None where nothing says so."""
    locked = _listed(root / LOCK)
    # What they need here may be more than what is locked: another build of torch brings packages of its own.
    return frozenset(_needed(locked | _listed(root / MORE) | _ALWAYS)) if locked else None


def _files(info: Path) -> list[str]:
    """The files of an installed package, relative to the folder that ``info`` (its metadata) lies in."""
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
    """What of a folder of packages students have; None where that is all of it."""
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
    """``select`` for a folder of this interpreter, found out once. An empty one where Python doesn't look there."""
    students = student_packages()
    if students is None:
        return None
    return select(Path(folder), students) if folder in sys.path else Selection()


@functools.cache
def staff_modules() -> frozenset[str]:
    """Names of the top-level modules that this interpreter finds and students don't have."""
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
    """Python's finder of modules in folders, to which the staff's own packages are not installed."""

    def __init__(self, names: frozenset[str]):
        self.names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return None if name.partition(".")[0] in self.names else PathFinder.find_spec(name, path, target)

    @staticmethod
    def find_distributions(*args: Any, **kwargs: Any) -> Any:
        """Nothing where the package importlib_metadata was imported: it takes the method away and finds them itself."""
        find = getattr(PathFinder, "find_distributions", None)
        return find(*args, **kwargs) if find else ()

    invalidate_caches = staticmethod(PathFinder.invalidate_caches)


def hide_staff_modules() -> None:
    """Have this process find no package that students don't have, for its later imports: for sessions without a view
    of their own, and so that what is imported before a sandbox is entered brings nothing along."""
    if (names := staff_modules()) and PathFinder in sys.meta_path:
        sys.meta_path[sys.meta_path.index(PathFinder)] = StudentsPathFinder(names)

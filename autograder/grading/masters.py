"""The trusted side of a unit: its notebook, its exercises, and a version that changes when either does."""

import ast
import hashlib
from dataclasses import dataclass
from functools import cache

import nbformat
from anatomy.units import grade_id

from autograder import ROOT, exercises
from autograder.build.release import release_notebook

# What a score depends on, beside the unit's own specs and notebook. A change here means: grade again.
JUDGING = (
    "autograder/judge/*.py",
    "autograder/grading/rebuild.py",
    "autograder/grading/execution.py",
    "autograder/grading/grade.py",
    "autograder/grading/signs.py",
    "course/anatomy/runner.py",
    "course/anatomy/judging.py",
    "course/anatomy/compare.py",
    "course/anatomy/codec.py",
    "course/anatomy/diagnosis.py",
    "course/anatomy/symbolic.py",
    "course/anatomy/verdict.py",
    "course/anatomy/naming.py",
    "course/anatomy/relations.py",
    "course/anatomy/contrast.py",
    "course/anatomy/advice.py",
    "course/anatomy/spelling.py",
)


class UnknownUnit(ValueError):
    """There is no such unit to grade; the message names the known ones."""


@dataclass(frozen=True)
class Master:
    """One unit as the grader sees it.

    notebook: the released notebook, from nbgrader's source notebook (treat as read-only). exercises: specs in order.
    checks, answers: grade_id of the check cell and of the answer cell → exercise. version: 16 hexadecimal digits.
    """

    unit: str
    notebook: nbformat.NotebookNode
    exercises: tuple
    checks: dict
    answers: dict
    version: str

    @property
    def points(self):
        """The maximum, which is that of the core path: extensions are extra."""
        return sum(e.points for e in self.exercises if not e.extension)

    @property
    def extensions(self):
        """Ids of the exercises whose points are extra."""
        return frozenset(e.id for e in self.exercises if e.extension)


def gradable_units():
    """Units with both specs and a source notebook, in course order."""
    return [u for u in exercises.units() if source_notebook_path(u).exists()]


def source_notebook_path(unit):
    """nbgrader's source notebook of a unit, as ``make build`` writes it."""
    return ROOT / "solutions" / unit / f"{unit}.ipynb"


@cache
def master(unit):
    """The Master of a unit, made once per process.

    Raises UnknownUnit for a name that is not a unit's, or a unit that has not been built.
    """
    if unit not in exercises.units():
        raise UnknownUnit(f"There is no unit {unit!r}. Units: {', '.join(gradable_units())}.")
    path = source_notebook_path(unit)
    if not path.exists():
        raise UnknownUnit(f"Unit {unit} has no source notebook: run `make build` first.")
    raw = path.read_bytes()
    specs = tuple(exercises.of_unit(unit))
    notebook = release_notebook(nbformat.reads(raw.decode(), as_version=4))
    return Master(
        unit,
        notebook,
        specs,
        {grade_id(e.id): e for e in specs},
        {grade_id(e.id, "solve"): e for e in specs},
        _version(unit, raw),
    )


def _version(unit, raw):
    module = f"autograder.exercises.u{unit.replace('-', '_')}"
    files = {p for pattern in JUDGING for p in ROOT.glob(pattern)} | _imported(module)
    digest = hashlib.sha256(raw)
    for path in sorted(files):
        digest.update(f"\n{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _imported(module):
    """Files of a module of this package and of everything in the package that it imports, at whatever distance."""
    found, todo = set(), [module]
    while todo:
        name = todo.pop()
        base = ROOT.joinpath(*name.split("."))
        path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
        if path in found or not path.exists():
            continue
        found.add(path)
        package = name.split(".") if base.is_dir() else name.split(".")[:-1]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                todo += [a.name for a in node.names if a.name.startswith("autograder")]
            elif isinstance(node, ast.ImportFrom):
                parts = package[: len(package) - node.level + 1] if node.level else []
                source = ".".join([*parts, *([node.module] if node.module else [])])
                if source.startswith("autograder"):
                    todo += [source, *(f"{source}.{a.name}" for a in node.names)]
    return found

"""The trusted side of a unit: its notebook, its exercises, and a version that changes when either does."""

import ast
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import nbformat
from anatomy.program import units
from anatomy.program.units import grade_id

from autograder import ROOT, exercises
from autograder.notebooks import own_course, written
from autograder.notebooks.own_course import OwnCourse

if TYPE_CHECKING:  # the specs bring torch along, which the names and versions of units don't need
    from autograder.judge.spec import Exercise

Points = tuple[tuple[str, float], ...]  # exercise, what it is worth
MARK = "anatomy"  # key of a cell's metadata in a rebuilt notebook: {"role": …, "exercise": …}

# The modules that compute a score. It depends on everything that they import, directly or indirectly: a change there
# means that units are graded again. asked.py, proxies.py and runner.py are listed because they run in the student's
# process, so no import leads to them.
SCORING = (
    "autograder.grading.judging.contained",
    "autograder.grading.judging.grade",
    "autograder.grading.judging.execution",
    "autograder.grading.intake.rebuild",
    "autograder.grading.judging.sessions",
    "autograder.judge.trusted",
    "autograder.judge.asked",
    "autograder.judge.proxies",
    "anatomy.program.runner",
)


class UnknownUnit(ValueError):
    """The unit does not exist or is not built. For an unknown name the message lists the known units."""


class Counted:
    """What counts in a unit; for ``Master`` and for ``outlines.Outline``, which have these attributes."""

    exercises: tuple[Any, ...]
    checks: Mapping[str, Any]
    answers: Mapping[str, Any]
    written: Mapping[str, float]

    @property
    def points(self) -> float:
        """Maximum points of the core path; extensions are extra."""
        return sum(e.points for e in self.exercises if not e.extension)

    @property
    def counted(self) -> frozenset[str]:
        """grade_ids of all cells that a person or the judge gives points for, and of those that answers stand in."""
        return frozenset({*self.checks, *self.answers, *self.written})

    @property
    def extensions(self) -> frozenset[str]:
        """Ids of the exercises whose points are extra."""
        return frozenset(e.id for e in self.exercises if e.extension)


@dataclass(frozen=True)
class Master(Counted):
    """One unit as the grader sees it.

    Attributes:
        notebook: the released notebook, made from nbgrader's source notebook (treat as read-only).
        exercises: specs in order.
        checks: grade_id of the check cell → exercise.
        answers: grade_id of the answer cell → exercise.
        written: grade_id of the written question's answer cell → points that it is worth if a person grades it
            (``c.Grading.written_answers``); in ``notebook`` its points are 0.
        points_given: what exercises are worth in the instructor's own course.
    """

    unit: str
    notebook: nbformat.NotebookNode
    exercises: tuple["Exercise", ...]
    checks: dict[str, "Exercise"]
    answers: dict[str, "Exercise"]
    written: Mapping[str, float] = field(default_factory=dict)
    points_given: Points = ()

    @cached_property
    def version(self) -> str:
        """See ``version_of``."""
        return version_of(self.unit, self.points_given)


def gradable_units() -> list[str]:
    """Units with both specs and a source notebook, in course order."""
    return [u for u in exercises.units() if source_notebook_path(u).exists()]


def source_notebook_path(unit: str) -> Path:
    """Path of a unit's nbgrader source notebook, which ``make build`` writes."""
    return ROOT / "solutions" / unit / f"{unit}.ipynb"


def own_points(unit: str) -> Points:
    """The unit's exercises that are worth something else in the instructor's own course, with their points."""
    given = own_course.current().points
    return tuple(sorted((name, worth) for name, worth in given.items() if units.exercise(name)[0] == unit))


def version_of(unit: str, points: Points = ()) -> str:
    """16 hexadecimal digits: a hash of everything that the unit's scores depend on (source notebook, specs, judge, and
    ``own_points``).

    It leaves out the rubrics, which no computed score depends on: they can change while a class is being graded.
    """
    files = scoring_files() | imported(exercises.spec_modules(unit))
    digest = hashlib.sha256(_without_rubrics(source_notebook_path(unit).read_bytes()))
    for path in sorted(files):
        digest.update(f"\n{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    for name, worth in points:
        digest.update(f"\n{name} {worth:g}\n".encode())
    return digest.hexdigest()[:16]


def require_known(unit: str) -> None:
    """Raises UnknownUnit if there is no such unit, or if it has not been built."""
    if unit not in exercises.units():
        raise UnknownUnit(f"There is no unit {unit!r}. Units: {', '.join(gradable_units())}.")
    if not source_notebook_path(unit).exists():
        raise UnknownUnit(f"Unit {unit} has no source notebook: run `make build` first.")


def master(unit: str) -> Master:
    """The Master of a unit in the instructor's own course, made once per process. It takes seconds, because the specs
    bring torch along: see ``outlines`` for what can be known without them. Raises UnknownUnit."""
    return _master(unit, own_points(unit))


@cache
def _master(unit: str, points: Points) -> Master:
    require_known(unit)
    from autograder.notebooks.release import release_notebook

    own = OwnCourse(points=dict(points))
    specs = tuple(own.spec(e) for e in exercises.of_unit(unit))
    source = nbformat.read(source_notebook_path(unit), as_version=4)
    return Master(
        unit,
        release_notebook(source, own.config()),
        specs,
        {grade_id(e.id): e for e in specs},
        {grade_id(e.id, "solve"): e for e in specs},
        written.points_of(source.cells),
        points,
    )


class Rubric(NamedTuple):
    """How a written answer is graded.

    answer: a model answer. scheme: what earns points. Both are Markdown. points: what the answer is worth if a person
    reads it.
    """

    answer: str
    scheme: str
    points: float


def rubrics(unit: str) -> dict[str, Rubric]:
    """grade_id of a written answer → Rubric in the current source notebook; {} if there is no such unit."""
    if unit not in gradable_units():
        return {}
    cells = nbformat.read(source_notebook_path(unit), as_version=4).cells
    texts = {c.metadata.nbgrader.grade_id: c.source for c in cells if written.is_written(c)}
    return {name: Rubric(*written.parts_of(texts[name]), most) for name, most in written.points_of(cells).items()}


def _without_rubrics(source: bytes) -> bytes:
    """The source notebook with the model answer, rubric and points of its written question removed."""
    book = json.loads(source)
    for cell in book.get("cells", ()):
        if written.is_written(cell):
            cell["source"], cell["metadata"]["nbgrader"]["points"] = "", 0
    return json.dumps(book, sort_keys=True).encode()


@cache
def scoring_files() -> frozenset[Path]:
    """Files of this repository that the scores of every unit depend on."""
    return imported(SCORING)


OURS = ("autograder", "anatomy")
OF_STATEMENTS = ("body", "orelse", "finalbody", "handlers", "cases")  # fields of a statement that hold statements


def imported(modules: Iterable[str], root: Path = ROOT, packages: Sequence[str] = OURS) -> frozenset[Path]:
    """Files of the given modules and of everything that they import from ``autograder`` and ``anatomy``.

    Imports inside functions count, those for type checkers don't. ``anatomy/__init__.py`` counts only if one of its own
    names is imported: it collects widgets, progress and plots for learners, and no score depends on those.

    Args:
        modules: names of the modules to start from.
        root: the repository.
        packages: the packages to follow, if not these two.
    """
    known = _modules(root)
    found: set[Path] = set()
    todo = list(modules)
    while todo:
        name = todo.pop()
        if name not in known or (path := Path(known[name])) in found:
            continue
        found.add(path)
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for source, part in _imports(path, path.stat().st_mtime_ns, package):
            module = part if part in known else source  # else the name is defined in its package
            if module.split(".")[0] in packages:
                todo.append(module)
        if package.startswith("autograder"):
            todo += [package, package.rpartition(".")[0]]  # run by the import, and short
    return frozenset(found)


def _modules(root: Path) -> dict[str, str]:
    """Module → file, for all of the repository. A look at its folders is faster than a question for each import."""
    found = dict[str, str]()
    for base, top in ((root, "autograder"), (root, "tests"), (root, "benchmarks"), (root / "course", "anatomy")):
        for folder, below, names in os.walk(base / top):
            below[:] = [name for name in below if name != "__pycache__"]
            package = folder[len(str(base)) + 1 :].replace(os.sep, ".")
            for name in names:
                if name == "__init__.py":
                    found[package] = f"{folder}/{name}"
                elif name.endswith(".py"):
                    found.setdefault(f"{package}.{name[:-3]}", f"{folder}/{name}")
    return found


@cache  # each unit asks for the same files again
def _imports(path: Path, changed: int, package: str) -> tuple[tuple[str, str], ...]:
    """What a file of ``package`` imports: (module, name of what is taken from it, which may be a module as well).

    changed: the file's time of change; a file that has changed is read anew.
    """
    found = []
    for level, module, name in _import_statements(path.read_text(encoding="utf-8")):
        above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
        source = ".".join([*above, *([module] if module else [])])
        found.append((source, f"{source}.{name}" if name else source))
    return tuple(found)


def _import_statements(text: str) -> tuple[tuple[int, str | None, str | None], ...]:
    """(dots, module, name) of each ``from module import name``, and (0, module, None) of each ``import module``."""
    found = list[tuple[int, str | None, str | None]]()
    todo: list[ast.AST] = [ast.parse(text)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            found += [(0, alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(node.level, node.module, alias.name) for alias in node.names]
        elif _for_types(node):
            todo += node.orelse
        else:
            todo += chain.from_iterable(getattr(node, name, ()) for name in OF_STATEMENTS)
    return tuple(found)


def _for_types(node: ast.AST) -> TypeGuard[ast.If]:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"

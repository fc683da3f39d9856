"""The trusted side of a unit: its notebook, its exercises, and a version that changes when either does."""

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeGuard

import nbformat
from anatomy.program.units import grade_id

from autograder import ROOT, exercises
from autograder.judge.spec import Exercise
from autograder.notebooks import written
from autograder.notebooks.release import release_notebook

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


@dataclass(frozen=True)
class Master:
    """One unit as the grader sees it.

    Attributes:
        notebook: the released notebook, made from nbgrader's source notebook (treat as read-only).
        exercises: specs in order.
        checks: grade_id of the check cell → exercise.
        answers: grade_id of the answer cell → exercise.
        written: grade_id of the written question's answer cell → points that it is worth if a person grades it
            (``c.Grading.written_answers``); in ``notebook`` its points are 0.
    """

    unit: str
    notebook: nbformat.NotebookNode
    exercises: tuple[Exercise, ...]
    checks: dict[str, Exercise]
    answers: dict[str, Exercise]
    written: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def version(self) -> str:
        """16 hexadecimal digits: a hash of everything that the unit's scores depend on (source notebook, specs, judge).

        It leaves out the rubrics, which no computed score depends on: they can change while a class is being graded.
        """
        files = scoring_files() | imported(exercises.spec_modules(self.unit))
        digest = hashlib.sha256(_without_rubrics(source_notebook_path(self.unit).read_bytes()))
        for path in sorted(files):
            digest.update(f"\n{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
        return digest.hexdigest()[:16]

    @property
    def points(self) -> float:
        """Maximum points of the core path; extensions are extra."""
        return sum(e.points for e in self.exercises if not e.extension)

    @property
    def extensions(self) -> frozenset[str]:
        """Ids of the exercises whose points are extra."""
        return frozenset(e.id for e in self.exercises if e.extension)


def gradable_units() -> list[str]:
    """Units with both specs and a source notebook, in course order."""
    return [u for u in exercises.units() if source_notebook_path(u).exists()]


def source_notebook_path(unit: str) -> Path:
    """Path of a unit's nbgrader source notebook, which ``make build`` writes."""
    return ROOT / "solutions" / unit / f"{unit}.ipynb"


@cache
def master(unit: str) -> Master:
    """The Master of a unit, made once per process.

    Raises UnknownUnit if there is no such unit, or if it has not been built.
    """
    if unit not in exercises.units():
        raise UnknownUnit(f"There is no unit {unit!r}. Units: {', '.join(gradable_units())}.")
    path = source_notebook_path(unit)
    if not path.exists():
        raise UnknownUnit(f"Unit {unit} has no source notebook: run `make build` first.")
    specs = tuple(exercises.of_unit(unit))
    source = nbformat.read(path, as_version=4)
    return Master(
        unit,
        release_notebook(source),
        specs,
        {grade_id(e.id): e for e in specs},
        {grade_id(e.id, "solve"): e for e in specs},
        written.points_of(source.cells),
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
    found: set[Path] = set()
    todo = list(modules)
    while todo:
        name = todo.pop()
        path = _file(name, root)
        if path is None or path in found:
            continue
        found.add(path)
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        todo += [m for m in _imports(path.read_text(encoding="utf-8"), package, root) if m.split(".")[0] in packages]
        if package.startswith("autograder"):
            todo += [package, package.rpartition(".")[0]]  # run by the import, and short
    return frozenset(found)


def _file(module: str, root: Path) -> Path | None:
    """The file of one of our modules, or None: then the last part of the name is defined in its package."""
    base = (root / "course" if module.startswith("anatomy") else root).joinpath(*module.split("."))
    candidates = base / "__init__.py", base.with_suffix(".py")
    return next((path for path in candidates if module and path.exists()), None)


def _imports(text: str, package: str, root: Path) -> Iterator[str]:
    """Full names of the modules that a file in ``package`` with this text imports."""
    for level, module, name in _import_statements(text):
        above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
        source = ".".join([*above, *([module] if module else [])])
        imported = f"{source}.{name}" if name else source
        yield imported if not name or _file(imported, root) else source


@cache  # each unit asks for the same files again, and parsing is slow
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

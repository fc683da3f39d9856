"""Writes tables from the gradebook, which is the source of everything in them."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from anatomy.program.units import grade_id

from ..base.masters import UnknownUnit
from ..base.outlines import outline
from .course import write_table
from .gradebook import GradebookWriter
from .stored import Result

HEADER = ("student", "unit", "exercise", "score", "max_score", "max_extra", "mistake", "status")
LATE = "late penalty"  # in the column of the exercise
# The states of a submission. Only for "graded" and "waiting" do the points show how well the student did.
GRADED, WAITING, STALE, UNREADABLE, MISSING, NO_RESULT = STATUSES = (
    "graded",
    "waiting",  # a person has to give points
    "stale",  # graded before the exercises changed, or an earlier submission whose newer one has no result
    "unreadable",  # the file is at fault
    "missing",  # nothing was submitted
    "no result",  # nothing could be stored
)
Problem = tuple[str, str, str, str]  # student, unit, slug, sentence


class Total(NamedTuple):
    """A student's result in a unit. score: with extra points, minus ``penalty``. late_seconds: after the due date.

    extra: the part of the score that is from extensions, which lateness takes from last.
    """

    student: str
    unit: str
    status: str
    score: float
    max_score: float
    penalty: float
    late_seconds: float
    extra: float = 0.0


def status(result: Result) -> str:
    """The status of a stored submission, one of STATUSES."""
    if result["problem"]:
        return UNREADABLE
    if result["standing"].waiting:
        return WAITING
    try:
        return GRADED if result["version"] == outline(result["unit"]).version else STALE
    except UnknownUnit:
        return STALE


def counts(result: Result) -> bool:
    """True if a result says something about the class's skills; False for an unreadable file."""
    return not result["problem"]


def totals(writer: GradebookWriter) -> list[Total]:
    """A Total for every student in the gradebook and every unit with any submission, sorted by student and unit."""
    results = {(r["student"], r["unit"]): r for r in writer.results()}
    units = sorted({unit for _, unit in results})
    return [_total(results.get((s, u)), s, u) for s in writer.students() for u in units]


def _total(result: Result | None, student: str, unit: str) -> Total:
    if result is None:
        return Total(student, unit, MISSING, 0.0, _most(unit), 0.0, 0.0)
    standing = result["standing"]
    about = (standing.score, standing.max_score, standing.penalty, standing.late)
    return Total(student, unit, status(result), *about, standing.score - standing.core)


def _most(unit: str) -> float:
    try:
        return outline(unit).points
    except UnknownUnit:  # the course no longer has it
        return 0.0


def missing(results: Sequence[Result], students: Iterable[str]) -> dict[str, list[str]]:
    """Unit → students in the gradebook without a submission, for units with any submission."""
    there = {(r["student"], r["unit"]) for r in results}
    students = list(students)
    found = {u: [s for s in students if (s, u) not in there] for u in sorted({u for _, u in there})}
    return {u: some for u, some in found.items() if some}


def write_grades(path: Path, writer: GradebookWriter, problems: Iterable[Problem] = ()) -> list[Problem]:
    """Writes grades.csv; returns the stored submissions without a result.

    It has one row per exercise of every stored submission, one per late penalty, and one for each submission that is
    missing or could not be stored (``problems``). If an earlier submission is stored instead, only that one is listed,
    as stale.

    ``score`` has the points that count, ``max_score`` the row's part of the maximum: 0 for an extension, whose points
    (at most ``max_extra``) are extra. The sum of a student's scores in a unit equals the score in the gradebook and on
    the page.
    """
    results, failed = list(writer.results()), {(student, unit): name for student, unit, name, _ in problems}
    rows: list[tuple[str, ...]] = []
    for result in results:
        name = failed.pop((result["student"], result["unit"]), "")
        rows += _rows(result, STALE if name else status(result))
    for unit, students in missing(results, writer.students()).items():
        rows += [(s, unit, "", "0", "0", "0", "", MISSING) for s in students if (s, unit) not in failed]
    rows += [(student, unit, "", "0", "0", "0", name, NO_RESULT) for (student, unit), name in failed.items()]
    write_table(path, HEADER, rows)
    return [(r["student"], r["unit"], *r["problem"]) for r in results if r["problem"]]


def _rows(result: Result, stands: str) -> Iterator[tuple[str, ...]]:
    whose, standing = (result["student"], result["unit"]), result["standing"]
    left, known = sum(standing.points.values()), set[str]()
    for v in result["verdicts"]:
        mistake = "" if v.passed else (v.mistakes[0].name if v.mistakes else "")
        score, most = result["scores"][v.exercise], result["most"][v.exercise]
        known.add(grade_id(v.exercise))
        extra = "0" if most else f"{v.max_score:g}"
        yield (*whose, v.exercise, f"{score:g}", f"{most:g}", extra, mistake, stands)
    for name in sorted(set(standing.points) - known):  # written answers, if they have points
        if standing.most[name] or standing.points[name]:
            yield (*whose, name, f"{standing.points[name]:g}", f"{standing.most[name]:g}", "0", "", stands)
    if standing.penalty:
        yield (*whose, LATE, f"{-min(standing.penalty, left):g}", "0", "0", "", stands)

"""The tables that are written from the gradebook: nothing in them is known anywhere else."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from anatomy.program.units import grade_id

from ..base.masters import UnknownUnit, master
from .course import write_table
from .gradebook import GradebookWriter
from .stored import Result

HEADER = ("student", "unit", "exercise", "score", "max_score", "max_extra", "mistake", "status")
LATE = "late penalty"  # in the column of the exercise
# What a submission can be. Only of those that are graded or waiting do the points say how well somebody did.
GRADED, WAITING, STALE, UNREADABLE, MISSING, NO_RESULT = STATUSES = (
    "graded",
    "waiting",  # points that a person has to give
    "stale",  # graded before the exercises changed, or an earlier submission whose newer one has no result
    "unreadable",  # the file is at fault
    "missing",  # nothing was handed in
    "no result",  # nothing could be stored
)
Problem = tuple[str, str, str, str]  # student, unit, slug, sentence


class Total(NamedTuple):
    """A student's unit. score: what counts, with extra points, less ``penalty``. late_seconds: after the due date."""

    student: str
    unit: str
    status: str
    score: float
    max_score: float
    penalty: float
    late_seconds: float


def status(result: Result) -> str:
    """One of STATUSES for what is stored."""
    if result["problem"]:
        return UNREADABLE
    if result["standing"].waiting:
        return WAITING
    try:
        return GRADED if result["version"] == master(result["unit"]).version else STALE
    except UnknownUnit:
        return STALE


def counts(result: Result) -> bool:
    """Does it say anything about what the class can do? A file that nobody could read does not."""
    return not result["problem"]


def totals(writer: GradebookWriter) -> list[Total]:
    """One for every student of the gradebook and every unit that anybody handed in, by student and unit."""
    results = {(r["student"], r["unit"]): r for r in writer.results()}
    units = sorted({unit for _, unit in results})
    return [_total(results.get((s, u)), s, u) for s in writer.students() for u in units]


def _total(result: Result | None, student: str, unit: str) -> Total:
    if result is None:
        return Total(student, unit, MISSING, 0.0, master(unit).points, 0.0, 0.0)
    standing = result["standing"]
    return Total(student, unit, status(result), standing.score, standing.max_score, standing.penalty, standing.late)


def missing(results: Sequence[Result], students: Iterable[str]) -> dict[str, list[str]]:
    """unit → students of the gradebook without a submission, for the units that anybody handed in."""
    there = {(r["student"], r["unit"]) for r in results}
    students = list(students)
    found = {u: [s for s in students if (s, u) not in there] for u in sorted({u for _, u in there})}
    return {u: some for u, some in found.items() if some}


def write_grades(path: Path, writer: GradebookWriter, problems: Iterable[Problem] = ()) -> list[Problem]:
    """grades.csv: one row per exercise of every stored submission, one for what was taken off for lateness, and one for
    each submission that is missing or (``problems``) could not be stored. Where an earlier one is stored, that one
    stands alone, and is stale. Returns what is stored without a result.

    ``score`` is what counts, ``max_score`` the row's part of the maximum: 0 for an extension, whose points (at most
    ``max_extra``) come on top. The sum of a student's scores in a unit is what the gradebook and the page have.
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
    for name in sorted(set(standing.points) - known):  # what a person grades, where the course has points for it
        if standing.most[name] or standing.points[name]:
            yield (*whose, name, f"{standing.points[name]:g}", f"{standing.most[name]:g}", "0", "", stands)
    if standing.penalty:
        yield (*whose, LATE, f"{-min(standing.penalty, left):g}", "0", "0", "", stands)

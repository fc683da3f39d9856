"""``python -m autograder.classes.export FORMAT``: scores for Moodle's or Canvas's gradebook, or one wide table.

It writes the final points, as in grades.csv: with manual points, extra credit and penalties.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from autograder.grading.base.masters import gradable_units
from autograder.grading.base.names import never_fails, shown
from autograder.grading.base.words import amount
from autograder.grading.book import tables
from autograder.grading.book.course import Course, load_course, write_table
from autograder.grading.book.database import GradebookError
from autograder.grading.book.gradebook import GradebookWriter

from . import canvas_table, moodle
from .csvfile import UnreadableTable, read_table
from .people import students
from .scores import Scores, exact, gather, number

Written = tuple[Sequence[str], list[Sequence[object]], list[str]]  # header, rows, remarks


def moodle_table(scores: Scores) -> Written:
    """The table for Moodle: a column for each unit, after the columns by which Moodle's grade import finds students."""
    rows: list[Sequence[object]] = []
    for person in scores.people:
        first, last, *ids = moodle.about(person)
        rows.append((first, last, *map(exact, ids), *(scores.cell(person.id, u) for u in scores.units)))
    remarks = [
        "In Moodle: Grades, Import, CSV file. Map one of Username, ID number, Email address, and each unit to its item."
    ]
    for what, lacking in (
        ("an email address", [p for p in scores.people if not p.email]),
        ("an ID number", [p for p in scores.people if not p.lms_user_id]),
    ):
        if lacking:
            remarks.append(f"Students without {what} in the gradebook: {len(lacking)} of {len(scores.people)}.")
    above = {s for (s, u), points in scores.points.items() if points > scores.most[u]}
    if above:
        remarks.append(
            f"Students with more than a maximum, by extra credit: {len(above)}. Moodle takes that only where its "
            "administrator allows grades above the maximum."
        )
    return (*moodle.HEADER, *scores.units), rows, remarks


WIDE = ("student", "last_name", "first_name", "email", "lms_user_id")


def wide_table(scores: Scores) -> Written:
    """One row per student: points and maximum of each unit, their sums, and how many units lack points or wait for
    manual grading."""
    header = [
        *WIDE,
        *(name for u in scores.units for name in (u, f"{u} max")),
        "total",
        "max_total",
        "missing",
        "waiting",
    ]
    rows: list[Sequence[object]] = []
    for p in scores.people:
        cells = [c for u in scores.units for c in (scores.cell(p.id, u), number(scores.most[u]))]
        sums = number(scores.total(p.id)), number(scores.maximum)
        about = exact(p.id), p.last_name, p.first_name, exact(p.email), exact(p.lms_user_id)
        rows.append((*about, *cells, *sums, scores.missing(p.id), scores.waiting[p.id]))
    return header, rows, []


def scores_of(course: Course, units: Sequence[str] = (), as_zero: bool = False) -> Scores:
    """The scores in the course's gradebook. Raises GradebookError."""
    with GradebookWriter(course.db_url, course.course_id, course.config) as writer:
        return gather(tables.totals(writer), students(writer.gradebook), gradable_units(), units, as_zero)


def write(form: str, scores: Scores, path: Path, template: Path | None = None) -> tuple[int, list[str]]:
    """Writes one table; form: "moodle", "canvas" or "wide". Returns (number of rows below the header, remarks).

    Raises UnreadableTable or OSError.
    """
    if form == "canvas":
        exported = read_table(template) if template else None
        header, rows, remarks = canvas_table.merged(scores, exported) if exported else canvas_table.alone(scores)
    else:
        header, rows, remarks = moodle_table(scores) if form == "moodle" else wide_table(scores)
    write_table(path, header, rows)
    return len(rows), remarks


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status: 0 if written, 2 if refused."""
    never_fails(sys.stdout, sys.stderr)
    parser = argparse.ArgumentParser(prog="python -m autograder.classes.export", description=__doc__.split("\n")[0])
    parser.add_argument("format", choices=("moodle", "canvas", "wide"))
    parser.add_argument(
        "--template", type=Path, help="the file that Canvas's gradebook exported: scores are put into it"
    )
    parser.add_argument("--unit", action="append", default=[], help="only this unit (may be repeated)")
    parser.add_argument(
        "--missing-as-zero", action="store_true", help="0 instead of an empty cell where nothing counts"
    )
    parser.add_argument("--to", type=Path, help="file to write (default: export-FORMAT.csv beside the gradebook)")
    options = parser.parse_args(argv)
    if unknown := sorted(set(options.unit) - set(gradable_units())):
        print(f"There is no unit {shown(', '.join(unknown))}. Units: {', '.join(gradable_units())}.", file=sys.stderr)
        return 2
    try:
        if options.template and options.format != "canvas":
            raise UnreadableTable("A template is for Canvas: FORMAT=canvas.")
        course = load_course()
        scores = scores_of(course, options.unit, options.missing_as_zero)
        if not scores.units:
            raise UnreadableTable("Nothing is graded yet: run `make grade SUBMITTED=dir` first.")
        path = options.to or course.root / f"export-{options.format}.csv"
        if options.template and path.resolve() == options.template.resolve():
            raise UnreadableTable(f"{shown(str(path), 300)} is the template itself: write to another file.")
        rows, remarks = write(options.format, scores, path, options.template)
    except (GradebookError, UnreadableTable) as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{shown(str(error.filename or 'A file'), 300)} was not written: {error.strerror}.", file=sys.stderr)
        return 2
    print("\n".join([*scores.remarks, *remarks]))
    print(f"{path}: {amount(rows, 'row')}, {', '.join(scores.units)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

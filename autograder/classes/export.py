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

from . import canvas_table, moodle_table
from .csvfile import UnreadableTable, read_table
from .people import students
from .scores import CORE, Scores, by_setting, exact, gather, number

Written = tuple[Sequence[str], list[Sequence[object]], list[str]]  # header, rows, remarks


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


def scores_of(course: Course, units: Sequence[str] = (), as_zero: bool = False, core: bool = False) -> Scores:
    """The scores in the course's gradebook; core: without those of extensions. Raises GradebookError."""
    with GradebookWriter(course.db_url, course.course_id, course.config) as writer:
        totals = by_setting(tables.totals(writer), CORE if core else course.settings.extensions)
        return gather(totals, students(writer.gradebook), gradable_units(), units, as_zero)


def write(form: str, scores: Scores, path: Path, template: Path | None = None) -> tuple[int, list[str]]:
    """Writes one table; form: "moodle", "canvas" or "wide". Returns (number of rows below the header, remarks).

    Raises UnreadableTable or OSError.
    """
    exported = read_table(template) if template else None
    if form == "canvas":
        header, rows, remarks = canvas_table.merged(scores, exported) if exported else canvas_table.alone(scores)
    elif form == "moodle":
        header, rows, remarks = moodle_table.merged(scores, exported) if exported else moodle_table.alone(scores)
    else:
        header, rows, remarks = wide_table(scores)
    write_table(path, header, rows)
    return len(rows), remarks


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status: 0 if written, 2 if refused."""
    never_fails(sys.stdout, sys.stderr)
    parser = argparse.ArgumentParser(prog="python -m autograder.classes.export", description=__doc__.split("\n")[0])
    parser.add_argument("format", choices=("moodle", "canvas", "wide"))
    parser.add_argument(
        "--template", type=Path, help="the file that Canvas's gradebook exported, or Moodle's grading worksheet"
    )
    parser.add_argument("--unit", action="append", default=[], help="only this unit (may be repeated)")
    parser.add_argument(
        "--missing-as-zero", action="store_true", help="0 instead of an empty cell where nothing counts"
    )
    parser.add_argument(
        "--core", action="store_true", help="points of the core path alone, whatever c.Grading.extensions says"
    )
    parser.add_argument("--to", type=Path, help="file to write (default: export-FORMAT.csv beside the gradebook)")
    options = parser.parse_args(argv)
    if unknown := sorted(set(options.unit) - set(gradable_units())):
        print(f"There is no unit {shown(', '.join(unknown))}. Units: {', '.join(gradable_units())}.", file=sys.stderr)
        return 2
    try:
        if options.template and options.format == "wide":
            raise UnreadableTable("A template is for Canvas or Moodle: FORMAT=canvas or FORMAT=moodle.")
        course = load_course()
        scores = scores_of(course, options.unit, options.missing_as_zero, options.core)
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

"""``python -m autograder.grading.due UNIT DATE`` (make due): when a unit is due, for all or later for one student.

What is taken off for lateness changes with the next ``make publish``; no student's code runs.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import dateutil.parser  # type: ignore[import-untyped]
from nbgrader.api import SubmittedAssignment

from .course import load_course
from .database import GradebookError
from .gradebook import GradebookWriter
from .masters import gradable_units
from .names import never_fails, shown

FORM = "2026-12-01 23:59, or with a time zone: 2026-12-01T23:59+01:00"


def moment(text: str) -> datetime:
    """The moment in UTC, without a zone, that ``text`` names; this machine's zone where it names none.

    Raises GradebookError for what is no date with a year, month and day.
    """
    try:
        return dateutil.parser.isoparse(text.strip().replace(" ", "T", 1)).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        raise GradebookError(f"{shown(text, 60)!r} is no date. Write it like {FORM}.") from None


def set_due(writer: GradebookWriter, unit: str, when: datetime | None, student: str | None = None) -> str:
    """Stores a due date (UTC), or takes it away; with ``student`` for that one alone. Returns a sentence.

    Raises GradebookError for an unknown unit or student, and where a student's date comes before the unit's.
    """
    if unit not in gradable_units():
        raise GradebookError(f"There is no unit {shown(unit, 80)}. Units: {', '.join(gradable_units())}.")
    book = writer.handed_out(unit)
    if student is None:
        book.update_or_create_assignment(unit, duedate=when)
        return f"{unit} is due {_shown(when)}."
    if student not in writer.students():
        raise GradebookError(
            f"The gradebook has no student {shown(student, 80)}: `make roster FILE=…` brings a class in."
        )
    due = book.find_assignment(unit).duedate
    if due is None or (when is not None and when < due):
        other = f"due {_shown(due)}" if due else "without a due date"
        raise GradebookError(f"{unit} is {other}; a student can only have a later one.")
    one: SubmittedAssignment = book.update_or_create_submission(unit, student)
    one.extension = when - due if when is not None else None
    book.db.commit()
    return f"{unit} is due {_shown(when or due)} for {shown(student, 80)}."


def _shown(when: datetime | None) -> str:
    return f"{when:%Y-%m-%d %H:%M} UTC" if when else "never"


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status: 0 done, 2 refused."""
    never_fails(sys.stdout, sys.stderr)
    summary = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m autograder.grading.due", description=summary)
    parser.add_argument("unit", help="e.g. 06-rope")
    parser.add_argument("date", help=f'"never", or {FORM}')
    parser.add_argument("--student", help="for this student alone")
    options = parser.parse_args(argv)
    try:
        when = None if options.date == "never" else moment(options.date)
        course = load_course()
        with GradebookWriter(course.db_url, course.course_id, course.config) as writer:
            print(set_due(writer, options.unit, when, options.student))
    except GradebookError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

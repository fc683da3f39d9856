"""``python -m autograder.grading.book.due UNIT DATE`` (make due): sets a unit's due date, or a later one for a student.

Late penalties change with the next ``make publish``; no student's code runs.
"""

import argparse
import difflib
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import dateutil.parser  # type: ignore[import-untyped]
from nbgrader.api import Assignment, Gradebook, MissingEntry, SubmittedAssignment

from ..base.masters import gradable_units
from ..base.names import never_fails, shown
from . import handed_out
from .course import load_course
from .database import GradebookError, patiently
from .gradebook import GradebookWriter

FORM = "2026-12-01 23:59, or with a time zone: 2026-12-01T23:59+01:00"
MAX_NEAR = 5  # similar names in the message about an unknown student


def moment(text: str) -> datetime:
    """The time that ``text`` names, as a naive datetime in UTC; text without a time zone is in this machine's zone.

    A day without a time means 23:59 of it, as nobody hands in before a day that begins.
    Raises GradebookError if the text is not a date with year, month and day.
    """
    written = text.strip().replace(" ", "T", 1)
    try:
        when = dateutil.parser.isoparse(written)
        if "T" not in written.upper():
            when = when.replace(hour=23, minute=59)
        return when.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        raise GradebookError(f"{shown(text, 60)!r} is no date. Write it like {FORM}.") from None


def set_due(writer: GradebookWriter, unit: str, when: datetime | None, student: str | None = None) -> list[str]:
    """Stores a due date (UTC) or removes it (None); with ``student``, only for that one. Returns sentences.

    If the unit's date moves, a student's own date stays as it is, unless it is no longer after the unit's.
    Raises GradebookError for an unknown unit or student, and if a student's date is before the unit's.
    """
    if unit not in gradable_units():
        raise GradebookError(f"There is no unit {shown(unit, 80)}. Units: {', '.join(gradable_units())}.")
    book = writer.handed_out(unit)
    one = None if student is None else student_meant(student, writer.students())

    def work() -> list[str]:
        return _set_for_all(book, unit, when) if one is None else _set_for_one(book, unit, when, one)

    return patiently(work, writer.db_url, book.db.rollback)


def student_meant(name: str, students: Sequence[str]) -> str:
    """The student with that name, else the only one whose name differs just in capitals.

    Raises GradebookError, with similar names, if there is no such student or more than one.
    """
    if name in students:
        return name
    folded: dict[str, list[str]] = {}
    for student in students:
        folded.setdefault(student.casefold(), []).append(student)
    alike = folded.get(name.casefold(), [])
    if len(alike) == 1:
        return alike[0]
    near = alike or [s for n in difflib.get_close_matches(name.casefold(), folded, n=MAX_NEAR) for s in folded[n]]
    some = ", ".join(shown(s, 80) for s in near[:MAX_NEAR])
    what = f"Did you mean {some}?" if near else "`make roster FILE=…` brings a class in."
    raise GradebookError(f"The gradebook has no student {shown(name, 80)}. {what}")


def _set_for_all(book: Gradebook, unit: str, when: datetime | None) -> list[str]:
    assignment = book.find_assignment(unit)
    said = [f"{unit} is due {_shown(when)}." if when else f"{unit} has no due date."]
    said += _keep_own_dates(assignment, when)
    assignment.duedate = when
    book.db.commit()
    return said


def _keep_own_dates(assignment: Assignment, when: datetime | None) -> Iterator[str]:
    """Adjusts students' extensions, which nbgrader counts from the unit's date, so that their own dates stay the same.

    Yields a sentence for each student with an extension.
    """
    for one in sorted(assignment.submissions, key=lambda s: str(s.student_id)):
        if one.extension is None:
            continue
        name, own = shown(one.student_id, 80), assignment.duedate and assignment.duedate + one.extension
        one.extension = own - when if own and when and own > when else None
        if own is None:  # from the formgrader or an older gradebook: without the unit's date it means nothing
            yield f"{name}: the extension, which had no date to count from, is taken away."
        elif when is None:
            yield f"{name}: the date of their own, {_shown(own)}, goes with it."
        elif one.extension is None:
            yield f"{name}: the date of their own, {_shown(own)}, is not after that, so it is taken away."
        else:
            yield f"{name}: still due {_shown(own)}, as it was set."


def _set_for_one(book: Gradebook, unit: str, when: datetime | None, student: str) -> list[str]:
    due = book.find_assignment(unit).duedate
    if due is None or (when is not None and when < due):
        other = f"due {_shown(due)}" if due else "without a due date"
        raise GradebookError(f"{unit} is {other}; a student can only have a later one.")
    one = _submission(book, unit, student)
    if one is None and when is not None:
        handed_out.add_submission(book, student, unit)  # nbgrader's own way makes SQLAlchemy warn
        one = _submission(book, unit, student)
    if one is not None:
        one.extension = when - due if when is not None else None
    book.db.commit()
    return [f"{unit} is due {_shown(when or due)} for {shown(student, 80)}."]


def _submission(book: Gradebook, unit: str, student: str) -> SubmittedAssignment | None:
    try:
        return book.find_submission(unit, student)
    except MissingEntry:
        return None


def _shown(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M} UTC"


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status: 0 done, 2 refused."""
    never_fails(sys.stdout, sys.stderr)
    summary = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m autograder.grading.book.due", description=summary)
    parser.add_argument("unit", help="e.g. 06-rope")
    parser.add_argument("date", help=f'"never", or {FORM}')
    parser.add_argument("--student", help="for this student alone")
    options = parser.parse_args(argv)
    try:
        if not options.unit.strip():
            raise GradebookError("Say which unit: make due UNIT=… DATE=…")
        if not options.date.strip():
            raise GradebookError(f"Say which date: make due UNIT={shown(options.unit, 80)} DATE=…")
        when = None if options.date == "never" else moment(options.date)
        course = load_course()
        with GradebookWriter(course.db_url, course.course_id, course.config) as writer:
            print("\n".join(set_due(writer, options.unit, when, options.student)))
    except GradebookError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

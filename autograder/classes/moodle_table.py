"""Moodle's gradebook: makes a table for its grade import, or fills the grading worksheet of one assignment.

Where the worksheet is uploaded again, Moodle finds a student by the column Identifier, and looks at Grade and Last
modified (grade) alone, beside columns of feedback (mod/assign/feedback/offline/importgradeslib.php: ``init``,
``next``). So the others are left out: a comment that is not there is not changed. It passes over an empty grade and one
above the maximum (locallib.php: ``process_import_grades``).
"""

from collections.abc import Sequence

from autograder.grading.base.names import shown

from . import moodle
from .csvfile import Table, UnreadableTable
from .people import Person, Roster
from .scores import EXTENSIONS, Scores, exact, number

KEPT = ("identifier", "fullname", "grade", "maximumgrade", "lastmodifiedgrade")  # what the upload looks at, and who
ABOVE = "Moodle takes that only where it allows grades above the maximum; `c.Grading.extensions` can cap them."
Written = tuple[Sequence[str], list[Sequence[object]], list[str]]  # header, rows, remarks
HEADER = ("First name", "Last name", "Username", "ID number", "Email address")


def about(person: Person) -> tuple[str, ...]:
    """The cells for ``HEADER``: Moodle's import finds the student by one of the last three, so each has what Moodle
    calls so, or nothing. An id from the column "ID number" is no username."""
    return person.first_name, person.last_name, person.login, person.lms_user_id, person.email


def alone(scores: Scores) -> Written:
    """A column for each unit, after the columns by which Moodle's grade import finds students."""
    rows: list[Sequence[object]] = []
    for person in scores.people:
        first, last, *ids = about(person)
        rows.append((first, last, *map(exact, ids), *(scores.cell(person.id, u) for u in scores.units)))
    known = {name: sum(bool(str(r[i])) for r in rows) for i, name in enumerate(HEADER) if i > 1}
    best = [name for name, count in known.items() if count == max(known.values())]
    remarks = [f"In Moodle: Grades, Import, CSV file. Map {' or '.join(best)}, and each unit to its item."]
    remarks += [
        f"Students without {name} in the roster: {len(rows) - count} of {len(rows)}."
        for name, count in known.items()
        if 0 < count < len(rows)
    ]
    above = {s for (s, u), points in scores.points.items() if points > scores.most[u] and not u.endswith(EXTENSIONS)}
    if above:
        remarks.append(f"Students with more than a maximum, by extra credit: {len(above)}. {ABOVE}")
    return (*HEADER, *scores.units), rows, remarks


def merged(scores: Scores, worksheet: Table) -> Written:
    """The worksheet's rows with this course's points of one unit. Raises UnreadableTable."""
    if len(scores.units) != 1:
        raise UnreadableTable("A grading worksheet is of one assignment: say which unit it is, UNIT=06-rope.")
    (unit,), names = scores.units, moodle.bare(worksheet.header)
    if not {"identifier", "grade", "lastmodifiedgrade"} <= set(names):
        raise UnreadableTable(
            "The template is not Moodle's grading worksheet: it has no columns Identifier, Grade and Last modified "
            "(grade). Set Moodle's language to English, and download it from the assignment."
        )
    places = [i for i, name in enumerate(names) if name in KEPT]
    roster, rows, found, over = Roster(scores.people), list[Sequence[object]](), set[str](), set[str]()
    for _, cells in worksheet.rows:
        row = dict(zip(names, cells, strict=True))
        student = _student(row, roster)
        found.add(student)
        points = scores.points.get((student, unit))
        if points is not None:
            row["grade"] = number(points)
        if points is not None and (most := _value(row.get("maximumgrade", ""))) is not None and points > most:
            over.add(student)
        rows.append([exact(row[names[i]]) for i in places])
    maxima = {row.get("maximumgrade", "") for row in (dict(zip(names, c, strict=True)) for _, c in worksheet.rows)}
    remarks = ["In Moodle, where submissions are listed: Actions (or Grading action), Upload grading worksheet."]
    remarks += [
        f"{unit}: Moodle has {shown(m)} points, this course {number(scores.most[unit])}; they are written as they are."
        for m in sorted(maxima)
        if _value(m) not in (None, scores.most[unit])
    ]
    if over:
        remarks.append(f"Above the worksheet's maximum, so Moodle passes over them: {_listed(over)}.")
    if lost := {s for s, _ in scores.points} - found:
        remarks.append(f"Not in the worksheet, so not written: {_listed(lost)}.")
    return [worksheet.header[i] for i in places], rows, remarks


def _student(row: dict[str, str], roster: Roster) -> str:
    """Id of the student in a row of the worksheet, or "" if it can't be told."""
    found = moodle.found_in(row, roster)[1] or roster.by_name(row.get("fullname", ""))
    return next(iter(found)) if len(found) == 1 else ""


def _value(cell: str) -> float | None:
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return None


def _listed(students: set[str]) -> str:
    return ", ".join(shown(s) for s in sorted(students))

"""Canvas's gradebook: makes the table for its import, preferably from the table that it exports.

Canvas finds a student by ID, else by SIS User ID, SIS Login ID or name; it finds a column by the number in parentheses
after an assignment's title. An empty cell would delete an existing score, so where this course has no score the cell
of the export stays. Columns of other assignments and calculated columns are left out: Canvas only needs the columns
that change.
"""

import re
from collections.abc import Sequence

from .csvfile import Table, UnreadableTable
from .people import Roster
from .scores import EXTENSIONS, Scores, exact, number
from .units import by_name

ABOUT = (
    "Student",
    "LastName",
    "FirstName",
    "ID",
    "SIS User ID",
    "SIS Login ID",
    "Integration ID",
    "Root Account",
    "Section",
)
POINTS = "    Points Possible"
# An excused student, and a student to whom the assignment is not assigned.
_FIXED = ("EX", "N/A")
Written = tuple[Sequence[str], list[Sequence[object]], list[str]]  # header, rows, remarks


def alone(scores: Scores) -> Written:
    """The table without an export from Canvas: students by login or name, units as new assignments."""
    header = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section", *scores.units)
    rows: list[Sequence[object]] = [(POINTS, "", "", "", "", *(number(scores.most[u]) for u in scores.units))]
    for p in scores.people:
        name = ", ".join(filter(None, (p.last_name, p.first_name))) or p.id
        about = (name, "", "", exact(p.id), "")  # the number in the gradebook may come from another platform
        rows.append((*about, *(scores.cell(p.id, u) for u in scores.units)))
    return (
        header,
        rows,
        [
            "Without TEMPLATE= (the file that Canvas's gradebook exports) Canvas will offer to make new assignments, "
            "and an empty cell takes away a score that is there."
        ],
    )


def merged(scores: Scores, exported: Table) -> Written:
    """The rows of the export with this course's scores. Raises UnreadableTable."""
    about = [i for i, name in enumerate(exported.header) if name in ABOUT]
    if "Section" not in exported.header or not {"ID", "SIS Login ID", "SIS User ID"} & set(exported.header):
        raise UnreadableTable(
            "The template is not what Canvas's gradebook exports: it has no columns Section and ID. Take the file from "
            "Grades, Export, as it is."
        )
    columns = {unit: _column(unit, exported.header, about) for unit in scores.units}
    header = [exported.header[i] for i in about]
    header += [unit if place is None else exported.header[place] for unit, place in columns.items()]
    remarks = [
        f"Canvas has no column for {u}: it will offer a new assignment." for u, i in columns.items() if i is None
    ]
    roster, found, excused = Roster(scores.people), set[str](), 0
    rows: list[Sequence[object]] = []
    for _, cells in exported.rows:
        keep: list[object] = [_kept(exported.header[i], cells[i]) for i in about]
        own = {unit: "" if place is None else cells[place] for unit, place in columns.items()}
        if "points possible" in cells[0].lower():
            keep[0] = POINTS
            own = {u: c or number(scores.most[u]) for u, c in own.items()}
            remarks += [
                f"{u}: Canvas has {c} points, this course {number(scores.most[u])}; points are written as they are."
                for u, c in own.items()
                if _value(c) not in (None, scores.most[u])
            ]
        else:
            student = _student(dict(zip(exported.header, cells, strict=True)), roster)
            found.add(student)
            fixed = {u for u, c in own.items() if c.upper() in _FIXED}
            excused += sum(bool(scores.cell(student, u)) for u in fixed)
            own = {u: c if u in fixed else scores.cell(student, u) or c for u, c in own.items()}
        rows.append((*keep, *map(exact, own.values())))
    if excused:
        remarks.append(f"Scores not written, as Canvas says EX (excused) or N/A (not assigned) there: {excused}.")
    lost = [p.id for p in scores.people if p.id not in found and scores.missing(p.id) < len(scores.units)]
    if lost:
        remarks.append(f"Not in the template, so not written: {', '.join(lost)}.")
    return header, rows, remarks


def _column(unit: str, header: Sequence[str], about: Sequence[int]) -> int | None:
    """The column index of a unit's assignment, or None. Raises UnreadableTable if there are several."""
    titles = {i: re.sub(r"\s*\(\d+\)$", "", h) for i, h in enumerate(header) if i not in about}
    same = [i for i, title in titles.items() if title.casefold() == unit]
    # Calculated columns ("06-rope Current Score") have no number.
    found = same or [
        i
        for i, title in titles.items()
        if title != header[i] and by_name(title) == unit and not title.endswith(EXTENSIONS)
    ]
    if len(found) > 1:
        names = ", ".join(header[i] for i in found)
        raise UnreadableTable(f"Several columns of the template are named like {unit}: {names}. Leave one of them.")
    return found[0] if found else None


def _kept(column: str, cell: str) -> object:
    return exact(cell) if "ID" in column.split() else cell


def _student(row: dict[str, str], roster: Roster) -> str:
    """Id of the student in a row, or ""."""
    name = row.get("Student") or f"{row.get('FirstName', '')} {row.get('LastName', '')}"
    for column, find in (
        ("SIS Login ID", roster.by_id),
        ("ID", roster.by_number),
        ("SIS User ID", roster.by_number),
        ("SIS Login ID", roster.by_email),
    ):
        found = find(row[column]) if row.get(column) else set()
        if len(found) == 1 and (find != roster.by_number or roster.people[min(found)].shares_name(name)):
            return min(found)
    return ""


def _value(cell: str) -> float | None:
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return None

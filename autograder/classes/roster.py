"""``python -m autograder.classes.roster FILE``: loads a class roster from a CSV file (make roster FILE=file).

Columns are recognized by the names that Moodle, Canvas and most lists use. Students are added or updated in nbgrader's
gradebook, all in one transaction; no student is removed.
"""

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TextIO

import sqlalchemy as sa
from nbgrader.api import Gradebook, Student, SubmittedAssignment

from autograder.grading.base.names import NoName, identifier, is_junk, never_fails, shown
from autograder.grading.base.words import amount
from autograder.grading.book.course import Course, load_course
from autograder.grading.book.database import GradebookError, patiently

from .csvfile import Table, UnreadableTable, read_table
from .people import Person, opened, students
from .stopping import politely

MAX_LINES = 50  # lines printed of each kind
MAX_TEXT = 128  # characters; the maximum in the gradebook
# Names of columns, in lower case and reduced to letters and digits.
NAMES = {
    "id": ("id", "studentid", "identifier"),
    "login": ("username", "userid", "user", "login", "loginid", "sisloginid", "netid", "uniqname"),
    "number": ("idnumber", "sisuserid", "sisid", "studentnumber", "matriculationnumber", "matrikelnummer", "lmsuserid"),
    "email": ("email", "emailaddress", "mail", "emailaddresses"),
    "first_name": ("firstname", "first", "givenname", "givennames", "forename"),
    "last_name": ("lastname", "last", "surname", "familyname"),
    "full_name": ("fullname", "name", "student", "studentname", "displayname"),
}
_ROUNDED = re.compile(r"\d(?:[.,]\d+)?E\+\d+", re.I)  # a long number rounded by a spreadsheet
_TEST_STUDENT = re.compile(r"student,\s*test|test student", re.I)  # Canvas adds one to every course


@dataclass
class Reading:
    """The contents of a file. people: by id. left_out: a sentence for each skipped row. remarks: other sentences."""

    people: dict[str, Person] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


@dataclass
class Change:
    """Changes that a roster made to the gradebook, as sorted ids. strangers: students in the gradebook but not in the
    roster, those with submissions first. working: how many of the strangers have submissions."""

    added: list[str]
    updated: list[str]
    same: int
    strangers: list[str]
    working: int


def read_roster(table: Table) -> Reading:
    """The students in a table. Raises UnreadableTable if no column identifies them."""
    columns = _columns(table)
    reading = Reading(remarks=[_taken(columns, table.header)])
    if table.encoding == "cp1252":
        reading.remarks.append("The file is not UTF-8; it was read as Windows-1252. Look whether accents are right.")
    for line, cells in table.rows:
        if "points possible" in cells[0].lower() or _TEST_STUDENT.fullmatch(cells[columns.get("full_name", 0)]):
            continue
        try:
            person = _person({k: cells[i] for k, i in columns.items()}, reading)
        except NoName as error:
            reading.left_out.append(f"line {line}: left out, {error}")
            continue
        if person is not None:
            _add(person, line, reading)
    reading.remarks += _alike(list(reading.people.values()))
    return reading


def _alike(people: Sequence[Person]) -> list[str]:
    """Sentences on students who may be the same person."""
    addresses, ids = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for person in people:
        ids[person.id.casefold()].append(shown(person.id))
        if person.email:
            addresses[person.email.casefold()].append(shown(person.id))
    shared = [(shown(address), some) for address, some in addresses.items() if len(some) > 1]
    spelled = [some for some in ids.values() if len(some) > 1]
    return [
        f"Several students have the address {address}: {_listed(some)}." for address, some in shared[:MAX_LINES]
    ] + [f"These ids differ in capitals only: {_listed(some)}." for some in spelled[:MAX_LINES]]


def _listed(names: Sequence[str], most: int = 5) -> str:
    return ", ".join([*names[:most], *(["…"] if len(names) > most else [])])


def _columns(table: Table) -> dict[str, int]:
    """dict kind of column → its index. ``id`` is the column that names the students' folders."""
    bare = [re.sub(r"[\W_]", "", h.lower()) for h in table.header]
    found: dict[str, int] = {}
    for what, names in NAMES.items():
        places = sorted((names.index(b), i) for i, b in enumerate(bare) if b in names)
        if places:
            found[what] = places[0][1]
    # Canvas's own ID is an internal number, useful only to find the student in Canvas.
    if "id" in found and {"student", "section"} <= set(bare) or {"lastname", "firstname", "section", "id"} <= set(bare):
        found["canvas"] = found.pop("id")
    # In Moodle's worksheets "Identifier" numbers a participant of one assignment only.
    if "id" in found and bare[found["id"]] == "identifier" and len(found) > 1:
        del found["id"]
    if "id" not in found:  # take the other column that most students have; Moodle's ID number is often empty
        others = [found[what] for what in ("login", "number", "email", "canvas") if what in found]
        for place in sorted(others, key=lambda i: sum(not cells[i] for _, cells in table.rows))[:1]:
            found["id"] = place
    if "id" not in found:
        raise UnreadableTable(
            "No column says who is who. Name one of them id, username, ID number, email, SIS Login ID or SIS User ID; "
            f"this file has: {shown(', '.join(table.header), 300)}."
        )
    return found


def _taken(columns: dict[str, int], header: Sequence[str]) -> str:
    """A sentence that says which columns were used for what."""
    number = "canvas" if "canvas" in columns else "number"
    words = {"id": "id", "first_name": "first name", "last_name": "last name", "full_name": "name", "email": "address"}
    words[number] = "number in the platform"
    if "first_name" in columns or "last_name" in columns:
        del words["full_name"]
    some = [f"{word} from {shown(header[columns[what]])!r}" for what, word in words.items() if what in columns]
    return f"Taken: {', '.join(some)}."


def _person(cells: dict[str, str], reading: Reading) -> Person | None:
    """The student in a row, None for an empty row. Raises NoName for an invalid id."""
    text = cells["id"]
    if not text and not any(cells.values()):
        return None
    if not text:
        raise NoName("there is no id in this row")
    if _ROUNDED.fullmatch(text):
        raise NoName(f"{text} is a number that a spreadsheet has rounded: export the list again and do not open it")
    try:
        student = identifier(text)
    except NoName as error:
        reason = str(error).replace("its name", "it", 1).removesuffix(": rename it")  # this is no file's name
        raise NoName(f"{shown(text)!r} cannot be an id: {reason}; change it in the list") from None
    if is_junk(student):
        raise NoName(f"{shown(text)!r} cannot be an id: folders with such names are not graded")
    first, last = cells.get("first_name", ""), cells.get("last_name", "")
    if not first and not last:
        first, last = split_name(cells.get("full_name", ""))
    number = cells.get("canvas") or cells.get("number", "")
    return Person(student, *(shown(t, MAX_TEXT) for t in (first, last, cells.get("email", ""), number)))


def split_name(name: str) -> tuple[str, str]:
    """(first names, last name) of "Lovelace, Ada" or "Ada Lovelace"."""
    last, comma, first = name.partition(",")
    if comma:
        return first.strip(), last.strip()
    first, _, last = name.strip().rpartition(" ")
    return first.strip(), last.strip()


def _add(person: Person, line: int, reading: Reading) -> None:
    before = reading.people.setdefault(person.id, person)
    if before == person and before is not person:
        reading.remarks.append(f"line {line}: {shown(person.id)} stands in the file more than once.")
    elif before != person:
        reading.left_out.append(
            f"line {line}: left out, {shown(person.id)} is already {shown(before.full_name or before.id)} in a line "
            f"above; here it is {shown(person.full_name or person.id)}"
        )


def store(gradebook: Gradebook, people: Sequence[Person], db_url: str) -> Change:
    """Adds and updates students in one transaction; empty cells change nothing. Raises GradebookError."""
    return patiently(lambda: _store(gradebook, people), db_url, gradebook.db.rollback)


def _store(gradebook: Gradebook, people: Sequence[Person]) -> Change:
    known = {p.id: p for p in students(gradebook)}
    change = Change([], [], 0, [], 0)
    for person in sorted(people, key=lambda p: p.id):
        values = {f.name: v for f in fields(person) if f.name != "id" and (v := getattr(person, f.name))}
        before = known.pop(person.id, None)
        if before is None:
            gradebook.db.execute(sa.insert(Student.__table__).values(id=person.id, **values))
            change.added.append(person.id)
        elif replace(before, **values) != before:
            gradebook.db.execute(sa.update(Student.__table__).values(**values).where(Student.id == person.id))
            change.updated.append(person.id)
        else:
            change.same += 1
    working = set(gradebook.db.execute(sa.select(SubmittedAssignment.student_id).distinct()).scalars())
    gradebook.db.commit()
    gradebook.db.expire_all()
    change.strangers = sorted(known, key=lambda s: (s not in working, s))
    change.working = len(working & known.keys())
    return change


def load(path: Path, course: Course) -> tuple[Reading, Change]:
    """Reads a file and stores its students. Raises UnreadableTable or GradebookError."""
    reading = read_roster(read_table(path))
    if not reading.people:
        raise UnreadableTable(f"{shown(path.name)} has no student: {'; '.join(reading.left_out[:3]) or 'no row'}.")
    with opened(course) as gradebook:
        return reading, store(gradebook, list(reading.people.values()), course.db_url)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status: 0 if all rows were taken, 1 if some not, 2 if refused, 130 if stopped."""
    never_fails(sys.stdout, sys.stderr)
    parser = argparse.ArgumentParser(prog="python -m autograder.classes.roster", description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path, help="CSV file with a header, one student per row")
    options = parser.parse_args(argv)
    return politely(lambda: _run(options.file))


def _run(path: Path) -> int:
    try:
        reading, change = load(path, load_course())
    except (UnreadableTable, GradebookError) as error:
        print(error, file=sys.stderr)
        return 2
    say(reading.left_out, sys.stderr)
    say(reading.remarks)
    say([f"added: {shown(s)}" for s in change.added])
    say([f"updated: {shown(s)}" for s in change.updated])
    say([f"in the gradebook, not in this file: {shown(s)}" for s in change.strangers])
    print(
        f"{amount(len(reading.people), 'student')}: {len(change.added)} added, {len(change.updated)} updated, "
        f"{change.same} as they were, {amount(len(reading.left_out), 'row')} left out. {len(change.strangers)} in the "
        f"gradebook are not in this file ({change.working} of them have submissions); nobody was removed."
    )
    return 1 if reading.left_out else 0


def say(lines: Sequence[str], out: TextIO | None = None) -> None:
    """Prints at most ``MAX_LINES`` of the lines, and how many more there are."""
    for line in lines[:MAX_LINES]:
        print(line, file=out)
    if len(lines) > MAX_LINES:
        print(f"… and {len(lines) - MAX_LINES} more of these.", file=out)


if __name__ == "__main__":
    sys.exit(main())

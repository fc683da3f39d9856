"""Moodle: reads the file names in "Download all submissions", and makes the columns for its grade import.

An entry is called ``Full Name_1234567_assignsubmission_file_/name.ipynb``, without the last underscore in newer
versions, and with another underscore instead of the slash if "Download submissions in folders" is off. Moodle replaces
underscores in the full name with spaces, so no name or file can look like another student's entry. The number
identifies a participant of one assignment (with blind marking the name is "Participant"); only the grading worksheet
of that assignment maps it to a student, so students are found by name.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial

from .archive import Entry
from .csvfile import Table, UnreadableTable
from .handed import Handed, Nobody, as_id, only
from .people import Person, Roster

_ENTRY = re.compile(r"(?P<name>[^_]+)_(?P<number>\d+)_assignsubmission_(?P<kind>[a-z0-9]+)(?:_(?P<file>.*))?", re.S)
_NUMBER = re.compile(r".*?(\d+)")
# Names of the worksheet's columns, and how each finds a student.
_FINDERS = (("username", Roster.by_id), ("idnumber", Roster.by_number), ("emailaddress", Roster.by_email))
_ADVICE = (
    "add the name to the roster (`make roster`), or give the assignment's grading worksheet (`WORKSHEET=file`), which "
    "says whose number it is"
)
Worksheet = Mapping[str, Mapping[str, str]]  # number of a participant → column → cell


def matches(name: str) -> bool:
    """True if Moodle may have made this name."""
    return _ENTRY.fullmatch(name) is not None


def handed(entries: Sequence[Entry], depth: int, worksheet: Worksheet) -> list[Handed]:
    """The submissions; ``depth``: index of Moodle's names in the paths. Texts entered online are left out."""
    found = []
    for entry in entries:
        match = _ENTRY.fullmatch(entry.parts[depth]) if len(entry.parts) > depth else None
        if match and match["kind"] == "file":
            name, number = match["name"].strip(), match["number"]
            filename = match["file"] if len(entry.parts) == depth + 1 else entry.name
            owner = partial(_owner, name=name, number=number, worksheet=worksheet)
            found.append(Handed(entry, f"{name} ({number})", owner, filename or entry.name))
    return found


def _owner(roster: Roster, name: str, number: str, worksheet: Worksheet) -> str:
    row = worksheet.get(number, {})
    for what, find in _FINDERS:
        if row.get(what) and (found := find(roster, row[what])):
            return only(found, row[what], _ADVICE)
    name = row.get("fullname") or name
    if roster:
        return only(roster.by_name(name), name, _ADVICE)
    if name.casefold() == "participant":
        raise Nobody(f"the assignment is marked blind: {_ADVICE}")
    return as_id(name)


def read_worksheet(table: Table) -> Worksheet:
    """Parse a grading worksheet downloaded from Moodle. Raises UnreadableTable."""
    bare = [re.sub(r"[\W_]", "", h.lower()) for h in table.header]
    if "identifier" not in bare:
        raise UnreadableTable("The worksheet has no column Identifier: download it from the assignment in Moodle.")
    found = {}
    for _, cells in table.rows:
        row = dict(zip(bare, cells, strict=False))
        if match := _NUMBER.fullmatch(row["identifier"]):
            found[match[1]] = row
    return found


# ---- export --------------------------------------------------------------------------------------------------------
HEADER = ("First name", "Last name", "Username", "ID number", "Email address")


def about(person: Person) -> tuple[str, ...]:
    """The cells for ``HEADER``: Moodle's import finds the student by one of the last three."""
    return person.first_name, person.last_name, person.id, person.lms_user_id, person.email

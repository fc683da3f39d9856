"""Moodle: reads the file names in "Download all submissions", and names and times in its grading worksheet.

An entry is called ``Full Name_1234567_assignsubmission_file_/name.ipynb``, without the last underscore in newer
versions, and with another underscore instead of the slash if "Download submissions in folders" is off. Moodle replaces
underscores in the full name with spaces, so no name or file can look like another student's entry. The number
identifies a participant of one assignment (with blind marking the name is "Participant"); only the grading worksheet
of that assignment maps it to a student, so students are found by name. (Moodle's source,
mod/assign/classes/downloader.php: ``get_student_prefix``, ``load_submissionplugin_filelist``.) A text that was typed
online is an entry of its own, ``…_assignsubmission_onlinetext_``.

The grading worksheet is a CSV file with the columns Identifier ("Participant 1234567"), Full name, … and Last modified
(submission): when the student handed in last, or "-" (mod/assign/gradingtable.php: ``col_timesubmitted``). How that
time is written depends on the language of who downloads it (lang/en/langconfig.php: "Sunday, 22 November 2026, 5:57
PM"; English (US): "Sunday, November 22, 2026, 5:57 PM"), its zone on their profile; the zone is not written.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from functools import partial

from autograder.grading.base.names import shown

from .archive import Entry
from .csvfile import Table, UnreadableTable
from .handed import Handed, Nobody, as_id, only
from .moments import read_moment
from .people import Roster, words

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


def handed(entries: Sequence[Entry], depth: int, worksheet: Worksheet, zone: tzinfo | None = None) -> list[Handed]:
    """The submissions; ``depth``: index of Moodle's names in the paths. zone: that of the worksheet's times; None for
    this machine's."""
    found = []
    for entry in entries:
        match = _ENTRY.fullmatch(entry.parts[depth]) if len(entry.parts) > depth else None
        if match:
            name, number = match["name"].strip(), match["number"]
            filename = match["file"] if len(entry.parts) == depth + 1 else entry.name
            owner = partial(_owner, name=name, number=number, worksheet=worksheet)
            typed = "" if match["kind"] == "file" else "a text typed online"
            stamp, untimed = _time(worksheet, number, name, zone)
            who = f"{name} ({number})"
            one = Handed(entry, who, owner, filename or entry.name, stamp=stamp, typed=typed, untimed=untimed)
            back = f"{name}_{number}_assignsubmission_file_{'/' if len(entry.parts) > depth + 1 else ''}"
            found.append(replace(one, listed=bool(stamp), back=back))
    return found


def _time(worksheet: Worksheet, number: str, name: str, zone: tzinfo | None) -> tuple[str, str]:
    """(time of submission in nbgrader's format or "", why there is none or "")."""
    if not worksheet:
        return "", ""
    row = _row(worksheet, number, name)
    if not row:
        return "", "no row with this name and number"
    text = row.get("lastmodifiedsubmission", "")
    if text in ("", "-"):
        return "", "no time"
    moment = read_moment(text, zone)
    return (f"{moment:%Y-%m-%d %H:%M:%S} UTC", "") if moment else ("", f"{shown(text, 50)!r}")


def _row(worksheet: Worksheet, number: str, name: str) -> Mapping[str, str]:
    """The worksheet's row of an entry; empty if it is another one's. Where groups hand in, newer versions of Moodle
    write the group's name and number, which may also be a participant's; older ones "group-Full Name"."""
    row = worksheet.get(number, {})
    whose = words(row.get("fullname", ""))
    mine = {words(name), words(name.partition("-")[2]), words(name.rpartition("-")[2])}
    return row if not whose or whose in mine or name.casefold() == "participant" else {}


def _owner(roster: Roster, name: str, number: str, worksheet: Worksheet) -> str:
    row = _row(worksheet, number, name)
    what, found = found_in(row, roster)
    if found:
        return only(found, what, _ADVICE)
    name = row.get("fullname") or name
    if roster:
        return only(roster.by_name(name), name, _ADVICE)
    if name.casefold() == "participant":
        raise Nobody(f"the assignment is marked blind: {_ADVICE}")
    return as_id(name)


def found_in(row: Mapping[str, str], roster: Roster) -> tuple[str, set[str]]:
    """(the cell of a worksheet's row that names a student, the students so named), without the full name."""
    for column, find in _FINDERS:
        if row.get(column) and (found := find(roster, row[column])):
            return row[column], found
    return "", set()


def bare(header: Sequence[str]) -> list[str]:
    """Names of columns, in lower case and reduced to letters and digits."""
    return [re.sub(r"[\W_]", "", h.lower()) for h in header]


def read_worksheet(table: Table) -> Worksheet:
    """Parse a grading worksheet downloaded from Moodle. Raises UnreadableTable."""
    names = bare(table.header)
    if "identifier" not in names:
        raise UnreadableTable(
            "The worksheet has no column Identifier: set Moodle's language to English, and download the assignment's "
            "grading worksheet again."
        )
    found = {}
    for _, cells in table.rows:
        row = dict(zip(names, cells, strict=False))
        if match := _NUMBER.fullmatch(row["identifier"]):
            found[match[1]] = row
    return found

"""``python -m autograder.classes.collect PATH``: collects a download from Moodle, Canvas, or any tree (make collect).

PATH is a zip or a folder. Nothing in it is trusted, executed or unpacked under its own name; collecting it again
changes nothing.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from autograder.grading.base.masters import gradable_units
from autograder.grading.base.names import is_archive, never_fails, shown
from autograder.grading.base.words import amount
from autograder.grading.book.course import Course, load_course
from autograder.grading.book.database import GradebookError

from . import archive, layouts
from .collecting import Collector, Line, by_student, missing, strays
from .csvfile import UnreadableTable
from .handed import is_work
from .lists import read_lists
from .people import Roster, roster_of
from .stopping import politely

MAX_LINES = 2_000  # lines about students: enough for hundreds of students with all units
MAX_STRAYS = 30


class Refused(ValueError):
    """Nothing was collected; the message says why and what to do."""


def take_in(
    path: Path,
    course: Course,
    unit: str = "",
    worksheet: Path | None = None,
    take: bool = False,
    zone: tzinfo | None = None,
) -> tuple[str, list[Line], Roster]:
    """Collect a download. Returns (program that made it, one line per file, the roster). take: see ``Collector``. zone:
    that of the worksheet's times; None for this machine's.

    Raises Refused, BadArchive, UnreadableTable or GradebookError.
    """
    units = gradable_units()
    if unit and unit not in units:
        raise Refused(f"There is no unit {shown(unit)}. Units: {', '.join(units)}.")
    lists = read_lists(worksheet, zone)
    submitted = course.folder("submitted_directory", ".", ".").resolve()
    if path.is_dir() and (submitted == path.resolve() or submitted in path.resolve().parents):
        raise Refused(f"{shown(str(path), 300)} is where submissions are collected: grade it with `make grade`.")
    roster = roster_of(course)
    with archive.opened(path) as entries:
        made_by, handed, rest = layouts.recognize(entries, units, roster, lists)
        if not handed:
            raise Refused(f"There is nothing to collect in {shown(str(path), 300)}: {_why(entries)}. {layouts.ADVICE}")
        if (made_by == "Canvas" and lists.rows) or (made_by == "Moodle" and lists.uploads):
            raise Refused(f"The download is {made_by}'s, and the worksheet is not: give {made_by}'s, or none.")
        known = {id(e) for e in rest} | {id(h.entry) for h in handed}
        lines = strays([e for e in entries if id(e) not in known and e.problem] + rest)
        owned, nobodys = by_student(handed, roster)
        collector = Collector(course, units, unit, take)
        for one in owned:
            lines += collector.collect(one)
    return made_by, lines + nobodys, roster


def _why(entries: Sequence[archive.Entry]) -> str:
    """Says why no file could be assigned to a student."""
    if any(is_archive(e.name) and len(e.parts) == 1 for e in entries):
        return "it holds archives, which are collected one by one; name one of them"
    some = ", ".join([e.path for e in entries if is_work(e.name)][:3])
    return f"whose files these are cannot be told (for example {some})" if some else "it has no notebook"


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status: 0 if everything was taken, 1 if not, 2 if refused, 130 if stopped."""
    never_fails(sys.stdout, sys.stderr)
    parser = argparse.ArgumentParser(prog="python -m autograder.classes.collect", description=__doc__.split("\n")[0])
    parser.add_argument("path", type=Path, help="zip or folder")
    parser.add_argument("--unit", default="", help="the unit that everything in it belongs to, or the only one to take")
    parser.add_argument("--worksheet", type=Path, help="Moodle's grading worksheet, or Canvas's list of submissions")
    parser.add_argument("--zone", default="", help="time zone of the worksheet's times, such as Europe/Berlin")
    parser.add_argument(
        "--take", action="store_true", help="take what the download holds, also where it was here before"
    )
    options = parser.parse_args(argv)
    return politely(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    try:
        course, zone = load_course(), _zone(options.zone)
        made_by, lines, roster = take_in(options.path, course, options.unit, options.worksheet, options.take, zone)
    except (Refused, archive.BadArchive, UnreadableTable, GradebookError) as error:
        print(error, file=sys.stderr)
        return 2
    zone_name = options.zone or f"{datetime.now().astimezone():%Z}, the zone of this machine"
    return report(made_by, lines, roster, course, zone_name if options.worksheet else "")


def _zone(name: str) -> tzinfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ValueError, OSError, LookupError):
        raise Refused(
            f"There is no time zone {shown(name)}: write it like Europe/Berlin or America/New_York."
        ) from None


def report(made_by: str, lines: Sequence[Line], roster: Roster, course: Course, zone: str = "") -> int:
    """Prints the result for each file; returns the exit status. zone: name of that of the worksheet's times; "" if
    there is no worksheet."""
    print(f"The download is of {made_by}.")
    if made_by == layouts.EXCHANGE:
        print(
            "Entries were taken for those of the students they name; `nbgrader collect`, where the exchange is, checks."
        )
    taken = [line for line in lines if line.what in ("taken", "replaced", "same", "kept")]
    left = [line for line in lines if line.what == "not taken"]
    for line in [line for line in taken if line.what != "same" or line.says][:MAX_LINES]:
        print(line)
    nameless = [line for line in left if not line.student]
    for line in [line for line in left if line.student][:MAX_LINES] + nameless[:MAX_STRAYS]:
        print(line, file=sys.stderr)
    if len(nameless) > MAX_STRAYS:
        print(f"{len(nameless) - MAX_STRAYS} more files are in no folder of a student.", file=sys.stderr)
    for text in _about_times(made_by, taken, zone):
        print(text)
    units = sorted({line.unit for line in taken})
    for unit in units if roster else ():
        told = {line.student for line in left if line.unit in ("", unit)}
        if absent := [student for student in missing(course, roster, unit) if student not in told]:
            print(f"{unit}: nothing from {len(absent)} of the roster: {', '.join(map(shown, absent))}")
    strangers = sorted({line.student for line in taken} - roster.people.keys())
    if strangers:
        print(
            f"not in the roster{'' if roster else ', which is empty (`make roster FILE=students.csv`)'}: "
            f"{', '.join(map(shown, strangers))}"
        )
    count = Counter(line.what for line in lines)
    print(
        f"{amount(len({line.student for line in taken}), 'student')}, {', '.join(units) or 'no unit'}: "
        f"{count['taken']} taken, {count['replaced']} replaced, {count['same']} were there, "
        f"{count['kept']} kept as it was, {count['not taken']} not taken."
    )
    return 1 if left else 0


ADD = {
    "Moodle": "the grading worksheet: WORKSHEET=worksheet.csv",
    "Canvas": "Canvas's list of submissions: WORKSHEET=submissions.json (docs/instructors.md says where it is)",
}


def _about_times(made_by: str, taken: Sequence[Line], zone: str) -> Iterator[str]:
    """Sentences on what is known of when the submissions came, for those platforms that leave it out of a download."""
    if made_by not in ADD:
        return
    nothing = "Nothing is taken off there until submitted/STUDENT/UNIT/timestamp.txt has a time."
    late = [shown(line.student) for line in taken if line.late]
    if not zone:
        yield f"Times: not in this download. Where lateness counts, add {ADD[made_by]}."
    elif made_by == "Moodle":
        yield f'Times: from the worksheet, read as {zone} (another one: ARGS="--zone Europe/Berlin").'
    else:
        yield "Times: from the list of submissions."
    if untimed := [f"{shown(line.student)} ({line.untimed})" for line in taken if line.untimed]:
        yield f"No time that can be read: {', '.join(untimed)}. {nothing}"
    if late:
        yield f"Late, says Canvas, but not since when: {', '.join(late)}. {nothing}"


if __name__ == "__main__":
    sys.exit(main())

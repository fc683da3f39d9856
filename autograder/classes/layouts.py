"""Recognizes the program that made a download by the names at its top level; names below may be chosen by students."""

import re
from collections.abc import Callable, Sequence
from functools import partial

from autograder.grading.intake.opening import BadSubmission
from autograder.grading.intake.stamps import MAX_STAMP, SECRET, STAMP, parse_stamp

from . import canvas, moodle
from .archive import Entry
from .handed import Handed, as_id, is_work, only
from .lists import Lists
from .people import Roster

# nbgrader's exchange, inbound: user+unit+timestamp+random
_INBOUND = re.compile(
    r"(?P<user>.+)\+(?P<unit>[^+]+)\+(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^+]*)(?:\+[^+]*)?", re.S
)
_OF_NBGRADER = (STAMP, SECRET)  # files that the exchange writes beside a submission
EXCHANGE = "nbgrader's exchange"
ADVICE = (
    "A download of Moodle or Canvas, nbgrader's inbound folder or a tree student/unit/unit.ipynb is read, also with "
    "one folder above it."
)


def recognize(
    entries: Sequence[Entry],
    units: Sequence[str],
    roster: Roster,
    lists: Lists,
) -> tuple[str, list[Handed], list[Entry]]:
    """(program that made the download, files of students, notebooks and archives that belong to no student).

    lists: what the platform says beside the download.
    """
    works = [e for e in entries if is_work(e.name)]
    name, found = "a tree of folders", _tree(entries, units, roster)
    for among in (works, entries):  # where nobody handed in a notebook, by what they handed in instead
        for depth in (0, 1):
            for kind, matches, read in (
                ("Moodle", moodle.matches, lambda d: moodle.handed(entries, d, lists.rows, lists.zone)),
                (EXCHANGE, _is_inbound, lambda d: _inbound(entries, d)),
                ("Canvas", canvas.matches, lambda d: canvas.handed(entries, d, lists.uploads)),
            ):
                if _made_by(among, depth, matches, flat=kind == "Canvas"):
                    return kind, *_split(read(depth), works)
        if works and found:
            break
    return name, *_split(found, works)


def _split(found: list[Handed], works: Sequence[Entry]) -> tuple[list[Handed], list[Entry]]:
    taken = {id(h.entry) for h in found}
    return found, [e for e in works if id(e) not in taken]


def _made_by(works: Sequence[Entry], depth: int, matches: Callable[[str], bool], flat: bool) -> bool:
    """True if the names at this depth match a program. At depth 0 one match is enough; below a folder all entries must
    match, because a student's folder may contain a file with any name."""

    def fits(parts: tuple[str, ...]) -> bool:
        return len(parts) > depth and (len(parts) == depth + 1 or not flat) and matches(parts[depth])

    fitting = [fits(e.parts) for e in works if not e.problem]
    return any(fitting) if depth == 0 else bool(fitting) and all(fitting)


def _is_inbound(name: str) -> bool:
    return _INBOUND.fullmatch(name) is not None


def _inbound(entries: Sequence[Entry], depth: int) -> list[Handed]:
    found = []
    for entry in entries:
        if entry.name in _OF_NBGRADER:
            continue
        match = _INBOUND.fullmatch(entry.parts[depth]) if len(entry.parts) > depth + 1 else None
        if match:
            moment = parse_stamp(match["stamp"])
            found.append(
                Handed(
                    entry,
                    match["user"],
                    partial(_known, name=match["user"]),
                    entry.name,
                    match["unit"],
                    match["stamp"] if moment else "",
                    rank=int(moment.timestamp() * 1e6) if moment else 0,
                )
            )
    return found


def _tree(entries: Sequence[Entry], units: Sequence[str], roster: Roster) -> list[Handed]:
    """Files in a tree student/unit/unit.ipynb, or student/any.ipynb if the student is in the roster.

    Student folders are all at the same depth: a folder inside a student's folder is never another student's.
    """
    stamps = {e.parts[:-1]: e for e in entries if e.name == STAMP}
    works = [e for e in entries if is_work(e.name)] or entries
    sound = [e.parts for e in works if not e.problem]
    wrapped = len({parts[0] for parts in sound}) == 1 and all(len(parts) > 2 for parts in sound)
    depth = int(wrapped and not any(parts[1] in units for parts in sound))
    found = []
    for entry in entries:
        if len(entry.parts) < depth + 2 or entry.name in _OF_NBGRADER:
            continue
        student, unit = entry.parts[depth : depth + 2]
        if len(entry.parts) > depth + 2 and unit in units:
            stamp = _stamp(stamps.get(entry.parts[: depth + 2]))
            found.append(Handed(entry, student, partial(_known, name=student), entry.name, unit, stamp))
        elif len(entry.parts) == depth + 2 and (is_work(entry.name) or roster.by_id(student)):
            found.append(Handed(entry, student, partial(_listed, name=student), entry.name))
    return found


def _listed(roster: Roster, name: str) -> str:
    return only(roster.by_id(name), name, "the layout is student/unit/unit.ipynb, or student/any.ipynb with a roster")


def _stamp(entry: Entry | None) -> str:
    if entry is None:
        return ""
    try:
        text = entry.read()[: MAX_STAMP + 1].decode("utf-8-sig", "replace").strip()
    except BadSubmission:
        return ""
    return text if parse_stamp(text) else ""


def _known(roster: Roster, name: str) -> str:
    """The id named by the folder, spelled as in the roster if only upper and lower case differ."""
    student = as_id(name)
    found = roster.by_id(student)
    return next(iter(found)) if len(found) == 1 else student

"""Copies submissions to where they are graded: submitted/student/unit/unit.ipynb. A notebook that is replaced is first
kept in ``earlier/``, a folder next to submitted/ that no grader reads."""

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from anatomy.system import files

from autograder.grading.base.names import NoName, identifier, shown
from autograder.grading.book.course import Course
from autograder.grading.intake.opening import BadSubmission, Folder, below
from autograder.grading.intake.stamps import STAMP, parse_stamp, read_stamp

from .archive import Entry
from .books import Book, contents, some
from .handed import Handed, Nobody
from .people import Roster

EARLIER = "earlier"


@dataclass(frozen=True)
class Line:
    """The result for one submission. what: "taken", "replaced", "same", "kept" (the existing one) or "not taken".
    student, unit: may be "". says: a remark, or the reason. late: the platform marked it as late, and nobody has said
    since when. untimed: why the list of times gives none, or ""."""

    what: str
    student: str
    unit: str
    says: str = ""
    late: bool = False
    untimed: str = ""

    def __str__(self) -> str:
        where = "/".join(shown(n) for n in (self.student, self.unit) if n) or "?"
        return f"{where}: {self.what}{f' ({self.says})' if self.says else ''}"


@dataclass
class Owned:
    """All submissions of one student."""

    student: str
    handed: list[Handed] = field(default_factory=list)


def by_student(handed: Iterable[Handed], roster: Roster) -> tuple[list[Owned], list[Line]]:
    """(submissions of each student, sorted; lines for those that belong to no student)."""
    found: dict[str, Owned] = {}
    owners: dict[str, set[str]] = defaultdict(set)
    lost: dict[str, Line] = {}
    for h in handed:
        try:
            student = h.owner(roster)
        except Nobody as error:
            lost[h.who] = Line("not taken", h.who, h.unit, str(error))
            continue
        owners[student].add(h.who)
        found.setdefault(student, Owned(student)).handed.append(h)
    for student, whose in owners.items():
        if len(whose) > 1:
            names = " and ".join(shown(w) for w in sorted(whose)[:3])
            says = f"{names} are both found as this student: correct the roster, then collect again"
            lost[f"\0{student}"] = Line("not taken", student, "", says)
            del found[student]
    return [found[s] for s in sorted(found)], [lost[k] for k in sorted(lost)]


def spelled(course: Course) -> dict[str, str]:
    """dict student → the name of the folder in submitted/, which may encode é as two characters."""
    found: dict[str, str] = {}
    top = course.folder("submitted_directory", ".", ".")
    with contextlib.suppress(OSError, BadSubmission), Folder(top) as folder:
        for name in folder.names(most=1_000_000)[0]:
            with contextlib.suppress(NoName):
                found.setdefault(identifier(name), name)
    return found


class Collector:
    """Writes into the course's folder of submissions.

    units: all known units. unit: the only one to collect, or "". take: also restore a notebook that was there before
    and has been replaced since.
    """

    def __init__(self, course: Course, units: Sequence[str], unit: str = "", take: bool = False):
        self.course, self.units, self.unit, self.take = course, units, unit, take
        self.earlier = course.root / EARLIER
        self.spelled = spelled(course)

    def collect(self, owned: Owned) -> list[Line]:
        """Collect all submissions of a student; returns the results."""
        found = contents([h for h in owned.handed if not self.unit or h.unit in ("", self.unit)])
        books, lines = found.books, [Line("not taken", owned.student, u, says) for u, says in found.problems]
        chosen: dict[str, list[Book]] = defaultdict(list)
        foreign = []
        for book in books:
            unit = book.handed.unit or self.unit or book.unit
            if self._is_foreign(book):
                foreign.append(book)
            elif unit in self.units and self.unit in ("", unit):
                chosen[unit].append(book)
            elif self.unit in ("", unit):
                says = f"{book.handed.entry.path}: which unit it is stands neither in its cells nor in its name"
                lines.append(Line("not taken", owned.student, "", f"{says}: say it with UNIT="))
        for unit in sorted(chosen):
            lines += self._of_unit(owned.student, unit, chosen[unit], foreign)
        if foreign and not chosen:
            lines.append(self._nothing_of_unit(owned.student, foreign))
        for unit, others in found.others.items():
            self._add_others(owned.student, unit, others, lines)
        return lines

    def _add_others(self, student: str, unit: str, others: Sequence[str], lines: list[Line]) -> None:
        """Names the files that are no notebooks in the line about their unit, or in a line of their own."""
        at = next((i for i, line in enumerate(lines) if unit in ("", line.unit)), None)
        if at is None:
            says = f"only {some(others)}, and no notebook: ask for the .ipynb file"
            lines.append(Line("not taken", student, unit or self.unit, says))
            return
        beside = f"not {some(others)}: only the notebook is graded"
        lines[at] = replace(lines[at], says="; ".join(filter(None, [lines[at].says.rstrip("."), beside])))

    def _is_foreign(self, book: Book) -> bool:
        """True if its cells belong to a different unit than the one to collect: a typo in UNIT= would put the notebooks
        of a whole class where they earn no points. If a folder names the unit, the folder counts."""
        return bool(self.unit and book.of_marks) and not book.handed.unit and book.of_marks != self.unit

    def _nothing_of_unit(self, student: str, foreign: Sequence[Book]) -> Line:
        units = sorted({b.of_marks for b in foreign})
        says = f"its cells are those of {' and '.join(units)}, not of {self.unit}"
        return Line("not taken", student, self.unit, f"{says}: leave UNIT out, or say UNIT={' or UNIT='.join(units)}")

    def _of_unit(self, student: str, unit: str, books: list[Book], foreign: list[Book]) -> list[Line]:
        # Several attempts with times of their own: write all in order, the last one stays.
        if any(b.handed.stamp and not b.handed.listed for b in books):
            books.sort(key=lambda b: b.handed.rank)
            lines = [self._put(student, unit, b) for b in books]
            return lines[-1:] + [line for line in lines[:-1] if line.what == "not taken"]
        book, others = self._choose(unit, books)
        if book is None:
            names = ", ".join(b.handed.entry.path for b in books[:5])
            return [Line("not taken", student, unit, f"which notebook counts cannot be told: {names}")]
        line = self._put(student, unit, book)
        remarks = [line.says] if line.says else []
        if others := others + foreign:
            remarks.append(f"not {', '.join(shown(b.handed.filename) for b in others[:3])}")
        if book.of_marks not in ("", unit):
            remarks.append(f"its cells are those of {book.of_marks}")
        if book.name != book.handed.filename:
            remarks.append(f"its name was {shown(book.handed.filename)}")
        if line.what in ("kept", "not taken"):
            return [replace(line, says="; ".join(remarks))]
        timed = self._stamp(student, unit) is not None
        if book.handed.late:
            remarks.append("late, says Canvas")
        untimed = "" if timed else book.handed.untimed
        return [replace(line, says="; ".join(remarks), late=book.handed.late and not timed, untimed=untimed)]

    @staticmethod
    def _choose(unit: str, books: list[Book]) -> tuple[Book | None, list[Book]]:
        """(the notebook that counts or None, the others that differ from it); chosen by unit, file name, then time."""
        for fits in (
            lambda b: True,
            lambda b: b.unit == unit,
            lambda b: b.of_marks == unit,
            lambda b: b.name == f"{unit}.ipynb",
            lambda b: b.handed.rank and b.handed.rank == max(o.handed.rank for o in books),
        ):
            some = [b for b in books if fits(b)]
            if some and len({b.digest for b in some}) == 1:
                return some[0], [b for b in books if b.digest != some[0].digest]
        return None, books

    # ---- writing ---------------------------------------------------------------------------------------------------
    def _put(self, student: str, unit: str, book: Book) -> Line:
        """Write one notebook to its place. First keep the one that it replaces, then write the time stamp, then the
        notebook, so that after an interruption collecting again repairs everything."""
        folder = self._folder(student, unit)
        path, stamp = folder / f"{unit}.ipynb", book.handed.stamp
        try:
            self._no_links(folder)
            old, old_stamp = self._there(folder, path.name)
            if old == book.digest and (not stamp or stamp == old_stamp):
                return Line("same", student, unit)
            if old in (None, book.digest) and old_stamp and book.handed.listed and not self.take:
                says = f"{STAMP} says {old_stamp}, the list {stamp}; `ARGS=--take` takes the list's"
                if old is None:
                    files.replace(path, book.handed.entry.read())
                return Line("same" if old else "taken", student, unit, "" if stamp == old_stamp else says)
            if old and old != book.digest:
                if reason := self._older(student, unit, book, old_stamp):
                    self._keep(student, unit, book.handed.entry.read(), book.digest, stamp)
                    return Line("kept", student, unit, reason)
                self._keep(student, unit, self._read(folder, path.name), old, old_stamp or "")
            data = book.handed.entry.read()
            if stamp:
                files.replace(folder / STAMP, f"{stamp}\n".encode())
            elif old not in (None, book.digest):  # the existing time stamp belongs to the previous notebook
                (folder / STAMP).unlink(missing_ok=True)
            files.replace(path, data)
        except BadSubmission as error:
            return Line("not taken", student, unit, str(error))
        except OSError as error:
            return Line("not taken", student, unit, f"{path.name} could not be written: {error.strerror or error}")
        self.spelled.setdefault(student, student)
        if old is None:
            return Line("taken", student, unit)
        if old == book.digest:
            return Line("same", student, unit, f"now with its time, {stamp}")
        return Line("replaced", student, unit, f"the one before is in {self.earlier.name}/")

    def _folder(self, student: str, unit: str) -> Path:
        return self.course.folder("submitted_directory", self.spelled.get(student, student), unit)

    def _stamp(self, student: str, unit: str) -> str | None:
        """The time stamp that now lies beside a student's notebook; None if there is none that can be read."""
        folder = self._folder(student, unit)
        with below(folder.parent, [folder.name]) as here:
            return read_stamp(here)[0]

    def _no_links(self, folder: Path) -> None:
        """Raises BadSubmission if a folder on the path is a link or not a folder: a student may have made it."""
        for part in (folder.parent, folder):
            if part.is_symlink() or (part.exists() and not part.is_dir()):
                raise BadSubmission("submission.layout", f"{shown(str(part), 300)} is not a folder: remove it.")

    @staticmethod
    def _there(folder: Path, name: str) -> tuple[str | None, str | None]:
        """(digest of the existing notebook, its time stamp), each None if missing."""
        if not folder.exists():
            return None, None
        with below(folder.parent, [folder.name]) as here:
            stamp = read_stamp(here)[0]
            if not here.kind(name):
                return None, stamp
            return here.digest(name), stamp

    @staticmethod
    def _read(folder: Path, name: str) -> bytes:
        with below(folder.parent, [folder.name]) as here:
            return here.read(name)

    def _older(self, student: str, unit: str, book: Book, old_stamp: str | None) -> str:
        """The reason why the submission counts as older than the existing notebook, or "". Compares the times if both
        are known; but a list beside an old download can give it the time of a newer upload. Otherwise a notebook found
        in ``earlier/`` is older: an old download collected again is more likely than a student who went back to an old
        version. ``take`` says that the student did."""
        new, old = (parse_stamp(s) if s else None for s in (book.handed.stamp, old_stamp))
        if new and old and new < old:
            kept = f"{self.earlier.name}/{student}/{unit}/"
            return f"what is there came later; the one from this download: {kept}"
        if new and old and not book.handed.listed:
            return ""
        if self.take or not self._is_kept(student, unit, book.digest):
            return ""
        return "this file was here before and was replaced since; `ARGS=--take` takes it again"

    def _is_kept(self, student: str, unit: str, digest: str) -> bool:
        return any((self.earlier / student / unit).glob(f"*-{digest[:16]}.ipynb"))

    def _keep(self, student: str, unit: str, data: bytes, digest: str, stamp: str) -> None:
        folder = self.earlier / student / unit
        if self._is_kept(student, unit, digest):
            return
        moment = parse_stamp(stamp) if stamp else None
        name = f"{(moment or datetime.now(UTC)).strftime('%Y%m%dT%H%M%S')}-{digest[:16]}"
        if stamp:
            files.replace(folder / f"{name}.timestamp.txt", f"{stamp}\n".encode())
        files.replace(folder / f"{name}.ipynb", data)


def missing(course: Course, roster: Roster, unit: str) -> list[str]:
    """Students of the roster without a notebook of this unit, sorted."""
    folders = spelled(course)

    def there(student: str) -> bool:
        return (course.folder("submitted_directory", folders.get(student, student), unit) / f"{unit}.ipynb").exists()

    return sorted(s for s in roster.people if not there(s))


def strays(entries: Iterable[Entry]) -> list[Line]:
    """Lines for files that cannot be read or belong to no student."""
    return [Line("not taken", "", "", f"{e.path} {e.problem or 'is in no folder of a student'}") for e in entries]

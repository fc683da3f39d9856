"""Copies submissions to where they are graded: submitted/student/unit/unit.ipynb. A notebook that is replaced is first
kept in ``earlier/``, a folder next to submitted/ that no grader reads."""

import contextlib
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from anatomy.system import files

from autograder.grading.base.names import NoName, identifier, is_archive, shown
from autograder.grading.book.course import Course
from autograder.grading.intake.opening import BadSubmission, Folder, below
from autograder.grading.intake.stamps import STAMP, parse_stamp, read_stamp

from .archive import Entry, unpacked
from .handed import Handed, Nobody
from .people import Roster
from .units import by_marks, by_name

EARLIER = "earlier"


@dataclass(frozen=True)
class Line:
    """The result for one submission. what: "taken", "replaced", "same", "kept" (the existing one) or "not taken".
    student, unit: may be "". says: a remark, or the reason."""

    what: str
    student: str
    unit: str
    says: str = ""

    def __str__(self) -> str:
        where = "/".join(shown(n) for n in (self.student, self.unit) if n) or "?"
        return f"{where}: {self.what}{f' ({self.says})' if self.says else ''}"


@dataclass(frozen=True)
class Book:
    """A notebook of a student. of_marks: the unit to which its cells belong, or ""."""

    handed: Handed
    digest: str
    of_marks: str

    @property
    def unit(self) -> str:
        """The unit, from its cells or else its file name, or ""."""
        return self.of_marks or by_name(self.handed.filename)


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
        books, lines = self._books(owned)
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
        return lines

    def _is_foreign(self, book: Book) -> bool:
        """True if its cells belong to a different unit than the one to collect: a typo in UNIT= would put the notebooks
        of a whole class where they earn no points. If a folder names the unit, the folder counts."""
        return bool(self.unit and book.of_marks) and not book.handed.unit and book.of_marks != self.unit

    def _nothing_of_unit(self, student: str, foreign: Sequence[Book]) -> Line:
        units = sorted({b.of_marks for b in foreign})
        says = f"its cells are those of {' and '.join(units)}, not of {self.unit}"
        return Line("not taken", student, self.unit, f"{says}: leave UNIT out, or say UNIT={' or UNIT='.join(units)}")

    def _books(self, owned: Owned) -> tuple[list[Book], list[Line]]:
        books, lines = [], []
        for h in owned.handed:
            try:
                inside = unpacked(h.entry) if is_archive(h.entry.name) else [h.entry]
                if not inside:
                    raise BadSubmission("submission.empty", f"{h.entry.path} has no notebook in it.")
            except BadSubmission as error:
                lines.append(Line("not taken", owned.student, h.unit, str(error)))
                continue
            for entry in inside:
                one = h if entry is h.entry else replace(h, entry=entry, filename=entry.name)
                try:
                    data = entry.read()
                    books.append(Book(one, hashlib.sha256(data).hexdigest(), by_marks(data)))
                except BadSubmission as error:
                    lines.append(Line("not taken", owned.student, h.unit, str(error)))
        return books, lines

    def _of_unit(self, student: str, unit: str, books: list[Book], foreign: list[Book]) -> list[Line]:
        if any(b.handed.stamp for b in books):  # several attempts with times: write all in order, the last one stays
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
        if book.handed.late:
            remarks.append("late, says Canvas; the time is not in the download")
        return [replace(line, says="; ".join(remarks))]

    @staticmethod
    def _choose(unit: str, books: list[Book]) -> tuple[Book | None, list[Book]]:
        """(the notebook that counts or None, the others that differ from it); chosen by unit, file name, then time."""
        for fits in (
            lambda b: True,
            lambda b: b.unit == unit,
            lambda b: b.of_marks == unit,
            lambda b: b.handed.filename == f"{unit}.ipynb",
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
        folder = self.course.folder("submitted_directory", self.spelled.get(student, student), unit)
        path, stamp = folder / f"{unit}.ipynb", book.handed.stamp
        try:
            self._no_links(folder)
            old, old_stamp = self._there(folder, path.name)
            if old == book.digest and (not stamp or stamp == old_stamp):
                return Line("same", student, unit)
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
        if old in (None, book.digest):
            return Line("taken" if old is None else "same", student, unit)
        return Line("replaced", student, unit, f"the one before is in {self.earlier.name}/")

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
        are known. Otherwise a notebook found in ``earlier/`` is older: an old download collected again is more likely
        than a student who went back to an old version. ``take`` says that the student did."""
        new, old = (parse_stamp(s) if s else None for s in (book.handed.stamp, old_stamp))
        if new and old:
            kept = f"{self.earlier.name}/{student}/{unit}/"
            return f"what is there came later; the one from this download: {kept}" if new < old else ""
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

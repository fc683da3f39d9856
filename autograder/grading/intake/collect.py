"""Finds submissions in a folder laid out ``student/unit/unit.ipynb``.

Its contents come from students: all files are opened through ``opening``, all names are shown through ``names``, and a
problem affects only the entry that it is about.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from anatomy.system.translation import _

from ..base.masters import gradable_units
from ..base.names import NoName, identifier, is_archive, is_junk, is_notebook, shown
from .locating import locate
from .opening import BadSubmission, Folder, Problem
from .stamps import read_secret, read_stamp

MAX_LINES = 10  # remarks about odd entries in one student's folder, which can hold thousands
LAYOUT = "the layout is student/unit/unit.ipynb"
# Problems of the folder, not of a unit's submission: no score is stored for them, and each run reports them again.
_UNSTORED = ("submission.unknown_unit", "submission.layout", "submission.empty", "submission.name", "submission.twice")


@dataclass(frozen=True)
class Submission:
    """One file to grade.

    Attributes:
        student, unit: as they are stored and shown; names that are not valid, as ``names.shown`` returns them.
        root, parts: the file is ``root/parts[0]/…``, with the names that the file system has.
        digest: SHA-256 of the file's bytes, or of the problem.
        timestamp: nbgrader's text for the time of submission, or None.
        problem: why it cannot be graded at all, or None.
        notes: other remarks.
        secret: the secret that nbgrader's exchange put next to it, or "".
    """

    student: str
    unit: str
    root: str
    parts: tuple[str, ...]
    digest: str = ""
    timestamp: str | None = None
    problem: Problem | None = None
    notes: tuple[Problem, ...] = ()
    secret: str = ""

    @property
    def path(self) -> str:
        return os.path.join(self.root, *self.parts)

    @property
    def known(self) -> bool:
        """True if this is a unit's submission, so that a score (zero if there is a problem) can be stored for it."""
        return self.problem is None or self.problem[0] not in _UNSTORED


def find(folder: str | os.PathLike[str], units: Collection[str] | None = None) -> list[Submission]:
    """Submissions in ``folder``, sorted by student and unit; only those of ``units`` if given.

    Odd entries that belong to no unit are always included, so that every run reports them.
    Raises OSError if the folder itself cannot be read; nothing inside it raises.
    """
    found: list[Submission] = []
    with Folder(folder) as top:
        try:
            names, __ = top.names(most=1_000_000)
        except BadSubmission as error:
            raise OSError(None, str(error)) from None
        for name in names:
            if not is_junk(name):
                found += _Student(top, name).submissions(units)
    return sorted(_distinct(found), key=lambda s: (s.student, s.unit, s.parts))


class _Student:
    """An entry of the top folder: one student's folder, or something odd."""

    def __init__(self, top: Folder, name: str):
        self.top, self.name, self.student = top, name, shown(name)

    def submissions(self, units: Collection[str] | None) -> list[Submission]:
        kind = self.top.kind(self.name)
        if kind == "file" and not is_notebook(self.name) and not is_archive(self.name):
            return []  # an instructor's own file, such as a class list
        try:
            if kind != "folder":
                raise BadSubmission("submission.layout", self._misplaced(kind))
            self.student = identifier(self.name)
            with self.top.folder(self.name) as folder:
                return self._of_units(folder, units)
        except NoName as error:
            return [self._odd("", (self.name,), ("submission.name", f"This folder was left out: {error}."))]
        except BadSubmission as error:
            return [self._odd("", (self.name,), ("submission.layout", str(error)))]

    def _misplaced(self, kind: str) -> str:
        if kind == "file" and is_archive(self.name):
            return f"{shown(self.name)} is an archive: unpack it, {LAYOUT}."
        what = f" It is {kind}, not a folder." if kind not in ("file", "") else ""
        return f"{shown(self.name)} does not stand in a folder student/unit: {LAYOUT}.{what}"

    def _of_units(self, folder: Folder, units: Collection[str] | None) -> list[Submission]:
        names, more = folder.names()
        known, found = gradable_units(), list[Submission]()
        if more:  # the units are then looked up by name
            sentence = f"The folder has more than {len(names)} entries; only the course's units were looked for."
            found.append(self._odd("", (self.name,), ("submission.layout", sentence)))
            names = []
        units_here = [u for u in known if u in names or (more and folder.kind(u))]
        odd = [s for n in names if n not in units_here and not is_junk(n) and (s := self._stray(folder, n))]
        if not odd and not units_here and not more:
            sentence = f"There is no unit in the folder of {self.student}: {LAYOUT}."
            return [self._odd("", (self.name,), ("submission.empty", sentence))]
        found += odd[:MAX_LINES]
        if len(odd) > MAX_LINES:
            sentence = f"{len(odd) - MAX_LINES} more entries of this folder are no unit's folders."
            found.append(self._odd("", (self.name,), ("submission.layout", sentence)))
        return found + [self._of_unit(folder, u) for u in units_here if not units or u in units]

    def _stray(self, folder: Folder, name: str) -> Submission | None:
        """The remark about an entry of a student's folder that is not a unit's; None for a file that can be ignored."""
        kind = folder.kind(name)
        if kind == "folder":
            sentence = f"There is no unit {shown(name)!r}. Units: {', '.join(gradable_units())}."
            return self._odd(shown(name), (self.name, name), ("submission.unknown_unit", sentence))
        if is_notebook(name):
            sentence = f"{shown(name)} stands outside a unit's folder: {LAYOUT}."
            return self._odd(shown(name[:-6]), (self.name, name), ("submission.layout", sentence))
        if kind == "file" and is_archive(name):
            return self._odd("", (self.name, name), ("submission.layout", f"{shown(name)} is an archive: unpack it."))
        if kind != "file":
            sentence = f"{shown(name)} is {kind or 'gone'}, not the folder of a unit."
            return self._odd("", (self.name, name), ("submission.layout", sentence))
        return None

    def _of_unit(self, folder: Folder, unit: str) -> Submission:
        parts, stamp, secret, odd = (self.name, unit, f"{unit}.ipynb"), None, "", list[Problem | None]()
        try:
            with folder.folder(unit) as here:
                stamp, about_time = read_stamp(here)
                odd.append(about_time)
                secret = read_secret(here)
                name, about_name = locate(here, unit)
                odd.append(about_name)
                parts = (self.name, unit, name)
                found = Submission(self.student, unit, self.top.path, parts, here.digest(name), stamp)
        except BadSubmission as error:
            found = replace(self._odd(unit, parts, (error.name, str(error))), timestamp=stamp)
        return replace(found, secret=secret, notes=tuple(o for o in odd if o))

    def _odd(self, unit: str, parts: tuple[str, ...], problem: Problem) -> Submission:
        digest = hashlib.sha256(": ".join(problem).encode()).hexdigest()
        return Submission(self.student, unit, self.top.path, parts, digest, None, problem)


def _distinct(found: list[Submission]) -> Iterator[Submission]:
    """Marks submissions from folders with confusingly similar names.

    If two folder names differ only in their bytes (é as one or two characters), neither counts, because it is unclear
    which one is the student's. Names that differ only in capitals are two students, with a note.
    """
    places = Counter((s.student, s.unit) for s in found if s.known)
    spellings = {s.student: s.student.casefold() for s in found if s.known}
    alike = Counter(spellings.values())
    for s in found:
        if s.known and places[s.student, s.unit] > 1:
            sentence = _("Two folders are named {name}, in two spellings of the same letters: leave one of them.")
            yield replace(s, problem=("submission.twice", sentence.format(name=s.student)))
        elif s.known and alike[spellings[s.student]] > 1:
            sentence = _("Another folder's name differs in capital letters only; they were graded as two students.")
            yield replace(s, notes=(*s.notes, ("submission.same_letters", sentence)))
        else:
            yield s

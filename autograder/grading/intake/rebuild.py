"""Rebuilds a submission from the trusted notebook, and copies only what a student may write.

It copies the answer cells' sources (``matching.py`` finds these cells), the written answer's text, and the student's
own code cells. Everything else (check cells, metadata, outputs, points, kernel, text) comes from the course, so changes
to it have no effect.

Work and result are bounded for any file: each part is read once, and everything that a student can repeat (cells,
source, marks, remarks about them) has a limit.
"""

import copy
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import nbformat
from anatomy.system import translation
from anatomy.system.translation import _
from nbformat import NotebookNode

from autograder.notebooks import wording
from autograder.notebooks.first_cell import is_first_cell

from ..base.inert import as_text
from ..base.masters import MARK, Master, master
from ..base.names import shown
from ..base.notes import MAX_NOTES, Note, few
from ..source.defining import names_of
from . import pictures
from .absences import absences
from .matching import Matched, match
from .opening import BadSubmission, read_submission
from .raw import MAX_SOURCE, RawCell, cells_of, grade_id_of, source_of, squeezed
from .slips import slips

__all__ = ["MAX_NOTES", "BadSubmission", "Note", "Rebuilt", "read_submission", "rebuild"]

MAX_CELLS = 5_000  # of the file; the course's longest notebook has about a hundred
MAX_OWN = 1_000_000  # characters of all the student's own cells
MAX_EXTRA = 500  # the student's own code cells
MAX_TRIES = 9_999  # a larger number is made up
MAX_WRITTEN = 20_000  # characters of the written answer, which should be a few sentences
LANGUAGE = "anatomy_language"  # in the rebuilt notebook's metadata: the language of the submitted one


@dataclass
class Rebuilt:
    """A rebuilt submission.

    notebook: the trusted notebook with the student's sources, roles in the metadata, no outputs. notes: remarks.
    absent: ids of exercises whose answer is missing. tries: exercise → how often it was checked, according to the
    submitted outputs, which the student can change.
    """

    notebook: NotebookNode
    notes: list[Note] = field(default_factory=list)
    absent: set[str] = field(default_factory=set)
    tries: dict[str, int] = field(default_factory=dict)


@dataclass
class _Own:
    """A cell of the student's own. answer: id of the exercise that it answers, or ""."""

    source: str
    answer: str = ""


class _Owns:
    """The student's own cells, up to the limits, grouped by the course's cell next to which they run.

    ahead: name of a course cell → cells that run before it. behind: name → cells that run after it; None → cells that
    run after the course's first setup cell.
    """

    def __init__(self) -> None:
        self.ahead: dict[str | None, list[_Own]] = {}
        self.behind: dict[str | None, list[_Own]] = {}
        self.count = self.size = 0

    def add(self, place: dict[str | None, list[_Own]], name: str | None, own: _Own, counts: bool = True) -> None:
        """Adds a cell, up to the limits. counts: False for an edited cell of the course, which is not an extra one."""
        self.count += counts
        self.size += len(own.source)
        if self.count <= MAX_EXTRA and self.size <= MAX_OWN:
            place.setdefault(name, []).append(own)

    def notes(self) -> Iterable[Note]:
        if self.size > MAX_OWN:
            sentence = _(
                "The cells of your own have {size} characters; of these the first {most} were run, in whole cells."
            ).format(size=self.size, most=MAX_OWN)
            yield Note("submission.long_source", sentence, suspicious=True)
        if self.count > MAX_EXTRA:
            sentence = _("Of {n} cells of your own the first {most} were run.").format(n=self.count, most=MAX_EXTRA)
            yield Note("submission.many_cells", sentence, suspicious=True)


def rebuild(data: bytes, unit: str) -> Rebuilt:
    """Rebuilds a notebook from the bytes of a submission.

    Raises BadSubmission (not JSON, not a notebook, no cell of the course) or masters.UnknownUnit.
    """
    trusted = master(unit)
    cells = cells_of(data)
    with translation.speaking(_language_in(cells)):
        return _rebuilt(cells, trusted)


def blank(trusted: Master) -> NotebookNode:
    """A copy of the unit's notebook that says which language is in use."""
    notebook = copy.deepcopy(trusted.notebook)
    if translation.language() != translation.ENGLISH:
        notebook.metadata[LANGUAGE] = translation.language()
    return notebook


def _language_in(cells: Sequence[RawCell]) -> str:
    """The language that a submitted notebook sets, or the one in use, which is the class's."""
    return next(filter(None, (translation.spoken_by(source_of(c)) for c in cells[:MAX_CELLS])), translation.language())


def _rebuilt(cells: list[RawCell], trusted: Master) -> Rebuilt:
    result = Rebuilt(blank(trusted))
    if len(cells) > MAX_CELLS:
        sentence = _("Of {n} cells in the file the first {most} were looked at.")
        sentence = sentence.format(n=len(cells), most=MAX_CELLS)
        result.notes.append(Note("submission.many_cells", sentence, suspicious=True))
        del cells[MAX_CELLS:]
    matched = match(cells, trusted)
    result.notes += matched.notes
    result.absent = matched.absent
    for cell in result.notebook.cells:
        mark = cell.metadata[MARK] = _role(cell, trusted)
        if mark["role"] == "answer" and mark["exercise"] in matched.open | matched.absent:
            cell.source = ""
    owns = _transplant(cells, matched, trusted, result)
    result.notes += owns.notes()
    _note_missing(matched, trusted, result)
    _insert(owns, result)
    result.notes += absences(result.notebook) + slips(result.notebook)
    result.notes = few(result.notes)
    return result


def _role(cell: NotebookNode, trusted: Master) -> dict[str, str]:
    name = grade_id_of(cell)
    if name in trusted.written:
        return {"role": "written"}
    if cell.cell_type != "code":
        return {"role": "text"}
    if name in trusted.answers:
        return {"role": "answer", "exercise": trusted.answers[name].id}
    if name in trusted.checks:
        return {"role": "check", "exercise": trusted.checks[name].id}
    return {"role": "setup" if "setup" in cell.metadata.get("tags", []) else "demo"}


def _transplant(cells: Sequence[RawCell], matched: Matched, trusted: Master, result: Rebuilt) -> _Owns:
    """Copies the answers into the result; returns the student's own code cells."""
    owns, before = _Owns(), None
    known = {grade_id_of(c) or c.get("id"): c for c in result.notebook.cells}
    # Copies of the course's cells are not run as the student's own.
    courses = {squeezed(c.source) for c in trusted.notebook.cells if c.cell_type == "code"}
    seen: set[str] = set()
    for number, (cell, name) in enumerate(zip(cells, matched.names, strict=True)):
        source = source_of(cell)
        if name is None:
            if translation.spoken_by(source):  # the first cell of a notebook in another language
                continue
            result.notes += _alien(cell, known)
            if number not in matched.dropped and cell.get("cell_type") == "code" and squeezed(source) not in courses:
                if source.strip() and not is_first_cell(source):  # it calls pip, which would look suspicious
                    own = _Own(_limited(source, result), matched.found.get(number, ""))
                    owns.add(owns.behind, before, own)
            continue
        target, before = known[name], name
        mark = target.metadata[MARK]
        if mark["role"] == "answer":
            if number == matched.chosen.get(name) and mark["exercise"] not in matched.open:
                target.source = _limited(source, result)
            elif number in matched.before.get(name, ()):
                owns.add(owns.ahead, name, _Own(_limited(source, result)))
            elif number in matched.after.get(name, ()):
                owns.add(owns.behind, name, _Own(_limited(source, result)))
        elif mark["role"] == "check":
            result.tries |= _tries(cell, mark["exercise"])
            if squeezed(source) != squeezed(target.source):  # a plain copy is harmless
                sentence = _("The check cell of {exercise} was changed; the course's own was used.")
                sentence = sentence.format(exercise=mark["exercise"])
                result.notes.append(Note("submission.check_altered", sentence, mark["exercise"], suspicious=True))
        elif mark["role"] == "setup" and name not in seen and squeezed(source) != squeezed(target.source):
            # An import added to the course's import cell is the most natural thing to do: run it, after the original.
            owns.add(owns.behind, name, _Own(_limited(source, result)), counts=False)
        elif mark["role"] == "written" and source.strip() and not is_stub(source, name, trusted):
            target.source = as_text(_limited(source, result, MAX_WRITTEN))
            result.notes += pictures.take(cell, target)
        seen.add(name)
        _note_marks(cell, target, mark, trusted, result)
    return owns


def _alien(cell: RawCell, known: Container[str | None]) -> Iterator[Note]:
    name = grade_id_of(cell)
    if name is not None and name not in known:
        sentence = _("A cell is marked {name!r}, which the course does not have; it earns nothing.")
        yield Note("submission.alien_marks", sentence.format(name=shown(name, 60)), suspicious=True)


def _given(name: str, trusted: Master) -> str:
    """A cell's text as the course hands it out; "" if the course has no such cell."""
    return next((c.source for c in trusted.notebook.cells if grade_id_of(c) == name), "")


def is_stub(source: str, name: str, trusted: Master) -> bool:
    """True if a written answer is still the stub, in any of the languages."""
    given = {squeezed(_given(name, trusted))}
    for language in translation.languages():
        with translation.speaking(language):
            given.add(squeezed(translation.said(wording.BUILD, wording.WRITE_HERE)))
    return squeezed(source) in given


def language_of(notebook: NotebookNode | None) -> str:
    """The language for messages about a rebuilt notebook: that of the submitted one, or of the class if there is none.

    The class's language is the one in use (``speaking``).
    """
    return translation.language() if notebook is None else str(notebook.metadata.get(LANGUAGE, translation.ENGLISH))


def _tries(cell: RawCell, exercise: str) -> dict[str, int]:
    """{exercise: number of checks} from the metadata that ``anatomy.check`` leaves in its output; {} if missing."""
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        about = output
        for key in ("metadata", MARK):
            about = about.get(key) if isinstance(about, dict) else None
        if isinstance(about, dict) and about.get("exercise") == exercise:
            tries = about.get("tries")
            if type(tries) is int and 0 < tries <= MAX_TRIES:
                return {exercise: tries}
    return {}


def _note_marks(cell: RawCell, target: NotebookNode, mark: dict[str, str], trusted: Master, result: Rebuilt) -> None:
    """Adds a note about changed marks that a student cannot have changed by accident."""
    theirs = cell["metadata"].get("nbgrader") if isinstance(cell.get("metadata"), dict) else None
    if not isinstance(theirs, dict) or mark["role"] not in ("answer", "check"):
        return
    ours = target.metadata.nbgrader
    changed = [k for k in theirs if k in ("grade", "points", "solution", "locked") and theirs[k] != ours.get(k)]
    points = next(e.points for e in trusted.exercises if e.id == mark["exercise"]) if mark["role"] == "check" else None
    # The points also differ if the exercise became an extension, or ceased to be one, after the notebook was released.
    changed = sorted(k for k in changed if k != "points" or theirs[k] not in (0, points))
    added = sorted(str(k)[:40] for k in theirs if k in ("score", "manual_score", "auto_score", "extra_credit"))
    if changed or added:
        sentence = _("The marks of a cell of {exercise} were changed ({names}); the course's own were used.")
        sentence = sentence.format(exercise=mark["exercise"], names=translation.listed(changed + added))
        result.notes.append(Note("submission.marks_altered", sentence, mark["exercise"], suspicious=True))


def _note_missing(matched: Matched, trusted: Master, result: Rebuilt) -> None:
    there = set(matched.names)
    for exercise in trusted.answers.values():
        if exercise.id in matched.absent:
            sentence = _("The answer cell of {exercise} is not in the submission, and no other cell defines {names}.")
            sentence = sentence.format(exercise=exercise.id, names=names_of(exercise))
            result.notes.append(Note("submission.answer_missing", sentence, exercise.id))
    for name, exercise in trusted.checks.items():
        if name not in there:
            sentence = _("The check cell of {exercise} is not in the submission; the course's own was used.")
            sentence = sentence.format(exercise=exercise.id)
            result.notes.append(Note("submission.check_missing", sentence, exercise.id))
    if not there.issuperset(trusted.written):
        sentence = _("The cell of the written answer is not in the submission; it counts as empty.")
        result.notes.append(Note("submission.written_missing", sentence))


def _insert(owns: _Owns, result: Rebuilt) -> None:
    """Inserts the student's own cells where they were among the course's cells."""
    cells: list[NotebookNode] = []
    answers: dict[str, NotebookNode] = {}  # exercise → the student's own cell that has its answer
    number = 0

    def add(some: Iterable[_Own]) -> None:
        nonlocal number
        for own in some:
            number += 1
            cell = nbformat.v4.new_code_cell(own.source)
            cell["id"] = f"extra-{number}"
            cell.metadata[MARK] = {"role": "extra"}
            cells.append(cell)
            if own.answer:
                answers[own.answer] = cell

    first = True
    for cell in result.notebook.cells:
        name = grade_id_of(cell) or cell.get("id")
        add(owns.ahead.pop(name, []))
        cells.append(cell)
        add(owns.behind.pop(name, []))
        if first and cell.metadata[MARK]["role"] == "setup":
            add(owns.behind.pop(None, []))  # cells above all course cells still need the course's imports
            first = False
    add(own for some in owns.behind.values() for own in some)
    for exercise, own in answers.items():
        _move(own, exercise, cells)
    result.notebook.cells = cells


def _move(own: NotebookNode, exercise: str, cells: list[NotebookNode]) -> None:
    """Moves an answer from the student's own cell into its answer cell, if no other code that runs is in between."""
    place, target = next(
        (i, c) for i, c in enumerate(cells) if c.metadata[MARK] == {"role": "answer", "exercise": exercise}
    )
    now = next(i for i, c in enumerate(cells) if c is own)
    first, last = sorted((place, now))
    between = cells[first + 1 : last]
    if not any(c.source.strip() and c.metadata[MARK]["role"] in ("setup", "answer", "extra") for c in between):
        target.source = own.source
        del cells[now]


def _limited(source: str, result: Rebuilt, most: int = MAX_SOURCE) -> str:
    if len(source) > most:
        sentence = _("A cell of {n} characters was cut to {most}.").format(n=len(source), most=most)
        result.notes.append(Note("submission.long_cell", sentence, suspicious=True))
    return source[:most]

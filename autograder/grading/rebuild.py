"""A submission, rebuilt from the trusted notebook: only what a student may write is taken over.

Taken over are the answer cells' sources, found by their grade_id, and the student's own code cells. Everything else
(check cells, metadata, outputs, points, kernel, text) is the course's own, so nothing that was done to it matters.

Work and result are bounded whatever the file holds: each part of it is looked at once, and of everything that a student
can have any number of (cells, source, marks, remarks about them) a limited number counts.
"""

import copy
import json
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any

import nbformat

from .masters import Master, gradable_units, master
from .names import shown
from .opening import BadSubmission, read_submission

__all__ = ["MARK", "BadSubmission", "Note", "Rebuilt", "read_submission", "rebuild"]

MAX_CELLS = 5_000  # of the file; the course's longest notebook has some hundred
MAX_OWN = 1_000_000  # characters of all cells of the student's own
MAX_NOTES = 100  # a notebook without any of its cells gives fewer
MAX_SOURCE = 200_000  # characters of one cell
MAX_EXTRA = 500  # code cells of the student's own
MAX_TRIES = 9_999  # more is a made-up number
RawCell = dict[str, Any]  # a cell as it came: only that it is a JSON object is known
Extras = dict[str | None, list[str]]  # name of the known cell before → sources of the student's own cells
MARK = "anatomy"  # cell metadata of the rebuilt notebook: {"role": …, "exercise": …}


@dataclass
class Note:
    """Something odd about a submission that did not keep it from being graded.

    name: slug. sentence: for the student and the instructor. exercise: id, or "". suspicious: True where honest work
    does not lead there.
    """

    name: str
    sentence: str
    exercise: str = ""
    suspicious: bool = False


@dataclass
class Rebuilt:
    """notebook: the trusted notebook with the student's sources, roles in the metadata, no outputs. notes: what was
    odd. absent: ids of exercises whose answer cell is not in the submission. tries: exercise → how often it was
    checked, as far as the outputs tell; they are the student's own claim."""

    notebook: nbformat.NotebookNode
    notes: list[Note] = field(default_factory=list)
    absent: set[str] = field(default_factory=set)
    tries: dict[str, int] = field(default_factory=dict)


def rebuild(data: bytes, unit: str) -> Rebuilt:
    """Rebuilt notebook from the bytes of a submission.

    Raises BadSubmission (not JSON, not a notebook, no cell that the course knows) or masters.UnknownUnit.
    """
    trusted = master(unit)
    cells = _cells(data)
    result = Rebuilt(copy.deepcopy(trusted.notebook))
    if len(cells) > MAX_CELLS:
        sentence = f"Of {len(cells)} cells in the file the first {MAX_CELLS} were looked at."
        result.notes.append(Note("submission.many_cells", sentence, suspicious=True))
        del cells[MAX_CELLS:]
    known = {_grade_id(c) or c.get("id"): c for c in result.notebook.cells}
    by_id = {c.get("id"): _grade_id(c) or c.get("id") for c in result.notebook.cells}
    for cell in result.notebook.cells:
        cell.metadata[MARK] = _role(cell, trusted)
    marked = {name for c in cells if (name := _grade_id(c)) is not None}
    names = [_name(c, known, by_id, marked) for c in cells]
    if not any(n in trusted.checks or n in trusted.answers for n in names):
        for other in gradable_units() if marked else ():
            if marked & master(other).answers.keys():
                raise BadSubmission(
                    "submission.other_unit",
                    f"This is the notebook of {other}, not of {unit}: it lies in the wrong folder.",
                )
        raise BadSubmission(
            "submission.no_marks",
            "The notebook has none of the course's cell marks: it was rebuilt "
            "or converted by another program. Download the unit again, put the answers in, and "
            "submit that file.",
        )
    if not marked:
        result.notes.append(
            Note(
                "submission.marks_lost",
                "The course's cell marks were lost on the way (another "
                "program saved the notebook?); the cells were found by their ids.",
            )
        )
    extras = _transplant(cells, names, known, trusted, result)
    _note_missing(names, trusted, result)
    _insert(extras, result)
    result.notes = _few(result.notes)
    return result


def _cells(data: bytes) -> list[RawCell]:
    try:
        book = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise BadSubmission(
            "submission.not_json",
            "The file is not a notebook: it cannot be read as JSON. It may "
            "have been cut off on the way, or be another kind of file.",
        ) from None
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        raise BadSubmission(
            "submission.not_a_notebook", "The file is JSON, but not a notebook of format 4: it has no list of cells."
        )
    return [c for c in cells if isinstance(c, dict)]


def _grade_id(cell: RawCell) -> str | None:
    meta = cell.get("metadata")
    marks = meta.get("nbgrader") if isinstance(meta, dict) else None
    value = marks.get("grade_id") if isinstance(marks, dict) else None
    return value if isinstance(value, str) else None


def _source(cell: RawCell) -> str:
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(s for s in source if isinstance(s, str))
    # A lone surrogate is legal JSON and no text: it would stop whatever prints or stores it.
    return source.encode("utf-8", "replace").decode() if isinstance(source, str) else ""


def _name(cell: RawCell, known: Container[str | None], by_id: dict[str, str], marked: set[str]) -> str | None:
    """What the course calls this cell: its grade_id, else its id; None for a cell of the student's own."""
    if _grade_id(cell) in known:
        return _grade_id(cell)
    name = by_id.get(cell["id"]) if isinstance(cell.get("id"), str) else None
    # An unmarked cell with the id of one whose mark is elsewhere is a copy of it.
    return None if name in marked else name


def _role(cell: nbformat.NotebookNode, trusted: Master) -> dict[str, str]:
    if cell.cell_type != "code":
        return {"role": "text"}
    name = _grade_id(cell)
    if name in trusted.answers:
        return {"role": "answer", "exercise": trusted.answers[name].id}
    if name in trusted.checks:
        return {"role": "check", "exercise": trusted.checks[name].id}
    return {"role": "setup" if "setup" in cell.metadata.get("tags", []) else "demo"}


def _transplant(
    cells: list[RawCell],
    names: list[str | None],
    known: dict[str, nbformat.NotebookNode],
    trusted: Master,
    result: Rebuilt,
) -> Extras:
    """Puts the answers in; returns the student's own code cells."""
    extras: Extras = {}
    taken: set[str] = set()
    before, count, own = None, 0, 0
    demos = {_squeezed(c.source) for c in known.values() if c.metadata[MARK]["role"] == "demo"}
    for cell, name in zip(cells, names, strict=True):
        source = _source(cell)
        if name is None:
            if (alien := _grade_id(cell)) is not None:
                result.notes.append(
                    Note(
                        "submission.alien_marks",
                        f"A cell is marked {shown(alien, 60)!r}, which the course does not have; it earns nothing.",
                        suspicious=True,
                    )
                )
            if cell.get("cell_type") != "code" or not source.strip() or _squeezed(source) in demos:
                continue
            count += 1
            own += len(source)
            if count <= MAX_EXTRA and own <= MAX_OWN:
                extras.setdefault(before, []).append(_limited(source, result))
            continue
        target, before = known[name], name
        mark = target.metadata[MARK]
        if mark["role"] == "answer":
            if name in taken:
                result.notes.append(
                    Note(
                        "submission.answer_twice",
                        f"The answer cell of {mark['exercise']} appears more than once; the first one counts.",
                        mark["exercise"],
                    )
                )
            else:
                target.source = _limited(source, result)
        elif mark["role"] == "check" and _squeezed(source) != _squeezed(target.source):  # a plain copy is harmless
            result.notes.append(
                Note(
                    "submission.check_altered",
                    f"The check cell of {mark['exercise']} was changed; the course's own was used.",
                    mark["exercise"],
                    suspicious=True,
                )
            )
        elif mark["role"] == "setup" and name not in taken and _squeezed(source) != _squeezed(target.source):
            # An import added to the course's import cell is the most natural thing to do: run it, after the original.
            own += len(source)
            if own <= MAX_OWN:
                extras.setdefault(name, []).append(_limited(source, result))
        if mark["role"] == "check":
            result.tries |= _tries(cell, mark["exercise"])
        taken.add(name)
        _note_marks(cell, target, mark, trusted, result)
    if own > MAX_OWN:
        sentence = (
            f"The cells of your own have {own} characters; of these the first {MAX_OWN} were run, in whole cells."
        )
        result.notes.append(Note("submission.long_source", sentence, suspicious=True))
    if count > MAX_EXTRA:
        result.notes.append(
            Note(
                "submission.many_cells",
                f"Of {count} cells of your own the first {MAX_EXTRA} were run.",
                suspicious=True,
            )
        )
    return extras


def _tries(cell: RawCell, exercise: str) -> dict[str, int]:
    """{exercise: number of checks} from the mark that ``anatomy.check`` leaves in its output."""
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


def _note_marks(
    cell: RawCell, target: nbformat.NotebookNode, mark: dict[str, str], trusted: Master, result: Rebuilt
) -> None:
    """Marks that a student has no way to change by accident."""
    theirs = cell["metadata"].get("nbgrader") if isinstance(cell.get("metadata"), dict) else None
    if not isinstance(theirs, dict) or mark["role"] not in ("answer", "check"):
        return
    ours = target.metadata.nbgrader
    changed = [k for k in theirs if k in ("grade", "points", "solution", "locked") and theirs[k] != ours.get(k)]
    points = next(e.points for e in trusted.exercises if e.id == mark["exercise"]) if mark["role"] == "check" else None
    # A notebook that was handed out before an exercise became an extension, or while it was one, has other points.
    changed = sorted(k for k in changed if k != "points" or theirs[k] not in (0, points))
    added = sorted(str(k)[:40] for k in theirs if k in ("score", "manual_score", "auto_score", "extra_credit"))
    if changed or added:
        result.notes.append(
            Note(
                "submission.marks_altered",
                f"The marks of a cell of {mark['exercise']} were changed "
                f"({', '.join(changed + added)}); the course's own were used.",
                mark["exercise"],
                suspicious=True,
            )
        )


def _note_missing(names: list[str | None], trusted: Master, result: Rebuilt) -> None:
    for wanted, what in ((trusted.answers, "answer"), (trusted.checks, "check")):
        for name, exercise in wanted.items():
            if name in names:
                continue
            if what == "answer":
                result.absent.add(exercise.id)
                sentence = f"The answer cell of {exercise.id} is not in the submission; it earns no points."
            else:
                sentence = f"The check cell of {exercise.id} is not in the submission; the course's own was used."
            result.notes.append(Note(f"submission.{what}_missing", sentence, exercise.id))


def _insert(extras: Extras, result: Rebuilt) -> None:
    cells: list[nbformat.NotebookNode] = []
    number = 0

    def add(sources: Iterable[str]) -> None:
        nonlocal number
        for source in sources:
            number += 1
            cell = nbformat.v4.new_code_cell(source)
            cell["id"] = f"extra-{number}"
            cell.metadata[MARK] = {"role": "extra"}
            cells.append(cell)

    first = True
    for cell in result.notebook.cells:
        name = _grade_id(cell) or cell.get("id")
        if cell.metadata[MARK]["role"] == "answer" and cell.metadata[MARK]["exercise"] in result.absent:
            cell.source = ""
        cells.append(cell)
        add(extras.pop(name, []))
        if first and cell.metadata[MARK]["role"] == "setup":
            add(extras.pop(None, []))  # what stood above all cells of the course still needs its imports
            first = False
    add(s for sources in extras.values() for s in sources)
    result.notebook.cells = cells


def _limited(source: str, result: Rebuilt) -> str:
    if len(source) > MAX_SOURCE:
        result.notes.append(
            Note(
                "submission.long_cell", f"A cell of {len(source)} characters was cut to {MAX_SOURCE}.", suspicious=True
            )
        )
    return source[:MAX_SOURCE]


def _squeezed(source: str) -> str:
    """A source whose white space does not matter; no cell of the course is as long as what is left as it is."""
    return " ".join(source.split()) if len(source) <= MAX_SOURCE else source


def _few(notes: list[Note]) -> list[Note]:
    """Each remark once, and a limited number, those about odd things first."""
    distinct = list({(n.name, n.sentence): n for n in notes}.values())
    if len(distinct) <= MAX_NOTES:
        return distinct
    ranked = sorted(distinct, key=lambda n: not n.suspicious)
    kept = {id(n) for n in ranked[: MAX_NOTES - 1]}
    more = Note("submission.many_notes", f"{len(distinct) - len(kept)} more remarks are left out.", suspicious=True)
    return [n for n in distinct if id(n) in kept] + [more]

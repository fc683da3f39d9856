"""Reads a unit's py:percent source and makes nbgrader's source notebook from it.

An author writes the following (everything else is an ordinary py:percent cell)::

    # %% [markdown] statement="rope.rotate_half"     the statement; title, points and minutes are added
    # %% exercise="rope.rotate_half"                 the solution, with ### BEGIN SOLUTION / ### END SOLUTION
    # %% exercise="assembly.parts" bring="norm.rms_norm rope.rotate_half"      learners bring their own code from there
    # %% [markdown] hints="rope.rotate_half"         three list items: nudge, plan, near-code
    # %% [markdown] worth="rope.rotate_half"         one sentence worth knowing, shown when the check passes
    # %% setup=true                                  a code cell that grading runs too (imports, constants)
    # %%
    # predict("rope.p1", "question", ["option", …])  becomes the question as text, and a call that shows the control
    # %%
    # quiz("question", {"choice": (False, "why")})   likewise; the quizzes of a unit must be adjacent
    # %% [markdown] evidence="recorded: warmup, control: peak rate"      the evidence for a verdict (``evidence.py``)
    # ## 6. Extension: both sublayers at once        not on the core path, up to the next heading of this level
    # %% [markdown] written="question"               the question to be answered in words; then its
    # %% [markdown] written="answer" points=3        model answer and rubric (``written.py``)

``{{experiment.fact:.2f}}`` in a text is filled in from recordings (``numbers.py``), ``{{unit.time}}`` from the unit.
The check cell is made from the exercise's spec and put right after the exercise. Cells that begin with ``reveal`` are
folded, since their source holds the answer. Questions go into ``assets/units`` (``unit_text.py``).
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from anatomy.notebook import claims
from anatomy.program.units import cell_id, grade_id
from nbformat import NotebookNode

from autograder import ROOT, exercises
from autograder.judge.spec import Exercise

from . import address, evidence, first_cell, numbers, order, unit_text, wording, written
from .cells import Cell, Problem, SourceError, TextError, go_on_after_errors, read_cells, unchecked
from .paths import Paths

__all__ = ["SourceError", "name_cells", "plain_code", "read_unit", "source_notebook", "source_path", "to_json"]

KERNEL = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"},
}
HINT_NAMES = tuple(map(wording.said, ("Hint 1: a nudge", "Hint 2: a plan", "Hint 3: nearly code")))


def source_path(unit: str) -> Path:
    """``solutions/NN-name.py``."""
    return ROOT / "solutions" / f"{unit}.py"


def source_notebook(unit: str) -> NotebookNode:
    """nbgrader's source notebook of a unit (in memory); every run gives the same bytes.

    Raises SourceError that lists everything to fix, with places.
    """
    return read_unit(unit)[0]


def read_unit(unit: str) -> tuple[NotebookNode, dict[str, Any]]:
    """(nbgrader's source notebook, the unit's data for ``assets/units``).

    Raises SourceError, and exercises.UnknownName and exercises.SpecError like ``exercises.of_unit``.
    """
    return _read(unit)[:2]


def read_words(unit: str) -> tuple[NotebookNode, dict[str, Any], "Words"]:
    """The same, plus the words in it. Raises the same errors as ``read_unit``."""
    notebook, text, reader = _read(unit)
    marked = {c["id"]: reader.marked[id(c)] for c in reader.cells if id(c) in reader.marked}
    deciding = frozenset(cell for claim in text["claims"] for cell in claim["cells"])
    return notebook, text, Words(unit, marked, reader.said, reader.times, deciding)


@dataclass(frozen=True)
class Words:
    """The words of a unit, as ``wording`` marks them.

    cells: cell id → marked text. said: [(cell id or "", marked text)] of the other words that the package shows. times:
    the unit's own facts, for ``{{unit.…}}``; its ``time`` is marked. deciding: marks of the code cells that decide a
    claim, which the package recognizes by their source, comments included.
    """

    unit: str
    cells: dict[str, str]
    said: list[tuple[str, str]]
    times: dict[str, Any]
    deciding: frozenset[str] = frozenset()

    def may_change(self, cell: NotebookNode) -> bool:
        """Whether comments and docstrings of a code cell may be translated: True if nothing compares its source.

        Grading compares the setup cells, claims compare their deciding cells, and updates compare the first cell.
        """
        compared = cell["id"] == first_cell.FIRST_CELL or "setup" in cell.metadata.get("tags", [])
        return not compared and claims.mark(cell.source) not in self.deciding


def _read(unit: str) -> tuple[NotebookNode, dict[str, Any], "_Reader"]:
    with unchecked():
        notebook, text, reader = _made(unit)
    nbformat.validate(notebook)
    return notebook, text, reader


def _made(unit: str) -> tuple[NotebookNode, dict[str, Any], "_Reader"]:
    path = source_path(unit)
    specs = {e.id: e for e in exercises.of_unit(unit)}
    cells, problems = read_cells(path)
    reader = _Reader(unit, specs)
    for cell in cells:
        try:
            reader.add(cell)
        except TextError as error:
            problems.append(Problem(path, cell.line_of(error), str(error)))
    problems += order.problems(path, cells, list(specs))
    if problems:
        # Each part of an exercise may have the same problem: report it once.
        first = {p.says: p for p in sorted(problems, key=lambda p: -p.line)}
        raise SourceError(*sorted(first.values(), key=lambda p: p.line))
    try:
        text = reader.finish()
    except TextError as error:
        raise SourceError(Problem(path, 1, str(error))) from None
    first_cell.put_in(reader.cells, unit, address.read())  # after cells are counted and named
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": KERNEL, "cells": reader.cells}
    return nbformat.from_dict(notebook), text, reader


class _Reader:
    """Makes a notebook's cells from an author's, one after the other, and collects the package's data."""

    def __init__(self, unit: str, specs: dict[str, Exercise]) -> None:
        self.unit, self.specs, self.title = unit, specs, unit
        self.cells: list[NotebookNode] = []
        self.worth: dict[str, str] = {}
        self.predictions: dict[str, dict[str, Any]] = {}
        self.revealed: list[str] = []
        self.quizzes: list[dict[str, Any]] = []
        self.quiz_at: int | None = None
        self.verdicts: list[tuple[NotebookNode, list[dict[str, Any]]]] = []
        self.paths = Paths()
        self.written: list[str] = []  # parts of the written question seen so far
        self.compare: list[NotebookNode] = []  # to be put after the written answer
        self.marked: dict[int, str] = {}  # id() of a cell → its text with its words marked
        self.said: list[tuple[str, str]] = []  # marked words outside text cells: (cell id or "", words)
        self.times: dict[str, Any] = {}

    def add(self, cell: Cell) -> None:
        """Adds one cell of the source. Raises TextError."""
        self._keep(self._cells_of(cell), len(self.cells))

    def _keep(self, made: list[NotebookNode], at: int) -> None:
        """Inserts new cells at a place: each gets its English text, and its marked text is kept."""
        for cell in made:
            if cell.cell_type == "markdown" and id(cell) not in self.marked:
                self.marked[id(cell)] = cell.source
                cell["source"] = numbers.fill(wording.english(cell.source))
        self.cells[at:at] = made
        self.paths.count(made)

    def _cells_of(self, cell: Cell) -> list[NotebookNode]:
        """The notebook cells made from one author's cell."""
        if cell.part == "exercise":
            return _exercise(self._spec_of(cell), cell)
        if cell.code:
            if _marks(cell):
                raise TextError('a solution stands in a cell that begins with # %% exercise="…"', _marks(cell)[0][0])
            if cell.source.startswith("predict("):
                return self._prediction(cell.source)
            if cell.source.startswith("quiz("):
                return self._quiz(cell.source)
            return [self._code(cell)]
        text = cell.source
        if cell.part == "statement":
            return [_statement(self._spec_of(cell), wording.paragraphs(self.unit, text, "exercise"))]
        if cell.part == "hints":
            return [_hints(self._spec_of(cell), text)]
        if cell.part == "worth":
            self.worth[cell.exercise] = numbers.fill(unit_text.worth_of(text, self._spec_of(cell).id))
            worth = wording.line(cell.exercise, unit_text.worth_of(text, cell.exercise), "worth knowing")
            self.said.append((cell_id("check", cell.exercise), worth))
            return []
        if cell.written:
            return self._written(cell.written, text, cell.points)
        return [self._text(text, cell.evidence)]

    def _spec_of(self, cell: Cell) -> Exercise:
        if cell.exercise not in self.specs:
            raise TextError(f"{cell.exercise} has no spec in autograder/exercises for unit {self.unit}")
        spec = self.specs[cell.exercise]
        if spec.extension != self.paths.extension:
            raise TextError(
                f"{spec.id} stands {'in' if self.paths.extension else 'outside of'} an extension, and its "
                f"spec says extension={spec.extension}"
            )
        return spec

    def _text(self, source: str, declared: str | None) -> NotebookNode:
        title = re.match(r"# (.+)", source)
        self.title = title[1].strip() if title and self.title == self.unit else self.title
        self.paths.heading(source)
        made = nbformat.v4.new_markdown_cell(wording.paragraphs(self.unit, source))
        if declared:
            parts = evidence.read(declared, source)
            self.verdicts.append((made, parts))
            made["source"] += f"\n\n{evidence.marked_line(parts, self.unit)}"
        elif "**Verdict" in source:
            raise TextError('a verdict says what it rests on: # %% [markdown] evidence="…" (see notebooks/evidence.py)')
        return made

    def _written(self, part: str, text: str, points: int) -> list[NotebookNode]:
        self.written.append(part)
        if self.written not in (["question"], ["question", "answer"]):
            raise TextError('a unit has one written="question" cell and behind it one written="answer" cell')
        if part == "answer":
            if self.cells[-1]["id"] != cell_id("say", f"written-{self.unit}"):
                raise TextError('the written="answer" cell stands right behind its written="question"')
            answer = written.answer_cell(self.unit, numbers.fill(text), points)
            self.marked[id(answer)] = ""  # it is never shown to a learner
            return [answer, *self.compare]
        asked, *self.compare = written.question_cells(self.unit, text)
        self.paths.heading(asked.source)
        return [asked]

    def _prediction(self, source: str) -> list[NotebookNode]:
        prediction, made = unit_text.predict_cells(source, self.unit)
        self.predictions[prediction["id"]] = prediction
        return made

    def _quiz(self, source: str) -> list[NotebookNode]:
        if self.quiz_at not in (None, len(self.cells)):
            raise TextError("the quizzes of a unit stand together, in one recap")
        self.quiz_at = len(self.cells)
        quiz, whys = unit_text.quiz_of(source, self.unit)
        self.quizzes.append(quiz)
        self.said += [("quiz", why) for why in whys]
        return []

    def _code(self, cell: Cell) -> NotebookNode:
        stray = re.search(r"^(predict|quiz|reveal)\(", cell.source, re.M)
        if stray and stray.start():
            raise TextError(f"{stray[1]}(…) begins a cell of its own: what stands before it needs another")
        new = nbformat.v4.new_code_cell(cell.source)
        if cell.setup:
            new.metadata["tags"] = ["setup"]
        name = unit_text.reveal_id(cell.source)
        if name:
            if name not in self.predictions or name in self.revealed:
                raise TextError(f"reveal({name!r}) needs exactly one predict({name!r}) before it")
            self.revealed.append(name)
            new.metadata["jupyter"] = {"source_hidden": True}
            _tagged(new, f"reveal-{name}")
            self.predictions[name]["adjacent"] = self.cells[-1]["id"] == cell_id("predict", name)
        return new

    def finish(self) -> dict[str, Any]:
        """Adds the recap and names the cells; returns the unit's data for ``assets/units``. Raises TextError."""
        hidden = [n for n in self.predictions if n not in self.revealed]
        if hidden:
            raise TextError(f"these predictions are never revealed: {', '.join(hidden)}")
        if self.written == ["question"]:
            raise TextError('the written="question" cell has no written="answer" cell behind it')
        if self.quizzes:
            self._keep(unit_text.quiz_cells(self.unit, self.quizzes), self.quiz_at or 0)
            self.quizzes = [unit_text.filled(q) for q in self.quizzes]
        self.times = self.paths.times(self.specs.values())
        times = {**self.times, "time": wording.english(self.times["time"])}
        for cell in self.cells:
            if cell.cell_type == "markdown":
                cell["source"] = numbers.fill(cell.source, times)
        name_cells(self.unit, self.cells)
        go_on_after_errors(self.cells)
        text = unit_text.unit_text(
            self.unit,
            self.title,
            self.specs.values(),
            self.worth,
            list(self.predictions.values()),
            self.quizzes,
            self.cells,
        )
        verdicts = [
            {"cell": cell["id"], "says": unit_text.verdict_of(cell.source), "evidence": parts}
            for cell, parts in self.verdicts
        ]
        aside = {id(c) for c in self.paths.aside}
        return {
            **text,
            "reading": self.paths.reading(),
            "verdicts": verdicts,
            "extension_cells": [c["id"] for c in self.cells if id(c) in aside],
        }


def plain_code(cell: Cell) -> NotebookNode:
    """An unchanged code cell (used by the gallery)."""
    return nbformat.v4.new_code_cell(cell.source)


def _statement(spec: Exercise, text: str) -> NotebookNode:
    dots = "●" * spec.difficulty + "○" * (5 - spec.difficulty)
    unit = spec.unit.split("-")[0]
    number = [e.id for e in exercises.of_unit(spec.unit)].index(spec.id) + 1
    kinds = ("{n} point", "{n} points", "{n} extra point", "{n} extra points")
    points = wording.said(kinds[2 * spec.extension + (spec.points != 1)], n=f"{spec.points:g}")
    title = wording.line(spec.id, spec.title, "title of the exercise")
    head = (
        f"### {wording.said('Exercise {number}: {title}', number=f'{unit}.{number}', title=title)}\n"
        f"`{spec.id}` · {wording.said('difficulty {dots}', dots=dots)} · "
        f"{wording.said('about {n} min', n=spec.minutes)} · {points}\n\n"
    )
    below = f"\n\n{_not_allowed(spec)}" if spec.forbidden else ""
    return _tagged(nbformat.v4.new_markdown_cell(head + text + below), f"say-{spec.id}")


def _not_allowed(spec: Exercise) -> str:
    """``spec.not_allowed()`` with its words marked."""
    names, wholes = spec.forbidden_names()
    listed = [wording.said("torch's {names}", names=", ".join(names))] * bool(names) + wholes
    if not listed:
        return ""
    line = wording.said("**Not allowed here:** {names}.", names=", ".join(listed))
    if spec.forbidden_message:
        line += " " + wording.line(spec.id, spec.forbidden_message, "why something is not allowed")
    return line


def _exercise(spec: Exercise, cell: Cell) -> list[NotebookNode]:
    _demand_solution(spec, cell)
    missing = [t for t in spec.targets if not re.search(rf"^(def|class) {t}\b|^{t}\s*=", cell.source, re.M)]
    if missing:
        raise TextError(f"{spec.id}: the exercise cell does not define {', '.join(missing)}")
    solve = nbformat.v4.new_code_cell(cell.source)
    solve.metadata["nbgrader"] = _nbgrader(spec, "solve", solution=True)
    solve.metadata["anatomy"] = {"exercise": spec.id} | ({"bring": list(cell.bring)} if cell.bring else {})
    check = nbformat.v4.new_code_cell(f'check("{spec.id}", {", ".join(spec.targets)})')
    check.metadata["nbgrader"] = _nbgrader(spec, "check", grade=True) | {"points": 0 if spec.extension else spec.points}
    check.metadata["anatomy"] = {"exercise": spec.id}
    return [_tagged(solve, f"solve-{spec.id}"), _tagged(check, f"check-{spec.id}")]


def _marks(cell: Cell) -> list[tuple[int, str]]:
    """[(line in the cell, BEGIN or END)] of the lines that nbgrader treats as the edges of solutions."""
    found = (
        (number, re.search("(BEGIN|END) SOLUTION", line)) for number, line in enumerate(cell.source.split("\n"), 1)
    )
    return [(number, edge[1]) for number, edge in found if edge]


def _demand_solution(spec: Exercise, cell: Cell) -> None:
    """Raises TextError, with the line, unless there is a solution and each solution has a beginning and an end."""
    marks = _marks(cell)
    if "BEGIN" not in (edge for _, edge in marks):
        raise TextError(f"{spec.id}: the exercise cell has no ### BEGIN SOLUTION")
    for (number, edge), (_, following) in zip(marks, [*marks[1:], (0, "BEGIN")], strict=True):
        if edge == following:
            missing, where = ("END", "below") if edge == "BEGIN" else ("BEGIN", "above")
            raise TextError(f"{spec.id}: this ### {edge} SOLUTION needs its ### {missing} SOLUTION {where} it", number)


def _nbgrader(spec: Exercise, kind: str, solution: bool = False, grade: bool = False) -> dict[str, Any]:
    return {
        "grade": grade,
        "grade_id": grade_id(spec.id, kind),
        "locked": grade,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }


def _hints(spec: Exercise, text: str) -> NotebookNode:
    parts = re.split(r"^\d\.\s+", text, flags=re.M)[1:]
    if len(parts) != 3:
        raise TextError(
            f"{spec.id}: hints need exactly three numbered items (nudge, plan, nearly code), found {len(parts)}"
        )
    # Each hint is inside the one before, so it is visible only when that one is open.
    folded = ""
    for name, hint in reversed(list(zip(HINT_NAMES, parts, strict=True))):
        words = wording.paragraphs(spec.unit, hint.strip(), "hint")
        folded = f"<details><summary>{name}</summary>\n\n{words}\n\n{folded}</details>\n"
    return _tagged(nbformat.v4.new_markdown_cell(folded.strip("\n")), f"hint-{spec.id}")


def _tagged(cell: NotebookNode, slug: str) -> NotebookNode:
    cell["id"] = cell_id(*slug.split("-", 1))
    cell.metadata["fixed_id"] = True
    return cell


def name_cells(unit: str, cells: Iterable[NotebookNode]) -> None:
    """Makes ids from the contents: an edit changes one cell's id, a rebuild changes none. Raises TextError."""
    taken: set[str] = set()
    for cell in cells:
        if not cell.metadata.pop("fixed_id", False):
            digest = hashlib.sha256(f"{unit}/{cell.cell_type}/{cell.source}".encode()).hexdigest()[:12]
            cell["id"], n = f"c-{digest}", 1
            while cell["id"] in taken:
                n += 1
                cell["id"] = f"c-{digest}-{n}"
        if cell["id"] in taken:
            raise TextError(f"{unit}: two cells share the id {cell['id']}")
        taken.add(cell["id"])


def to_json(book: NotebookNode) -> bytes:
    """Bytes of a notebook, always in the same form."""
    return (nbformat.writes(book, version=nbformat.NO_CONVERT).rstrip("\n") + "\n").encode()

"""Reads a unit's py:percent source and makes nbgrader's source notebook from it.

What an author writes (everything else is an ordinary py:percent cell)::

    # %% [markdown] statement="rope.rotate_half"     the statement, said once; title, points, minutes are added
    # %% exercise="rope.rotate_half"                 the solution, with ### BEGIN SOLUTION / ### END SOLUTION
    # %% [markdown] hints="rope.rotate_half"         three list items: nudge, plan, near-code
    # %% [markdown] worth="rope.rotate_half"         one sentence worth knowing, shown when the check passes
    # %% setup=true                                  a code cell that grading runs too (imports, constants)
    # %%
    # predict("rope.p1", "question", ["option", …])  becomes the question as text, and a call that shows the control
    # %%
    # quiz("question", {"choice": (False, "why")})   likewise; the quizzes of a unit stand together
    # %% [markdown] evidence="recorded: warmup, control: peak rate"      what a verdict rests on (``evidence.py``)
    # ## 6. Extension: both sublayers at once        not on the core path, up to the next heading of this level

``{{experiment.fact:.2f}}`` in a text is filled in from recordings (``numbers.py``), ``{{unit.time}}`` from the unit.
The check cell is made from the exercise's spec and put right after the exercise. Cells that begin with ``reveal`` are
folded, since their source holds the answer. Questions go into ``assets/units`` (``unit_text.py``).
"""

import hashlib
import re

import jupytext
import nbformat
from anatomy.units import cell_id, grade_id

from autograder import ROOT, exercises

from . import evidence, numbers, unit_text
from .paths import Paths
from .unit_text import TextError

KERNEL = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"},
}
HINT_NAMES = ("Hint 1: a nudge", "Hint 2: a plan", "Hint 3: nearly code")


class SourceError(ValueError):
    """Something in a unit's source that an author has to mend; the message says where and what."""


def source_path(unit):
    """``solutions/NN-name.py``."""
    return ROOT / "solutions" / f"{unit}.py"


def source_notebook(unit):
    """nbgrader's source notebook of a unit (in memory), the same bytes at every run.

    Raises SourceError with the name of the exercise or cell to mend.
    """
    return read_unit(unit)[0]


def read_unit(unit):
    """(nbgrader's source notebook, what ``assets/units`` says of the unit). Raises SourceError."""
    specs = {e.id: e for e in exercises.of_unit(unit)}
    path = source_path(unit)
    if not path.exists():
        raise SourceError(f"{unit}: {path.relative_to(ROOT)} does not exist")
    book = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent")
    reader = _Reader(unit, specs)
    for number, cell in enumerate(book.cells, 1):
        try:
            reader.add(cell, dict(cell.metadata))
        except (TextError, SourceError) as error:
            raise SourceError(f"{unit}, cell {number}: {error}") from None
    try:
        text = reader.finish()
    except TextError as error:
        raise SourceError(f"{unit}: {error}") from None
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": KERNEL, "cells": reader.cells}
    return nbformat.from_dict(notebook), text


class _Reader:
    """Makes a notebook's cells from an author's, one after the other, and keeps what the package must know."""

    def __init__(self, unit, specs):
        self.unit, self.specs, self.cells, self.title = unit, specs, [], unit
        self.seen = {"statement": [], "exercise": [], "hints": [], "worth": []}
        self.worth, self.predictions, self.revealed, self.quizzes, self.quiz_at = {}, {}, [], [], None
        self.paths, self.verdicts = Paths(), []

    def add(self, cell, meta):
        """One cell of the source."""
        count = len(self.cells)
        kind = next((k for k in self.seen if k in meta), None)
        if kind != "exercise" and (cell.cell_type != "code" or re.match(r"(predict|quiz)\(", cell.source)):
            cell.source = numbers.fill(cell.source)
        source = cell.source.strip("\n")
        if kind:
            self._of_exercise(kind, meta[kind], cell)
        elif cell.cell_type != "code":
            self._text(source, meta.get("evidence"))
        elif source.startswith("predict("):
            prediction, made = unit_text.predict_cells(source)
            self.predictions[prediction["id"]] = prediction
            self.cells += made
        elif source.startswith("quiz("):
            self._quiz(source)
        else:
            self._code(source, meta)
        if kind != "worth":
            self.paths.count(self.cells[count:])

    def _text(self, source, declared):
        title = re.match(r"# (.+)", source)
        self.title = title[1].strip() if title and self.title == self.unit else self.title
        self.paths.heading(source)
        self.cells.append(nbformat.v4.new_markdown_cell(source))
        if declared:
            parts = evidence.read(declared, source)
            self.verdicts.append((self.cells[-1], parts))
            self.cells[-1]["source"] += f"\n\n{evidence.line(parts)}"
        elif "**Verdict" in source:
            raise TextError('a verdict says what it rests on: # %% [markdown] evidence="…" (see build/evidence.py)')

    def _of_exercise(self, kind, name, cell):
        if name not in self.specs:
            raise SourceError(f"{kind}={name!r} has no spec in autograder/exercises")
        self.seen[kind].append(name)
        spec = self.specs[name]
        if spec.extension != self.paths.extension:
            raise SourceError(
                f"{name} stands {'in' if self.paths.extension else 'outside of'} an extension, and its "
                f"spec says extension={spec.extension}"
            )
        if kind == "worth":
            self.worth[name] = unit_text.worth_of(cell.source, name)
        else:
            self.cells += {"statement": _statement, "exercise": _exercise, "hints": _hints}[kind](spec, cell)

    def _quiz(self, source):
        if self.quiz_at not in (None, len(self.cells)):
            raise SourceError("the quizzes of a unit stand together, in one recap")
        self.quiz_at = len(self.cells)
        self.quizzes.append(unit_text.quiz_of(source, self.unit))

    def _code(self, source, meta):
        stray = re.search(r"^(predict|quiz|reveal)\(", source, re.M)
        if stray and stray.start():
            raise SourceError(f"{stray[1]}(…) begins a cell of its own: what stands before it needs another")
        new = nbformat.v4.new_code_cell(source)
        if meta.get("setup"):
            new.metadata["tags"] = ["setup"]
        name = unit_text.reveal_id(source)
        if name:
            if name not in self.predictions or name in self.revealed:
                raise SourceError(f"reveal({name!r}) needs exactly one predict({name!r}) before it")
            self.revealed.append(name)
            new.metadata["jupyter"] = {"source_hidden": True}
            _tagged(new, f"reveal-{name}")
            self.predictions[name]["adjacent"] = self.cells[-1]["id"] == cell_id("predict", name)
        self.cells.append(new)

    def finish(self):
        """Puts the recap in, names the cells; returns what ``assets/units`` says of the unit."""
        for kind, names in self.seen.items():
            if names != list(self.specs):
                odd = [n for n in self.specs if names.count(n) != 1] or ["(order differs from the spec's)"]
                raise TextError(
                    f"each exercise needs exactly one {kind} cell, in the spec's order; look at {', '.join(odd)}"
                )
        hidden = [n for n in self.predictions if n not in self.revealed]
        if hidden:
            raise TextError(f"these predictions are never revealed: {', '.join(hidden)}")
        if self.quizzes:
            made = unit_text.quiz_cells(self.unit, self.quizzes)
            self.cells[self.quiz_at : self.quiz_at] = made
            self.paths.count(made)
        times = self.paths.times(self.specs.values())
        for cell in self.cells:
            if cell.cell_type == "markdown":
                cell["source"] = numbers.fill(cell.source, times)
        name_cells(self.unit, self.cells)
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


def plain_code(cell):
    """A code cell as it is (the gallery's)."""
    return nbformat.v4.new_code_cell(cell.source.strip("\n"))


def _statement(spec, cell):
    dots = "●" * spec.difficulty + "○" * (5 - spec.difficulty)
    unit = spec.unit.split("-")[0]
    number = [e.id for e in exercises.of_unit(spec.unit)].index(spec.id) + 1
    points = f"{spec.points:g} {'extra ' * spec.extension}point{'s' * (spec.points != 1)}"
    head = (
        f"### Exercise {unit}.{number}: {spec.title}\n"
        f"`{spec.id}` · difficulty {dots} · about {spec.minutes} min · {points}\n\n"
    )
    return [_tagged(nbformat.v4.new_markdown_cell(head + cell.source.strip("\n")), f"say-{spec.id}")]


def _exercise(spec, cell):
    if "### BEGIN SOLUTION" not in cell.source:
        raise SourceError(f"{spec.id}: the exercise cell has no ### BEGIN SOLUTION")
    if cell.source.count("### BEGIN SOLUTION") != cell.source.count("### END SOLUTION"):
        raise SourceError(f"{spec.id}: each ### BEGIN SOLUTION needs its ### END SOLUTION")
    missing = [t for t in spec.targets if not re.search(rf"^(def|class) {t}\b|^{t}\s*=", cell.source, re.M)]
    if missing:
        raise SourceError(f"{spec.id}: the exercise cell does not define {', '.join(missing)}")
    solve = nbformat.v4.new_code_cell(cell.source.strip("\n"))
    solve.metadata["nbgrader"] = _nbgrader(spec, "solve", solution=True)
    solve.metadata["anatomy"] = {"exercise": spec.id}
    check = nbformat.v4.new_code_cell(f'check("{spec.id}", {", ".join(spec.targets)})')
    check.metadata["nbgrader"] = _nbgrader(spec, "check", grade=True) | {"points": 0 if spec.extension else spec.points}
    check.metadata["anatomy"] = {"exercise": spec.id}
    return [_tagged(solve, f"solve-{spec.id}"), _tagged(check, f"check-{spec.id}")]


def _nbgrader(spec, kind, solution=False, grade=False):
    return {
        "grade": grade,
        "grade_id": grade_id(spec.id, kind),
        "locked": grade,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }


def _hints(spec, cell):
    parts = re.split(r"^\d\.\s+", cell.source.strip("\n"), flags=re.M)[1:]
    if len(parts) != 3:
        raise SourceError(
            f"{spec.id}: hints need exactly three numbered items (nudge, plan, nearly code), found {len(parts)}"
        )
    # Each hint lies inside the one before: it can be seen only when that one is open.
    folded = ""
    for name, text in reversed(list(zip(HINT_NAMES, parts, strict=True))):
        folded = f"<details><summary>{name}</summary>\n\n{text.strip()}\n\n{folded}</details>\n"
    return [_tagged(nbformat.v4.new_markdown_cell(folded.strip("\n")), f"hint-{spec.id}")]


def _tagged(cell, slug):
    cell["id"] = cell_id(*slug.split("-", 1))
    cell.metadata["fixed_id"] = True
    return cell


def name_cells(unit, cells):
    """Ids from the contents, so that an edit changes one cell's id and a rebuild changes none."""
    taken = set()
    for cell in cells:
        if not cell.metadata.pop("fixed_id", False):
            digest = hashlib.sha256(f"{unit}/{cell.cell_type}/{cell.source}".encode()).hexdigest()[:12]
            cell["id"], n = f"c-{digest}", 1
            while cell["id"] in taken:
                n += 1
                cell["id"] = f"c-{digest}-{n}"
        if cell["id"] in taken:
            raise SourceError(f"{unit}: two cells share the id {cell['id']}")
        taken.add(cell["id"])


def to_json(book):
    """Bytes of a notebook, always in the same form."""
    return (nbformat.writes(book, version=nbformat.NO_CONVERT).rstrip("\n") + "\n").encode()

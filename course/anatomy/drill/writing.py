"""Writes the notebook of a drill: what the exercise says, what its cell needs, a blank stub, and the same check.

The texts come from the released notebook of the unit, and what the cell needs from the learner's own, which is only
read. Nothing in a drill's notebook carries a mark of the course or of nbgrader, so that neither an update nor a
grader takes it for a unit.
"""

import re
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from ..app import build_stamp
from ..app.build_stamp import Cell
from ..parts import books, statements
from ..parts.books import Book
from ..parts.statements import Code, Statement
from ..program import units
from ..program.records import calls_of
from ..system import files, store
from ..system.installation import Place, how_to_repair
from ..system.store import Entries
from ..system.translation import ENGLISH, _, said
from .schedule import today

FOLDER = "drill"  # in the learner's folder
LONG = 12  # lines of what the cell needs; more are folded
# Of the imports in a unit's first cell, those that serve its pictures and texts are left out unless they are needed.
_SHOWS = re.compile(r"matplotlib|anatomy\.(?!case$)")


class CannotWrite(Exception):
    """There is no drill of this exercise; the message says why."""


@dataclass(frozen=True)
class Texts:
    """The cells of a released notebook that belong to an exercise, by the first part of their names, and its unit's.

    section: id of the heading above the exercise, "" if there is none.
    """

    say: Cell
    solve: Cell
    check: Cell
    section: str = ""
    hint: str = ""
    question: str = ""
    write: str = ""
    compare: str = ""


def write(place: Place, unit: str, exercise: str, timed: bool = False) -> tuple[Path, str]:
    """Writes a new notebook below the learner's folder; returns its path, and one sentence on what it lacks or "".

    No file is ever replaced: a second drill of a day gets a number. Raises CannotWrite, and OSError.
    """
    texts = texts_of(place, unit, exercise)
    lacks, book = "", Book()
    try:
        book = books.read(place.own / unit / f"{unit}.ipynb", unit)
    except books.Unreadable as error:
        lacks = _("Earlier answers of yours are not in it: {file} {problem}").format(
            file=f"{unit}.ipynb", problem=error
        )
        book = books.read(place.released / unit / f"{unit}.ipynb", unit)
    around = given(book, unit, exercise, build_stamp.text_of(texts.solve))
    known = store.read("drills")
    for number in count(1):
        name = f"{exercise}.{today()}{f'-{number}' if number > 1 else ''}"
        path = place.own / FOLDER / f"{name}.ipynb"
        made = cells(name, unit, exercise, texts, around, place.language, timed)
        if name not in known and files.write_new(path, build_stamp.to_bytes(notebook(made))):
            return path, lacks
    raise AssertionError("count() has no end")


# ---- from the released notebook --------------------------------------------------------------------------------


def texts_of(place: Place, unit: str, exercise: str) -> Texts:
    """The texts of an exercise. Raises CannotWrite if the released notebook is damaged or lacks it."""
    path = place.released / unit / f"{unit}.ipynb"
    try:
        book = build_stamp.parse(files.read(path))
    except (OSError, build_stamp.NotANotebook):
        damaged = _("The released notebook of {unit} cannot be read. {repair}")
        raise CannotWrite(damaged.format(unit=unit, repair=how_to_repair("make build"))) from None
    by_id = {cell.get("id", ""): cell for cell in book["cells"]}
    parts = [by_id[name] for kind in ("say", "solve", "check") if (name := units.cell_id(kind, exercise)) in by_id]
    if len(parts) < 3:
        lost = _("The released notebook of {unit} has no cells of {exercise}. {repair}")
        raise CannotWrite(lost.format(unit=unit, exercise=exercise, repair=how_to_repair("make build")))
    say, solve, check = parts
    above = book["cells"][: book["cells"].index(say)]
    headings = [c.get("id", "") for c in above if build_stamp.text_of(c).startswith("## ")]

    def text(name):
        return build_stamp.text_of(by_id.get(name, {}))

    return Texts(
        say,
        solve,
        check,
        headings[-1] if headings else "",
        text(units.cell_id("hint", exercise)),
        text(f"say-written-{unit}"),
        text(f"written-{unit}"),
        text(f"compare-written-{unit}"),
    )


def without_heading(markdown: str) -> str:
    """A text without its heading, and the line of facts right below it."""
    first, _gap, rest = markdown.partition("\n\n")
    return rest if first.startswith("#") else markdown


# ---- from the learner's notebook -------------------------------------------------------------------------------


def given(book: Book, unit: str, exercise: str, stub: str) -> str:
    """Code that the exercise's cell may rely on: the unit's imports and names, and earlier answers and helpers.

    book: of the learner. stub: the blank cell. Nothing that defines the functions of the exercise itself is in it, and
    nothing of the cell that answers it.
    """
    targets = set(calls_of(exercise)[0])
    answer = book.answers.get(exercise)
    at = book.place.get(exercise, answer if answer is not None else len(book.codes) - 1)
    own = book.codes[answer].statements if answer is not None else []
    cells = [
        Code([] if n == answer else [s for s in code.statements if not targets & (s.binds | s.changes)])
        for n, code in enumerate(book.codes)
    ]
    answers = set(book.answers.values())
    setup = [s for n in range(min(at, len(cells))) if n not in book.own | answers for s in cells[n].statements]
    earlier = [i for i, n in book.answers.items() if n < at and i != exercise and i not in book.released]
    names = {n for s in [*own, *statements.read(stub).statements] for n in s.uses} - targets
    named = set(re.findall(r"\w+", stub))  # parts.bring is no statement of the cell's own
    names |= {n for s in setup for n in s.binds if n in named or not _only_shows(s)}
    names |= {name for i in earlier for name in calls_of(i)[0] if _is_whole(cells[book.answers[i]], name)}
    return _source(statements.needed(cells, sorted(names - {"*"}), at).statements)


def _source(some: list[Statement]) -> str:
    """Statements as one cell: each import once, then definitions with space around them."""
    imports = dict.fromkeys(s.text for s in some if s.imported)
    source = "\n".join(imports)
    for statement in (s for s in some if not s.imported):
        is_definition = re.search(r"^(?:def|class|async def|@)", statement.text, re.M)
        source += ("\n\n\n" if is_definition else "\n") + statement.text
    return source.strip("\n")


def _only_shows(statement: Statement) -> bool:
    return bool(statement.imported and _SHOWS.match(statement.imported))


def _is_whole(code: Code, name: str) -> bool:
    return not code.error and code.binds(name)


# ---- the notebook ----------------------------------------------------------------------------------------------


def cells(
    name: str, unit: str, exercise: str, texts: Texts, around: str, language: str = ENGLISH, timed: bool = False
) -> list[Cell]:
    """The cells of a drill's notebook."""
    arguments = f'"{exercise}", "{name}"' + (", timed=True" if timed else "")
    begin = f"from anatomy.drill.running import begin\n\ndrill = begin({arguments})\ncheck = drill.check"
    fold = {"jupyter": {"source_hidden": True}} if around.count("\n") >= LONG else {}
    speak = f'from anatomy import speak\nspeak("{language}")'
    made = [
        _text("title", title(unit, exercise, texts.section, timed)),
        _code("speak", speak) if language != ENGLISH else None,
        _code("begin", begin),
        _code("given", f"# {_('From your notebook of the unit: what your function may use')}\n{around}", **fold)
        if around
        else None,
        _text("say", without_heading(build_stamp.text_of(texts.say))),
        _code("solve", build_stamp.text_of(texts.solve)),
        _code("check", build_stamp.text_of(texts.check), deletable=False, editable=False),
        _code("hint", f"drill.hint()  # {_('stuck? each run shows one hint more')}") if texts.hint else None,
        _code("question", f"drill.question()  # {_('once the check has passed')}") if texts.question else None,
        _text("words", texts.write) if texts.question else None,
    ]
    return [cell for cell in made if cell is not None]


def title(unit: str, exercise: str, section: str, timed: bool) -> str:
    """The text of the first cell."""
    about = units.load(unit)
    heading = said(exercise, next(e["title"] for e in about["exercises"] if e["id"] == exercise))
    back = f"[{unit} {said(unit, about['title'])}]({units.link(unit, section or None)})"
    paragraphs = [
        f"# {_('Drill: {exercise}').format(exercise=heading)}",
        f"`{exercise}` · {back}",
        _(
            "Write it again from blank. Your answer in the unit's notebook stays as it is; what you do here changes "
            "neither your progress nor your points, and is not handed in."
        ),
    ]
    if timed:
        paragraphs.append(_("Your time runs from the opening of this notebook until the check passes."))
    paragraphs.append(_("**Run the cells in order**, with Shift + Enter."))
    return "\n\n".join(paragraphs)


def _text(name: str, source: str) -> Cell:
    return {"cell_type": "markdown", "id": f"drill-{name}", "metadata": {}, "source": source}


def _code(name: str, source: str, **about: object) -> Cell:
    made = {"cell_type": "code", "id": f"drill-{name}", "metadata": about, "source": source}
    return made | {"outputs": [], "execution_count": None}


def notebook(made: list[Cell]) -> Entries:
    """A notebook with these cells."""
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": made}

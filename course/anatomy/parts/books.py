"""The learner's other notebooks: where they are, and which of their cells may define an answer."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..app import build_stamp
from ..notebook import session
from ..program import records, units
from ..system import hosted, installation
from ..system.translation import _
from . import statements
from .statements import Code

MAX_BYTES = 50 << 20  # a larger notebook is not read


class Unreadable(Exception):
    """The notebook is missing or cannot be read; the message is the end of a sentence that starts with its name."""


@dataclass
class Book:
    """One notebook as it was saved. codes: the cells that may define an answer, in order.

    place: exercise → number of the cell above its check. answers: exercise → number of its answer cell. own: numbers of
    the learner's own cells. released: exercises whose answer cell is unchanged since the course handed it out.
    """

    codes: list[Code] = field(default_factory=list)
    place: dict[str, int] = field(default_factory=dict)
    answers: dict[str, int] = field(default_factory=dict)
    own: set[int] = field(default_factory=set)
    released: set[str] = field(default_factory=set)
    found: dict[str, Any] = field(default_factory=dict)  # exercise → the result from ``judged``


_kept: dict[Path, tuple[tuple[int, int], Book]] = {}


def here() -> Path:
    """Folder of the running notebook."""
    from ..notebook.checks import _shell

    shell = _shell()
    running = session.notebook_path(shell.user_ns if shell is not None else {})
    return running.resolve().parent if running.is_file() else Path.cwd()


def find(unit: str) -> Path:
    """Finds the notebook of a unit: next to this notebook's folder, in this folder, or in the learner's usual one.

    If ANATOMY_NOTEBOOKS is set, only that folder is searched. If the notebook is missing, returns the path where it
    should be.
    """
    given = os.environ.get("ANATOMY_NOTEBOOKS")
    folders = [Path(given)] if given else [here().parent, here(), installation.place().own]
    places = [path for f in folders for path in (f / unit / f"{unit}.ipynb", f / f"{unit}.ipynb")]
    return next((p for p in places if p.is_file()), places[0])


def link(path: Path, exercise_id: str) -> str:
    """Relative link to an exercise in a notebook, as JupyterLab follows it; "" where such links do not work."""
    if not hosted.has_links():
        return ""
    cell = units.cell_id("say", exercise_id)
    return f"{shown(path)}#cell-id={cell}"


def shown(path: Path) -> str:
    """A notebook's path as a learner knows it, relative to the folder of the running notebook."""
    try:
        short = Path(os.path.relpath(path, here())).as_posix()
    except ValueError:  # another drive
        return path.as_posix()
    return short if short.count("../") < 3 else path.as_posix()


def read(path: Path, unit: str) -> Book:
    """Reads a unit's notebook, from memory unless it was saved since the last time. Raises Unreadable."""
    try:
        about = path.stat()
        stamp = about.st_mtime_ns, about.st_size
        if path in _kept and _kept[path][0] == stamp:
            return _kept[path][1]
        if not path.is_file() or about.st_size > MAX_BYTES:
            raise Unreadable(_("cannot be read, it is no file or too large."))
        book = _book(build_stamp.parse(path.read_bytes()), records.known_exercises(unit))
    except FileNotFoundError:
        raise Unreadable(_("there is no such notebook; the units lie in folders side by side.")) from None
    except OSError as error:
        raise Unreadable(_("cannot be read: {value}.").format(value=error.strerror or error)) from None
    except build_stamp.NotANotebook as error:
        raise Unreadable(_("cannot be read, {error}.").format(error=error)) from None
    _kept[path] = stamp, book
    return book


def _book(notebook: build_stamp.Notebook, ids: list[str]) -> Book:
    book, marks = Book(), build_stamp.marks(notebook)
    exercises = {units.cell_id("solve", i): i for i in ids}
    for cell in notebook["cells"]:
        name, exercise = _name(cell), ""
        if name.startswith("check-"):
            exercise = exercises.get(f"solve-{name[6:]}", "")
            book.place[exercise] = max(0, len(book.codes) - 1)
            continue
        if name.startswith("solve-"):
            exercise = exercises.get(name, "")
        is_setup = "setup" in (cell["metadata"].get("tags") or [])
        # The course's other cells only show something; grading does not run them either.
        if cell["cell_type"] != "code" or not (exercise or is_setup or cell.get("id") not in marks):
            continue
        if exercise:
            book.answers[exercise] = len(book.codes)
            source = build_stamp.text_of(cell)
            if f'"{exercise}: your code goes here"' in source and marks.get(cell.get("id", "")) == build_stamp.mark(
                cell
            ):
                book.released.add(exercise)
        elif not is_setup:
            book.own.add(len(book.codes))
        book.codes.append(statements.read(build_stamp.text_of(cell)))
    _place(book, {target: i for i in ids for target in records.calls_of(i)[0]})
    return book


def _name(cell: build_stamp.Cell) -> str:
    """The course's name of a cell: nbgrader's mark, which more programs keep, or else its id."""
    marked = cell["metadata"].get("nbgrader")
    name = marked.get("grade_id") if isinstance(marked, dict) else None
    return name if isinstance(name, str) else cell.get("id", "")


def _place(book: Book, asked: dict[str, str]) -> None:
    """Finds answers in the learner's own cells: a copy below the answer cell, or any cell if all marks were lost.

    asked: name of a function or class → the unit's exercise that asks for it.
    """
    for number in sorted(book.own):
        for name in {n for s in book.codes[number].statements for n in s.binds if not s.imported}:
            exercise = asked.get(name)
            if exercise and (exercise not in book.answers or exercise in book.released):
                book.released.discard(exercise)
                book.answers[exercise] = number
                book.place[exercise] = max(number, book.place.get(exercise, 0))

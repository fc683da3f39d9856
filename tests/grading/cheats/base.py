"""How a cheat is described: what it changes in the released notebook of its unit.

The answers in them are wrong on purpose (apart from those that have a forbidden built-in compute them).
"""

import copy
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from autograder import ROOT

START, ATTENTION = "00-start-here", "01-attention"
SOLVE, CHECK = "solve-start-weighted_average", "check-start-weighted_average"
SOLVE_SOFTMAX = "solve-attention-softmax"
WRONG = "def weighted_average(values, weights):\n    return values[0] * 0\n"


@dataclass(frozen=True)
class Cheat:
    """name and technique; book: the submission's notebook (dict); slow: runs into a limit; seen: technique of the
    sign that the instructor's report must show, None where nothing can be seen; solve: the answer cell it uses; raw:
    makes the bytes of a submission that is no book, or too large a one to keep."""

    name: str
    technique: str
    book: dict
    unit: str = START
    solve: str = SOLVE
    slow: bool = False
    seen: str | None = ""
    raw: Callable[[], bytes] | None = None

    @property
    def data(self):
        """The submission's bytes."""
        return self.raw() if self.raw else json.dumps(self.book).encode()


CHEATS: list[Cheat] = []
_books: dict[str, dict] = {}


def released(unit=START):
    """A fresh copy of a unit's released notebook."""
    if unit not in _books:
        _books[unit] = json.loads((ROOT / "course" / unit / f"{unit}.ipynb").read_text(encoding="utf-8"))
    return copy.deepcopy(_books[unit])


def find(book, name):
    """The cell with a grade_id."""
    return next(c for c in book["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == name)


def code_cell(source, **metadata):
    """A student's own code cell."""
    return {
        "cell_type": "code",
        "id": f"own-{zlib.crc32(source.encode())}",
        "metadata": metadata,
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


def insert_before(book, name, cell):
    """Puts a cell in front of another one."""
    book["cells"].insert(book["cells"].index(find(book, name)), cell)


def answer(name, technique, source, *, unit=START, solve=SOLVE, slow=False, seen=""):
    """A cheat that lives in the answer cell."""
    book = released(unit)
    find(book, solve)["source"] = source
    CHEATS.append(Cheat(name, technique, book, unit, solve, slow, technique if seen == "" else seen))


def notebook(name, technique, seen=""):
    """Decorator: a function that changes the released notebook (with a wrong answer in it) in place."""

    def register(change):
        book = wrong(change)
        CHEATS.append(Cheat(name, technique, book, seen=technique if seen == "" else seen))

    return register


def sent(name, technique, slow=False):
    """Decorator: a function that makes the bytes of the submission. It runs when they are needed, as they are many."""

    def register(make):
        CHEATS.append(Cheat(name, technique, {}, slow=slow, seen=None, raw=make))
        return make

    return register


def wrong(change=None):
    """The released notebook with a wrong answer, after ``change(book)``."""
    book = released()
    find(book, SOLVE)["source"] = WRONG
    if change:
        change(book)
    return book

"""How a cheat is described: what it changes in the released notebook of its unit.

All answers are wrong on purpose, except those that call a forbidden built-in.
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
    """One cheat.

    name, technique: for reports. book: the submitted notebook (dict). slow: it runs into a limit. seen: technique of
    the sign that the instructor's report must show, None where nothing can be seen. solve: the answer cell it uses.
    raw: makes the bytes of a submission that is not a notebook, or one too large to keep in memory.
    """

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
    """The cell with this grade_id."""
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
    """Inserts ``cell`` before the named cell."""
    book["cells"].insert(book["cells"].index(find(book, name)), cell)


def answer(name, technique, source, *, unit=START, solve=SOLVE, slow=False, seen=""):
    """Registers a cheat that consists of the answer cell."""
    book = released(unit)
    find(book, solve)["source"] = source
    CHEATS.append(Cheat(name, technique, book, unit, solve, slow, technique if seen == "" else seen))


def notebook(name, technique, seen=""):
    """Decorator for a function that changes the released notebook (which has a wrong answer in it) in place."""

    def register(change):
        book = wrong(change)
        CHEATS.append(Cheat(name, technique, book, seen=technique if seen == "" else seen))

    return register


def sent(name, technique, slow=False):
    """Decorator for a function that returns the bytes of the submission. They are many, so it is called when needed."""

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

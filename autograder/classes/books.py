"""The notebooks in what a student handed in, and what there is beside them: only notebooks are graded."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from autograder.grading.base.names import is_archive, is_notebook, shown
from autograder.grading.intake.opening import BadSubmission

from .archive import Entry, unpacked
from .handed import Handed, notebook_name
from .units import by_marks, by_name

GIVEN_BACK = "anatomy_feedback"  # in the metadata of a page that went back as a notebook
MAX_NAMES = 3  # of files beside a notebook, in one line


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

    @property
    def name(self) -> str:
        """The file name that was meant: Windows and browsers write 06-rope.ipynb.txt."""
        return notebook_name(self.handed.filename) or self.handed.filename


@dataclass
class Contents:
    """What a student handed in. others: unit or "" → names of what is no notebook. problems: (unit or "", sentence)."""

    books: list[Book] = field(default_factory=list)
    others: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    problems: list[tuple[str, str]] = field(default_factory=list)


def contents(handed: Sequence[Handed]) -> Contents:
    """Reads all files of one student, also those in zips that were handed in."""
    found = Contents()
    for h in handed:
        try:
            inside = unpacked(h.entry) if is_archive(h.entry.name) else [h.entry]
        except BadSubmission as error:
            found.problems.append((h.unit, str(error)))
            continue
        for entry in inside:
            _add(h if entry is h.entry else replace(h, entry=entry, filename=entry.name), found)
        if is_archive(h.entry.name) and not any(notebook_name(e.name) for e in inside):
            found.problems.append((h.unit, f"{h.entry.path} has no notebook in it{_only(inside)}."))
    return found


def _add(one: Handed, found: Contents) -> None:
    if one.typed or not notebook_name(one.entry.name):
        found.others[one.unit].append(one.typed or shown(one.filename))
        return
    try:
        data = one.entry.read()
    except BadSubmission as error:
        found.problems.append((one.unit, str(error)))
        return
    if f'"{GIVEN_BACK}":'.encode() in data:
        sentence = f"{one.entry.path} is the feedback that came back, not the student's notebook: ask for that."
        found.problems.append((one.unit, sentence))
    elif is_notebook(one.entry.name) or _has_cells(data):
        found.books.append(Book(one, hashlib.sha256(data).hexdigest(), by_marks(data)))
    else:
        found.others[one.unit].append(shown(one.filename))


def _has_cells(data: bytes) -> bool:
    try:
        made = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(made, dict) and isinstance(made.get("cells"), list)


def _only(inside: Sequence[Entry]) -> str:
    return f", only {some([shown(e.name) for e in inside])}" if inside else ""


def some(names: Sequence[str]) -> str:
    """The first few names, and how many more there are.

    >>> some(["a.py", "b.py", "c.png", "d.png"])
    'a.py, b.py, c.png and 1 more'
    """
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")

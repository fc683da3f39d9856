"""One submission found in a download: its file, its student and its time stamp."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from autograder.grading.base.names import NoName, identifier, is_archive, is_notebook, shown

from .archive import Entry
from .people import Roster


class Nobody(ValueError):
    """The owner of a file is unknown; the message is a sentence without a full stop that says what to do."""


# Finds the id of a student in the roster. Raises Nobody.
Owner = Callable[[Roster], str]
# Windows hides a last ".txt" that its editor adds, and some browsers add ".txt" or ".json" to a download.
_ENDING = re.compile(r"(.+\.ipynb)[^.]*\.(?:txt|json)", re.I | re.S)


@dataclass(frozen=True)
class Handed:
    """A file of a student, found in a download.

    who        the owner as named by the download; each owner has a different text
    owner      finds the student
    filename   the name that the student gave the file
    unit       the unit named by the download, or ""
    stamp      time of submission in nbgrader's format if it can be trusted, or ""
    late       True if the platform marked it as late
    rank       a later submission has a higher rank
    typed      in words, what was typed online instead of handing in a file, or ""
    listed     True if the stamp is from a list beside the download, which may know a later upload
    untimed    why such a list gives no time, or ""
    back       the name under which the platform takes a file back for this student: where it ends with a slash or an
               underscore, followed by any name
    """

    entry: Entry
    who: str
    owner: Owner
    filename: str
    unit: str = ""
    stamp: str = ""
    late: bool = False
    rank: int = 0
    typed: str = ""
    listed: bool = False
    untimed: str = ""
    back: str = ""


def notebook_name(name: str) -> str:
    """The name of a notebook without an ending that a system added; "" if it is no notebook's.

    >>> notebook_name("06-rope.ipynb.txt"), notebook_name("notes.txt")
    ('06-rope.ipynb', '')
    """
    if is_notebook(name):
        return name
    match = _ENDING.fullmatch(name)
    return match[1] if match else ""


def is_work(name: str) -> bool:
    """True if the name is a notebook's, or an archive's, which may hold one."""
    return bool(notebook_name(name)) or is_archive(name)


def only(found: set[str], name: str, advice: str) -> str:
    """The one student who was found. Raises Nobody if there is none or more than one."""
    if not found:
        raise Nobody(f"nobody in the roster is {shown(name)!r}: {advice}")
    if len(found) > 1:
        some = ", ".join(shown(s) for s in sorted(found)[:5])
        raise Nobody(f"{shown(name)!r} can be {some}: {advice}")
    return next(iter(found))


def as_id(name: str) -> str:
    """The name itself as the student's id, without a roster. Raises Nobody if it is not a valid id."""
    try:
        return identifier(name)
    except NoName as error:
        raise Nobody(f"{shown(name)!r} can stand for nobody: {error}") from None

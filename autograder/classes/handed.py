"""One submission found in a download: its file, its student and its time stamp."""

from collections.abc import Callable
from dataclasses import dataclass

from autograder.grading.base.names import NoName, identifier, shown

from .archive import Entry
from .people import Roster


class Nobody(ValueError):
    """The owner of a file is unknown; the message is a sentence without a full stop that says what to do."""


# Finds the id of a student in the roster. Raises Nobody.
Owner = Callable[[Roster], str]


@dataclass(frozen=True)
class Handed:
    """A student's notebook, or archive of notebooks, found in a download.

    who        the owner as named by the download; each owner has a different text
    owner      finds the student
    filename   the name that the student gave the file
    unit       the unit named by the download, or ""
    stamp      time of submission in nbgrader's format if it can be trusted, or ""
    late       True if the platform marked it as late
    rank       a later submission has a higher rank
    """

    entry: Entry
    who: str
    owner: Owner
    filename: str
    unit: str = ""
    stamp: str = ""
    late: bool = False
    rank: int = 0


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

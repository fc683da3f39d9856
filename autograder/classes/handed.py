"""What somebody handed in, as a download tells it: which file, whose, and since when."""

from collections.abc import Callable
from dataclasses import dataclass

from autograder.grading.base.names import NoName, identifier, shown

from .archive import Entry
from .people import Roster


class Nobody(ValueError):
    """Whose file it is cannot be told; the message is a sentence without its end that says what to do."""


# The id of a student in the roster. Raises Nobody.
Owner = Callable[[Roster], str]


@dataclass(frozen=True)
class Handed:
    """A notebook, or an archive with some, that a download shows to be somebody's.

    who: what the download calls its owner, one text for one owner. owner: finds the student. filename: the name that
    the student gave it. unit: what the download says, or "". stamp: nbgrader's text for when it was handed in, where
    that can be trusted, or "". late: does the platform say that it was late? rank: the higher one is the later.
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
    """The one student who was found. Raises Nobody for none, and for several."""
    if not found:
        raise Nobody(f"nobody in the roster is {shown(name)!r}: {advice}")
    if len(found) > 1:
        some = ", ".join(shown(s) for s in sorted(found)[:5])
        raise Nobody(f"{shown(name)!r} can be {some}: {advice}")
    return next(iter(found))


def as_id(name: str) -> str:
    """The name itself, where there is no roster. Raises Nobody."""
    try:
        return identifier(name)
    except NoName as error:
        raise Nobody(f"{shown(name)!r} can stand for nobody: {error}") from None

"""Canvas: reads the file names in "Download Submissions".

A file is called ``lastfirst_LATE_1234_56789_name.ipynb``: the sortable name as one word, LATE if Canvas marked it as
late, the number of the student, the number of the upload, and the student's own file name, to which Canvas adds -1,
-2 … if that name was handed in before. Students choose names and file names, so digits in them may look like another
student's number: if a file name can be read in two ways, number and name must match.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial

from .archive import Entry
from .handed import Handed, Nobody, as_id, only
from .people import Roster

_PLACE = re.compile(r"(?=_(\d+)_(\d+)_(.))")
_LATE = "_LATE"
_ANONYMOUS = re.compile(r"anon_[0-9A-Za-z]+_\d+_.+")
_ADVICE = "load the roster from the file that Canvas's gradebook exports (`make roster`), which has the number"
Reading = tuple[str, bool, str, int, str]  # name, late?, number of the student, number of the upload, file name


def readings(name: str) -> Iterator[Reading]:
    """All ways to read a file name in Canvas's format."""
    for place in _PLACE.finditer(name):
        before = name[: place.start()]
        late = before.endswith(_LATE)
        start = place.start() + len(place[1]) + len(place[2]) + 3
        if before.removesuffix(_LATE):
            yield before.removesuffix(_LATE), late, place[1], int(place[2][:18]), name[start:]


def matches(name: str) -> bool:
    """True if Canvas may have made this file name."""
    return _ANONYMOUS.fullmatch(name) is not None or next(readings(name), None) is not None


def handed(entries: Sequence[Entry], depth: int) -> list[Handed]:
    """The submissions among the entries; ``depth``: the number of folders above the files."""
    found = []
    for entry in entries:
        if len(entry.parts) != depth + 1:
            continue
        ways = list(readings(entry.name))
        if ways:
            name, late, number, upload, filename = ways[0]
            found.append(
                Handed(entry, f"{name} ({number})", partial(_owner, ways=ways), filename, late=late, rank=upload)
            )
        elif _ANONYMOUS.fullmatch(entry.name):
            found.append(Handed(entry, entry.name, _anonymous, entry.name))
    return found


def _owner(roster: Roster, ways: Sequence[Reading]) -> str:
    if not roster:
        if len(ways) > 1:
            raise Nobody(f"its name can be read in several ways: {_ADVICE}")
        return as_id(ways[0][2])
    named = [(roster.by_number(number), roster.by_letters(name)) for name, _, number, _, _ in ways]
    found = set().union(*(by_number & by_name for by_number, by_name in named))
    if not found and not any(by_number for by_number, _ in named):  # a roster without Canvas's numbers
        found = set().union(*(by_name for _, by_name in named))
    if not found and len(ways) == 1:  # Canvas assigned the number; a part of the name may have changed
        found = {s for s in named[0][0] if roster.people[s].shares_name(ways[0][0])}
    return only(found, f"{ways[0][0]} ({ways[0][2]})", _ADVICE)


def _anonymous(roster: Roster) -> str:
    raise Nobody("the assignment is graded anonymously: let Canvas show the names, and download it again")

"""Canvas: the names in "Download Submissions", and merging scores into the file that its gradebook exports.

A file is ``lastfirst_LATE_1234_56789_name.ipynb``: the sortable name as one word, LATE where Canvas says so, the
number of the student, that of the upload, and the student's own file name, to which Canvas adds -1, -2 … when one of
that name was handed in before. Names and file names are the student's to choose, so digits in them may look like
another student's number: where a name can be read in two ways, number and name have to agree.
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
    """The ways to read a name as Canvas's."""
    for place in _PLACE.finditer(name):
        before = name[: place.start()]
        late = before.endswith(_LATE)
        start = place.start() + len(place[1]) + len(place[2]) + 3
        if before.removesuffix(_LATE):
            yield before.removesuffix(_LATE), late, place[1], int(place[2][:18]), name[start:]


def matches(name: str) -> bool:
    """Is this the name of a file that Canvas made?"""
    return _ANONYMOUS.fullmatch(name) is not None or next(readings(name), None) is not None


def handed(entries: Sequence[Entry], depth: int) -> list[Handed]:
    """What students handed in; ``depth``: the number of folders above the files."""
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
    if not found and len(ways) == 1:  # the number is Canvas's own; names change in part
        found = {s for s in named[0][0] if roster.people[s].shares_name(ways[0][0])}
    return only(found, f"{ways[0][0]} ({ways[0][2]})", _ADVICE)


def _anonymous(roster: Roster) -> str:
    raise Nobody("the assignment is graded anonymously: let Canvas show the names, and download it again")

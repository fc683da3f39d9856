"""Canvas: reads the file names in "Download Submissions".

A file is called ``lastfirst_LATE_1234_56789_name.ipynb``: the sortable name as one word, LATE if Canvas marked it as
late, the number of the student, the number of the upload, and the student's own file name, to which Canvas adds -1,
-2 … if that name was handed in before. A text or a link that was typed online is ``lastfirst_LATE_1234_text.html`` or
``…_link.html``; with anonymous grading, ``LATE_anon_x1y2z_56789_name.ipynb``. (Canvas's source, lib/content_zipper.rb:
``get_filename``, ``add_upload_submission``, ``add_text_or_url``.) There is no time in it, neither in a name nor as the
date of a member of the zip, which is when the zip was made. Canvas tells times to a teacher who is logged in and opens
``/api/v1/courses/COURSE/assignments/ASSIGNMENT/submissions?per_page=100``: a list of submissions in JSON, each with
``submitted_at`` and the ids of its ``attachments``, which are the numbers of the uploads; in a browser, with
``while(1);`` before it (app/controllers/application_controller.rb: ``render``).

Students choose names and file names, so digits in them may look like another student's number: if a file name can be
read in two ways, number and name must match.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from functools import partial

from autograder.grading.base.names import shown

from .archive import Entry
from .csvfile import UnreadableTable
from .handed import Handed, Nobody, as_id, only
from .moments import read_moment
from .people import Roster

_PLACE = re.compile(r"(?=_(\d+)_(\d+)_(.))")
_LATE = "_LATE"
_TYPED = re.compile(r"(?P<name>.+?)(?P<late>_LATE)?_(?P<number>\d+)_(?P<what>text|link)\.html", re.S)
_WHAT = {"text": "a text typed online", "link": "a link"}
_ANONYMOUS = re.compile(r"(?P<late>LATE_)?anon_[0-9A-Za-z]+_(?:\d+_.+|(?:text|link)\.html)", re.S)
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
    return any(p.fullmatch(name) for p in (_ANONYMOUS, _TYPED)) or next(readings(name), None) is not None


def handed(entries: Sequence[Entry], depth: int, times: Mapping[str, str] | None = None) -> list[Handed]:
    """The submissions among the entries; ``depth``: the number of folders above the files. times: of ``read_times``."""
    found = []
    for entry in entries:
        if len(entry.parts) != depth + 1:
            continue
        typed = _TYPED.fullmatch(entry.name)
        ways = [_typed(typed)] if typed else list(readings(entry.name))
        if _ANONYMOUS.fullmatch(entry.name):
            found.append(Handed(entry, entry.name, _anonymous, entry.name))
        elif ways:
            name, late, number, upload, filename = ways[0]
            what = _WHAT[typed["what"]] if typed else ""
            owner = partial(_owner, ways=ways)
            one = Handed(entry, f"{name} ({number})", owner, filename, late=late, rank=upload, typed=what)
            stamp = (times or {}).get(str(upload), "")
            untimed = "no such upload" if times is not None and not stamp else ""
            back = "" if typed else entry.name
            found.append(replace(one, stamp=stamp, listed=bool(stamp), untimed=untimed, back=back))
    return found


def read_times(data: bytes, name: str) -> dict[str, str]:
    """dict number of an upload → its time in nbgrader's format. data: Canvas's list of submissions, in JSON; a list of
    more than a hundred comes in pages, which may follow each other in one file. Raises UnreadableTable."""
    text, found = data.decode("utf-8-sig", "replace").replace("while(1);", " ").strip(), {}
    try:
        while text:
            page, end = json.JSONDecoder().raw_decode(text)
            text = text[end:].strip()
            for one in page if isinstance(page, list) else [page]:
                moment = read_moment(str(one.get("submitted_at")), UTC)
                for upload in one.get("attachments") or () if moment else ():
                    found[str(upload["id"])] = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        found = {}
    if not found:
        raise UnreadableTable(
            f"{shown(name)} is not Canvas's list of submissions, or has no time of an upload: in your Canvas, open "
            "/api/v1/courses/COURSE/assignments/ASSIGNMENT/submissions?per_page=100, and save it as it is."
        )
    return found


def _typed(match: re.Match[str]) -> Reading:
    return match["name"], bool(match["late"]), match["number"], 0, f"{match['what']}.html"


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

"""When a submission was handed in: nbgrader's timestamp.txt, which a student can replace by anything.

Imports little: nbgrader_config.py uses it.
"""

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import dateutil.parser  # type: ignore[import-untyped]
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import full_split, parse_utc

from ..base.names import NoName, identifier, shown
from .opening import BadSubmission, Folder, Problem, below

MAX_STAMP = 200  # bytes of a timestamp.txt
STAMP = "timestamp.txt"
UNTIMED = "submission.timestamp"  # the remark that it cannot be read
SECRET = "submission_secret.txt"  # what nbgrader's exchange puts beside a submission
_SECRET = re.compile(r"[0-9a-f]{128}")  # as `nbgrader submit` writes it; a course's own .secret looks different
# Nothing else gets to nbgrader's parser: as a time zone it would open any file that is named.
_WORD = r"(?:[0-9]+/[0-9]+/[0-9]+|[0-9A-Za-z,.:+-]+)"
_DATE = re.compile(rf"(?!.*\.\.){_WORD}(?: {_WORD}){{0,5}}(?: [A-Za-z_]+(?:/[A-Za-z_+-]+){{1,2}})?", re.ASCII)
# What a text leaves out is taken from these: a day that depends on them is no day.
_DEFAULTS = (datetime(2000, 1, 1), datetime(2004, 2, 2))


def parse_stamp(text: str) -> datetime | None:
    """The moment (UTC) that nbgrader's timestamp.txt names; None where that is no date with a year, month and day."""
    if len(text) > MAX_STAMP or not _DATE.fullmatch(text):
        return None
    words = text.split(" ")
    bare = " ".join(words[:2]) if len(words) == 3 else text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unknown time zones are taken for UTC, as nbgrader takes them
            days = {dateutil.parser.parse(bare, default=default).date() for default in _DEFAULTS}
            return parse_utc(text) if len(days) == 1 else None
    except Exception:  # the parser raises what it likes on odd text
        return None


def read_stamp(folder: Folder) -> tuple[str | None, Problem | None]:
    """(text of a unit folder's timestamp.txt, what is wrong with it): (None, None) where there is none."""
    try:
        text = folder.read(STAMP, MAX_STAMP).decode("utf-8-sig", "replace").strip()
        if parse_stamp(text) is not None:
            return text, None
        reason = f"{STAMP} says {shown(text, 40)!r}, which is no date" if text else f"{STAMP} is empty"
    except BadSubmission as error:
        if error.name == "submission.missing":
            return None, None
        reason = str(error).rstrip(".")
    return None, (
        UNTIMED,
        f"The time of submission is not known, so nothing is taken off for lateness: {reason}.",
    )


def read_secret(folder: Folder) -> str:
    """The exchange's secret in a unit folder; "" where there is none, or something else."""
    try:
        text = folder.read(SECRET, 200).decode("ascii", "replace").strip() if folder.kind(SECRET) else ""
    except BadSubmission:
        return ""
    return text if _SECRET.fullmatch(text) else ""


@contextmanager
def opened(directory: CourseDirectory, path: str) -> Iterator[Folder]:
    """A submission's folder in one of the course's steps. Only what stands above student and unit may be a link.

    Raises BadSubmission, also where the step has no folder.
    """
    structure = full_split(directory.directory_structure)
    depth = len(structure) - next(i for i, part in enumerate(structure) if "_id}" in part)
    names = os.path.normpath(path).split(os.sep)
    try:
        with Folder(os.sep.join(names[:-depth])) as top:
            here = [_spelled(top, names[-depth]), *names[1 - depth :]] if depth > 1 else names[-1:]
            with below(top.path, here) as folder:
                yield folder
    except OSError as error:
        raise BadSubmission("submission.unreadable", f"The folder cannot be read: {error.strerror}.") from None


def stamp_of(directory: CourseDirectory, path: str) -> tuple[str | None, Problem | None]:
    """As ``collect.read_stamp``, for the folder at ``path``."""
    try:
        with opened(directory, path) as folder:
            return read_stamp(folder)
    except BadSubmission:
        return None, None


def careful() -> None:
    """Makes nbgrader read time stamps without following, waiting or failing, in all its commands and the formgrader."""
    CourseDirectory.get_existing_timestamp = _existing_timestamp
    NbGraderAPI.get_submitted_timestamp = _submitted_timestamp


def _spelled(top: Folder, name: str) -> str:
    """The entry of a folder whose name is ``name`` in Unicode's composed form, if there is none of that very name."""
    if top.kind(name):
        return name
    for other in top.names(most=1_000_000)[0]:
        try:
            if identifier(other) == name:
                return other
        except NoName:
            continue
    return name


def _existing_timestamp(self: CourseDirectory, dest_path: str) -> datetime | None:
    stamp, problem = stamp_of(self, dest_path)
    if problem:
        self.log.warning("%s: %s", shown(dest_path, 300), problem[1])
    return parse_stamp(stamp) if stamp else None


def _submitted_timestamp(self: NbGraderAPI, assignment_id: str, student_id: str) -> datetime | None:
    directory = self.coursedir
    path = os.path.abspath(directory.format_path(directory.submitted_directory, student_id, assignment_id))
    return directory.get_existing_timestamp(path)

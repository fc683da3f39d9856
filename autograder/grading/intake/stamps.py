"""Reads the time of a submission from nbgrader's timestamp.txt, which a student can replace by anything.

Imports little, because nbgrader_config.py imports it.
"""

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import dateutil.parser  # type: ignore[import-untyped]
from anatomy.system.translation import _
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import full_split, parse_utc

from ..base.names import NoName, identifier, shown
from .opening import BadSubmission, Folder, Problem, below

MAX_STAMP = 200  # bytes of a timestamp.txt
STAMP = "timestamp.txt"
UNTIMED = "submission.timestamp"  # slug of the remark that the time cannot be read
SECRET = "submission_secret.txt"  # written by nbgrader's exchange next to a submission
_SECRET = re.compile(r"[0-9a-f]{128}")  # as `nbgrader submit` writes it; a course's own .secret looks different
# Only text of this form reaches nbgrader's parser, which would open any file that is named as a time zone.
_WORD = r"(?:[0-9]+/[0-9]+/[0-9]+|[0-9A-Za-z,.:+-]+)"
_DATE = re.compile(rf"(?!.*\.\.){_WORD}(?: {_WORD}){{0,5}}(?: [A-Za-z_]+(?:/[A-Za-z_+-]+){{1,2}})?", re.ASCII)
# The parser fills in missing parts from a default: if the day differs between these two, the text has no full date.
_DEFAULTS = (datetime(2000, 1, 1), datetime(2004, 2, 2))


def parse_stamp(text: str) -> datetime | None:
    """The time (UTC) in nbgrader's timestamp.txt; None if the text is not a date with year, month and day."""
    if len(text) > MAX_STAMP or not _DATE.fullmatch(text):
        return None
    words = text.split(" ")
    bare = " ".join(words[:2]) if len(words) == 3 else text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unknown time zones count as UTC, like in nbgrader
            days = {dateutil.parser.parse(bare, default=default).date() for default in _DEFAULTS}
            return parse_utc(text) if len(days) == 1 else None
    except Exception:  # the parser raises various errors for odd text
        return None


def read_stamp(folder: Folder) -> tuple[str | None, Problem | None]:
    """(text of a unit folder's timestamp.txt, None), or (None, problem); (None, None) if there is no such file."""
    try:
        text = folder.read(STAMP, MAX_STAMP).decode("utf-8-sig", "replace").strip()
        if parse_stamp(text) is not None:
            return text, None
        said = _("{file} says {text!r}, which is no date") if text else _("{file} is empty")
        reason = said.format(file=STAMP, text=shown(text, 40))
    except BadSubmission as error:
        if error.name == "submission.missing":
            return None, None
        reason = str(error).rstrip(".。")
    sentence = _("The time of submission is not known, so nothing is taken off for lateness: {reason}.")
    return None, (UNTIMED, sentence.format(reason=reason))


def read_secret(folder: Folder) -> str:
    """The exchange's secret in a unit folder; "" if it is missing or malformed."""
    try:
        text = folder.read(SECRET, 200).decode("ascii", "replace").strip() if folder.kind(SECRET) else ""
    except BadSubmission:
        return ""
    return text if _SECRET.fullmatch(text) else ""


@contextmanager
def opened(directory: CourseDirectory, path: str) -> Iterator[Folder]:
    """Opens a submission's folder in the folder of an nbgrader step. Only folders above student and unit may be links.

    Raises BadSubmission, also if the step has no folder.
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
        raise BadSubmission(
            "submission.unreadable", _("The folder cannot be read: {error}.").format(error=error.strerror)
        ) from None


def stamp_of(directory: CourseDirectory, path: str) -> tuple[str | None, Problem | None]:
    """Like ``read_stamp``, for the folder at ``path``; (None, None) if it cannot be opened."""
    try:
        with opened(directory, path) as folder:
            return read_stamp(folder)
    except BadSubmission:
        return None, None


def careful() -> None:
    """Makes nbgrader's commands and formgrader read time stamps without following links, blocking or failing."""
    CourseDirectory.get_existing_timestamp = _existing_timestamp
    NbGraderAPI.get_submitted_timestamp = _submitted_timestamp


def _spelled(top: Folder, name: str) -> str:
    """``name`` if the folder has that entry, else the entry whose name in Unicode's composed form is ``name``."""
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

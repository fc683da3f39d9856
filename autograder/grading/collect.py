"""Finds submissions in a folder laid out ``student/unit/unit.ipynb``."""

import hashlib
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from nbgrader.utils import parse_utc

from .masters import UnknownUnit, master
from .rebuild import BadSubmission, read_submission

_NAME = re.compile(r"[^\s/\\\x00-\x1f][^/\\\x00-\x1f]{0,99}")


@dataclass(frozen=True)
class Submission:
    """One file to grade. digest: SHA-256 of its bytes; "" where it cannot be read. timestamp: text or None.
    problem: (slug, sentence) where it cannot be graded at all."""

    student: str
    unit: str
    path: str
    digest: str = ""
    timestamp: str | None = None
    problem: tuple[str, str] | None = None

    @property
    def known(self) -> bool:
        """Does the unit exist, so that a score of zero can be stored for it?"""
        return self.problem is None or self.problem[0] not in ("submission.unknown_unit", "submission.layout")


def find(folder: str | os.PathLike[str], units: Collection[str] | None = None) -> list[Submission]:
    """Submissions in ``folder``, sorted by student and unit; only of ``units`` if given.

    Raises FileNotFoundError or NotADirectoryError for the folder itself; nothing inside it raises.
    """
    return [s for student in _entries(Path(folder)) for s in _of_student(student, units)]


def _entries(folder: Path) -> list[Path]:
    return sorted((p for p in Path(folder).iterdir() if not p.name.startswith(".")), key=lambda p: p.name)


def _of_student(folder: Path, units: Collection[str] | None) -> Iterator[Submission]:
    if not folder.is_dir() or folder.is_symlink():
        if folder.suffix == ".ipynb" or folder.is_symlink():
            yield _odd(
                folder.name,
                "",
                folder,
                "submission.layout",
                f"{folder.name} does not stand in a folder student/unit: the layout is student/unit/unit.ipynb.",
            )
        return
    if not _NAME.fullmatch(folder.name):
        yield _odd(
            ascii(folder.name)[:100],
            "",
            folder,
            "submission.layout",
            "The folder's name cannot be a student's: at most 100 printable characters, no line breaks.",
        )
        return
    for entry in _entries(folder):
        if units and entry.name.removesuffix(".ipynb") not in units:
            continue
        if entry.suffix == ".ipynb" and not entry.is_dir():
            yield _odd(
                folder.name,
                entry.stem,
                entry,
                "submission.layout",
                f"{entry.name} stands outside a unit's folder: the layout is student/unit/unit.ipynb.",
            )
        elif entry.is_dir():
            yield _of_unit(folder.name, entry)


def _of_unit(student: str, folder: Path) -> Submission:
    unit, path = folder.name, folder / f"{folder.name}.ipynb"
    try:
        master(unit)
    except UnknownUnit as error:
        return _odd(student, unit, path, "submission.unknown_unit", str(error))
    stamp = _timestamp(folder)
    if folder.is_symlink():
        return _odd(
            student, unit, path, "submission.not_a_file", f"{folder.name} is a link; links are not followed.", stamp
        )
    try:
        data = read_submission(path)
    except BadSubmission as error:
        sentence, others = str(error), [p.name for p in _entries(folder) if p.suffix == ".ipynb" and p != path]
        if error.name == "submission.missing" and others:
            sentence += f" There is {', '.join(others[:3])}; rename the right one."
        return _odd(student, unit, path, error.name, sentence, stamp)
    except OSError as error:
        sentence = f"{path.name} cannot be read: {error.strerror}."
        return _odd(student, unit, path, "submission.unreadable", sentence, stamp)
    return Submission(student, unit, str(path), hashlib.sha256(data).hexdigest(), stamp)


def _odd(student: str, unit: str, path: Path, name: str, sentence: str, stamp: str | None = None) -> Submission:
    digest = hashlib.sha256(f"{name}: {sentence}".encode()).hexdigest()
    return Submission(student, unit, str(path), digest, stamp, (name, sentence))


def _timestamp(folder: Path) -> str | None:
    """Text of nbgrader's timestamp.txt; None where there is none, or where it is no date."""
    try:
        with open(folder / "timestamp.txt", encoding="utf-8") as file:
            text = file.read(200).strip()
        parse_utc(text)
        return text or None
    except (OSError, ValueError, OverflowError):
        return None

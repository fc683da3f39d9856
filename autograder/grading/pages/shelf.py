"""Stores the files of one submission, in nbgrader's folders and in ``attempts/``."""

import hashlib
import hmac
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import nbformat
from anatomy.system.files import replace
from anatomy.system.translation import speaking

from ..book.course import Course
from ..book.secret import course_secret
from ..book.standing import Standing
from ..book.stored import Attempt
from ..intake.stamps import SECRET, STAMP
from ..judging.results import GradedNotebook
from . import feedback

# Text that a spreadsheet takes for a formula: at the start of a cell, or after a semicolon, which separates cells in
# some locales. In some locales the fullwidth characters count, too.
_FORMULA = re.compile("(^|;)(?=\\s*[=+\\-@\uff1d\uff0b\uff0d\uff20])")


class Shelf:
    """The files of one submission: graded notebooks, the student's page, and files that nbgrader's exchange needs.

    stamp: nbgrader's text for the last attempt's time of submission, or None if unknown. secret: the secret that the
    exchange put next to the submission, or "" if it came another way. If they are not given, existing files are kept.
    """

    def __init__(self, course: Course, student: str, unit: str, stamp: str | None = None, secret: str = ""):
        self.course, self.student, self.unit, self.stamp, self.secret = course, student, unit, stamp, secret
        self.autograded = course.folder("autograded_directory", student, unit)
        self.feedback = course.folder("feedback_directory", student, unit)
        self._last: tuple[nbformat.NotebookNode, bytes] | None = None  # the notebook written last, and its text

    @property
    def page(self) -> Path:
        """The student's page."""
        return self.feedback / f"{self.unit}.html"

    def _attempt(self, digest: str) -> Path:
        return self.course.root / "attempts" / self.student / self.unit / f"{digest[:16]}.ipynb"

    def keep(self, digest: str, notebook: nbformat.NotebookNode) -> None:
        """Keeps the graded notebook of an attempt."""
        replace(self._attempt(digest), self._text(notebook))

    def kept(self, digest: str) -> nbformat.NotebookNode | None:
        """The notebook that ``keep`` stored for an attempt; None if it is missing or unreadable."""
        try:
            return nbformat.v4.reads(self._attempt(digest).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def show(self, graded: GradedNotebook, standing: Standing, attempts: Sequence[Attempt]) -> str:
        """Writes the autograded notebook, the student's page and the two files for nbgrader's exchange.

        Each file is written completely or not at all. Returns a hash of the page.
        """
        if graded.notebook is not None:
            replace(self.autograded / f"{self.unit}.ipynb", self._text(graded.notebook))
        counted = next((a for a in attempts if a.counts), None)
        for name, text in self._for_exchange(counted.digest if counted else ""):
            for folder in (self.autograded, self.feedback):
                if not (folder / name).exists() or (self.secret if name == SECRET else self.stamp):
                    replace(folder / name, text.encode())
        with speaking(self.course.language):  # for a submission that could not be read, so that it names none
            page = feedback.page(graded, standing, attempts).encode()
        replace(self.page, page)
        return hashlib.sha256(page).hexdigest()

    def _text(self, notebook: nbformat.NotebookNode) -> bytes:
        """The notebook as a file; written once, since a new attempt that counts goes to two places."""
        if self._last is None or self._last[0] is not notebook:
            self._last = notebook, (nbformat.writes(notebook, nbformat.NO_CONVERT) + "\n").encode()
        return self._last[1]

    def _for_exchange(self, digest: str) -> list[tuple[str, str]]:
        """(name, text) of the files without which ``nbgrader release_feedback`` would fail for the whole class."""
        stamp = self.stamp or f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S.%f} UTC"
        secret = self.secret
        if not secret:  # it didn't come through the exchange: make up a secret that no student knows
            text = f"feedback\n{self.student}\n{self.unit}\n{digest}".encode()
            secret = hmac.digest(course_secret(self.course.root).encode(), text, "sha512").hex()
        return [(STAMP, f"{stamp}\n"), (SECRET, secret)]

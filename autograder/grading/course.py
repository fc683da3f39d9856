"""Where a course's files lie: nbgrader's own configuration, read the way nbgrader reads it."""

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
from anatomy.files import replace
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder import ROOT

from . import feedback
from .grade import GradedNotebook
from .names import shown

# What a spreadsheet takes for a formula: at the start of a cell, and of what a semicolon separates where the list
# separator is one. The wide ones count as well in some countries.
_FORMULA = re.compile("(^|;)(?=\\s*[=+\\-@\uff1d\uff0b\uff0d\uff20])")


@dataclass
class Course:
    """directory: nbgrader's CourseDirectory. config: everything in nbgrader_config.py."""

    directory: CourseDirectory
    config: Config

    @property
    def root(self) -> Path:
        return Path(self.directory.root)

    @property
    def db_url(self) -> str:
        return self.directory.db_url

    def folder(self, step: str, student: str, unit: str) -> Path:
        """Folder of one submission in nbgrader's layout; step: ``autograded_directory`` or ``feedback_directory``."""
        return Path(self.directory.format_path(getattr(self.directory, step), student, unit))

    def publish(
        self,
        graded: GradedNotebook,
        timestamp: str | None,
        comments: Mapping[str, str],
        manual: Mapping[str, float],
        penalty: float,
    ) -> None:
        """Writes the autograded notebook and the feedback page, each whole or not at all.

        timestamp: nbgrader's text for when it was submitted; the others as ``feedback.page`` takes them.
        """
        autograded = self.folder("autograded_directory", graded.student, graded.unit)
        if graded.notebook is not None:
            book = nbformat.writes(graded.notebook, nbformat.NO_CONVERT) + "\n"
            replace(autograded / f"{graded.unit}.ipynb", book.encode())
        if timestamp:
            replace(autograded / "timestamp.txt", f"{timestamp}\n".encode())
        page = feedback.page(graded, comments, manual, penalty)
        replace(self.folder("feedback_directory", graded.student, graded.unit) / f"{graded.unit}.html", page.encode())


def load_course(root: str | os.PathLike[str] | None = None) -> Course:
    """The Course of a folder: the working directory if it has an nbgrader_config.py, else the repository."""
    root = Path(root or (Path.cwd() if Path("nbgrader_config.py").exists() else ROOT)).resolve()
    config = PyFileConfigLoader("nbgrader_config.py", str(root)).load_config()
    if "root" not in config.CourseDirectory:
        config.CourseDirectory.root = str(root)
    return Course(CourseDirectory(config=config), config)


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A CSV file. What a spreadsheet would run as a formula gets a quote in front; what is hidden is written out."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([_FORMULA.sub(r"\1'", shown(v, 1_000)) if isinstance(v, str) else v for v in row])
    replace(path, table.getvalue().encode())

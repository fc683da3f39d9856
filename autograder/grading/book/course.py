"""The paths and settings of a course, from nbgrader's configuration, read the way nbgrader reads it."""

import csv
import io
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from anatomy.system.files import replace
from nbgrader.coursedir import CourseDirectory
from traitlets import TraitError
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder import ROOT, settings
from autograder.notebooks import own_course
from autograder.settings import Class, Grading, Release, refused

from ..base.names import shown
from .database import GradebookError
from .late import PerDay

# Text that a spreadsheet takes for a formula: at the start of a cell, or after a semicolon, which separates cells in
# some locales. In some locales the fullwidth characters count, too.
_FORMULA = re.compile("(^|;)(?=\\s*[=+\\-@\uff1d\uff0b\uff0d\uff20])")


@dataclass
class Course:
    """A course. directory: nbgrader's CourseDirectory. config: everything in nbgrader_config.py."""

    directory: CourseDirectory
    config: Config

    @property
    def root(self) -> Path:
        return Path(self.directory.root)

    @property
    def db_url(self) -> str:
        return self.directory.db_url

    @property
    def course_id(self) -> str:
        return self.directory.course_id or "default_course"

    @property
    def settings(self) -> Grading:
        return Grading(config=self.config)

    @property
    def release(self) -> Release:
        return Release(config=self.config)

    @property
    def language(self) -> str:
        return str(Class(config=self.config).language)

    def folder(self, step: str, student: str, unit: str) -> Path:
        """Folder of one submission in nbgrader's layout; step: ``autograded_directory`` or ``feedback_directory``."""
        return Path(self.directory.format_path(getattr(self.directory, step), student, unit))


def load_course(root: str | os.PathLike[str] | None = None) -> Course:
    """The Course in ``root``; by default the working directory if it has an nbgrader_config.py, else the repository.

    Raises GradebookError for an invalid setting.
    """
    root = Path(root or (Path.cwd() if Path("nbgrader_config.py").exists() else ROOT)).resolve()
    config = PyFileConfigLoader("nbgrader_config.py", str(root)).load_config()
    if "root" not in config.CourseDirectory:
        config.CourseDirectory.root = str(root)
    if said := list(refused(config, Class, Grading, Release, PerDay, settings.Course)):
        raise GradebookError("\n".join(said))
    try:
        own_course.use(own_course.of(config))
    except own_course.BadSelection as error:
        raise GradebookError(str(error)) from None
    try:
        return Course(CourseDirectory(config=config), config)
    except TraitError as error:
        raise GradebookError(f"nbgrader_config.py: {shown(str(error), 500)}") from None


_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", re.ASCII)


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Writes a CSV file. Text that a spreadsheet would run as a formula gets a quote; hidden characters are escaped."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([_harmless(v) if isinstance(v, str) else v for v in row])
    replace(path, table.getvalue().encode())


def _harmless(text: str) -> str:
    return text if _NUMBER.fullmatch(text) else _FORMULA.sub(r"\1'", shown(text, 1_000))

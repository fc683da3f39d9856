"""Where a course's files lie: nbgrader's own configuration, read the way nbgrader reads it."""

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder import ROOT

from . import feedback


@dataclass
class Course:
    """directory: nbgrader's CourseDirectory. config: everything in nbgrader_config.py."""

    directory: CourseDirectory
    config: Config

    @property
    def root(self):
        return Path(self.directory.root)

    @property
    def db_url(self):
        return self.directory.db_url

    def folder(self, step, student, unit):
        """Folder of one submission in nbgrader's layout; step: ``autograded_directory`` or ``feedback_directory``."""
        return Path(self.directory.format_path(getattr(self.directory, step), student, unit))

    def publish(self, graded, timestamp, comments, manual, penalty):
        """Writes the autograded notebook and the feedback page, each whole or not at all."""
        autograded = self.folder("autograded_directory", graded.student, graded.unit)
        if graded.notebook is not None:
            replace(autograded / f"{graded.unit}.ipynb", nbformat.writes(graded.notebook, nbformat.NO_CONVERT) + "\n")
        if timestamp:
            replace(autograded / "timestamp.txt", timestamp + "\n")
        page = feedback.page(graded, comments, manual, penalty)
        replace(self.folder("feedback_directory", graded.student, graded.unit) / f"{graded.unit}.html", page)


def load_course(root=None):
    """The Course of a folder: the working directory if it has an nbgrader_config.py, else the repository."""
    root = Path(root or (Path.cwd() if Path("nbgrader_config.py").exists() else ROOT)).resolve()
    config = PyFileConfigLoader("nbgrader_config.py", str(root)).load_config()
    if "root" not in config.CourseDirectory:
        config.CourseDirectory.root = str(root)
    return Course(CourseDirectory(config=config), config)


def replace(path, text):
    """Writes a text file so that no reader, and no crash, ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_table(path, header, rows):
    """A CSV file. Cells that a spreadsheet would run as a formula get a quote in front."""
    lines = _Lines()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow(["'" + v if isinstance(v, str) and v[:1] in "=+-@\t\r" and v[:1] else v for v in row])
    replace(path, "".join(lines.parts))


class _Lines:
    def __init__(self):
        self.parts = []

    def write(self, text):
        self.parts.append(text)

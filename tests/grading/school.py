"""A course in a folder with all commands of an instructor, ours and nbgrader's, and all places that show points."""

import csv
import re
import shutil

from nbgrader.apps.api import NbGraderAPI
from nbgrader.plugins import CsvExportPlugin
from traitlets.config import Config

from autograder import ROOT
from autograder.grading.__main__ import main
from autograder.grading.book.course import load_course
from autograder.grading.book.gradebook import GradebookWriter
from autograder.grading.pages import publishing

from .cheats.base import SOLVE, START
from .classroom import course, grades

CHECK = "check-start-weighted_average"
SECRET = "5" * 128  # as nbgrader's exchange writes it
PENALTY = """
import sys
from nbgrader.plugins import BasePlugin
class Tenth(BasePlugin):
    def late_submission_penalty(self, student, score, seconds):
        return score / 10
c.AssignLatePenalties.plugin_class = Tenth
c.Exchange.root = "exchange"
"""


class School:
    """A course in a folder, with the instructor's commands, run in this process."""

    def __init__(self, root, more=""):
        self.root = course(root)
        with open(self.root / "nbgrader_config.py", "a") as file:
            file.write(PENALTY + more)
        shutil.copytree(ROOT / "solutions" / START, self.root / "solutions" / START)
        (self.root / "exchange").mkdir()
        (self.root / "exchange").chmod(0o777)  # as nbgrader wants it

    def writer(self):
        place = load_course(self.root)
        return GradebookWriter(place.db_url, place.course_id, place.config)

    def api(self):
        place = load_course(self.root)
        place.config.Exchange.root = str(self.root / "exchange")
        return NbGraderAPI(place.directory, config=place.config)

    # Actions of an instructor.
    def grade(self, *options):
        assert main(["submitted", "--workers", "1", *options]) == 0

    def publish(self, *options):
        assert publishing.main(options) == 0

    def autograde(self):
        for student in sorted(p.name for p in (self.root / "submitted").iterdir()):
            done = self.api().autograde(START, student, force=True)
            assert done["success"], done

    def generate_feedback(self):
        assert self.api().generate_feedback(START, force=True)["success"]

    def due(self, when):
        with self.writer() as writer:
            writer._ensure_unit(START)
            writer.gradebook.update_or_create_assignment(START, duedate=when)

    def says(self, student, comment=None, **values):
        """Writes a comment, manual_score or extra_credit, as the formgrader does."""
        with self.writer() as writer:
            book = writer.gradebook
            for name, value in values.items():
                setattr(book.find_grade(CHECK, START, START, student), name, value)
            if comment is not None:
                book.find_comment(SOLVE, START, START, student).manual_comment = comment
            book.db.commit()

    # What the course shows.
    def exported(self):
        """student → score in ``nbgrader export``."""
        with self.writer() as writer:
            CsvExportPlugin(config=Config(), to=str(self.root / "export.csv")).export(writer.gradebook)
        with open(self.root / "export.csv", newline="") as file:
            return {r["student_id"]: float(r["score"]) for r in csv.DictReader(file)}

    def table(self):
        """student → sum of scores in grades.csv."""
        found = {}
        for row in grades(self.root):
            found[row["student"]] = found.get(row["student"], 0.0) + float(row["score"])
        return found

    def page(self, student):
        return (self.root / "feedback" / student / START / f"{START}.html").read_text()

    def pages(self):
        """student → score on the page."""
        students = [p.name for p in (self.root / "feedback").iterdir()]
        return {s: float(re.search(r"<h1>\S+ ([\d.]+) of 1 point", self.page(s))[1]) for s in students}


def close(these, those):
    assert these.keys() == those.keys()
    return all(abs(these[k] - those[k]) < 0.006 for k in these)  # pages have two decimals


def query_rows(school):
    with school.writer() as writer:
        return list(writer.results())

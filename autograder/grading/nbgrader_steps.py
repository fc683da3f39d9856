"""The steps that nbgrader_config.py puts in the place of nbgrader's own, so that stock ``nbgrader autograde`` and the
formgrader rebuild, sandbox and judge a submission exactly like ``make grade``."""

import hashlib
import os
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, parse_utc
from traitlets import Bool

from autograder.judge.drawing import student_key, submission_key

from . import sessions
from .course import load_course
from .grade import GradedNotebook, grade_rebuilt, score_outputs, ungraded
from .gradebook import GradebookWriter
from .masters import master
from .rebuild import MARK, BadSubmission, Note, Rebuilt, read_submission, rebuild
from .secret import course_secret

Resources = dict[str, Any]  # what nbconvert hands from step to step; nbgrader's part says whose notebook it is


class SubmissionExporter(NotebookExporter):
    """Reads a submission as untrusted bytes and rebuilds it; reads everything else like nbconvert.

    What cannot be rebuilt becomes the course's notebook with a note of the problem, which then earns zero points
    with that reason, instead of a traceback and no result.
    """

    def from_filename(self, filename: str, resources: Resources | None = None, **kwargs: Any) -> tuple[str, Resources]:
        """The exported notebook as JSON; ``resources`` come from nbgrader's converter."""
        if not getattr(self.parent, "_sanitizing", False):
            return super().from_filename(filename, resources=resources, **kwargs)
        assert resources is not None, "nbgrader's converter says which submission it is"
        unit, data, problem = resources["nbgrader"]["assignment"], b"", None
        if resources["nbgrader"]["notebook"] != unit:
            raise ValueError(f"{os.path.basename(filename)} is not the notebook of {unit}: expected {unit}.ipynb")
        try:
            data = read_submission(filename)
            rebuilt = rebuild(data, unit)
        except BadSubmission as error:
            self.log.error("%s: %s", filename, error)
            rebuilt, problem = Rebuilt(nbformat.from_dict(master(unit).notebook.copy())), [error.name, str(error)]
        for note in rebuilt.notes:
            self.log.warning("%s: %s", filename, note.sentence)
        rebuilt.notebook.metadata[MARK] = {
            "notes": [vars(n) for n in rebuilt.notes],
            "absent": sorted(rebuilt.absent),
            "problem": problem,
            "digest": hashlib.sha256(data).hexdigest(),
        }
        return self.from_notebook_node(rebuilt.notebook, resources=resources, **kwargs)


class JudgedExecute(NbGraderPreprocessor):
    """Runs a rebuilt notebook in a session and writes the judge's scores where nbgrader looks for them."""

    sandbox = Bool(True, help="False runs the students' code unprotected, with the rights of the grader.").tag(
        config=True
    )

    def preprocess(self, nb: nbformat.NotebookNode, resources: Resources) -> tuple[nbformat.NotebookNode, Resources]:
        """nbgrader's execution step. Raises SandboxUnavailable where the sandbox is wanted and cannot be had."""
        where = resources["nbgrader"]
        about, unit, student = nb.metadata.pop(MARK), where["assignment"], where["student"]
        if self.sandbox:
            sessions.check_sandbox()
        else:
            self.log.warning(sessions.NO_SANDBOX)
        if about["problem"]:
            graded = ungraded(unit, student, *about["problem"])
            graded.notebook = _with_scores(nb, graded)
        else:
            rebuilt = Rebuilt(nb, [Note(**n) for n in about["notes"]], set(about["absent"]))
            key = submission_key(student_key(course_secret(_root(self)), student, unit), about["digest"])
            graded = grade_rebuilt(rebuilt, unit, student, key, sessions.factory(self.sandbox))
        resources[MARK] = {"graded": graded, "digest": about["digest"]}
        return graded.notebook, resources


class RecordVerdicts(NbGraderPreprocessor):
    """Stores the verdicts beside nbgrader's scores, for the class report and for ``make grade`` to see, and the points
    of extensions as extra credit."""

    def preprocess(self, nb: nbformat.NotebookNode, resources: Resources) -> tuple[nbformat.NotebookNode, Resources]:
        """Comes after SaveAutoGrades."""
        where, result = resources["nbgrader"], resources[MARK]
        course = load_course(_root(self))
        stamp = course.directory.get_existing_timestamp(
            str(course.folder("submitted_directory", where["student"], where["assignment"]))
        )
        with GradebookWriter(where["db_url"], course.directory.course_id or "default_course", self.config) as writer:
            writer.write(result["graded"], result["digest"], master(where["assignment"]).version, parse_utc(stamp))
        return nb, resources


def _with_scores(notebook: nbformat.NotebookNode, graded: GradedNotebook) -> nbformat.NotebookNode:
    names = {name: e.id for name, e in master(graded.unit).checks.items()}
    verdicts = {v.exercise: v for v in graded.verdicts}
    for cell in notebook.cells:
        if is_grade(cell):
            exercise = names[cell.metadata.nbgrader.grade_id]
            cell.outputs = score_outputs(verdicts[exercise], extension=exercise in graded.extensions)
    return notebook


def _root(step: NbGraderPreprocessor) -> str:
    """Root of the course: preprocessors hang below an exporter, which hangs below a converter."""
    return step.parent.parent.coursedir.root

"""Steps that replace nbgrader's own in nbgrader_config.py.

With them, stock ``nbgrader autograde`` and the formgrader rebuild, sandbox and judge a submission exactly like
``make grade``, and pages have no active content.
"""

import hashlib
import os
import re
from typing import Any

import nbformat
from anatomy.system.texts import printable
from anatomy.system.translation import speaking
from bs4 import BeautifulSoup
from nbconvert.exporters import HTMLExporter, NotebookExporter
from nbconvert.preprocessors import Preprocessor
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade
from traitlets import Bool

from autograder.judge.drawing import student_key, submission_key

from ..base.masters import MARK, master
from ..base.names import shown
from ..book.course import load_course
from ..book.gradebook import GradebookWriter
from ..book.one_secret import require_same
from ..book.secret import course_secret
from ..intake.locating import locate
from ..intake.opening import BadSubmission
from ..intake.rebuild import Note, Rebuilt, blank, language_of
from ..intake.stamps import opened, parse_stamp, read_secret, read_stamp
from ..judging import contained, sessions
from ..judging.grade import score_outputs, ungraded
from ..judging.results import GradedNotebook
from ..judging.submitted import Submitted
from ..pages.shelf import Shelf
from .files import guard

Resources = dict[str, Any]  # nbconvert passes it from step to step; ["nbgrader"] says whose notebook it is
_COLOR = re.compile(r"(\x1b\[[0-9;]{0,20}m)")  # the only control sequences that the pages interpret
_TEX = re.compile(r"[$\\]")


class SubmissionExporter(NotebookExporter):
    """Reads a submission as untrusted bytes and rebuilds it; reads everything else like nbconvert.

    If a submission cannot be rebuilt, it becomes the course's notebook with a note of the problem. It then earns zero
    points with that reason, instead of a traceback and no result.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        if hasattr(self.parent, "init_assignment"):  # nbgrader's converter, before it reads the submissions
            guard(self.parent)

    def from_filename(self, filename: str, resources: Resources | None = None, **kwargs: Any) -> tuple[str, Resources]:
        """The exported notebook as JSON; ``resources`` come from nbgrader's converter."""
        if not getattr(self.parent, "_sanitizing", False):
            return super().from_filename(filename, resources=resources, **kwargs)
        assert resources is not None, "nbgrader's converter says which submission it is"
        with speaking(load_course(self.parent.coursedir.root).language):
            return self._of_submission(filename, resources, **kwargs)

    def _of_submission(self, filename: str, resources: Resources, **kwargs: Any) -> tuple[str, Resources]:
        unit, data, stamp, secret, problem = resources["nbgrader"]["assignment"], b"", None, "", None
        notes = list[Note]()
        try:
            with opened(self.parent.coursedir, os.path.dirname(filename)) as folder:
                stamp, odd = read_stamp(folder)
                secret = read_secret(folder)
                notes = [Note(*odd)] if odd else []
                name, odd = locate(folder, unit)
                notes += [Note(*odd)] if odd else []
                data = folder.read(name)
            rebuilt = contained.rebuild(data, unit)
        except BadSubmission as error:
            self.log.error("%s: %s", shown(filename, 300), shown(str(error), 500))
            rebuilt, problem = Rebuilt(blank(master(unit))), [error.name, str(error)]
        rebuilt.notes = notes + rebuilt.notes
        for note in rebuilt.notes:
            self.log.warning("%s: %s", shown(filename, 300), shown(note.sentence, 500))
        rebuilt.notebook.metadata[MARK] = {
            "notes": [vars(n) for n in rebuilt.notes],
            "absent": sorted(rebuilt.absent),
            "tries": rebuilt.tries,
            "problem": problem,
            "digest": hashlib.sha256(data).hexdigest(),
            "stamp": stamp,
            "secret": secret,
        }
        return self.from_notebook_node(rebuilt.notebook, resources=resources, **kwargs)


class FeedbackExporter(HTMLExporter):
    """Makes ``nbgrader generate_feedback`` write the same page from the gradebook as ``make grade``.

    A submission that was never graded here gets nbgrader's own page, without the files next to the notebook.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        if hasattr(self.parent, "init_assignment"):
            guard(self.parent)

    def from_filename(self, filename: str, resources: Resources | None = None, **kwargs: Any) -> tuple[str, Resources]:
        """The page; ``resources`` come from nbgrader's converter."""
        if hasattr(self.parent, "coursedir") and resources is not None:
            with opened(self.parent.coursedir, os.path.dirname(filename)) as folder:
                if folder.kind(os.path.basename(filename)) != "file":
                    raise NbGraderException(f"There is no notebook {shown(filename, 300)}: run autograde first.")
            about = resources["nbgrader"]
            made = self._page(about["student"], about["assignment"], about["db_url"])
            if made is not None:
                return made, resources | {"output_extension": self.file_extension}
        return super().from_filename(filename, resources=resources, **kwargs)

    def _page(self, student: str, unit: str, db_url: str) -> str | None:
        course = load_course(self.parent.coursedir.root)
        with GradebookWriter(db_url, course.course_id, course.config) as writer:
            writer.recount(student, unit, shelf := Shelf(course, student, unit))
            stored = next(writer.results(unit, student), None)
        return shelf.page.read_text(encoding="utf-8") if stored else None


# Elements that nbconvert's sanitizer would show as text → allowed elements that replace them. (It allows tables, but
# adds a tbody to each, which it doesn't allow.)
_SANITIZED = {name: "div" for name in ("p", "details", "summary", "h1", "h2", "h3", "h4", "table", "tr")}
_SANITIZED |= {"th": "span", "td": "span"}
_UNWRAPPED = ("thead", "tbody")


class InertOutputs(Preprocessor):
    """Reduces a notebook's outputs to readable text and safe HTML, for every page that nbgrader makes of it.

    Removes scripts, widgets, other formats and control characters except colors. Keeps TeX as text, because rendered
    TeX can contain links.
    """

    def preprocess_cell(
        self, cell: nbformat.NotebookNode, resources: Resources, index: int
    ) -> tuple[nbformat.NotebookNode, Resources]:
        """The preprocessing step of nbconvert for one cell."""
        if cell.cell_type == "code":
            cell.source = printable(cell.source)
            cell.outputs = [_inert(output) for output in cell.outputs]
        return cell, resources


def _inert(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    if output.output_type == "stream":
        output.text = _legible(output.text)
    elif output.output_type == "error":
        output.ename, output.evalue = printable(output.ename), printable(output.evalue)
        output.traceback = [_legible(line) for line in output.traceback]
    else:
        page, text = output.data.get("text/html"), output.data.get("text/plain")
        output.data = nbformat.from_dict({"text/plain": _legible(text)} if isinstance(text, str) else {})
        if isinstance(page, str):
            output.data["text/html"] = _without_tex(page)
        output.metadata = nbformat.from_dict({})
    return output


def _legible(text: str) -> str:
    parts = _COLOR.split(text)
    return "".join(part if i % 2 else printable(part) for i, part in enumerate(parts))


def _without_tex(page: str) -> str:
    """The same HTML, protected from TeX rendering: with classes that turn it off, and each TeX delimiter in a span.

    Elements that nbconvert's sanitizer would show as text are replaced by ones that it allows.
    """
    soup = BeautifulSoup(page, features="html.parser")
    for element in soup.find_all([*_SANITIZED, *_UNWRAPPED]):
        if element.name in _UNWRAPPED:
            element.unwrap()
            continue
        if element.name in ("th", "td"):
            element.append(" ")
            for code in element.find_all("code"):
                code.name = "pre"  # keeps line breaks
        element.name = _SANITIZED[element.name]
    for text in soup.find_all(string=_TEX):
        if len(text) > 1:
            pieces = [p for p in re.split(f"({_TEX.pattern})", text) if p]
            for piece in pieces:
                text.insert_before(_alone(soup, piece) if _TEX.fullmatch(piece) else piece)
            text.extract()
    return f'<div class="tex2jax_ignore mathjax_ignore">{soup}</div>'


def _alone(soup: BeautifulSoup, sign: str) -> Any:
    element = soup.new_tag("span")
    element.string = sign
    return element


class JudgedExecute(NbGraderPreprocessor):
    """Runs a rebuilt notebook in a session and writes the judge's scores where nbgrader looks for them."""

    sandbox = Bool(True, help="False runs the students' code unprotected, with the rights of the grader.").tag(
        config=True
    )

    def preprocess(self, nb: nbformat.NotebookNode, resources: Resources) -> tuple[nbformat.NotebookNode, Resources]:
        """nbgrader's execution step. Raises SandboxUnavailable if the sandbox is on but not available."""
        with speaking(language_of(nb)):
            return self._judged(nb, resources)

    def _judged(self, nb: nbformat.NotebookNode, resources: Resources) -> tuple[nbformat.NotebookNode, Resources]:
        where = resources["nbgrader"]
        about, unit, student = nb.metadata.pop(MARK), where["assignment"], where["student"]
        notes = [Note(**n) for n in about["notes"]]
        if self.sandbox:
            sessions.check_sandbox()
        else:
            self.log.warning(sessions.NO_SANDBOX)
        if about["problem"]:
            graded = ungraded(unit, student, *about["problem"])
            graded.notes = [n for n in notes if n.name != about["problem"][0]] + graded.notes
            graded.notebook = _with_scores(nb, graded)
        else:
            rebuilt = Rebuilt(nb, notes, set(about["absent"]), dict(about["tries"]))
            key = submission_key(student_key(course_secret(_root(self)), student, unit), about["digest"])
            follow = load_course(_root(self)).settings.follow_through
            submitted = Submitted(unit, student, key, lambda: rebuilt, follow)
            graded = contained.grade(submitted, sessions.factory(self.sandbox))
            if graded.notebook is None:  # its outputs exceeded the limits
                graded.notebook = _with_scores(nb, graded)
        resources[MARK] = {"graded": graded} | {name: about[name] for name in ("digest", "stamp", "secret")}
        return graded.notebook, resources


class RecordVerdicts(NbGraderPreprocessor):
    """Stores the verdicts, for the class report and ``make grade``, and the points of extensions as extra credit."""

    def preprocess(self, nb: nbformat.NotebookNode, resources: Resources) -> tuple[nbformat.NotebookNode, Resources]:
        """Stores the results; runs after nbgrader's SaveAutoGrades."""
        where, result = resources["nbgrader"], resources[MARK]
        course, graded = load_course(_root(self)), result["graded"]
        stamp = parse_stamp(result["stamp"]) if result["stamp"] else None
        shelf = Shelf(course, where["student"], where["assignment"], result["stamp"], result["secret"])
        with GradebookWriter(where["db_url"], course.course_id, self.config) as writer:
            require_same(writer.gradebook.engine, course.course_id, course_secret(course.root))
            for sentence in writer.write(graded, result["digest"], master(graded.unit).version, stamp, shelf):
                self.log.warning("%s/%s: %s", shown(where["student"]), where["assignment"], sentence)
            counted = next(writer.results(where["assignment"], where["student"]))["counted"]
        # Another attempt may be the one that counts: then return the notebook that belongs to the stored points.
        return shelf.kept(counted) or nb, resources


def _with_scores(notebook: nbformat.NotebookNode, graded: GradedNotebook) -> nbformat.NotebookNode:
    names = {name: e.id for name, e in master(graded.unit).checks.items()}
    verdicts = {v.exercise: v for v in graded.verdicts}
    for cell in notebook.cells:
        if is_grade(cell) and cell.metadata.nbgrader.grade_id in names:
            exercise = names[cell.metadata.nbgrader.grade_id]
            cell.outputs = score_outputs(verdicts[exercise], extension=exercise in graded.extensions)
    return notebook


def _root(step: NbGraderPreprocessor) -> str:
    """Root of the course: a preprocessor's parent is an exporter, whose parent is nbgrader's converter."""
    return step.parent.parent.coursedir.root

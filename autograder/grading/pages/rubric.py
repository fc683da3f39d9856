"""Shows the rubric of a written question to graders in the formgrader, and to nobody else.

The rubric is not stored in a submission's folders: it is inserted from ``solutions/`` when the formgrader shows a page.
So graders always see the current rubric, and no feedback page can contain it.
"""

from typing import Any

import nbformat
from nbconvert.preprocessors import Preprocessor
from traitlets.config import Config

from autograder.notebooks.written import is_written
from autograder.settings import Grading

from ..base.masters import Rubric, rubrics
from ..book.course import load_course
from ..intake import pictures

Resources = dict[str, Any]


class ShowRubric(Preprocessor):
    """Adds pictures and rubric below each written answer on a formgrader page, and sets the maximum of its cell.

    The formgrader shows the maximum from the notebook, not from the gradebook.
    """

    def preprocess(self, nb: nbformat.NotebookNode, resources: Resources) -> tuple[nbformat.NotebookNode, Resources]:
        """The preprocessing step of nbconvert. Changes only pages of the formgrader."""
        if "submission_id" not in resources:  # only the formgrader sets it
            return nb, resources
        known = rubrics(str(resources.get("assignment_id")))
        counts, cells = _have_points(self.config), []
        for cell in nb.cells:
            cells.append(cell)
            if is_written(cell) and cell.metadata.nbgrader.get("grade_id") in known:
                rubric = known[cell.metadata.nbgrader.grade_id]
                cell.metadata.nbgrader.points = rubric.points if counts else 0.0
                cells += [*_pictures(cell), nbformat.v4.new_markdown_cell(_shown(rubric, counts))]
        nb.cells = cells
        return nb, resources


def _have_points(config: Config) -> bool:
    """Whether written answers have points, by the settings as they stand now.

    JupyterLab reads them once, when it starts, and the formgrader would go on with what they were.
    """
    about = config.get("CourseDirectory", {})
    try:
        if "course_id" in about:  # as in nbgrader_config.py
            return load_course(about.get("root")).settings.written_answers
    except Exception:  # a file that is being edited; the commands say what is wrong with it
        pass
    return Grading(config=config).written_answers


def _pictures(cell: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The pictures of a written answer as a cell's output: in text, their addresses would be removed as unknown."""
    outputs = [
        nbformat.v4.new_output("display_data", {kind: data}, metadata={kind: {"alt": name}})
        for name, kind, data in pictures.taken_from(cell)
    ]
    return [nbformat.v4.new_code_cell("# pictures from the answer above", outputs=outputs)] if outputs else []


def _shown(rubric: Rubric, counts: bool) -> str:
    quoted = "\n".join(f"> {line}".rstrip() for line in rubric.answer.split("\n"))
    off = "" if counts else "*Written answers have no points in this course: `c.Grading.written_answers` is off.*\n\n"
    return f"#### Rubric, for graders only\n\n{off}{rubric.scheme}\n\n**A model answer:**\n\n{quoted}"

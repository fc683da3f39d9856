"""The rubric of a written question, shown to graders in the formgrader and to nobody else.

Nothing of it lies in a submission's folders: it is put in when the formgrader shows a page, from ``solutions/``. So a
rubric that was changed since is the one that graders see, and no feedback page can have it.
"""

from typing import Any

import nbformat
from nbconvert.preprocessors import Preprocessor

from autograder.notebooks.written import is_written
from autograder.settings import Grading

from ..base.masters import Rubric, rubrics
from ..intake import pictures

Resources = dict[str, Any]


class ShowRubric(Preprocessor):
    """Puts pictures and rubric below each written answer on a page of the formgrader, and its maximum into its cell.

    The formgrader takes the maximum that it shows from the notebook, not from the gradebook.
    """

    def preprocess(self, nb: nbformat.NotebookNode, resources: Resources) -> tuple[nbformat.NotebookNode, Resources]:
        """nbconvert's step for a notebook. Pages that are not the formgrader's stay as they are."""
        if "submission_id" not in resources:  # only its pages are about a row of the gradebook
            return nb, resources
        known = rubrics(str(resources.get("assignment_id")))
        counts, cells = Grading(config=self.config).written_answers, []
        for cell in nb.cells:
            cells.append(cell)
            if is_written(cell) and cell.metadata.nbgrader.get("grade_id") in known:
                rubric = known[cell.metadata.nbgrader.grade_id]
                cell.metadata.nbgrader.points = rubric.points if counts else 0.0
                cells += [*_pictures(cell), nbformat.v4.new_markdown_cell(_shown(rubric, counts))]
        nb.cells = cells
        return nb, resources


def _pictures(cell: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The pictures of a written answer as a cell's output: in text they would be taken out as addresses unknown."""
    outputs = [
        nbformat.v4.new_output("display_data", {kind: data}, metadata={kind: {"alt": name}})
        for name, kind, data in pictures.taken_from(cell)
    ]
    return [nbformat.v4.new_code_cell("# pictures from the answer above", outputs=outputs)] if outputs else []


def _shown(rubric: Rubric, counts: bool) -> str:
    quoted = "\n".join(f"> {line}".rstrip() for line in rubric.answer.split("\n"))
    off = "" if counts else "*Written answers have no points in this course: `c.Grading.written_answers` is off.*\n\n"
    return f"#### Rubric, for graders only\n\n{off}{rubric.scheme}\n\n**A model answer:**\n\n{quoted}"

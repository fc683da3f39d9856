"""Turns nbgrader's source notebook into the released one, with nbgrader's own preprocessors."""

import copy
import re
from collections.abc import Mapping
from typing import Any

from anatomy.app.build_stamp import sign, unit_of
from anatomy.program.units import grade_id
from nbformat import NotebookNode
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    LockCells,
    NbGraderPreprocessor,
)
from traitlets import Unicode
from traitlets.config import Config

from autograder.settings import Grading

from . import own_course, wording, written

# Passed from one nbconvert preprocessor to the next.
Resources = dict[str, Any]
SAID = "anatomy_said"  # in them: English phrase of wording.OF_RELEASE → the same in the notebook's language


class NamedStub(ClearSolutions):
    """ClearSolutions whose stub names only the exercise; the stub of a written answer invites learners to write."""

    text_stub = Unicode(written.STUB, help="What stands in the place of a written answer.").tag(config=True)

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, cell_index: int
    ) -> tuple[NotebookNode, Resources]:
        """Replaces the solution regions of one cell."""
        about = cell.metadata.get("anatomy") or {}
        if about.get("exercise"):
            message = f"{about['exercise']}: your code goes here"
            stub = f"raise NotImplementedError({_quote(message)})"
            if about.get("bring"):
                # The learner's own code replaces this line; functions that cannot be found are left to be written.
                stub = f"parts.bring({', '.join(map(_quote, about['bring']))})"
            self.code_stub = {"python": stub}
        self.text_stub = resources.get(SAID, {}).get(wording.WRITE_HERE, self.text_stub)
        return super().preprocess_cell(cell, resources, cell_index)


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class WrittenPoints(NbGraderPreprocessor):
    """Removes the points of the written question if nobody grades the answers (``c.Grading.written_answers``)."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, cell_index: int
    ) -> tuple[NotebookNode, Resources]:
        """Sets the points to 0. Runs before the checksums, which cover the points."""
        if written.is_written(cell) and not Grading(config=self.config).written_answers:
            cell.metadata.nbgrader["points"] = 0
        return cell, resources


class OwnPoints(NbGraderPreprocessor):
    """Gives exercises the points that they have in the instructor's own course (``c.Course.points``)."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Changes checks and the lines below the headings. Runs before the checksums, which cover the points."""
        points = own_course.of(self.config).points
        checks = {grade_id(name): worth for name, worth in points.items()}
        aside = resources.get(SAID, {}).get(wording.NOT_ASKED_FOR, wording.NOT_ASKED_FOR)
        for cell in nb.cells if points else ():
            about = cell.metadata.get("nbgrader") or {}
            if about.get("grade_id") in checks and about.get("points"):  # an extension's points are extra
                about["points"] = checks[about["grade_id"]]
            elif cell.cell_type == "markdown":
                cell.source = _HEAD.sub(lambda found: _with_points(found, points, aside), cell.source, count=1)
        return nb, resources

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, cell_index: int
    ) -> tuple[NotebookNode, Resources]:
        """Leaves each cell unchanged."""
        return cell, resources


# The line below an exercise's heading in any language, which ends with the points.
_HEAD = re.compile(r"^(`([\w.]+)` · [^\n]* · [^\n·\d]*)([\d.]+)( [^\n·]*)$", re.M)


def _with_points(found: "re.Match[str]", points: Mapping[str, float], aside: str) -> str:
    head, name, _old, words = found.groups()
    if name not in points:
        return found[0]
    if words.endswith((" point", " points")):  # in English
        words = words.rstrip("s") + "s" * (points[name] != 1)
    return f"{head}{points[name]:g}{words}{'' if points[name] else aside}"


class ForgetAuthorNotes(NbGraderPreprocessor):
    """Removes metadata that only the build needs from the cells."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, cell_index: int
    ) -> tuple[NotebookNode, Resources]:
        """Removes the course's own metadata; nbgrader's metadata and tags stay."""
        cell.metadata.pop("anatomy", None)
        return cell, resources


class Fingerprint(NbGraderPreprocessor):
    """Records in the metadata what the build wrote, so that a learner's changes can be recognized."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Signs the notebook with the unit that its source notebook names."""
        return sign(nb, unit_of(nb)), resources

    def preprocess_cell(
        self, cell: NotebookNode, resources: Resources, cell_index: int
    ) -> tuple[NotebookNode, Resources]:
        """Leaves each cell unchanged."""
        return cell, resources


# In the order of nbgrader's own GenerateAssignment, without the steps that need a database (see nbgrader_config.py).
RELEASE_STEPS = (
    LockCells,
    NamedStub,
    WrittenPoints,
    OwnPoints,
    ClearOutput,
    ForgetAuthorNotes,
    CheckCellMetadata,
    ComputeChecksums,
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    CheckCellMetadata,
    Fingerprint,
)


def release_notebook(
    book: NotebookNode, config: Config | None = None, said: Mapping[str, str] | None = None
) -> NotebookNode:
    """The notebook that a learner gets, from a source notebook (which is not modified).

    config: that of nbgrader_config.py, if its settings matter; without one the written question has no points.
    said: the phrases of ``wording.OF_RELEASE`` in the notebook's language, if that isn't English.
    """
    book = copy.deepcopy(book)
    resources: Resources = {SAID: said or {}}
    for step in RELEASE_STEPS:
        book, resources = step(config=config or Config()).preprocess(book, resources)
    return book

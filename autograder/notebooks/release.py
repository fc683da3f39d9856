"""Turns nbgrader's source notebook into the released one, with nbgrader's own preprocessors."""

import copy
from typing import Any

from anatomy.app.build_stamp import sign, unit_of
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

from . import written

# Passed from one nbconvert preprocessor to the next.
Resources = dict[str, Any]


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


def release_notebook(book: NotebookNode, config: Config | None = None) -> NotebookNode:
    """The notebook that a learner gets, from a source notebook (which is not modified).

    config: that of nbgrader_config.py, if its settings matter; without one the written question has no points.
    """
    book = copy.deepcopy(book)
    resources: Resources = {}
    for step in RELEASE_STEPS:
        book, resources = step(config=config or Config()).preprocess(book, resources)
    return book

"""Writes nbgrader's gradebook rows for released units: a unit, its cells, and their rows in submissions."""

import copy
import uuid
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from nbgrader.api import (
    Assignment,
    Comment,
    Grade,
    Gradebook,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.preprocessors import SaveCells

from ..base.masters import Master
from .database import GradebookError, patient_url


def update_unit(gradebook: Gradebook, db_url: str, trusted: Master, answers_count: bool = False) -> None:
    """Stores a unit as ``nbgrader generate_assignment`` would, and commits.

    answers_count: True if the written answer has points. Raises GradebookError if there are scores for exercises that
    the unit no longer has.
    """
    points = {name: 0.0 if e.extension else float(e.points) for name, e in trusted.checks.items()}
    points |= {name: float(most) if answers_count else 0.0 for name, most in trusted.written.items()}
    stored = (
        gradebook.db.execute(
            sa.select(Notebook).join(Assignment).where(Assignment.name == trusted.unit, Notebook.name == trusted.unit)
        )
        .scalars()
        .first()
    )
    have = {c.name: c.max_score for c in stored.grade_cells} if stored else {}
    if stored and have == points and {c.name for c in stored.solution_cells} == {*trusted.answers, *trusted.written}:
        gradebook.db.commit()
    elif stored and stored.submissions:
        _extend_unit(gradebook, trusted, stored, have, points)
    else:
        gradebook.update_or_create_assignment(trusted.unit)
        where = {"notebook": trusted.unit, "assignment": trusted.unit, "student": ".", "db_url": patient_url(db_url)}
        notebook = copy.deepcopy(trusted.notebook)
        for cell in notebook.cells:
            if cell.metadata.get("nbgrader", {}).get("grade_id") in trusted.written:
                cell.metadata.nbgrader.points = points[cell.metadata.nbgrader.grade_id]
        SaveCells().preprocess(notebook, {"nbgrader": where})


def _extend_unit(
    gradebook: Gradebook,
    trusted: Master,
    stored: Notebook,
    have: Mapping[str, float],
    points: Mapping[str, float],
) -> None:
    """Stores new exercises and points for a unit that already has submissions, which nbgrader refuses to do."""
    unit, gone = trusted.unit, sorted(set(have) - set(points))
    if gone:
        raise GradebookError(
            f"The gradebook has scores for exercises that {unit} no longer has "
            f"({', '.join(gone)}). Grade into a new gradebook, or bring the exercises back."
        )
    for name, value in points.items():
        kind = "markdown" if name in trusted.written else "code"
        gradebook.update_or_create_grade_cell(name, unit, unit, max_score=value, cell_type=kind)
    for name in (*trusted.answers, *trusted.written):
        gradebook.update_or_create_solution_cell(name, unit, unit)
    gradebook.db.expire_all()
    for submitted in stored.submissions:
        rows = {g.cell_id for g in submitted.grades} | {c.cell_id for c in submitted.comments}
        _add_rows(gradebook, submitted.id, stored, rows)
    gradebook.db.commit()


def add_submission(gradebook: Gradebook, student: str, unit: str) -> None:
    """Adds the same rows as ``Gradebook.add_submission``, without its commits in between."""
    if gradebook.db.get(Student, student) is None:
        _insert(gradebook, Student, id=student)
    assignment = gradebook.find_assignment(unit)
    submission = _insert(gradebook, SubmittedAssignment, assignment_id=assignment.id, student_id=student)
    for notebook in assignment.notebooks:
        submitted = _insert(gradebook, SubmittedNotebook, assignment_id=submission, notebook_id=notebook.id)
        _add_rows(gradebook, submitted, notebook, set())


def _add_rows(gradebook: Gradebook, submitted: str, notebook: Notebook, have: set[str]) -> None:
    """Adds grade and comment rows to a submitted notebook (its id) for every cell whose id is not in ``have``."""
    for cells, model in ((notebook.grade_cells, Grade), (notebook.solution_cells, Comment)):
        for cell in cells:
            if cell.id not in have:
                _insert(gradebook, model, cell_id=cell.id, notebook_id=submitted)


def _insert(gradebook: Gradebook, model: type[Any], **values: Any) -> str:
    # SQLAlchemy Core, not the ORM, which would flush half-linked objects and insert rows twice.
    values = {"id": uuid.uuid4().hex, **values}
    gradebook.db.execute(sa.insert(model.__table__).values(**values))
    return values["id"]

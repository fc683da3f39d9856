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

from ..base.outlines import Outline
from . import set_aside
from .database import GradebookError, patient_url


class ExercisesGone(GradebookError):
    """The gradebook has scores for exercises that a unit no longer has. Nothing of the unit can be stored until then.

    names: the grade_ids of their checks.
    """

    def __init__(self, unit: str, names: list[str], by_hand: int):
        self.unit, self.names = unit, names
        ids = [name.removeprefix("check-").replace("-", ".", 1) for name in names]
        drop = " ".join(f"--drop {name}" for name in ids)
        given = f" Given by hand: {by_hand}." if by_hand else ""
        super().__init__(
            f"{unit}: the gradebook has scores for {', '.join(ids)}, which the unit no longer has.{given} Nothing of "
            "this unit was graded or published, the other units were. "
            f'`make publish ARGS="{drop}"` sets these scores aside, so that they count no more. '
            "They come back with the exercise."
        )


def update_unit(gradebook: Gradebook, db_url: str, trusted: Outline, answers_count: bool = False) -> None:
    """Stores a unit as ``nbgrader generate_assignment`` would, and commits.

    answers_count: True if the written answer has points. Raises ExercisesGone if there are scores for exercises that
    the unit no longer has.
    """
    points = {name: 0.0 if e.extension else float(e.points) for name, e in trusted.checks.items()}
    points |= {name: float(most) if answers_count else 0.0 for name, most in trusted.written.items()}
    stored = stored_notebook(gradebook, trusted.unit)
    have = {c.name: c.max_score for c in stored.grade_cells} if stored else {}
    if stored and have == points and {c.name for c in stored.solution_cells} == {*trusted.answers, *trusted.written}:
        gradebook.db.commit()
    elif stored and stored.submissions:
        _extend_unit(gradebook, trusted, stored, have, points)
    else:
        from nbgrader.preprocessors import SaveCells  # with all of nbconvert, for the first submission of a unit

        gradebook.update_or_create_assignment(trusted.unit)
        where = {"notebook": trusted.unit, "assignment": trusted.unit, "student": ".", "db_url": patient_url(db_url)}
        notebook = copy.deepcopy(trusted.notebook)
        for cell in notebook.cells:
            if cell.metadata.get("nbgrader", {}).get("grade_id") in trusted.written:
                cell.metadata.nbgrader.points = points[cell.metadata.nbgrader.grade_id]
        SaveCells().preprocess(notebook, {"nbgrader": where})


def stored_notebook(gradebook: Gradebook, unit: str) -> Notebook | None:
    """nbgrader's row of a unit's notebook, or None."""
    query = sa.select(Notebook).join(Assignment).where(Assignment.name == unit, Notebook.name == unit)
    return gradebook.db.execute(query).scalars().first()


def submitted_notebook(gradebook: Gradebook, student: str, unit: str) -> SubmittedNotebook | None:
    """nbgrader's row of a student's notebook, or None."""
    query = (
        sa.select(SubmittedNotebook)
        .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .join(Notebook, Notebook.id == SubmittedNotebook.notebook_id)
        .where(SubmittedAssignment.student_id == student, Assignment.name == unit, Notebook.name == unit)
    )
    return gradebook.db.execute(query).scalars().first()


def _extend_unit(
    gradebook: Gradebook,
    trusted: Outline,
    stored: Notebook,
    have: Mapping[str, float],
    points: Mapping[str, float],
) -> None:
    """Stores new exercises and points for a unit that already has submissions, which nbgrader refuses to do."""
    unit, gone = trusted.unit, sorted(set(have) - set(points))
    if gone:
        raise ExercisesGone(unit, gone, set_aside.by_hand(gradebook.db, stored, gone))
    for name, value in points.items():
        kind = "markdown" if name in trusted.written else "code"
        gradebook.update_or_create_grade_cell(name, unit, unit, max_score=value, cell_type=kind)
    for name in (*trusted.answers, *trusted.written):
        gradebook.update_or_create_solution_cell(name, unit, unit)
    gradebook.db.expire_all()
    for submitted in stored.submissions:
        rows = {g.cell_id for g in submitted.grades} | {c.cell_id for c in submitted.comments}
        _add_rows(gradebook, submitted.id, stored, rows)
    gradebook.db.expire_all()
    set_aside.bring_back(gradebook.db, stored)
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
                # nbgrader's default is that a new cell waits for a person. Ours waits for the judge, see ``asking.py``.
                more = {"needs_manual_grade": False} if model is Grade else {}
                _insert(gradebook, model, cell_id=cell.id, notebook_id=submitted, **more)


def _insert(gradebook: Gradebook, model: type[Any], **values: Any) -> str:
    # SQLAlchemy Core, not the ORM, which would flush half-linked objects and insert rows twice.
    values = {"id": uuid.uuid4().hex, **values}
    gradebook.db.execute(sa.insert(model.__table__).values(**values))
    return values["id"]

"""Sets the scores of exercises aside that a unit no longer has, and brings them back with the exercise.

The rows leave nbgrader's tables, so that they count no more, but what a person decided is kept in a table of our own.
"""

import json
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from anatomy.program.units import grade_id
from nbgrader.api import BaseCell, Comment, Grade, Notebook
from sqlalchemy.orm import Session

from ..base.masters import gradable_units
from ..base.names import shown
from ..base.outlines import outline
from .database import GradebookError
from .stored import GRADED, SET_ASIDE


def cells_of(notebook: Notebook) -> list[BaseCell]:
    """All rows of a notebook's cells: their points, answers and sources."""
    return [*notebook.grade_cells, *notebook.solution_cells, *notebook.source_cells]


def exercise(db: Session, name: str) -> list[tuple[str, int]]:
    """Puts the scores of an exercise away that its unit no longer has: [(unit, how many there were)]. Does not commit.

    Raises GradebookError if the course still has the exercise, or if the gradebook knows nothing of it.
    """
    cells, moved = {name, grade_id(name), grade_id(name, "solve")}, []
    for notebook in db.execute(sa.select(Notebook)).scalars().all():
        gone = cells & {c.name for c in cells_of(notebook)}
        if not gone:
            continue
        if notebook.name in gradable_units() and gone & outline(notebook.name).counted:
            raise GradebookError(f"{notebook.name} still has {name}: take it out of the unit first.")
        moved.append((notebook.name, put_away(db, notebook, gone)))
    if not moved:
        raise GradebookError(f"The gradebook has no scores for an exercise {shown(name, 200)}.")
    return moved


def by_hand(db: Session, notebook: Notebook, names: Collection[str]) -> int:
    """How many scores of these cells (grade_ids) a person gave or changed."""
    cells = {c.id: c.name for c in cells_of(notebook) if c.name in names}
    count = 0
    for submitted in notebook.submissions:
        for row in (g for g in submitted.grades if g.cell_id in cells):
            kept = _remembered(db, submitted.assignment.student_id, notebook.name, cells[row.cell_id])
            written = json.loads(kept)[0] if kept else None
            count += row.manual_score is not None or row.extra_credit not in (None, 0.0, written)
    return count


def put_away(db: Session, notebook: Notebook, names: Collection[str]) -> int:
    """Moves the rows of these cells out of nbgrader's tables; returns how many of them are scores. Does not commit.

    names: grade_ids of checks and answers.
    """
    cells = {c.id: c.name for c in cells_of(notebook) if c.name in names}
    students = {s.id: s.assignment.student_id for s in notebook.submissions}
    unit, now, moved = notebook.name, datetime.now(UTC).replace(tzinfo=None), 0
    for model, values in (
        (Grade, ("auto_score", "manual_score", "extra_credit")),
        (Comment, ("manual_comment",)),
    ):
        for row in db.execute(sa.select(model.__table__).where(model.cell_id.in_(cells))).all():
            whose = {"student_id": students[row.notebook_id], "unit": unit, "cell": cells[row.cell_id]}
            here = [SET_ASIDE.c[name] == value for name, value in whose.items()]
            db.execute(sa.delete(SET_ASIDE).where(*here))
            kept = {name: getattr(row, name) for name in values}
            if model is Grade:
                kept["remembered"] = _remembered(db, **whose)
            db.execute(sa.insert(SET_ASIDE).values(**whose, **kept, put_away_at=now))
            moved += model is Grade
        db.execute(sa.delete(model.__table__).where(model.cell_id.in_(cells)))
    db.flush()
    db.expire_all()
    for cell in [c for c in cells_of(notebook) if c.id in cells]:
        db.delete(cell)
    db.flush()
    db.expire_all()
    return moved


def _remembered(db: Session, student_id: str, unit: str, cell: str) -> str | None:
    """JSON of what the last result remembers about an extension's points (``extra.settle``), or None."""
    result = db.execute(_result(student_id, unit)).scalar_one_or_none()
    known = {grade_id(name): value for name, value in json.loads(result or "{}").get("extra", {}).items()}
    return json.dumps(known[cell]) if cell in known else None


def _remember(db: Session, row: Any) -> None:
    result = db.execute(_result(row.student_id, row.unit)).scalar_one_or_none()
    if result is None or row.remembered is None:
        return
    exercise = next((e.id for name, e in outline(row.unit).checks.items() if name == row.cell), "")
    data = json.loads(result)
    data["extra"] = {**data.get("extra", {}), exercise: json.loads(row.remembered)}
    here = (GRADED.c.student_id == row.student_id, GRADED.c.unit == row.unit)
    db.execute(sa.update(GRADED).where(*here).values(result=json.dumps(data)))


def _result(student: str, unit: str) -> sa.Select[Any]:
    return sa.select(GRADED.c.result).where(GRADED.c.student_id == student, GRADED.c.unit == unit)


def bring_back(db: Session, notebook: Notebook) -> None:
    """Gives cells that the unit has again what a person had decided about them. Does not commit."""
    there = {c.name: c.id for c in cells_of(notebook)}
    found = db.execute(sa.select(SET_ASIDE).where(SET_ASIDE.c.unit == notebook.name)).all()
    submitted = {s.assignment.student_id: s.id for s in notebook.submissions}
    for row in found:
        if row.cell not in there or row.student_id not in submitted:
            continue
        here = {"cell_id": there[row.cell], "notebook_id": submitted[row.student_id]}
        grade = db.execute(sa.select(Grade).filter_by(**here)).scalars().first()
        if grade is not None:
            grade.manual_score, grade.extra_credit = row.manual_score, row.extra_credit
            _remember(db, row)
        comment = db.execute(sa.select(Comment).filter_by(**here)).scalars().first()
        if comment is not None and row.manual_comment:
            comment.manual_comment = row.manual_comment
        gone = (SET_ASIDE.c[name] == getattr(row, name) for name in ("student_id", "unit", "cell"))
        db.execute(sa.delete(SET_ASIDE).where(*gone))

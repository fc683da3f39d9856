"""Reads a submission's state from nbgrader's gradebook, the single source for all tables and pages."""

from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa
from anatomy.program.units import grade_id
from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    GradeCell,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy.orm import Session


@dataclass
class Standing:
    """One submission in the gradebook. Keys are names of cells, as ``anatomy.program.units.grade_id`` makes them.

    Attributes:
        points: points that count: an instructor's if given, with extra credit.
        most: the cell's part of the maximum, 0 for an extension.
        decided: cells whose points an instructor gave.
        waiting: cells that wait for an instructor.
        comments: instructors' comments.
        penalty: points taken off for lateness.
        submitted: time of submission (UTC), or None.
        late: seconds after this student's due date.
    """

    points: dict[str, float] = field(default_factory=dict)
    most: dict[str, float] = field(default_factory=dict)
    decided: frozenset[str] = frozenset()
    waiting: frozenset[str] = frozenset()
    comments: dict[str, str] = field(default_factory=dict)
    penalty: float = 0.0
    submitted: datetime | None = None
    late: float = 0.0

    @property
    def score(self) -> float:
        """Total points, as ``nbgrader export`` computes them."""
        return max(0.0, sum(self.points.values()) - self.penalty)

    @property
    def core(self) -> float:
        """The part of the score that is from the core path, which lateness takes from first."""
        points = sum(points for cell, points in self.points.items() if self.most[cell])
        return max(0.0, points - self.penalty)

    @property
    def max_score(self) -> float:
        """Maximum points of the core path; with extensions, the score can be higher."""
        return sum(self.most.values())


Key = tuple[str, str]  # (student, unit)


def counts(exercise: str, standing: Standing) -> bool:
    """False for an exercise whose scores were set aside, because its unit no longer has it."""
    return not standing.points or grade_id(exercise) in standing.points


def standings(db: Session, student: str | None = None, unit: str | None = None) -> dict[Key, Standing]:
    """The Standing of every submission in the gradebook, or only of one student's or one unit's submissions."""

    def of_these(query: sa.Select[tuple[object, ...]]) -> sa.Select[tuple[object, ...]]:
        query = query.join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id).join(
            Assignment, Assignment.id == SubmittedAssignment.assignment_id
        )
        if student is not None:
            query = query.where(SubmittedAssignment.student_id == student)
        return query if unit is None else query.where(Assignment.name == unit)

    whose = (SubmittedAssignment.student_id, Assignment.name)
    found: dict[Key, Standing] = {}
    taken_off = sa.select(*whose, SubmittedNotebook.late_submission_penalty, SubmittedAssignment.timestamp)
    taken_off = taken_off.add_columns(Assignment.duedate, SubmittedAssignment.extension).select_from(SubmittedNotebook)
    for name, about, penalty, submitted, due, longer in db.execute(of_these(taken_off)):
        if due and longer:
            due += longer
        late = max(0.0, (submitted - due).total_seconds()) if submitted and due else 0.0
        found[name, about] = Standing(penalty=penalty or 0.0, submitted=submitted, late=late)
    decided, waiting = dict[Key, set[str]](), dict[Key, set[str]]()
    by = sa.or_(Grade.manual_score.is_not(None), Grade.extra_credit > 0)
    points = sa.select(*whose, GradeCell.name, Grade.score, GradeCell.max_score, by, Grade.needs_manual_grade)
    points = points.select_from(Grade).join(GradeCell, GradeCell.id == Grade.cell_id)
    for name, about, cell, score, most, given, wait in db.execute(
        of_these(points.join(SubmittedNotebook, SubmittedNotebook.id == Grade.notebook_id))
    ):
        one = found[name, about]
        one.points[cell], one.most[cell] = score, most
        if given:
            decided.setdefault((name, about), set()).add(cell)
        if wait:
            waiting.setdefault((name, about), set()).add(cell)
    words = sa.select(*whose, BaseCell.name, Comment.manual_comment).select_from(Comment)
    words = words.join(BaseCell, BaseCell.id == Comment.cell_id).where(Comment.manual_comment != "")
    for name, about, cell, text in db.execute(
        of_these(words.join(SubmittedNotebook, SubmittedNotebook.id == Comment.notebook_id))
    ):
        found[name, about].comments[cell] = text
    for key, one in found.items():
        one.decided, one.waiting = frozenset(decided.get(key, ())), frozenset(waiting.get(key, ()))
    return found

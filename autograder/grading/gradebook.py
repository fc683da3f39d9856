"""The one writer to nbgrader's gradebook. Everything about a submission is written in one transaction.

Beside nbgrader's own tables stands one of ours, ``anatomy_graded``: what was graded (a hash of the file and the
version of the spec), with the verdicts. A killed run leaves a submission either whole or not at all in there, so a
resumed one grades nothing twice and loses nothing.
"""

import json
import math
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Self, TypedDict, TypeVar

import sqlalchemy as sa
from anatomy.units import grade_id
from anatomy.verdict import Verdict
from nbgrader.api import (
    Assignment,
    Comment,
    Grade,
    Gradebook,
    GradeCell,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.preprocessors import AssignLatePenalties, SaveCells
from nbgrader.utils import compute_checksum
from sqlalchemy.orm import Session
from traitlets.config import Config

from . import extra
from .database import GradebookError, alone, patient_url, patiently
from .environment import find_alembic
from .grade import GradedNotebook
from .holding import Held
from .masters import master
from .rebuild import Note
from .signs import Sign

TABLE = sa.Table(
    "anatomy_graded",
    sa.MetaData(),
    sa.Column("student_id", sa.String(128), primary_key=True),
    sa.Column("unit", sa.String(128), primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("version", sa.String(16), nullable=False),
    sa.Column("graded_at", sa.DateTime, nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("times", sa.Integer, nullable=False),
    sa.Column("result", sa.Text, nullable=False),
)


T = TypeVar("T")
# Called with comments, points and penalty as ``feedback.page`` takes them.
Publish = Callable[[dict[str, str], dict[str, float], float], None]


class Result(TypedDict):
    """A stored submission. scores: exercise → points that count, an instructor's where one was given. most: exercise →
    its part of the maximum, 0 for an extension; both as the gradebook has them. problem: (slug, sentence) where nothing
    could be graded. times: how often it was graded. decided: exercises for which an instructor gave points. The rest is
    GradedNotebook's."""

    student: str
    unit: str
    seconds: float
    times: int
    graded_at: datetime
    verdicts: list[Verdict]
    scores: dict[str, float]
    most: dict[str, float]
    notes: list[Note]
    signs: list[Sign]
    held: list[Held]
    decided: frozenset[str]
    problem: tuple[str, str] | None
    tries: dict[str, int]


class GradebookWriter:
    """Opens nbgrader's gradebook for writing results. A context manager; one at a time in a process.

    Raises GradebookError where the database cannot be opened.
    """

    def __init__(self, db_url: str, course_id: str = "default_course", config: Config | None = None):
        self.db_url, self.config = db_url, config
        self._units: set[str] = set()
        find_alembic()
        self.gradebook = patiently(lambda: self._open(course_id), db_url)

    def _open(self, course_id: str) -> Gradebook:
        with alone(self.db_url):
            gradebook = Gradebook(patient_url(self.db_url), course_id)
            TABLE.create(gradebook.engine, checkfirst=True)
        return gradebook

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self.gradebook.close()

    @property
    def _db(self) -> Session:
        return self.gradebook.db

    # ---- reading ---------------------------------------------------------------------------------------------------
    def graded(self) -> dict[tuple[str, str], tuple[str, str]]:
        """dict (student, unit) → (digest, version) of everything in the table."""
        rows = self._read(
            lambda: self._db.execute(sa.select(TABLE.c.student_id, TABLE.c.unit, TABLE.c.digest, TABLE.c.version)).all()
        )
        return {(r.student_id, r.unit): (r.digest, r.version) for r in rows}

    def results(self, unit: str | None = None) -> Iterator[Result]:
        """All graded submissions (of one unit), by student and unit."""
        found, stands = self._read(
            lambda: (
                self._db.execute(sa.select(TABLE).order_by(TABLE.c.student_id, TABLE.c.unit)).all(),
                self._stands(),
            )
        )
        for row in found:
            if unit in (None, row.unit):
                data = json.loads(row.result)
                verdicts = [Verdict.from_dict(v) for v in data["verdicts"]]
                known = {
                    v.exercise: stands.get((row.student_id, row.unit, grade_id(v.exercise)), (v.score, v.max_score, 0))
                    for v in verdicts
                }
                yield {
                    "student": row.student_id,
                    "unit": row.unit,
                    "seconds": row.seconds,
                    "times": row.times,
                    "graded_at": row.graded_at,
                    "verdicts": verdicts,
                    "scores": {e: score for e, (score, _, _) in known.items()},
                    "most": {e: most for e, (_, most, _) in known.items()},
                    "notes": [Note(**n) for n in data["notes"]],
                    "signs": [Sign(**s) for s in data["signs"]],
                    "held": [Held(**h) for h in data.get("held", [])],
                    "decided": frozenset(e for e, (_, _, decided) in known.items() if decided),
                    "problem": tuple(data["problem"]) if data["problem"] else None,
                    "tries": data.get("tries", {}),
                }

    def _read(self, work: Callable[[], T]) -> T:
        result = self._retry(work)
        self._db.commit()
        return result

    def _stands(self) -> dict[tuple[str, str, str], tuple[float, float, bool]]:
        """dict (student, unit, cell name) → (score with extra credit, maximum, did an instructor decide)."""
        decided = sa.or_(Grade.manual_score.is_not(None), Grade.extra_credit > 0)
        query = (
            sa.select(SubmittedAssignment.student_id, Assignment.name, GradeCell.name, Grade.score, GradeCell.max_score)
            .add_columns(decided)
            .select_from(Grade)
            .join(GradeCell, GradeCell.id == Grade.cell_id)
            .join(SubmittedNotebook, SubmittedNotebook.id == Grade.notebook_id)
            .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        )
        rows = self._db.execute(query)
        return {(student, unit, cell): (score, most, bool(by)) for student, unit, cell, score, most, by in rows}

    # ---- writing ---------------------------------------------------------------------------------------------------
    def write(
        self,
        graded: GradedNotebook,
        digest: str,
        version: str,
        timestamp: datetime | None = None,
        publish: Publish | None = None,
    ) -> None:
        """Stores one GradedNotebook: scores, comments and the row of our own table, all or nothing.

        Manual scores, manual comments and an instructor's extra credit stay as they are; a cell with a manual score, or
        of an extension whose extra credit an instructor changed (``extra.settle``), is marked for another look.
        publish: called before the commit; what it writes to the disk is then never older than the database.
        """
        self._ensure_unit(graded.unit)
        result = {
            "verdicts": [v.to_dict() for v in graded.verdicts],
            "notes": [vars(n) for n in graded.notes],
            "signs": [vars(s) for s in graded.signs],
            "problem": graded.problem,
            "tries": graded.tries,
            "held": [vars(h) for h in graded.held],
        }
        self._retry(lambda: self._write(graded, digest, version, timestamp, result, publish))

    def _write(
        self,
        graded: GradedNotebook,
        digest: str,
        version: str,
        timestamp: datetime | None,
        result: dict[str, Any],
        publish: Publish | None,
    ) -> None:
        notebook = self._notebook(graded.student, graded.unit) or self._add_submission(graded.student, graded.unit)
        if timestamp is not None:
            notebook.assignment.timestamp = timestamp
        old = self._db.execute(
            sa.select(TABLE.c.times, TABLE.c.result).where(
                TABLE.c.student_id == graded.student, TABLE.c.unit == graded.unit
            )
        ).first()
        before = json.loads(old.result).get("extra", {}) if old else {}
        verdicts = {grade_id(v.exercise): v for v in graded.verdicts}
        held = {h.exercise for h in graded.held}
        remembered: dict[str, extra.Remembered | None] = {}
        for grade in notebook.grades:
            verdict = verdicts.get(grade.cell.name)
            if verdict is not None:
                beyond = verdict.exercise in graded.extensions
                grade.auto_score = 0.0 if beyond else verdict.score
                grade.needs_manual_grade = grade.manual_score is not None or verdict.exercise in held
                remembered[verdict.exercise] = extra.settle(
                    grade, verdict.score if beyond else None, before.get(verdict.exercise)
                )
        result = {**result, "extra": {e: r for e, r in remembered.items() if r is not None}}
        untouched = _untouched(graded)
        for comment in notebook.comments:
            comment.auto_comment = "No response." if comment.cell.name in untouched else None
        self._db.flush()
        self._penalize(notebook)
        values = {
            "digest": digest,
            "version": version,
            "seconds": graded.seconds,
            "result": json.dumps(result),
            "graded_at": datetime.now(UTC).replace(tzinfo=None),
            "times": (old.times if old else 0) + 1,
        }
        if old is None:
            self._db.execute(sa.insert(TABLE).values(student_id=graded.student, unit=graded.unit, **values))
        else:
            self._db.execute(
                sa.update(TABLE)
                .values(**values)
                .where(TABLE.c.student_id == graded.student, TABLE.c.unit == graded.unit)
            )
        if publish is not None:
            publish(
                {c.cell.name: c.manual_comment for c in notebook.comments if c.manual_comment},
                _given(notebook, verdicts),
                notebook.late_submission_penalty or 0.0,
            )
        self._db.commit()

    def decide(self, student: str, unit: str, exercise: str, points: float) -> None:
        """An instructor's points for one exercise of a submission, as the formgrader would write them.

        Raises GradebookError for more points than the exercise has.
        """
        self._retry(lambda: self._decide(student, unit, exercise, points))

    def _decide(self, student: str, unit: str, exercise: str, points: float) -> None:
        notebook, trusted = self._notebook(student, unit), master(unit)
        most = next((float(e.points) for e in trusted.exercises if e.id == exercise), 0.0)
        grade = next((g for g in notebook.grades if g.cell.name == grade_id(exercise)), None) if notebook else None
        if grade is None or not 0 <= points <= most:
            raise GradebookError(f"{exercise} takes 0 to {most:g} points, not {points:g}.")
        if exercise in trusted.extensions:  # its cell takes no points but extra ones, see extra.py
            grade.extra_credit = points
        else:
            grade.manual_score = points
        grade.needs_manual_grade = False
        self._db.flush()
        self._penalize(notebook)
        self._db.commit()

    def _notebook(self, student: str, unit: str) -> SubmittedNotebook | None:
        query = (
            sa.select(SubmittedNotebook)
            .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .join(Notebook, Notebook.id == SubmittedNotebook.notebook_id)
            .where(SubmittedAssignment.student_id == student, Assignment.name == unit, Notebook.name == unit)
        )
        return self._db.execute(query).scalars().first()

    def _add_submission(self, student: str, unit: str) -> SubmittedNotebook:
        """The rows that ``Gradebook.add_submission`` makes, without the commits between them."""
        if self._db.get(Student, student) is None:
            self._insert(Student, id=student)
        assignment = self.gradebook.find_assignment(unit)
        submission = self._insert(SubmittedAssignment, assignment_id=assignment.id, student_id=student)
        for notebook in assignment.notebooks:
            submitted = self._insert(SubmittedNotebook, assignment_id=submission, notebook_id=notebook.id)
            self._add_rows(submitted, notebook, set())
        return self._notebook(student, unit)

    def _add_rows(self, submitted: str, notebook: Notebook, have: set[str]) -> None:
        """Grade and comment rows of a submitted notebook's id for every cell whose id is not in ``have``."""
        for cells, model in ((notebook.grade_cells, Grade), (notebook.solution_cells, Comment)):
            for cell in cells:
                if cell.id not in have:
                    self._insert(model, cell_id=cell.id, notebook_id=submitted)

    def _insert(self, model: type[Any], **values: Any) -> str:
        # Core, not the ORM: its flushes between half-linked objects would insert rows twice.
        values = {"id": uuid.uuid4().hex, **values}
        self._db.execute(sa.insert(model.__table__).values(**values))
        return values["id"]

    def _penalize(self, notebook: SubmittedNotebook) -> None:
        """nbgrader's late penalty, through whatever plugin nbgrader_config.py names (none by default)."""
        notebook.late_submission_penalty = None
        late = notebook.assignment.total_seconds_late
        if late > 0:
            steps = AssignLatePenalties(config=self.config)
            steps.init_plugin()
            penalty = steps.plugin_inst.late_submission_penalty(notebook.assignment.student_id, notebook.score, late)
            if penalty is not None:
                notebook.late_submission_penalty = steps._check_late_penalty(notebook, penalty)

    def _ensure_unit(self, unit: str) -> None:
        """The unit's assignment as ``nbgrader generate_assignment`` would store it."""
        if unit in self._units:
            return
        with alone(self.db_url):
            self._retry(lambda: self._update_unit(unit))
        self._units.add(unit)

    def _update_unit(self, unit: str) -> None:
        trusted = master(unit)
        points = {name: 0.0 if e.extension else float(e.points) for name, e in trusted.checks.items()}
        stored = (
            self._db.execute(sa.select(Notebook).join(Assignment).where(Assignment.name == unit, Notebook.name == unit))
            .scalars()
            .first()
        )
        have = {c.name: c.max_score for c in stored.grade_cells} if stored else {}
        if stored and have == points and {c.name for c in stored.solution_cells} == set(trusted.answers):
            self._db.commit()
        elif stored and stored.submissions:
            self._extend_unit(unit, stored, have, points)
        else:
            self.gradebook.update_or_create_assignment(unit)
            where = {"notebook": unit, "assignment": unit, "student": ".", "db_url": patient_url(self.db_url)}
            SaveCells().preprocess(trusted.notebook, {"nbgrader": where})

    def _extend_unit(self, unit: str, stored: Notebook, have: Mapping[str, float], points: Mapping[str, float]) -> None:
        """New exercises and new points for a unit that has submissions already, which nbgrader refuses."""
        gone = sorted(set(have) - set(points))
        if gone:
            raise GradebookError(
                f"The gradebook has scores for exercises that {unit} no longer has "
                f"({', '.join(gone)}). Grade into a new gradebook, or bring the exercises back."
            )
        for name, value in points.items():
            self.gradebook.update_or_create_grade_cell(name, unit, unit, max_score=value, cell_type="code")
        for name in master(unit).answers:
            self.gradebook.update_or_create_solution_cell(name, unit, unit)
        self._db.expire_all()
        for submitted in stored.submissions:
            rows = {g.cell_id for g in submitted.grades} | {c.cell_id for c in submitted.comments}
            self._add_rows(submitted.id, stored, rows)
        self._db.commit()

    def _retry(self, work: Callable[[], T]) -> T:
        def undo() -> None:
            self._db.rollback()
            self._db.expunge_all()

        return patiently(work, self.db_url, undo)


def _untouched(graded: GradedNotebook) -> set[str]:
    """Names of the answer cells that were handed in as they were given out."""
    if graded.notebook is None:
        return set()
    marks = [(c, c.metadata.get("nbgrader") or {}) for c in graded.notebook.cells]
    return {m["grade_id"] for c, m in marks if m.get("solution") and m.get("checksum") == compute_checksum(c)}


def _given(notebook: SubmittedNotebook, verdicts: Mapping[str, Verdict]) -> dict[str, float]:
    """dict cell name → points that count, where an instructor made them other than the computed ones."""
    found = {}
    for grade in notebook.grades:
        verdict = verdicts.get(grade.cell.name)
        if verdict is not None:
            given = grade.auto_score if grade.manual_score is None else grade.manual_score
            points = given + (grade.extra_credit or 0.0)  # nbgrader's rule: Grade.score is computed at loading
            if not math.isclose(points, verdict.score, abs_tol=1e-9):
                found[grade.cell.name] = points
    return found

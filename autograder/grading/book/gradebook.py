"""The only writer to nbgrader's gradebook. It writes everything about a submission in one transaction.

The database has nbgrader's own tables and those of ``stored.py``.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Protocol, Self, TypeVar

import nbformat
import sqlalchemy as sa
from anatomy.program.units import grade_id
from nbgrader.api import Assignment, Gradebook, Student, SubmittedAssignment, SubmittedNotebook
from sqlalchemy.orm import Session
from traitlets.config import Config

from autograder.settings import Grading

from ..base.environment import find_alembic
from ..base.outlines import outline
from ..judging.results import GradedNotebook
from . import extra, handed_out, set_aside, settings_seen
from .asking import ask_a_person
from .database import GradebookError, alone, patient_url, patiently
from .late import taken_off
from .standing import Standing, standings
from .stored import (
    ATTEMPTS,
    GRADED,
    METADATA,
    PUBLISHED,
    Attempt,
    Result,
    attempt_of,
    forget_all_but,
    mark,
    packed,
    remarks,
    removed,
    result_of,
    unpacked,
)

T = TypeVar("T")
_NO_TIMES: Mapping[str, datetime] = MappingProxyType({})


class Shelf(Protocol):
    """Stores the files of one submission; see ``pages/shelf.py``."""

    def keep(self, digest: str, notebook: nbformat.NotebookNode) -> None:
        """Keeps the graded notebook of an attempt."""

    def kept(self, digest: str) -> nbformat.NotebookNode | None:
        """The notebook that ``keep`` stored for an attempt, or None."""

    def show(self, graded: GradedNotebook, standing: Standing, attempts: list[Attempt]) -> str:
        """Writes the files for nbgrader and the student; returns a hash of the page."""


class GradebookWriter:
    """Opens nbgrader's gradebook for writing results. A context manager; use one at a time in a process.

    Raises GradebookError if the database cannot be opened.
    """

    def __init__(self, db_url: str, course_id: str = "default_course", config: Config | None = None):
        self.db_url, self.course_id, self.config = db_url, course_id, config
        self.settings = Grading(config=config) if config else Grading()
        self._units: set[str] = set()
        find_alembic()
        self.gradebook = patiently(lambda: self._open(course_id), db_url)

    def _open(self, course_id: str) -> Gradebook:
        with alone(self.db_url):
            gradebook = Gradebook(patient_url(self.db_url), course_id)
            METADATA.create_all(gradebook.engine, checkfirst=True)
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
        """(student, unit) → (digest, version) of every graded submission."""

        def read() -> tuple[Any, set[tuple[str, str]]]:
            there = sa.select(SubmittedAssignment.student_id, Assignment.name).join(SubmittedAssignment.assignment)
            rows = self._db.execute(_some(GRADED, "student_id", "unit", "digest", "version")).all()
            return rows, {(student, unit) for student, unit in self._db.execute(there)}

        # Submissions removed from nbgrader's tables since (`nbgrader db student remove`) no longer count as graded.
        rows, there = self._commit(read)
        return {key: (r.digest, r.version) for r in rows if (key := (r.student_id, r.unit)) in there}

    def students(self) -> list[str]:
        """All students in the gradebook, sorted: those of the roster and those with submissions."""
        return sorted(self._commit(lambda: self._db.execute(sa.select(Student.id)).scalars().all()))

    def results(self, unit: str | None = None, student: str | None = None) -> Iterator[Result]:
        """All graded submissions, or those of one unit or student, sorted by student and unit."""

        def read() -> tuple[Any, Any, Any]:
            rows = self._db.execute(_of(sa.select(GRADED), GRADED, student, unit).order_by("student_id", "unit"))
            tried = self._db.execute(_of(sa.select(ATTEMPTS), ATTEMPTS, student, unit).order_by("graded_at"))
            return rows.all(), tried.all(), standings(self._db, student, unit)

        rows, tried, stands = self._commit(read)
        attempts: dict[tuple[str, str], list[Attempt]] = {}
        for row in tried:
            attempts.setdefault((row.student_id, row.unit), []).append(attempt_of(row))
        for row in rows:
            key = row.student_id, row.unit
            if key in stands:  # else it was removed from nbgrader's tables
                yield result_of(row, stands[key], attempts.get(key, []))

    def published(self) -> dict[tuple[str, str], tuple[float, float, str, str]]:
        """(student, unit) → (score, penalty, mark, hash of the page) of the last page shown to the student."""
        rows = self._commit(lambda: self._db.execute(sa.select(PUBLISHED)).all())
        return {(r.student_id, r.unit): (r.score, r.penalty, r.mark, r.page) for r in rows}

    # ---- writing ---------------------------------------------------------------------------------------------------
    def write(
        self,
        graded: GradedNotebook,
        digest: str,
        version: str,
        timestamp: datetime | None = None,
        shelf: Shelf | None = None,
    ) -> list[str]:
        """Stores one GradedNotebook: scores, comments and the rows of our own tables, all or nothing.

        The course's settings decide which attempt counts. Manual scores, manual comments and an instructor's extra
        credit stay as they are; a cell with a manual score, or of an extension whose extra credit an instructor changed
        (``extra.settle``), is marked for another look.
        shelf: stores the files, before the commit, so that the files are never older than the database.
        Returns sentences for the instructor.
        """
        self._ensure_unit(graded.unit)
        return self._retry(lambda: self._write(graded, digest, version, timestamp, shelf))

    def _write(
        self,
        graded: GradedNotebook,
        digest: str,
        version: str,
        timestamp: datetime | None,
        shelf: Shelf | None,
    ) -> list[str]:
        student, unit, now = graded.student, graded.unit, datetime.now(UTC).replace(tzinfo=None)
        notebook = handed_out.submitted_notebook(self.gradebook, student, unit)
        if notebook is None:
            handed_out.add_submission(self.gradebook, student, unit)
            notebook = handed_out.submitted_notebook(self.gradebook, student, unit)
        old, attempts = self._row(student, unit), self._attempts(student, unit)
        before = next((a for a in attempts if a.counts), None)
        if before and before.digest != digest and before.result is None:
            before.result = json.loads(old.result)
        mine = Attempt(digest, timestamp, now, version, graded.score, False, packed(graded))
        attempts = [*(a for a in attempts if a.digest != digest), mine]
        counted = self._choose(notebook, attempts)
        values = {
            "digest": digest,
            "version": version,
            "seconds": graded.seconds,
            "graded_at": now,
            "times": (old.times if old else 0) + 1,
        }
        if shelf is not None and graded.notebook is not None:
            shelf.keep(digest, graded.notebook)
        self._count(notebook, student, unit, attempts, counted, values, shelf, graded if counted is mine else None)
        self._db.commit()
        return remarks(before, mine, counted)

    def recount(
        self, student: str, unit: str, shelf: Shelf | None = None, times: Mapping[str, datetime] = _NO_TIMES
    ) -> None:
        """Updates a stored submission from the gradebook and the attempts, without running students' code.

        Computes which attempt counts, the late penalty and the page. Raises GradebookError, OSError. times: hash of a
        file → time of submission (UTC), if it became known since."""
        self._ensure_unit(unit)
        self._retry(lambda: self._recount(student, unit, shelf, times))

    def _recount(self, student: str, unit: str, shelf: Shelf | None, times: Mapping[str, datetime]) -> None:
        notebook, attempts, row = (
            handed_out.submitted_notebook(self.gradebook, student, unit),
            self._attempts(student, unit),
            self._row(student, unit),
        )
        if notebook is None or row is None:
            return
        for attempt in attempts:
            attempt.submitted_at = times.get(attempt.digest, attempt.submitted_at)
            if attempt.counts and attempt.result is None:
                attempt.result = json.loads(row.result)
        self._count(notebook, student, unit, attempts, self._choose(notebook, attempts), {}, shelf, None)
        self._db.commit()

    def _count(
        self,
        notebook: SubmittedNotebook,
        student: str,
        unit: str,
        attempts: list[Attempt],
        counted: Attempt,
        values: dict[str, Any],
        shelf: Shelf | None,
        graded: GradedNotebook | None,
    ) -> None:
        """Makes ``counted`` the attempt that the gradebook, the tables and the page show.

        values: new values for the row in GRADED. graded: the result of ``counted`` with its notebook, if available.
        """
        old = self._row(student, unit)
        last = json.loads(old.result) if old else {}
        fresh = bool(values) or not next((a.counts for a in attempts if a is counted), False)
        result = dict(counted.result or last)
        if graded is None:
            graded = unpacked(student, unit, result, shelf.kept(counted.digest) if shelf else None)
        if fresh:
            before = next((a.digest for a in self._attempts(student, unit) if a.counts), None)
            result["extra"] = self._settle(notebook, graded, result, last, before != counted.digest)
        else:
            result["extra"] = last.get("extra", {})
        ask_a_person(unit, notebook, result, last)
        # With several attempts, an attempt without a time must not get the time of another one.
        if counted.submitted_at is not None or len(attempts) > 1:
            notebook.assignment.timestamp = counted.submitted_at
        self._db.flush()
        self._penalize(notebook)
        self._db.flush()
        values = {**values, "result": json.dumps(result)}
        self._put(GRADED, student, unit, values)
        for attempt in attempts:
            attempt.counts = attempt is counted
            stored = vars(attempt) | {"result": None if attempt.counts else json.dumps(attempt.result)}
            self._put(ATTEMPTS, student, unit, stored, ATTEMPTS.c.digest == attempt.digest)
        if shelf is not None:
            standing = standings(self._db, student, unit)[student, unit]
            page = shelf.show(graded, standing, attempts)
            shown = {"score": standing.score, "penalty": standing.penalty, "page": page}
            self._put(PUBLISHED, student, unit, shown | {"mark": mark(standing, attempts)})

    def _settle(
        self,
        notebook: SubmittedNotebook,
        graded: GradedNotebook,
        result: dict[str, Any],
        last: dict[str, Any],
        changed: bool,
    ) -> dict[str, extra.Remembered]:
        """Writes computed points and comments into nbgrader's rows; returns what extra.py has to remember.

        changed: True if the file is not the one that counted before; else a person's decisions need no second look."""
        verdicts = {grade_id(v.exercise): v for v in graded.verdicts}
        held = {h.exercise for h in graded.held}
        before, remembered = last.get("extra", {}), dict[str, extra.Remembered]()
        untouched = set(result.get("untouched", ()))
        for grade in notebook.grades:
            verdict = verdicts.get(grade.cell.name)
            if verdict is None:
                continue
            beyond = verdict.exercise in graded.extensions
            decided = grade.manual_score is not None
            # nbgrader's default for a row that nothing was written to is that it waits for a person.
            asked = decided if changed else grade.needs_manual_grade and (decided or grade.auto_score is not None)
            grade.auto_score = 0.0 if beyond else verdict.score
            grade.needs_manual_grade = asked or (verdict.exercise in held and not decided)
            kept = extra.settle(grade, verdict.score if beyond else None, before.get(verdict.exercise), changed)
            if kept is not None:
                remembered[verdict.exercise] = kept
        for comment in notebook.comments:
            comment.auto_comment = "No response." if comment.cell.name in untouched else None
        return remembered

    def _choose(self, notebook: SubmittedNotebook, attempts: list[Attempt]) -> Attempt:
        """The attempt that counts by the course's setting: the last one, or the best one after late penalties."""
        if self.settings.attempts == "last":
            return max(attempts, key=lambda a: a.graded_at)
        student = notebook.assignment.student_id
        due = notebook.assignment.duedate  # with the student's extension, if there is one

        def worth(attempt: Attempt) -> tuple[float, datetime]:
            handed_in = attempt.submitted_at
            late = max(0.0, (handed_in - due).total_seconds()) if due and handed_in else 0.0
            return attempt.score - self.penalty(student, attempt.score, late), attempt.graded_at

        return max(attempts, key=worth)

    def decide(self, student: str, unit: str, exercise: str, points: float) -> None:
        """Stores an instructor's points for one exercise of a submission, as the formgrader would.

        Raises GradebookError if the points are negative or more than the exercise has, or for an unknown exercise.
        """
        self._retry(lambda: self._decide(student, unit, exercise, points))

    def _decide(self, student: str, unit: str, exercise: str, points: float) -> None:
        notebook, trusted = handed_out.submitted_notebook(self.gradebook, student, unit), outline(unit)
        most = next((float(e.points) for e in trusted.exercises if e.id == exercise), 0.0)
        grade = next((g for g in notebook.grades if g.cell.name == grade_id(exercise)), None) if notebook else None
        if grade is None or not 0 <= points <= most:
            raise GradebookError(f"{exercise} takes 0 to {most:g} points, not {points:g}.")
        if exercise in trusted.extensions:  # its cell takes only extra credit, see extra.py
            grade.extra_credit = points
        else:
            grade.manual_score = points
        grade.needs_manual_grade = False
        self._db.flush()
        self._penalize(notebook)
        self._db.commit()

    # ---- rows ------------------------------------------------------------------------------------------------------
    def _row(self, student: str, unit: str) -> Any:
        return self._db.execute(_of(sa.select(GRADED), GRADED, student, unit)).first()

    def _attempts(self, student: str, unit: str) -> list[Attempt]:
        """Attempts at a unit. Old gradebooks have no rows for attempts: then the last graded file is the only one."""
        found = self._db.execute(_of(sa.select(ATTEMPTS), ATTEMPTS, student, unit)).all()
        row = None if found else self._row(student, unit)
        if row is not None:
            result = json.loads(row.result)
            points = sum(v["score"] for v in result["verdicts"])
            notebook = handed_out.submitted_notebook(self.gradebook, student, unit)
            when = notebook.assignment.timestamp if notebook else None
            return [Attempt(row.digest, when, row.graded_at, row.version, points, True, result)]
        return [attempt_of(r) for r in found]

    def _put(
        self,
        table: sa.Table,
        student: str,
        unit: str,
        values: dict[str, Any],
        *which: sa.ColumnElement[bool],
    ) -> None:
        here = (table.c.student_id == student, table.c.unit == unit, *which)
        if not self._db.execute(sa.update(table).values(**values).where(*here)).rowcount:
            self._db.execute(sa.insert(table).values(student_id=student, unit=unit, **values))

    def _penalize(self, notebook: SubmittedNotebook) -> None:
        """Sets nbgrader's late penalty, using the plugin that nbgrader_config.py names (none by default)."""
        late = notebook.assignment.total_seconds_late
        self._db.expire(notebook, ["score"])
        student = notebook.assignment.student_id
        notebook.late_submission_penalty = self.penalty(student, notebook.score, late) if late > 0 else None

    def penalty(self, student: str, score: float, late: float) -> float:
        """Points that the course's plugin takes off for being ``late`` seconds late: 0 to ``score``."""
        return taken_off(self.config, student, score, late)

    def handed_out(self, unit: str) -> Gradebook:
        """nbgrader's gradebook; adds the unit to it if needed."""
        self._ensure_unit(unit)
        return self.gradebook

    def set_aside(self, exercise: str) -> list[tuple[str, int]]:
        """Takes the scores of an exercise that its unit no longer has out of the count: see ``set_aside.exercise``."""
        return self._commit(lambda: set_aside.exercise(self._db, exercise))

    def changed_settings(self) -> list[str]:
        """One sentence for each setting that has changed since this was last asked."""
        return self._commit(lambda: settings_seen.changes(self._db.connection(), self.course_id, self.config))

    def removed(self) -> list[tuple[str, str]]:
        """(student, unit) of graded submissions that are no longer in nbgrader's tables."""
        return sorted(self._commit(lambda: removed(self._db, set(standings(self._db)))))

    def forget_removed(self) -> None:
        """Deletes our rows about students and submissions that are no longer in nbgrader's tables."""
        self._commit(lambda: forget_all_but(self._db, set(standings(self._db))))

    def _commit(self, work: Callable[[], T]) -> T:
        """``work`` as one transaction."""

        def whole() -> T:
            result = work()
            self._db.commit()
            return result

        return self._retry(whole)

    def _ensure_unit(self, unit: str) -> None:
        """Stores the unit's assignment as ``nbgrader generate_assignment`` would, once per writer."""
        if unit in self._units:
            return
        with alone(self.db_url):
            answers = self.settings.written_answers
            self._retry(lambda: handed_out.update_unit(self.gradebook, self.db_url, outline(unit), answers))
        self._units.add(unit)

    def _retry(self, work: Callable[[], T]) -> T:
        def undo() -> None:
            self._db.rollback()
            self._db.expunge_all()

        return patiently(work, self.db_url, undo)


def _some(table: sa.Table, *names: str) -> sa.Select[Any]:
    return sa.select(*(table.c[name] for name in names))


def _of(query: sa.Select[Any], table: sa.Table, student: str | None, unit: str | None) -> sa.Select[Any]:
    if student is not None:
        query = query.where(table.c.student_id == student)
    return query if unit is None else query.where(table.c.unit == unit)

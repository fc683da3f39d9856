"""Our own tables in nbgrader's database: graded submissions, all attempts, and the pages that students were last shown.

A killed run leaves each submission either stored completely or not at all, so that a resumed run grades nothing twice
and loses nothing.
"""

import hashlib
import json
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypedDict

import nbformat
import sqlalchemy as sa
from anatomy.judge.verdict import Verdict
from anatomy.program.units import grade_id
from nbgrader.utils import compute_checksum
from sqlalchemy.orm import Session

from ..base.notes import Note
from ..base.words import amount, number
from ..intake import pictures
from ..judging.results import GradedNotebook, Held
from ..source.techniques import Sign
from .standing import Standing, counts

METADATA = sa.MetaData()


def _whose() -> list[sa.Column[Any]]:
    return [sa.Column(name, sa.String(128), primary_key=True) for name in ("student_id", "unit")]


# The file graded last (its hash, and the version of the unit), and the verdicts of the attempt that counts.
GRADED = sa.Table(
    "anatomy_graded",
    METADATA,
    *_whose(),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("version", sa.String(16), nullable=False),
    sa.Column("graded_at", sa.DateTime, nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("times", sa.Integer, nullable=False),
    sa.Column("result", sa.Text, nullable=False),
)
# Every file that was graded. result: NULL for the attempt that counts, whose result is in GRADED.
ATTEMPTS = sa.Table(
    "anatomy_attempts",
    METADATA,
    *_whose(),
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("submitted_at", sa.DateTime),
    sa.Column("graded_at", sa.DateTime, nullable=False),
    sa.Column("version", sa.String(16), nullable=False),
    sa.Column("score", sa.Float, nullable=False),
    sa.Column("counts", sa.Boolean, nullable=False),
    sa.Column("result", sa.Text),
)
# mark: a hash of everything that the page is made from. page: a hash of the page itself.
PUBLISHED = sa.Table(
    "anatomy_published",
    METADATA,
    *_whose(),
    sa.Column("score", sa.Float, nullable=False),
    sa.Column("penalty", sa.Float, nullable=False),
    sa.Column("mark", sa.String(64), nullable=False),
    sa.Column("page", sa.String(64), nullable=False),
)
# Scores of exercises that a unit no longer has: see ``set_aside.py``. cell: the grade_id of a check or an answer.
SET_ASIDE = sa.Table(
    "anatomy_set_aside",
    METADATA,
    *_whose(),
    sa.Column("cell", sa.String(128), primary_key=True),
    sa.Column("put_away_at", sa.DateTime, nullable=False),
    sa.Column("auto_score", sa.Float),
    sa.Column("manual_score", sa.Float),
    sa.Column("extra_credit", sa.Float),
    sa.Column("manual_comment", sa.Text),
    sa.Column("remembered", sa.Text),  # what ``extra.py`` knows of an extension's points
)


def removed(db: Session, there: Set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The graded (student, unit) that are not in ``there``."""
    return {tuple(row) for row in db.execute(sa.select(GRADED.c.student_id, GRADED.c.unit))} - there


def forget_all_but(db: Session, there: Set[tuple[str, str]]) -> None:
    """Deletes what these tables have about any other (student, unit). Does not commit."""
    for table in (GRADED, ATTEMPTS, PUBLISHED, SET_ASIDE):
        rows = db.execute(sa.select(table.c.student_id, table.c.unit).distinct()).all()
        for student, unit in {tuple(r) for r in rows} - there:
            db.execute(sa.delete(table).where(table.c.student_id == student, table.c.unit == unit))


@dataclass
class Attempt:
    """One file that a student submitted for a unit.

    score: computed points, before late penalties. result: as ``packed`` returns it; None for the attempt that counts.
    """

    digest: str
    submitted_at: datetime | None
    graded_at: datetime
    version: str
    score: float
    counts: bool
    result: dict[str, Any] | None = None

    @property
    def when(self) -> str:
        """Time of submission for people, to the minute; else the time of grading."""
        moment = self.submitted_at or self.graded_at
        return f"{moment:%Y-%m-%d %H:%M} UTC{'' if self.submitted_at else ' (graded)'}"


class Result(TypedDict):
    """A stored submission. The other keys are those of GradedNotebook.

    Keys:
        times: how often it was graded.
        digest: hash of the file graded last.
        counted: hash of the file that counts.
        scores: exercise → points that count in the gradebook: an instructor's if given.
        most: exercise → its part of the maximum in the gradebook, 0 for an extension.
        decided: exercises for which an instructor gave points.
        problem: (slug, sentence) if nothing could be graded.
        standing: everything that the gradebook has about it.
        attempts: every file, oldest first.
    """

    student: str
    unit: str
    seconds: float
    times: int
    graded_at: datetime
    digest: str
    counted: str
    version: str
    verdicts: list[Verdict]
    scores: dict[str, float]
    most: dict[str, float]
    notes: list[Note]
    signs: list[Sign]
    held: list[Held]
    decided: frozenset[str]
    problem: tuple[str, str] | None
    tries: dict[str, int]
    followed: dict[str, float]
    standing: Standing
    attempts: list[Attempt]


def packed(graded: GradedNotebook) -> dict[str, Any]:
    """A GradedNotebook as plain data, without its notebook."""
    return {
        "verdicts": [v.to_dict() for v in graded.verdicts],
        "notes": [vars(n) for n in graded.notes],
        "signs": [vars(s) for s in graded.signs],
        "problem": graded.problem,
        "tries": graded.tries,
        "held": [vars(h) for h in graded.held],
        "followed": graded.followed,
        "untouched": sorted(untouched(graded)),
        "written": _written(graded),
    }


def unpacked(
    student: str, unit: str, data: Mapping[str, Any], notebook: nbformat.NotebookNode | None = None
) -> GradedNotebook:
    """Restores a GradedNotebook from ``packed``'s data. notebook: the stored notebook, if any."""
    return GradedNotebook(
        student,
        unit,
        [Verdict.from_dict(v) for v in data["verdicts"]],
        [Note(**n) for n in data["notes"]],
        [Sign(**s) for s in data["signs"]],
        notebook=notebook,
        problem=tuple(data["problem"]) if data["problem"] else None,
        tries=data.get("tries", {}),
        held=[Held(**h) for h in data.get("held", [])],
        followed=data.get("followed", {}),
    )


def untouched(graded: GradedNotebook) -> set[str]:
    """Names of the answer cells that were submitted unchanged."""
    if graded.notebook is None:
        return set()
    marks = [(c, c.metadata.get("nbgrader") or {}) for c in graded.notebook.cells]
    return {m["grade_id"] for c, m in marks if m.get("solution") and m.get("checksum") == compute_checksum(c)}


def _written(graded: GradedNotebook) -> dict[str, str]:
    """Name of a cell that a person grades → hash of its text and pictures."""
    cells = graded.notebook.cells if graded.notebook is not None else []
    parts = {
        m["grade_id"]: [c.source, *(data for _, _, data in pictures.taken_from(c))]
        for c in cells
        if (m := c.metadata.get("nbgrader") or {}).get("solution") and m.get("grade")
    }
    return {name: hashlib.sha256("\n".join(of).encode()).hexdigest() for name, of in parts.items()}


def attempt_of(row: Any) -> Attempt:
    """The Attempt in a row of ATTEMPTS."""
    result = json.loads(row.result) if row.result else None
    return Attempt(row.digest, row.submitted_at, row.graded_at, row.version, row.score, row.counts, result)


def mark(standing: Standing, attempts: list[Attempt]) -> str:
    """Hash of everything on a page; a page whose hash changed is rewritten."""
    tried = [[a.digest, str(a.graded_at), str(a.submitted_at), a.score, a.counts] for a in attempts]
    about = [standing.points, standing.most, sorted(standing.waiting), sorted(standing.decided), standing.comments]
    text = json.dumps([*about, standing.penalty, sorted(tried)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def result_of(row: Any, standing: Standing, attempts: list[Attempt]) -> Result:
    """The Result in a row of GRADED."""
    data = json.loads(row.result)
    graded = unpacked(row.student_id, row.unit, data)
    graded.verdicts = [v for v in graded.verdicts if counts(v.exercise, standing)]
    names = {v.exercise: grade_id(v.exercise) for v in graded.verdicts}
    return {
        "student": row.student_id,
        "unit": row.unit,
        "seconds": row.seconds,
        "times": row.times,
        "graded_at": row.graded_at,
        "digest": row.digest,
        "counted": next((a.digest for a in attempts if a.counts), row.digest),
        "version": row.version,
        "verdicts": graded.verdicts,
        "scores": {v.exercise: standing.points.get(names[v.exercise], v.score) for v in graded.verdicts},
        "most": {v.exercise: standing.most.get(names[v.exercise], v.max_score) for v in graded.verdicts},
        "notes": graded.notes,
        "signs": graded.signs,
        "held": graded.held,
        "decided": frozenset(e for e, name in names.items() if name in standing.decided),
        "problem": graded.problem,
        "tries": graded.tries,
        "followed": data.get("followed", {}),
        "standing": standing,
        "attempts": [replace(a, result=None) for a in attempts],
    }


def remarks(before: Attempt | None, mine: Attempt, counted: Attempt) -> list[str]:
    """Remarks for the instructor about a new attempt: one sentence if it is worse than the one that counted before."""
    if before is None or before.digest == mine.digest or mine.score >= before.score:
        return []
    which = "the last one counts" if counted is mine else "the best one counts"
    return [
        f"A worse submission: {amount(mine.score, 'point')}, the one before ({before.when}) had "
        f"{number(before.score)}; {which}."
    ]

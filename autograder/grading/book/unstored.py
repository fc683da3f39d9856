"""Remembers, until the next grading, entries of the submissions folder for which no score can be stored.

They are kept in the gradebook's database, so that ``make publish`` and ``make report`` can list them without the
folder.
"""

from collections.abc import Iterable

import sqlalchemy as sa

from ..base.names import shown
from .database import patiently
from .gradebook import GradebookWriter
from .stored import METADATA

Problem = tuple[str, str, str, str]  # student, unit, slug, sentence; as they are shown

MAX_ROWS = 10_000
TABLE = sa.Table(
    "anatomy_unstored",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("student_id", sa.Text, nullable=False),
    sa.Column("unit", sa.Text, nullable=False),
    sa.Column("slug", sa.Text, nullable=False),
    sa.Column("sentence", sa.Text, nullable=False),
)


def remember(writer: GradebookWriter, problems: Iterable[Problem]) -> None:
    """Replaces the remembered problems by these. Raises GradebookError."""
    rows = [
        {"number": i, "student_id": shown(s), "unit": shown(u), "slug": slug, "sentence": shown(sentence, 1_000)}
        for i, (s, u, slug, sentence) in enumerate(problems)
    ]

    def work() -> None:
        with writer.gradebook.engine.begin() as connection:
            TABLE.create(connection, checkfirst=True)
            connection.execute(sa.delete(TABLE))
            if rows:
                connection.execute(sa.insert(TABLE), rows[:MAX_ROWS])

    patiently(work, writer.db_url)


def remembered(writer: GradebookWriter) -> list[Problem]:
    """The problems that the last grading could not store. Raises GradebookError."""

    def work() -> list[Problem]:
        with writer.gradebook.engine.begin() as connection:
            TABLE.create(connection, checkfirst=True)
            rows = connection.execute(sa.select(TABLE).order_by(TABLE.c.number)).all()
            return [(r.student_id, r.unit, r.slug, r.sentence) for r in rows]

    return patiently(work, writer.db_url)

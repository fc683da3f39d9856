"""Remembers the settings that pages were last published with, so that a change of them is said and never silent.

A release that is unpacked over the folder, or an old backup, can change settings without anybody meaning to.
"""

import json
from typing import Any

import sqlalchemy as sa
from traitlets.config import Config

from autograder.settings import Course, Grading

from .late import PerDay
from .stored import METADATA

SEEN = sa.Table(
    "anatomy_settings",
    METADATA,
    sa.Column("course_id", sa.String(128), primary_key=True),
    sa.Column("settings", sa.Text, nullable=False),
)
PLUGIN = "c.AssignLatePenalties.plugin_class"
ELSEWHERE = "c.Grading.extensions"  # changes exports, and no points
POINTS = "c.Course.points"


def now(config: Config | None) -> dict[str, Any]:
    """Each setting that grades depend on, with its value."""
    config = config or Config()
    found: dict[str, Any] = {PLUGIN: str(config.get("AssignLatePenalties", {}).get("plugin_class", "") or "none")}
    for kind in (Grading, PerDay):
        made = kind(config=config)
        found |= {f"c.{kind.__name__}.{name}": getattr(made, name) for name in kind.class_traits(config=True)}
    if not found[PLUGIN].endswith(".PerDay"):
        found = {name: value for name, value in found.items() if not name.startswith("c.PerDay.")}
    found[POINTS] = str(Course(config=config).points)
    del found[ELSEWHERE]
    return {name: value for name, value in found.items() if isinstance(value, bool | float | int | str)}


def changes(connection: sa.Connection, course_id: str, config: Config | None) -> list[str]:
    """One sentence for each setting that differs from the last call's, whose values are then forgotten."""
    connection.execute(sa.schema.CreateTable(SEEN, if_not_exists=True))
    row = connection.execute(sa.select(SEEN.c.settings).where(SEEN.c.course_id == course_id)).scalar_one_or_none()
    new, old = now(config), now(None) | json.loads(row) if row else None
    connection.execute(sa.delete(SEEN).where(SEEN.c.course_id == course_id))
    connection.execute(sa.insert(SEEN).values(course_id=course_id, settings=json.dumps(new)))
    if old is None:
        return []
    return [
        f"{name} was {_shown(old.get(name))} when grades were last published and is {_shown(new.get(name))} now: "
        "points and pages follow it. If you didn't mean that, write the old value into class_settings.py and publish "
        "again."
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]


def _shown(value: Any) -> str:
    return "not there" if value is None else repr(value)

"""Marks the written answers that wait for a person."""

from typing import Any

from nbgrader.api import SubmittedNotebook

from ..base.outlines import outline


def ask_a_person(unit: str, notebook: SubmittedNotebook, result: dict[str, Any], last: dict[str, Any]) -> None:
    """Marks the written answers that a person has to grade.

    These are nonempty answers to questions with points: until a person gave points, and again after the text changed.
    """
    written, before = result.get("written", {}), last.get("written", {})
    asked = outline(unit).written
    for grade in notebook.grades:
        name = grade.cell.name
        if name in asked:
            changed = name in before and written.get(name) != before[name]
            there = bool(grade.max_score) and name in written and name not in result.get("untouched", ())
            grade.auto_score = 0.0
            grade.needs_manual_grade = there and (grade.manual_score is None or changed or grade.needs_manual_grade)

"""``python -m autograder.course_table``: all units side by side, so that imbalances show.

The columns: minutes of the core path and of the extensions, exercises and their difficulty, points, minutes per point,
words, code cells and their median length, widgets, predictions, questions, claims, and the units that each one needs.
The second table holds the thermometers of the prose (``authoring/prose.py``).
"""

import ast
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from anatomy.widgets import __all__ as WIDGETS

from autograder.authoring.prose import Prose, prose
from autograder.authoring.review import words
from autograder.notebooks import facts


@dataclass(frozen=True)
class Row:
    """One unit in numbers. hard: number of exercises of difficulty 1, 2, 3, 4 and 5. needs: numbers of other units."""

    name: str
    core: int
    extensions: int
    exercises: tuple[int, int]
    hard: tuple[int, ...]
    points: tuple[int, int]
    per_point: float
    words: int
    code: int
    median_lines: float
    widgets: int
    predictions: int
    questions: int
    claims: int
    needs: str


def row(name: str) -> Row:
    """A unit's row."""
    unit = facts.unit(name)
    exercises = unit.text["exercises"]
    core, more = ([e for e in exercises if e["extension"] is which] for which in (False, True))
    code = [c for c in unit.cells if not c.markdown]
    needs = ", ".join(n[:2] for n in unit.needs.core) or "none"
    if unit.needs.extensions:
        needs += f" (extensions {', '.join(n[:2] for n in unit.needs.extensions)})"
    return Row(
        name,
        unit.core_minutes,
        unit.extension_minutes,
        (len(core), len(more)),
        tuple(sum(e["difficulty"] == d for e in exercises) for d in range(1, 6)),
        (sum(e["points"] for e in core), sum(e["points"] for e in more)),
        sum(e["minutes"] for e in core) / sum(e["points"] for e in core),
        sum(words(c.source) for c in unit.cells if c.markdown),
        len(code),
        median(len(c.source.split("\n")) for c in code),
        len(set().union(*(_widgets(c.source) for c in code))),
        len(unit.text["predictions"]),
        len(unit.text["quizzes"]),
        len(unit.text["claims"]),
        needs,
    )


def _widgets(code: str) -> set[str]:
    """Names of the widgets that a cell shows."""
    calls = [n.func for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Call)]
    return {f.id for f in calls if isinstance(f, ast.Name) and f.id in WIDGETS}


COLUMNS = (
    "unit",
    "core min",
    "ext. min",
    "exercises",
    "difficulty 1–5",
    "points",
    "min/point",
    "words",
    "code cells",
    "median lines",
    "widgets",
    "predictions",
    "questions",
    "claims",
    "needs",
)


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *map(_cells, rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


PROSE = ("unit", "words read in full", "causal ‰", "example ‰", "contrast ‰", "colons ‰", "short sentences")


def thermometers(found: Sequence[tuple[str, Prose]]) -> str:
    """(unit, its prose) for each unit as a Markdown table."""
    rows = [
        (name, f"{p.words:,}", *(f"{v:.1f}" for v in (p.causal, p.example, p.contrast, p.colons)), f"{p.short:.0%}")
        for name, p in found
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (PROSE, ("---",) * len(PROSE), *rows))


def _cells(r: Row) -> tuple[str, ...]:
    return (
        r.name,
        str(r.core),
        str(r.extensions),
        f"{r.exercises[0]} + {r.exercises[1]}",
        "·".join(map(str, r.hard)),
        f"{r.points[0]} + {r.points[1]}",
        f"{r.per_point:.1f}",
        f"{r.words:,}",
        str(r.code),
        f"{r.median_lines:g}",
        str(r.widgets),
        str(r.predictions),
        str(r.questions),
        str(r.claims),
        r.needs,
    )


def main() -> int:
    """Prints both tables."""
    print(table([row(name) for name in facts.names()]))
    print()
    print(thermometers([(name, prose(name)) for name in facts.names()]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

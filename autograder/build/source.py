"""Reads a unit's py:percent source and makes nbgrader's source notebook from it.

What an author writes (everything else is an ordinary py:percent cell)::

    # %% [markdown] statement="rope.rotate_half"     the statement, said once; title, points, minutes are added
    # %% exercise="rope.rotate_half" todo="…"        the solution, with ### BEGIN SOLUTION / ### END SOLUTION
    # %% [markdown] hints="rope.rotate_half"         three list items: nudge, plan, near-code
    # %% setup=true                                   a code cell that grading runs too (imports, constants)

The check cell is made from the exercise's spec and put right after the exercise. Cells of nothing but ``quiz`` and
``reveal`` calls are folded, since their source holds the answers.
"""

import ast
import hashlib
import re
from pathlib import Path

import jupytext
import nbformat

from autograder import exercises

ROOT = Path(__file__).resolve().parents[2]
KERNEL = {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
          "language_info": {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"}}
ANSWERS = {"quiz", "reveal"}
HINT_NAMES = ("Hint 1: a nudge", "Hint 2: a plan", "Hint 3: nearly code")


class SourceError(ValueError):
    """Something in a unit's source that an author has to mend; the message says where and what."""


def source_path(unit):
    """``solutions/NN-name.py``."""
    return ROOT / "solutions" / f"{unit}.py"


def source_notebook(unit):
    """nbgrader's source notebook of a unit (in memory), the same bytes at every run.

    Raises SourceError with the name of the exercise or cell to mend.
    """
    specs = {e.id: e for e in exercises.of_unit(unit)}
    path = source_path(unit)
    if not path.exists():
        raise SourceError(f"{unit}: {path.relative_to(ROOT)} does not exist")
    book = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent")
    seen = {"statement": [], "exercise": [], "hints": []}
    cells = []
    for number, cell in enumerate(book.cells, 1):
        meta = dict(cell.metadata)
        kind = next((k for k in seen if k in meta), None)
        if kind:
            name = meta[kind]
            if name not in specs:
                raise SourceError(f"{unit}, cell {number}: {kind}={name!r} has no spec in autograder/exercises")
            seen[kind].append(name)
            cells += {"statement": _statement, "exercise": _exercise, "hints": _hints}[kind](specs[name], cell, meta)
        elif cell.cell_type == "code":
            cells.append(_code(cell, meta))
        else:
            cells.append(nbformat.v4.new_markdown_cell(cell.source.strip("\n")))
    for kind, names in seen.items():
        if names != list(specs):
            odd = [n for n in specs if names.count(n) != 1] or ["(order differs from the spec's)"]
            raise SourceError(f"{unit}: each exercise needs exactly one {kind} cell, in the spec's order; "
                              f"look at {', '.join(odd)}")
    _name_cells(unit, cells)
    return nbformat.from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": KERNEL, "cells": cells})


def _code(cell, meta):
    new = nbformat.v4.new_code_cell(cell.source.strip("\n"))
    if meta.get("setup"):
        new.metadata["tags"] = ["setup"]
    if _holds_answers(new.source):
        new.metadata["jupyter"] = {"source_hidden": True}
    return new


def _holds_answers(source):
    """Whether a cell is nothing but calls of ``quiz`` and ``reveal``."""
    if not source.startswith(tuple(f"{name}(" for name in ANSWERS)):
        return False  # most cells, magics among them
    calls = [getattr(line, "value", None) for line in ast.parse(source).body]
    return all(isinstance(c, ast.Call) and getattr(c.func, "id", None) in ANSWERS for c in calls)


def _statement(spec, cell, meta):
    dots = "●" * spec.difficulty + "○" * (5 - spec.difficulty)
    unit = spec.unit.split("-")[0]
    number = [e.id for e in exercises.of_unit(spec.unit)].index(spec.id) + 1
    points = f"{spec.points:g} point{'s' * (spec.points != 1)}"
    head = (f"### Exercise {unit}.{number}: {spec.title}\n"
            f"`{spec.id}` · difficulty {dots} · about {spec.minutes} min · {points}\n\n")
    return [_tagged(nbformat.v4.new_markdown_cell(head + cell.source.strip("\n")), f"say-{spec.id}")]


def _exercise(spec, cell, meta):
    if "### BEGIN SOLUTION" not in cell.source:
        raise SourceError(f"{spec.id}: the exercise cell has no ### BEGIN SOLUTION")
    if not meta.get("todo"):
        raise SourceError(f'{spec.id}: the exercise cell needs todo="what to write"')
    missing = [t for t in spec.targets if not re.search(rf"^(def|class) {t}\b|^{t}\s*=", cell.source, re.M)]
    if missing:
        raise SourceError(f"{spec.id}: the exercise cell does not define {', '.join(missing)}")
    solve = nbformat.v4.new_code_cell(cell.source.strip("\n"))
    solve.metadata["nbgrader"] = _nbgrader(spec, "solve", solution=True)
    solve.metadata["anatomy"] = {"exercise": spec.id, "todo": meta["todo"]}
    check = nbformat.v4.new_code_cell(f'check("{spec.id}", {", ".join(spec.targets)})')
    check.metadata["nbgrader"] = _nbgrader(spec, "check", grade=True) | {"points": spec.points}
    check.metadata["anatomy"] = {"exercise": spec.id}
    return [_tagged(solve, f"solve-{spec.id}"), _tagged(check, f"check-{spec.id}")]


def grade_id(exercise_id, kind="check"):
    """nbgrader's cell name for an exercise: ``check-rope-rotate_half``."""
    return f"{kind}-{exercise_id.replace('.', '-')}"


def _nbgrader(spec, kind, solution=False, grade=False):
    return {"grade": grade, "grade_id": grade_id(spec.id, kind), "locked": grade, "schema_version": 3,
            "solution": solution, "task": False}


def _hints(spec, cell, meta):
    parts = re.split(r"^\d\.\s+", cell.source.strip("\n"), flags=re.M)[1:]
    if len(parts) != 3:
        raise SourceError(f"{spec.id}: hints need exactly three numbered items (nudge, plan, nearly code), "
                          f"found {len(parts)}")
    folded = [f"<details><summary>{name}</summary>\n\n{text.strip()}\n\n</details>"
              for name, text in zip(HINT_NAMES, parts, strict=True)]
    return [_tagged(nbformat.v4.new_markdown_cell("\n".join(folded)), f"hint-{spec.id}")]


def _tagged(cell, slug):
    cell["id"] = re.sub(r"[^A-Za-z0-9_-]", "-", slug)[:64]
    cell.metadata["fixed_id"] = True
    return cell


def _name_cells(unit, cells):
    """Ids from the contents, so that an edit changes one cell's id and a rebuild changes none."""
    taken = set()
    for cell in cells:
        if not cell.metadata.pop("fixed_id", False):
            digest = hashlib.sha256(f"{unit}/{cell.cell_type}/{cell.source}".encode()).hexdigest()[:12]
            cell["id"], n = f"c-{digest}", 1
            while cell["id"] in taken:
                n += 1
                cell["id"] = f"c-{digest}-{n}"
        if cell["id"] in taken:
            raise SourceError(f"{unit}: two cells share the id {cell['id']}")
        taken.add(cell["id"])


def to_json(book):
    """Bytes of a notebook, always in the same form."""
    return (nbformat.writes(book, version=nbformat.NO_CONVERT).rstrip("\n") + "\n").encode()

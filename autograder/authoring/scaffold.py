"""Begins an exercise: writes its spec, and inserts its text into the unit's source.

It writes all of this or nothing. If the spec or the text already exists, it stays, and only the other one is made.
"""

import ast
import builtins
import keyword
import re
from dataclasses import dataclass, field
from pathlib import Path

from anatomy.system import files

from autograder import exercises
from autograder.notebooks.cells import Cell, SourceError, read_cells, shown
from autograder.notebooks.paths import Paths
from autograder.notebooks.source import source_path

from . import templates

ID = re.compile(r"[a-z_]+\.[a-z][a-z0-9_]*")
LONGEST_ID = 50  # cells are named after it, and a cell's name has at most 64 characters
HEADING = re.compile(r"## (\d+)\. ", re.M)


class Refused(ValueError):
    """The exercise cannot be begun; the message says why, and nothing was written."""


@dataclass
class Plan:
    """What to write: path → text, for new and changed files. notes: sentences that tell the author what was chosen."""

    new: dict[Path, str] = field(default_factory=dict)
    changed: dict[Path, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def unit_of(exercise_id: str, unit: str | None) -> str:
    """The unit of an exercise: the unit that already has it, else ``unit``.

    Raises Refused if the id is malformed, if another unit has it, or if no unit is known; raises
    exercises.UnknownName for an unknown unit.
    """
    if not ID.fullmatch(exercise_id) or len(exercise_id) > LONGEST_ID:
        raise Refused(
            f"{exercise_id!r} is no id: it is topic.name in lower case, as in activation.relu_squared, of at most "
            f"{LONGEST_ID} characters; learners write a function of that name"
        )
    if unit is not None:
        exercises.unit_module(unit)
    owners = [u for u in exercises.units() if exercise_id in _named_in(u)]
    if unit is None and not owners:
        raise Refused(f"{exercise_id} is new: say where it belongs with UNIT=…: {', '.join(exercises.units())}")
    if unit is not None and owners and unit not in owners:
        raise Refused(f"{exercise_id} is in use in unit {owners[0]}; an id is one exercise's for ever")
    return unit or owners[0]


def _named_in(unit: str) -> set[str]:
    """Ids in a unit's specs or its source, found by text search because one of these files may be broken."""
    specs = [p.read_text(encoding="utf-8") for p in exercises.spec_files(exercises.unit_module(unit))]
    text = source_path(unit).read_text(encoding="utf-8") if source_path(unit).exists() else ""
    return {i for s in specs for i in re.findall(r'^\s*id="([^"]+)"', s, re.M)} | set(
        re.findall(r'^# %%.*exercise="([^"]+)"', text, re.M)
    )


def plan(exercise_id: str, unit: str, after: str | None = None) -> Plan:
    """What to write for an exercise; an empty plan if spec and text exist.

    after: the exercise after which it goes in the text; None makes a new extension for it before the recap.
    Raises Refused, SourceError.
    """
    spec = next((e for e in exercises.of_unit(unit) if e.id == exercise_id), None)
    path = source_path(unit)
    cells, _ = read_cells(path)
    has_text = any(c.exercise == exercise_id for c in cells)
    if spec and has_text:
        return Plan()
    if after is not None and after not in [c.exercise for c in cells]:
        known = ", ".join(dict.fromkeys(c.exercise for c in cells if c.exercise))
        raise Refused(f"AFTER={after}: {shown(path)} has no such exercise; it has {known}")
    target = spec.targets[0] if spec else exercise_id.split(".")[1]
    if spec is None:
        _demand_free_name(target, cells, exercise_id, unit)
    made = Plan()
    if has_text:
        at = next(i for i, c in enumerate(cells) if c.exercise == exercise_id)
    else:
        at = _place(cells, after, path)
        _add_text(made, path, cells, at, exercise_id, target, after)
    if spec is None:
        extension = _extension_at(cells, at) or (after is None and not has_text)
        _add_spec(made, exercise_id, unit, target, extension)
    return made


def _demand_free_name(target: str, cells: list[Cell], exercise_id: str, unit: str) -> None:
    """Raises Refused if a learner's notebook or Python already uses the name."""
    if keyword.iskeyword(target) or hasattr(builtins, target):
        raise Refused(f"learners would write a function {target!r}, and Python has that name; choose another id")
    owner = next((e for e in exercises.all_exercises() if target in e.targets), None)
    if owner:
        raise Refused(f"{owner.id} (unit {owner.unit}) asks for a function {target!r} already; choose another id")
    for cell in cells:
        if cell.code and cell.exercise != exercise_id and target in _bound(cell.source):
            raise Refused(f"{shown(source_path(unit))}:{cell.line} uses the name {target!r} already; choose another id")


def _bound(code: str) -> set[str]:
    """Names that a cell binds, outside functions and classes."""
    try:
        body = ast.parse(code).body
    except SyntaxError:  # a magic
        return set()
    found = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        else:
            found |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return found


def _place(cells: list[Cell], after: str | None, path: Path) -> int:
    """Index of the cell before which the text goes. Raises Refused if there is no recap."""
    if after is not None:
        return max(i for i, c in enumerate(cells) if c.exercise == after) + 1
    found = next((i for i, c in enumerate(cells) if not c.code and re.match(r"## Recap\b", c.source)), None)
    if found is None:
        raise Refused(f"{shown(path)} has no heading '## Recap' to stand before; say AFTER=other.id")
    return found


def _extension_at(cells: list[Cell], at: int) -> bool:
    paths = Paths()
    for cell in cells[:at]:
        if not cell.code and not cell.part:
            paths.heading(cell.source)
    return paths.extension


def _add_text(
    made: Plan, path: Path, cells: list[Cell], at: int, exercise_id: str, target: str, after: str | None
) -> None:
    parts = list(templates.PARTS.values())
    if after is None:
        numbers = [int(n) for c in cells if not c.code for n in HEADING.findall(c.source)]
        parts.insert(0, templates.SECTION.format(number=f"{max(numbers) + 1}. " if numbers else "").rstrip("\n") + "\n")
        made.notes.append(
            "It stands in an extension of its own before the recap. To put it on the core path, drop 'Extension: ' in "
            "the heading and extension=True in the spec; the core path of a unit takes 60 to 170 minutes."
        )
    text = "\n".join(part.replace("{id}", exercise_id).replace("{target}", target) for part in parts)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    line = cells[at].line - 1 if at < len(cells) else len(lines)
    gap = "" if line == len(lines) else "\n"
    if line == len(lines):
        text = f"\n{text}"
    made.changed[path] = "".join([*lines[:line], text, gap, *lines[line:]])


def _add_spec(made: Plan, exercise_id: str, unit: str, target: str, extension: bool) -> None:
    folder = exercises.HERE / exercises.unit_module(unit)
    name = next((n for n in (target, exercise_id.replace(".", "_")) if not (folder / f"{n}.py").exists()), "")
    if not name:
        raise Refused(f"{shown(folder)}/{target}.py is there already, and has no exercise {exercise_id}")
    flag = "    extension=True,\n" if extension else ""
    filled = {"{id}": exercise_id, "{target}": target, "{extension}": flag}
    spec = templates.SPEC
    for place, value in filled.items():
        spec = spec.replace(place, value)
    made.new[folder / f"{name}.py"] = spec


def write(made: Plan) -> list[Path]:
    """Writes a plan; returns the paths. A new file never replaces an existing one. Raises Refused, OSError."""
    for path, text in made.new.items():
        if not files.write_new(path, text.encode()):
            raise Refused(f"{shown(path)} is there already")
    for path, text in made.changed.items():
        files.replace(path, text.encode())
    return [*made.new, *made.changed]


__all__ = ["Plan", "Refused", "SourceError", "plan", "unit_of", "write"]

"""Reads the cells of a unit's source (py:percent), each with its line and the options after ``# %%``.

``# %%`` or ``# %% [markdown]`` begins a cell. It may be followed by one part of an exercise (``statement``,
``exercise``, ``hints`` or ``worth``, each with the exercise's id), ``evidence="…"`` for a verdict, ``setup=true``, or
one part of the unit's written question (``written="question"``, ``written="answer" points=3``). If the answer to an
exercise is code from earlier units, ``bring="norm.rms_norm rope.rotate_half"`` names their exercises.
"""

import ast
import difflib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import jupytext
from nbformat import NotebookNode
from nbformat.v4 import nbbase

from autograder import ROOT

PARTS = ("statement", "exercise", "hints", "worth")
OPTIONS = (*PARTS, "evidence", "setup", "written", "points", "bring")
WRITTEN = ("question", "answer")
MARKER = re.compile(r"# %%(?: |$)")


class TextError(ValueError):
    """A problem in a cell; the message describes it. line: in the cell's text, from 1, if known."""

    def __init__(self, says: str, line: int | None = None) -> None:
        super().__init__(says)
        self.line = line


@dataclass(frozen=True)
class Problem:
    """One thing that an author has to fix. line: in the file at ``path``, from 1."""

    path: Path
    line: int
    says: str

    def __str__(self) -> str:
        return f"{shown(self.path)}:{self.line}: {self.says}"


class SourceError(ValueError):
    """Everything that an author has to fix in a unit's source: one line per problem, with file and line number.

    problems: the same as a list; empty if the error is not about a place in a file.
    """

    def __init__(self, *problems: Problem | str) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = [p for p in problems if isinstance(p, Problem)]


@dataclass(frozen=True)
class Cell:
    """One cell of a source.

    Attributes:
        line: line number of its ``# %%``.
        first: line number of the first line of ``source``, which has no blank lines around it.
        code: whether it is a code cell.
        part, exercise: which part of which exercise it is; None and "" for an ordinary cell.
        evidence: the evidence for its verdict.
        setup: whether grading runs it too.
        written: "question" or "answer" if it is part of the written question.
        points: points for that answer.
        bring: exercises of earlier units whose answers a learner reuses in this one.
    """

    line: int
    first: int
    source: str
    code: bool
    part: str | None = None
    exercise: str = ""
    evidence: str | None = None
    setup: bool = False
    written: str | None = None
    points: int = 0
    bring: tuple[str, ...] = ()

    def line_of(self, error: TextError) -> int:
        """The line number in the file of an error in this cell."""
        return self.first + error.line - 1 if error.line else self.line


@contextmanager
def unchecked() -> Iterator[None]:
    """Skips nbformat's validation of each new cell in the body, which takes a fifth of a build.

    The caller validates the whole notebook afterwards, which costs almost nothing.
    """
    validate = nbbase.validate
    nbbase.validate = lambda node, ref=None: None
    try:
        yield
    finally:
        nbbase.validate = validate


def shown(path: Path) -> Path:
    """A path as messages show it: relative to the repository's root if it is inside."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def read_cells(path: Path) -> tuple[list[Cell], list[Problem]]:
    """The cells of a source, and the problems of single cells, such as options that don't exist.

    Raises SourceError if the file is missing or cannot be divided into cells, or if code doesn't parse.
    """
    if not path.exists():
        raise SourceError(f"{shown(path)} does not exist")
    cells, problems = _read(path, path.read_text(encoding="utf-8"))
    return [*cells], [*problems]


@lru_cache(maxsize=64)
def _read(path: Path, text: str) -> tuple[list[Cell], list[Problem]]:
    """Cached: jupytext takes a quarter of a second per unit, and one process reads the same unit many times."""
    pieces, problems = _pieces(text), []
    if pieces[0][1]:
        raise SourceError(Problem(path, 1, "what stands before the first # %% belongs to no cell"))
    pieces = pieces[1:]
    # Check the syntax first: jupytext may not find the end of code that does not parse.
    for line, lines in pieces:
        if "[markdown]" not in lines[0]:
            error = syntax_error("\n".join(lines[1:]))
            if error:
                problems.append(Problem(path, line + (error.lineno or 1), f"{_named(lines[0])}{_said(error)}"))
    if problems:
        raise SourceError(*problems)
    with unchecked():
        read = jupytext.reads(text, fmt="py:percent").cells
    if len(read) != len(pieces):
        raise SourceError(Problem(path, 1, f"{len(pieces)} lines begin with # %%, but jupytext sees {len(read)} cells"))
    cells = []
    for (line, lines), cell in zip(pieces, read, strict=True):
        blank = next((n for n, content in enumerate(lines[1:]) if content.strip("# ")), 0)
        try:
            options = _options(lines[0], dict(cell.metadata), cell.cell_type == "code")
        except TextError as error:
            problems.append(Problem(path, line, str(error)))
            options = {}
        cells.append(Cell(line, line + 1 + blank, cell.source.strip("\n"), cell.cell_type == "code", **options))
    return cells, problems


def _pieces(text: str) -> list[tuple[int, list[str]]]:
    """[(line of the marker, lines of the cell with the marker)]; the first entry is the text before any marker."""
    pieces: list[tuple[int, list[str]]] = [(0, [])]
    for number, line in enumerate(text.split("\n"), 1):
        if MARKER.match(line):
            pieces.append((number, [line]))
        elif line.strip() or len(pieces) > 1:
            pieces[-1][1].append(line)
    return pieces


def _options(marker: str, given: dict[str, Any], code: bool) -> dict[str, Any]:
    """Fields of a Cell from the options of its marker."""
    given.pop("lines_to_next_cell", None)  # jupytext's own
    for name in given.keys() - set(OPTIONS):
        near = difflib.get_close_matches(name, OPTIONS, 1)
        meant = f"did you mean {near[0]}?" if near else f'they are {", ".join(OPTIONS)}, as in hints="norm.rms"'
        raise TextError(f"{marker!r} has an option that does not exist; {meant}")
    parts = [p for p in PARTS if p in given]
    if len(parts) > 1:
        raise TextError(f"a cell is one part of an exercise, not {' and '.join(parts)}")
    if parts and code != (parts[0] == "exercise"):
        kind = "a code cell: # %%" if parts[0] == "exercise" else "text: # %% [markdown]"
        raise TextError(f'{parts[0]} is {kind} {parts[0]}="{given[parts[0]]}"')
    written, points = given.get("written"), given.get("points", 0)
    if written is not None and (written not in WRITTEN or code or parts):
        raise TextError(
            'the written question is text: # %% [markdown] written="question", and written="answer" points=3'
        )
    if type(points) is not int or points and written != "answer":
        raise TextError('points stand at the written answer, as in written="answer" points=3')
    bring = tuple(str(given.get("bring", "")).split())
    if "bring" in given and (not bring or parts != ["exercise"]):
        raise TextError('bring="norm.rms_norm …" names exercises of earlier units, at a cell with exercise="…"')
    found: dict[str, Any] = {"evidence": given.get("evidence"), "setup": bool(given.get("setup"))}
    found |= {"written": written, "points": points, "bring": bring}
    return found | ({"part": parts[0], "exercise": given[parts[0]]} if parts else {})


def syntax_error(code: str) -> SyntaxError | None:
    """Why a cell's code cannot run in a notebook, or None. Magics and ``await`` outside of a function are allowed."""
    try:
        ast.parse(code)
        return None
    except SyntaxError:
        # Imported late: it costs half a second, and hardly any cell has a magic.
        from IPython.core.inputtransformer2 import TransformerManager
    leading = len(code) - len(code.lstrip("\n"))  # IPython drops these lines
    try:
        compile(
            "\n" * leading + TransformerManager().transform_cell(code),
            "cell",
            "exec",
            ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
        )
        return None
    except SyntaxError as error:
        return error


def _said(error: SyntaxError) -> str:
    code = (error.text or "").strip()
    return f"{type(error).__name__}: {error.msg}{f', in `{code}`' if code else ''}"


def _named(marker: str) -> str:
    found = re.search(r'exercise="([^"]*)"', marker)
    return f"{found[1]}: " if found else ""


def go_on_after_errors(cells: list[NotebookNode]) -> None:
    """Tags code cells so that JupyterLab's Run All Cells continues after their errors: an unsolved exercise must not
    stop the cells below it. Answers and setup cells stay untagged, since their errors are worth stopping for."""
    for cell in cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "code" and "setup" not in tags and not cell.metadata.get("nbgrader", {}).get("solution"):
            cell.metadata["tags"] = [*tags, "raises-exception"]

"""Finds what is missing in an exercise without running anything: in its spec, its text and its unit."""

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from anatomy.program.units import core_minutes
from nbformat import NotebookNode

from autograder import exercises
from autograder.judge.changes import problem
from autograder.judge.spec import Exercise
from autograder.notebooks.cells import Cell, Problem, SourceError, read_cells
from autograder.notebooks.source import read_unit, source_path

from .templates import MARK, MISTAKES

# The tests enforce these limits for every unit; here the author learns of problems before running the tests.
MAX_TEXT_WORDS, MAX_CODE_LINES, MAX_MEDIAN_LINES = 100, 30, 8
SHOWS, MESSAGE = range(10, 161), range(20, 261)  # characters
CORE_MINUTES = range(60, 171)
MIN_MUTANTS, MIN_STATEMENT_WORDS = 3, 5


def problems(unit: str, exercise: Exercise) -> list[Problem]:
    """Everything that is missing, in the order of the files."""
    source, (spec, _) = source_path(unit), exercises.place_of(exercise)
    found = [*_markers(spec), *_of_spec(exercise), *_markers(source)]
    marked = {(p.path, p.line) for p in found}
    found += [p for p in _of_source(unit, exercise) if (p.path, p.line) not in marked]
    return sorted(found, key=lambda p: (p.path == source, p.path, p.line))


def of_text_alone(source: Path) -> list[Problem]:
    """Problems of a text if its specs cannot be read."""
    try:
        found = read_cells(source)[1]
    except SourceError as error:
        found = error.problems
    return sorted([*_markers(source), *found], key=lambda p: p.line)


def _markers(path: Path) -> Iterator[Problem]:
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if MARK in line:
            wanted = line[line.index(MARK) + len(MARK) :].strip(" :").rstrip("\"'),")
            yield Problem(path, number, f"still to be written: {wanted or line.strip()}")


def line_of_spec(exercise: Exercise, name: str) -> int:
    """The line of a case or mistake in the spec's file; the line of a change begins with its name."""
    path, start = exercises.place_of(exercise)
    lines = [*enumerate(path.read_text(encoding="utf-8").split("\n"), 1)]
    found = [n for n, line in lines if line.startswith(f"{name}: ")]
    return next((n for n, line in lines if n >= start and f'"{name}"' in line), [*found, start][0])


def _of_spec(exercise: Exercise) -> Iterator[Problem]:
    path, line = exercises.place_of(exercise)
    if not exercise.alternatives:
        yield Problem(path, line, "no alternative: give at least one right answer written differently")
    if len(exercise.mutants) < MIN_MUTANTS:
        yield Problem(path, line, f"{len(exercise.mutants)} mutants: list at least three mistakes that learners make")
    messages = [m.message for m in exercise.mutants]
    for mutant in exercise.mutants:
        at = line_of_spec(exercise, mutant.name)
        if mutant.name in MISTAKES:
            yield Problem(path, at, f"{mutant.name} is the scaffold's name: call the mistake what it is")
        if len(mutant.message) not in MESSAGE or not mutant.message.endswith((".", "?")):
            yield Problem(path, at, f"{mutant.name}: a message has 20 to 260 characters and ends like a sentence")
        if messages.count(mutant.message) > 1:
            yield Problem(path, at, f"{mutant.name}: another mutant says the same")
        if says := problem(mutant):
            yield Problem(path, at, says)
    for case in exercise.cases:
        if len(case.shows) not in SHOWS or case.shows.endswith("."):
            at = line_of_spec(exercise, case.name)
            yield Problem(path, at, f"case {case.name!r}: what it shows has 10 to 160 characters and no full stop")


def _of_source(unit: str, exercise: Exercise) -> Iterator[Problem]:
    path = source_path(unit)
    try:
        book, text = read_unit(unit)
    except SourceError as error:
        yield from error.problems or [Problem(path, 1, str(error))]
        return
    cells, _ = read_cells(path)
    for cell in cells:
        if cell.part == "statement" and cell.exercise == exercise.id and words(cell.source) < MIN_STATEMENT_WORDS:
            yield Problem(path, cell.line, f"{exercise.id}: the statement is too short to work from")
        if cell.part == "hints" and cell.exercise == exercise.id and not all(_hints(cell.source)):
            yield Problem(path, cell.line, f"{exercise.id}: a hint is empty")
    for made in book.cells:
        says = _too_long(made)
        if says:
            yield Problem(path, _line_of(made, cells), says)
    lengths = [len(c.source.split("\n")) for c in book.cells if c.cell_type == "code"]
    if median(lengths) > MAX_MEDIAN_LINES:
        yield Problem(path, 1, f"half of the code cells have more than {median(lengths):g} lines; at most 8 should")
    minutes = core_minutes(text)
    if unit != exercises.units()[0] and minutes not in CORE_MINUTES:
        yield Problem(path, 1, f"the core path takes {minutes} minutes; two sittings are 60 to 170, without extensions")


def _hints(source: str) -> list[str]:
    return [hint.strip() for hint in re.split(r"^\d\.\s+", source, flags=re.M)[1:]]


def words(text: str) -> int:
    """Number of words in a text, without addresses, formulas and tables."""
    text = re.sub(r"\]\([^)]*\)", " ", text)
    text = re.sub(r"\$\$.*?\$\$|\$[^$]*\$|\|[^\n]*\|", " ", text, flags=re.S)
    return len(re.findall(r"[\w'’-]+", text))


def _too_long(cell: NotebookNode) -> str | None:
    if cell.cell_type == "code":
        lines = len(cell.source.split("\n"))
        return f"this code cell has {lines} lines; at most {MAX_CODE_LINES}" if lines > MAX_CODE_LINES else None
    if cell["id"].startswith(("hint-", "questions", "written-")):
        return None
    count = words(re.sub(r"\n\n\*Evidence: .*$", "", cell.source))
    return f"this text cell has {count} words; at most {MAX_TEXT_WORDS}" if count > MAX_TEXT_WORDS else None


def _line_of(made: NotebookNode, cells: list[Cell]) -> int:
    """The line of the source cell from which a notebook's cell was made."""
    # The build fills in numbers; the text before the first number is as the author wrote it.
    begins = [(c.line, c.source.split("{{")[0][:80]) for c in cells]
    return next((line for line, start in begins if len(start) > 10 and start in made.source), 1)

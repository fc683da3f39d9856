"""Matches the cells of a submission with the cells of the course.

A cell is identified by its mark (nbgrader's ``grade_id``), else by its id, else by its text if that equals a cell of
the course. If an exercise's answer is not found in this way, or is still the stub, the student's own cells are searched
for its definitions: programs that rewrite notebooks lose marks and ids, and students merge, split and copy cells.

The same definitions count as in Jupyter, where cells run in order and the last definition wins; except that empty
copies, copies with a syntax error and unchanged stubs don't override anything.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anatomy.system.translation import _, listed

from autograder import exercises

from ..base.masters import Master, gradable_units, master
from ..base.notes import Note
from ..source.defining import Definitions, Reader, names_of
from . import slips
from .opening import BadSubmission
from .raw import RawCell, grade_id_of, source_of, squeezed

if TYPE_CHECKING:
    from autograder.judge.spec import Exercise

MAX_COPIES = 50  # of one answer cell, not counting empty ones


@dataclass
class Matched:
    """Which cell of a submission is which cell of the course. Cells are given by their numbers in the submission.

    Attributes:
        names: for each cell its name in the course, or None for one of the student's own.
        chosen: grade_id of an answer → cell whose source counts.
        before, after: grade_id → copies that also define something else, to be run before and after the chosen cell.
        dropped: cells that do not run.
        found: cell of the student's own → id of the exercise that it answers.
        open: ids of exercises whose answer cell is left empty, because the answer is in another cell.
        absent: ids of exercises without an answer.
        notes: remarks about all this.
    """

    names: list[str | None]
    chosen: dict[str, int] = field(default_factory=dict)
    before: dict[str, list[int]] = field(default_factory=dict)
    after: dict[str, list[int]] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    found: dict[int, str] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)
    notes: list[Note] = field(default_factory=list)


def match(cells: Sequence[RawCell], trusted: Master) -> Matched:
    """Matches a submission's cells with those of the unit. Raises BadSubmission if none of them belongs to the unit."""
    sources = [source_of(c) for c in cells]
    texts = [squeezed(s) for s in sources]
    marked = {name for c in cells if (name := grade_id_of(c)) is not None}
    result = Matched(_names(cells, texts, marked, trusted))
    graded = {n for n in result.names if n in trusted.checks or n in trusted.answers}
    if not graded:
        _refuse_other_unit(marked, trusted.unit)
    released = [c for c in trusted.notebook.cells if grade_id_of(c) in trusted.answers]
    reader = Reader(sources.__getitem__, released)
    for name, exercise in trusted.answers.items():
        copies = [i for i, n in enumerate(result.names) if n == name]
        if len(copies) > 1:
            _choose(name, exercise, copies, sources, reader, result)
        elif copies:
            result.chosen[name] = copies[0]
    courses = {squeezed(c.source) for c in trusted.notebook.cells if c.cell_type == "code"}
    untouched = {i for i, text in enumerate(texts) if text in courses}
    by_name = _find_by_name(cells, trusted, reader, untouched, result)
    if not graded:
        _check_unit(cells, reader, trusted.unit)
    if not marked:
        result.notes.insert(0, _marks_lost(by_name))
    else:
        result.notes += [_found(e, where) for e, where in by_name]
    return result


def _names(cells: Sequence[RawCell], texts: Sequence[str], marked: set[str], trusted: Master) -> list[str | None]:
    """Each cell's name in the course, found by mark, id or text (ignoring white space); None if there is none."""
    known = {grade_id_of(c) or c.get("id"): c for c in trusted.notebook.cells}
    by_id = {c.get("id"): grade_id_of(c) or c.get("id") for c in trusted.notebook.cells}

    def named(cell: RawCell) -> str | None:
        if grade_id_of(cell) in known:
            return grade_id_of(cell)
        name = by_id.get(cell["id"]) if isinstance(cell.get("id"), str) else None
        # If another cell has the mark that belongs to this id, the unmarked cell is a copy.
        return None if name in marked else name

    names = [named(c) for c in cells]
    there = set(names)
    lost = {squeezed(c.source): n for n, c in known.items() if n not in there and c.cell_type == "code"}
    # An unmarked copy of a stub also gets the answer's name; it counts as an empty copy.
    blank = {squeezed(known[n].source): n for n in trusted.answers}
    for i, cell in enumerate(cells):
        if names[i] is None and cell.get("cell_type") == "code":
            names[i] = lost.pop(texts[i], None) or blank.get(texts[i])
    for name in trusted.written:
        _name_written(name, cells, texts, names, trusted)
    return names


def _name_written(
    name: str, cells: Sequence[RawCell], texts: Sequence[str], names: list[str | None], trusted: Master
) -> None:
    """Finds a written answer that is outside its cell.

    If the cell for the written answer is unchanged, or lost its mark and id, the answer is the student's own text cell
    that follows it or follows the question.
    """
    book = trusted.notebook.cells
    place = next(i for i, c in enumerate(book) if grade_id_of(c) == name)
    question, given = squeezed(book[place - 1].source), squeezed(book[place].source)
    if any(n == name and text not in ("", given) for n, text in zip(names, texts, strict=True)):
        return
    courses = {squeezed(c.source) for c in book}
    if name not in names and given in texts:
        names[texts.index(given)] = name
    for i in range(1, len(cells)):
        follows = names[i - 1] == name or texts[i - 1] in (question, given)
        if follows and names[i] is None and cells[i].get("cell_type") == "markdown":
            if texts[i] and texts[i] not in courses:
                names[i] = name
                return


def _choose(
    name: str, exercise: "Exercise", copies: list[int], sources: Sequence[str], reader: Reader, result: Matched
) -> None:
    """Chooses among several copies of an answer cell: the one that counts, and those that run before and after it."""
    targets = set(exercise.targets)
    some = [i for i in copies if sources[i].strip()][-MAX_COPIES:]
    read = {i: d for i in some if (d := reader[i]) is not None}
    real = {t for d in read.values() for t in (d.binds - d.stubs) & targets}
    kept: list[int] = []
    bound: set[str] = set()
    for i in reversed(read):
        if not read[i].stubs & real and read[i].binds - bound:
            kept.insert(0, i)
            bound |= read[i].binds
    answers = [i for i in kept if read[i].binds & real]
    if answers:
        chosen = answers[-1]
    else:  # each copy has stubs next to real functions, or there are no real functions
        kept = [i for i in kept if not read[i].stubs]
        worth = lambda i: (len((read[i].binds - read[i].stubs) & real) if i in read else 0, not _is_stub(i, read), i)
        chosen = max(some or copies[:1], key=worth)
    result.chosen[name] = chosen
    result.before[name] = [i for i in kept if i < chosen]
    result.after[name] = [i for i in kept if i > chosen]
    result.dropped |= set(copies) - set(kept) - {chosen}
    sentence = _("The answer cell of {exercise} appears {n} times: none of them holds an answer.")
    if real and chosen == copies[-1]:
        sentence = _("The answer cell of {exercise} appears {n} times: the last one that defines {names} counts.")
    elif real:
        sentence = _(
            "The answer cell of {exercise} appears {n} times: the last one that defines {names} counts, which is "
            "number {which}."
        )
    values = {"exercise": exercise.id, "n": len(copies), "names": names_of(exercise)}
    sentence = sentence.format(**values, which=copies.index(chosen) + 1)
    result.notes.append(Note("submission.answer_twice", sentence, exercise.id))
    if chosen + 1 in copies and slips.is_rest(sources[chosen + 1]):  # JupyterLab gives both halves the cell's mark
        result.notes.append(Note(*slips.split(), exercise.id))


def _is_stub(number: int, read: Mapping[int, Definitions]) -> bool:
    return number in read and bool(read[number].stubs)


def _find_by_name(
    cells: Sequence[RawCell], trusted: Master, reader: Reader, untouched: set[int], result: Matched
) -> list[tuple["Exercise", str]]:
    """Finds answers in cells that are not marked as theirs, and updates ``result``.

    Returns (exercise, id of the other exercise whose cell has the answer, or "") for each of them. untouched: cells
    that are still as the course handed them out.
    """
    unanswered: dict[str, Exercise] = {}
    for name, exercise in trusted.answers.items():
        if name not in result.chosen:
            result.absent.add(exercise.id)
            unanswered[name] = exercise
        elif result.chosen[name] in untouched or _left_alone(reader, result.chosen[name], exercise):
            unanswered[name] = exercise
    if not unanswered:
        return []
    wanted = {t for e in unanswered.values() for t in e.targets}
    running = {i: n for n, i in result.chosen.items()}
    reads = [
        i
        for i, cell in enumerate(cells)
        if i not in result.dropped | untouched
        and (i in running or cell.get("cell_type") == "code" and result.names[i] not in trusted.answers)
        and reader.mentions(i, wanted)
    ]
    read = {i: d for i in reads if (d := reader[i]) is not None}
    found = []
    for name, exercise in unanswered.items():
        targets = set(exercise.targets)
        holders = [i for i, d in read.items() if i != result.chosen.get(name) and d.written & targets]
        if not holders:
            continue
        result.absent.discard(exercise.id)
        result.open.add(exercise.id)
        *drafts, last = holders
        for i in holders:
            if i not in running:  # also for an edited cell of the course: it is now the student's own
                result.names[i] = None
        again = read[last].binds & targets
        result.dropped |= {i for i in drafts if i not in running and read[i].binds <= again}
        other = trusted.answers[running[last]].id if last in running else result.found.get(last, "")
        if last not in running:
            result.found.setdefault(last, exercise.id)
        found.append((exercise, other))
    result.dropped -= set(result.found)
    return found


def _left_alone(reader: Reader, number: int, exercise: "Exercise") -> bool:
    """True if an answer cell defines nothing but the exercise's stubs, or is as it was handed out."""
    read = reader[number]
    if read is None:
        return False
    only_stubs = not (read.binds - read.stubs) and read.stubs <= set(exercise.targets)
    return only_stubs or reader.as_released(number)


def _found(exercise: "Exercise", other: str) -> Note:
    sentence = _(
        "The answer cell of {exercise} is missing or as it was given out; {names} was found in a cell of your own."
    )
    if other:
        sentence = _(
            "The answer cell of {exercise} is missing or as it was given out; {names} was found in the answer cell of "
            "{other}."
        )
    sentence = sentence.format(exercise=exercise.id, names=names_of(exercise), other=other)
    return Note("submission.found_by_name", sentence, exercise.id)


def _marks_lost(by_name: Sequence[tuple["Exercise", str]]) -> Note:
    sentence = _(
        "The course's cell marks were lost on the way (another program saved the notebook?); the cells were found by "
        "their ids or their text."
    )
    if by_name:
        sentence = _(
            "The course's cell marks were lost on the way (another program saved the notebook?); answers were found by "
            "the names of what they define: {names}."
        ).format(names=listed(names_of(e) for e, __ in by_name))
    return Note("submission.marks_lost", sentence)


def _refuse_other_unit(marked: Iterable[str], unit: str) -> None:
    for other in gradable_units() if marked else ():
        if other != unit and set(marked) & master(other).answers.keys():
            raise _other_unit(other, unit)


def _check_unit(cells: Sequence[RawCell], reader: Reader, unit: str) -> None:
    """Raises BadSubmission if a notebook without marks defines no function of this unit, or more of another unit's."""
    defined: set[str] = set()
    for i, cell in enumerate(cells):
        if cell.get("cell_type") == "code" and (read := reader[i]):
            defined |= read.written
    counts = {u: sum(not defined.isdisjoint(e.targets) for e in exercises.of_unit(u)) for u in gradable_units()}
    other = max(counts, key=lambda u: (counts[u], u == unit))
    if counts[other] and other != unit:
        raise _other_unit(other, unit)
    if not counts[other]:
        raise BadSubmission(
            "submission.no_marks",
            _(
                "The notebook has none of the course's cell marks, and no cell defines a function that this unit asks "
                "for: it was rebuilt or converted by another program, or is another notebook. Download the unit again, "
                "put the answers in, and submit that file."
            ),
        )


def _other_unit(other: str, unit: str) -> BadSubmission:
    sentence = _("This is the notebook of {other}, not of {unit}: it lies in the wrong folder.")
    return BadSubmission("submission.other_unit", sentence.format(other=other, unit=unit))

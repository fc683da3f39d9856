"""Runs a rebuilt notebook's cells in a session, and asks for its answers at the right moment.

There are two ways, with the same result. *Together*: all cells in one request, then all answers in one question; this
is fast, and most notebooks use it. *Step by step*: each cell alone, each answer at its check cell; this is for
notebooks in which a cell below a check redefines a name from above it, or in which a cell hangs or kills its process
(then only that cell is lost).
"""

import json
import secrets
import symtable
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import nbformat
from anatomy.judge.verdict import Verdict

from autograder.judge.spec import Exercise
from autograder.judge.trusted import ASKED, judge_exercise, judge_exercises
from autograder.sandbox import CELL_DIED, CELL_TIMEOUT, DeadSession, Session
from autograder.sandbox.printable import printable

from ..base.masters import MARK
from ..source.signs import without_magics
from .following import follow_through
from .work import CELLS, SOURCE, Followed, Work

CELL_SECONDS = 10.0  # for one cell
TOGETHER_SECONDS = 10.0  # for all cells at once
ANSWER_SECONDS = 10.0  # for all cases of one exercise
MAX_OUTPUT = 20_000  # characters of one cell's output that are kept for the feedback
MAX_OUTPUTS = 1_000_000  # characters of all outputs together
MAX_ERROR = 2_000  # characters of an error's message; the traceback may have three times as many
Error = tuple[str, str, str]  # name, message, traceback
ROLES_RUN = ("setup", "answer", "extra")


@dataclass
class Output:
    """The output of one cell: printed text, and its error or None."""

    text: str = ""
    error: Error | None = None


@dataclass
class NotebookRun:
    """The result of running a notebook.

    Attributes:
        outputs: cell id → Output.
        verdicts: in the order of the exercises.
        stepwise: True if the cells ran step by step.
        followed: exercise → Followed, for exercises that earned more by follow-through.
        at_check: exercises whose answers were asked at their check, before the cells below it ran.
        failed: ids of cells that did not run to their end.
    """

    outputs: dict[str, Output] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    stepwise: bool = False
    followed: dict[str, Followed] = field(default_factory=dict)
    at_check: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)


def run_notebook(
    notebook: nbformat.NotebookNode,
    exercises: Sequence[Exercise],
    session: Session,
    key: bytes,
    work: Work | None = None,
    follow: bool = False,
) -> NotebookRun:
    """Runs a rebuilt notebook. Never raises because of the student's code.

    exercises: all exercises of the unit, in order. work: is notified of each step, and knows what is already settled
    or skipped. follow: use follow-through for exercises that build on a wrong answer (``following.py``).
    """
    work = work or Work()
    open_ones = [e for e in exercises if e.id not in work.settled]
    ran = _run(notebook, open_ones, session, key, work)
    found = {v.exercise: v for v in ran.verdicts} | dict(work.settled)
    ran.verdicts = [found[e.id] for e in exercises]
    if follow:
        ran.followed = follow_through(exercises, ran.verdicts, session, key, work)
        ran.verdicts = [ran.followed[v.exercise].verdict if v.exercise in ran.followed else v for v in ran.verdicts]
    _limit_outputs(ran.outputs)
    return ran


def _run(
    notebook: nbformat.NotebookNode, exercises: Sequence[Exercise], session: Session, key: bytes, work: Work
) -> NotebookRun:
    cells = [c for c in notebook.cells if c.cell_type == "code" and c.metadata[MARK]["role"] in ROLES_RUN and c.source]
    work.step(SOURCE)
    ordered = SOURCE in work.skipped or order_matters(notebook.cells, {t for e in exercises for t in e.targets})
    work.step(CELLS)
    ran = None
    if not ordered:
        outputs = _together(cells, session)
        if outputs is not None:
            verdicts = judge_exercises(exercises, session, key, ANSWER_SECONDS, begin=work.step, done=work.done)
            ran = NotebookRun(outputs, verdicts)
    ran = ran or _stepwise(notebook, exercises, session, key, work)
    ran.failed = {c.id for c in cells if (output := ran.outputs.get(c.id)) is None or output.error}
    return ran


def _limit_outputs(outputs: dict[str, Output]) -> None:
    """Removes printed text beyond MAX_OUTPUTS: a page with twenty megabytes of text is useless."""
    left = MAX_OUTPUTS
    for output in outputs.values():
        if left <= 0:
            output.text = ""
        left -= len(output.text) + sum(map(len, output.error or ()))


def order_matters(cells: Iterable[nbformat.NotebookNode], targets: Iterable[str] = ()) -> bool:
    """True if a check stands between two cells that bind a global name which functions use, or one of ``targets``.

    Then a function may use a different helper at the end of the notebook than at its check cell. What replaces a
    stand-in right below it makes no difference: no check ever saw the stand-in.
    """
    checks, first = 0, dict[str, int]()  # name → how many checks stand above the first cell that binds it
    again: set[str] = set()
    used = set(targets)
    for cell in cells:
        role = cell.metadata[MARK]["role"]
        checks += role == "check"
        if role not in ROLES_RUN or cell.cell_type != "code" or not cell.source:
            continue
        try:
            table = symtable.symtable(without_magics(cell.source), "cell", "exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return True
        names = {s.get_name() for s in table.get_symbols() if s.is_assigned() and not s.is_imported()}
        again |= {name for name in names if first.setdefault(name, checks) < checks}
        todo = list(table.get_children())
        while todo:
            scope = todo.pop()
            used |= {s.get_name() for s in scope.get_symbols() if s.is_global()}
            todo += scope.get_children()
    return bool(again & used)


def _together(cells: list[nbformat.NotebookNode], session: Session) -> dict[str, Output] | None:
    """Outputs of all cells, or None if running them failed (then the session is as it was before)."""
    marker = f"anatomy-{secrets.token_hex(8)}"
    # The code runs in its own namespace, so that it leaves nothing among the student's names.
    code = (
        f"exec(compile({ASKED!r}, '<grader>', 'exec'), (_grader := {{}}))\n"
        f"_grader['run_cells']({[c.source for c in cells]!r}, {marker!r})\ndel _grader"
    )
    try:
        result = session.execute(code, timeout=TOGETHER_SECONDS)
    except DeadSession:
        return None
    if result.error_name in (CELL_TIMEOUT, CELL_DIED):
        return None
    outputs: dict[str, Output] = {}
    rest = result.stdout
    for number, cell in enumerate(cells):
        text, found, after = rest.partition(f"\n{marker} {number} ")
        if not found:  # cut by the output limit, or the student's code replaced the stream
            outputs[cell.id] = Output(_cut(rest, True))
            break
        about, _, rest = after.partition("\n")
        outputs[cell.id] = Output(_cut(text), _error(about))
    return outputs


def _error(text: str) -> Error | None:
    try:
        about = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(about, list) or len(about) != 3 or not all(isinstance(a, str) for a in about):
        return None
    return _short_error(*about)


def _short_error(name: str, message: str, trace: str) -> Error:
    """Cuts and cleans an error: JSON may carry lone surrogates, which cannot be written to a file."""
    return printable(name[:80]), printable(message[:MAX_ERROR]), printable(trace[-3 * MAX_ERROR :])


def _cut(text: str, always: bool = False) -> str:
    if len(text) <= MAX_OUTPUT and not always:
        return text
    return text[:MAX_OUTPUT] + "\n… output cut by the grader …\n"


def _stepwise(
    notebook: nbformat.NotebookNode, exercises: Sequence[Exercise], session: Session, key: bytes, work: Work
) -> NotebookRun:
    ran, specs = NotebookRun(stepwise=True), {e.id: e for e in exercises}
    run = [i for i, c in enumerate(notebook.cells) if c.cell_type == "code" and c.metadata[MARK]["role"] in ROLES_RUN]
    last = max(run, default=0)
    verdicts: dict[str, Verdict] = {}
    too_early = []
    for position, cell in enumerate(notebook.cells):
        mark = cell.metadata[MARK]
        if mark["role"] in ROLES_RUN and cell.source:
            work.step(CELLS)
            ran.outputs[cell.id] = _one(cell, session)
        elif mark["role"] == "check" and mark["exercise"] in specs:
            work.step(mark["exercise"])
            verdict = verdicts[mark["exercise"]] = judge_exercise(specs[mark["exercise"]], session, key, ANSWER_SECONDS)
            if position < last and not verdict.passed and _lacks_a_name(verdict):
                too_early.append(mark["exercise"])
            else:
                ran.at_check.add(mark["exercise"])
                work.done(verdict)
    for name in too_early:  # a helper may be defined below the check: students run cells in any order
        work.step(name)
        again = judge_exercise(specs[name], session, key, ANSWER_SECONDS)
        if again.score > verdicts[name].score:
            verdicts[name] = again
        work.done(verdicts[name])
    ran.verdicts = [verdicts[e.id] for e in exercises]
    return ran


def _one(cell: nbformat.NotebookNode, session: Session) -> Output:
    try:
        result = session.execute(cell.source, timeout=CELL_SECONDS)
    except DeadSession as dead:
        return Output("", ("NotRun", str(dead), ""))
    error = _short_error(result.error_name, result.error_text, result.traceback) if result.error_name else None
    return Output(_cut(result.stdout, result.truncated), error)


def _lacks_a_name(verdict: Verdict) -> bool:
    return any(m.name == "generic.missing" or "NameError" in m.message for m in verdict.mistakes)

"""Grades one submission: verdicts, signs and a notebook for the feedback."""

import time
from collections.abc import Callable, Iterable, Mapping

import nbformat
from anatomy.judge.verdict import Mistake, Verdict
from anatomy.system.texts import escaped
from anatomy.system.translation import N_, _, speaking

from autograder.judge.trusted import zero
from autograder.sandbox import Session

from ..base.masters import MARK, UnknownUnit, master
from ..base.words import amount, number
from ..intake.rebuild import BadSubmission, Note, Rebuilt, language_of
from ..source.signs import Sign, signs_of
from .execution import ROLES_RUN, Output, run_notebook
from .holding import hold
from .results import GradedNotebook
from .submitted import Submitted
from .work import PAGES, SOURCE, Followed, Work

# Mistakes that are also signs of possible cheating, and the techniques that they point to.
_TELLING = {
    "generic.timeout": "resources",
    "generic.process_ended": "resources",
    "generic.too_large": "resources",
    "generic.too_complicated": "resources",
    "generic.no_session": "resources",
    "generic.malformed": "reply",
    "generic.unreadable": "reply",
    "generic.only_examples": "examples",
}


# Remarks on a file that is too long to be run whole. Someone who experiments a lot hands one in, too.
LONG = ("submission.many_cells", "submission.long_source", "submission.long_cell")

# Replaces the signs if looking for them exceeded the grader's limits.
THE_NOTEBOOK = N_("the notebook")  # where a sign is that belongs to no cell
UNREADABLE_SOURCE = Sign("dynamic code", "(source that cannot be examined within the grader's limits)", THE_NOTEBOOK)


def grade(submitted: Submitted, session_factory: Callable[[], Session]) -> GradedNotebook:
    """Grades in this process; ``contained.grade`` does it in a child. session_factory: opens a fresh session.

    Never raises because of the submission. Raises SandboxUnavailable if no session can be opened.
    """
    try:
        rebuilt = submitted.read()
    except (BadSubmission, UnknownUnit) as error:
        name = getattr(error, "name", "submission.unknown_unit")
        return ungraded(submitted.unit, submitted.student, name, str(error))
    with session_factory() as session:
        return grade_in(session, rebuilt, submitted, Work())


def grade_in(session: Session, rebuilt: Rebuilt, submitted: Submitted, work: Work) -> GradedNotebook:
    """Grades a rebuilt notebook in an open, unused session. work: is notified of each step."""
    began = time.perf_counter()
    unit = submitted.unit
    exercises = master(unit).exercises
    with speaking(language_of(rebuilt.notebook)):
        ran = run_notebook(rebuilt.notebook, exercises, session, submitted.key, work, submitted.follow)
        work.step(SOURCE)
        signs = _signs(rebuilt) if SOURCE not in work.skipped else [UNREADABLE_SOURCE]
        tries = rebuilt.tries
        graded = GradedNotebook(submitted.student, unit, ran.verdicts, rebuilt.notes, signs, ran.outputs, tries=tries)
        mark_followed(graded, ran.followed)
        _explain_missing(graded, rebuilt)
        stood_in = {exercise: followed.offered for exercise, followed in ran.followed.items()}
        hold(graded, rebuilt, exercises, SOURCE not in work.skipped, stood_in, ran.failed, ran.at_check)
        graded.signs += _telling(graded)
        work.step(PAGES)
        if PAGES not in work.skipped:
            graded.notebook = _with_outputs(rebuilt.notebook, graded)
    graded.seconds = time.perf_counter() - began
    return graded


def ungraded(unit: str, student: str, name: str, sentence: str) -> GradedNotebook:
    """GradedNotebook for a submission that could not be read: zero points and the reason for each exercise."""
    try:
        verdicts = [zero(e, name, sentence) for e in master(unit).exercises]
    except UnknownUnit:
        verdicts = []
    suspicious = [Sign("forgery", sentence, N_("the file"))] if name == "submission.not_a_file" else []
    return GradedNotebook(student, unit, verdicts, [Note(name, sentence)], suspicious, problem=(name, sentence))


def mark_followed(graded: GradedNotebook, followed: Mapping[str, Followed]) -> None:
    """Records which points were earned with the course's values instead of the student's functions."""
    graded.followed = {exercise: f.own for exercise, f in followed.items()}
    graded.notes += [Note("follow_through", f.sentence, exercise) for exercise, f in followed.items()]


def _signs(rebuilt: Rebuilt) -> list[Sign]:
    found: list[Sign] = []
    for cell in rebuilt.notebook.cells:
        if cell.cell_type == "code" and cell.metadata[MARK]["role"] in ("answer", "extra"):
            found += signs_of(cell.source, cell.id)
    return found + [
        Sign("resources" if n.name in LONG else "forgery", n.sentence, n.exercise or THE_NOTEBOOK)
        for n in rebuilt.notes
        if n.suspicious
    ]


def _telling(graded: GradedNotebook) -> list[Sign]:
    found = []
    for verdict in graded.verdicts:
        for mistake in verdict.mistakes:
            technique = _TELLING.get(mistake.name)
            # If it earned points on hidden inputs, it is an ordinary gap, not a table of the examples' results.
            if technique and not (technique == "examples" and verdict.score):
                found.append(Sign(technique, mistake.message[:160], verdict.exercise))
            if mistake.name == "forbidden_builtin":
                found.append(Sign("ban", mistake.message[:160], verdict.exercise))
    return found


def _explain_missing(graded: GradedNotebook, rebuilt: Rebuilt) -> None:
    """Explains why a name is missing: the cell is absent, or it raised an error before it could define anything."""
    by_exercise = {
        c.metadata[MARK].get("exercise"): c for c in rebuilt.notebook.cells if c.metadata[MARK]["role"] == "answer"
    }
    for verdict in graded.verdicts:
        if not verdict.mistakes or verdict.mistakes[0].name != "generic.missing":
            continue
        output = graded.outputs.get(by_exercise[verdict.exercise].id)
        if verdict.exercise in rebuilt.absent:
            sentence = _("The answer cell is not in the submission.")
        elif output and output.error:
            name, text = output.error[:2]
            said = name + (f": {text.splitlines()[0][:200]}" if text.strip() else "")
            sentence = _("The answer cell itself raised {error}.").format(error=said)
        else:
            continue
        verdict.mistakes[0] = Mistake(
            "generic.cell_missing" if verdict.exercise in rebuilt.absent else "generic.cell_raised", sentence
        )
        for case in verdict.cases:
            case.sentence = ""


def _with_outputs(notebook: nbformat.NotebookNode, graded: GradedNotebook) -> nbformat.NotebookNode:
    """Adds the printed text, errors and verdicts to the notebook, in the form from which nbgrader reads scores."""
    verdicts, count = {v.exercise: v for v in graded.verdicts}, 0
    for cell in notebook.cells:
        mark = cell.metadata[MARK]
        if mark["role"] in ROLES_RUN and cell.id in graded.outputs:
            count += 1
            cell.execution_count = count
            cell.outputs = _cell_outputs(graded.outputs[cell.id])
        elif mark["role"] == "check":
            notes = [n.sentence for n in graded.notes if n.exercise == mark["exercise"]]
            cell.outputs = score_outputs(verdicts[mark["exercise"]], notes, mark["exercise"] in graded.extensions)
    return notebook


def _cell_outputs(output: Output) -> list[nbformat.NotebookNode]:
    outputs = [nbformat.v4.new_output("stream", name="stdout", text=output.text)] if output.text.strip() else []
    if output.error:
        name, text, trace = output.error
        outputs.append(
            nbformat.v4.new_output(
                "error", ename=name, evalue=text, traceback=[*trace.split("\n")[-12:], f"{name}: {text}"]
            )
        )
    return outputs


def score_outputs(verdict: Verdict, notes: Iterable[str] = (), extension: bool = False) -> list[nbformat.NotebookNode]:
    """Outputs of a check cell: the verdict for the reader, then the score as the cell's first result.

    nbgrader takes the first ``execute_result`` as the score, and gives full marks if there is none. An extension's
    maximum is 0 there, and nbgrader refuses more: its points are stored as extra credit (``extra.py``).
    """
    if extension:
        notes = [
            *notes,
            _("Extension: {n} of {points}, as extra credit.").format(
                n=number(verdict.score), points=amount(verdict.max_score, "point")
            ),
        ]
    text = "\n".join([verdict.text(), *notes])
    page = verdict.html() + "".join(f"<p>{escaped(n)}</p>" for n in notes)
    return [
        nbformat.v4.new_output("display_data", data={"text/html": page, "text/plain": text}),
        nbformat.v4.new_output(
            "execute_result", data={"text/plain": f"{0 if extension else verdict.score:.6g}"}, execution_count=None
        ),
    ]

"""Holds the points of correct answers to exercises with forbidden built-ins if a person has to look at their source.

``waiting.py`` shows instructors what waits for them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import nbformat
from anatomy.judge.verdict import Mistake, Verdict
from anatomy.system.translation import _, said, sentences

from autograder.judge.spec import Exercise

from ..base.masters import MARK
from ..base.names import cut
from ..base.words import number
from ..intake.absences import never_there
from ..intake.rebuild import Rebuilt
from ..source.calls import UNRESOLVED, Calls, Finding, read_calls
from .results import GradedNotebook, Held

MAX_EVIDENCE = 160  # characters of a line


def hold(
    graded: GradedNotebook,
    rebuilt: Rebuilt,
    exercises: Sequence[Exercise],
    readable: bool = True,
    stood_in: Mapping[str, Sequence[str]] | None = None,
    failed: Collection[str] = (),
    at_check: Collection[str] = (),
) -> None:
    """Holds back the points of answers that call what correct answers do not need, and lists them in ``graded.held``.

    An answer that plainly uses a forbidden built-in is wrong. Never raises because of the student's source.

    Args:
        graded: is changed.
        rebuilt: the rebuilt notebook.
        exercises: all exercises of the unit, in order.
        readable: False if the source exceeded the grader's limits; then every exercise with a ban is held.
        stood_in: exercise → functions that were replaced by the course's own when it earned its points.
        failed: ids of cells that did not run to their end.
        at_check: exercises whose answers were asked at their check, before the cells below it ran.
    """
    banned = [(i, e) for i, e in enumerate(exercises) if e.forbidden and graded.verdicts[i].score]
    if not banned:
        return
    for i, exercise, finding in _found(rebuilt, banned, readable, stood_in or {}, failed, at_check):
        verdict = graded.verdicts[i]
        cases = [replace(c, points=0.0) for c in verdict.cases]
        mistakes = [_mistake(exercise, verdict, finding), *verdict.mistakes]
        graded.verdicts[i] = replace(verdict, passed=False, score=0.0, cases=cases, mistakes=mistakes)
        if not finding.forbidden:
            evidence = finding.evidence[:MAX_EVIDENCE]
            graded.held.append(Held(exercise.id, verdict.score, finding.name[:MAX_EVIDENCE], evidence, finding.where))


def _found(
    rebuilt: Rebuilt,
    banned: Iterable[tuple[int, Exercise]],
    readable: bool,
    stood_in: Mapping[str, Sequence[str]],
    failed: Collection[str],
    at_check: Collection[str],
) -> list[tuple[int, Exercise, Finding]]:
    """The worst finding of each exercise that has one."""
    nothing = Finding(UNRESOLVED, "(source that cannot be examined within the grader's limits)", "the notebook", 1)
    if not readable:
        return [(i, e, nothing) for i, e in banned]
    found = []
    try:
        calls = read_calls(rebuilt.notebook, failed)
        checks = {
            c.metadata[MARK]["exercise"]: c.id for c in rebuilt.notebook.cells if c.metadata[MARK]["role"] == "check"
        }
        for i, exercise in banned:
            own = calls
            if exercise.id in stood_in:
                own = _with(rebuilt.notebook, stood_in[exercise.id])
            elif exercise.id in at_check:
                own = read_calls(rebuilt.notebook, failed, checks[exercise.id], calls)
            findings = own.findings(exercise.targets, exercise.forbidden)
            # Such a name does not exist here; code that could create it would be a separate finding.
            findings = [f for f in findings if not never_there(f.name)]
            found += [(i, exercise, findings[0])] if findings else []
    except Exception:  # source that breaks the reader has to be seen by a person
        return [(i, e, nothing) for i, e in banned]
    return found


def _with(notebook: nbformat.NotebookNode, names: Iterable[str]) -> Calls:
    """The calls of a notebook to which the course's own functions (``names``) are added as trusted ones."""
    source = "".join(f"def {name}(*args, **kwargs): ...\n" for name in names)
    cell = nbformat.v4.new_code_cell(source, metadata={MARK: {"role": "setup"}})
    return read_calls(nbformat.from_dict({"cells": [*notebook.cells, cell]}))


def _mistake(exercise: Exercise, verdict: Verdict, finding: Finding) -> Mistake:
    forbidden, evidence = said(exercise.id, exercise.forbidden_message), cut(finding.evidence, 80)
    if finding.cell.startswith("extra-"):
        place = _("Line {line} of a cell of your own").format(line=finding.line)
    else:
        place = _("Line {line} of cell {cell}").format(line=finding.line, cell=finding.cell)
    if finding.forbidden:
        uses = _("{place} uses {name}. {forbidden} ({evidence})")
        uses = uses.format(place=place, name=finding.name, forbidden=forbidden, evidence=evidence)
        return Mistake("forbidden_builtin", uses)
    what = _("{place} uses {name} ({evidence}); right answers to this exercise do not need it.")
    if finding.name == UNRESOLVED:
        what = _(
            "{place} does something that the grader cannot follow ({evidence}); right answers to this exercise do not "
            "need it."
        )
    elif finding.name.startswith("."):
        what = _(
            "{place} uses {name}, or something it cannot be told from ({evidence}); right answers to this exercise do "
            "not need it."
        )
    what = what.format(place=place, name=finding.name[:80], evidence=evidence)
    waits = _(
        "The computed points ({n} of {all}) wait until a person has looked. If you do not want to wait, take that line "
        "out and submit again."
    ).format(n=number(verdict.score), all=number(verdict.max_score))
    return Mistake("held", sentences(what, waits, forbidden))

"""Grades one submission in a disposable child process: ``grade`` and ``rebuild``, with limits.

Everything that reads a submission or the replies of its code runs in the child (``autograder.sandbox.disposable``):
parsing the notebook, examining its source, comparing replies, wording verdicts. The parent owns the session and closes
it.

If the child dies, the part that it was working on is settled (an exercise gets zero points and the reason, another part
is skipped), and a new child grades the rest. Verdicts settled before are kept. Results come back as JSON, which
``result_json.py`` validates.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, replace
from typing import Any

import torch
from anatomy.judge.verdict import Verdict
from anatomy.system.translation import N_, _

from autograder.judge.trusted import warm, zero
from autograder.sandbox import Session, disposable
from autograder.sandbox.disposable import Budget, ChildEnded, Line

from ..base.masters import UnknownUnit, master
from ..intake import rebuild as rebuilding
from ..intake.rebuild import BadSubmission, Rebuilt
from . import grade as direct
from .following import builds_on
from .grade import UNREADABLE_SOURCE, mark_followed, ungraded
from .result_json import followed_from, graded_from, packed, rebuilt_from, to_json, verdict_from
from .results import GradedNotebook
from .submitted import Submitted
from .work import CELLS, NOTEBOOK, PARTS, Followed, Work

BUDGET = Budget()
# For all attempts at one submission together. Exercises that are not settled by then earn nothing.
TOTAL_SECONDS = 150.0
_UNREADABLE = (
    "submission.unreadable",
    N_(
        "The notebook cannot be read within the grader's limits on time and memory. Open it in JupyterLab, clear the "
        "outputs, take out cells that do not belong to the course, and submit it again."
    ),
)
TOO_COMPLICATED = N_(
    "Your results could not be compared with the right ones: {error}. Return the plain numbers, tensors or expressions "
    "that the text asks for, no larger than it asks for."
)
_OUT_OF_TIME = N_("The time for this submission was used up before this exercise could be judged.")

_warmed: set[str] = set()  # units


def grade(submitted: Submitted, session_factory: Callable[[], Session]) -> GradedNotebook:
    """Runs ``grade.grade`` in a child. Raises SandboxUnavailable, and ChildFailed for a bug of the grader."""
    if not disposable.available():
        return direct.grade(submitted, session_factory)
    unit, student = submitted.unit, submitted.student
    try:
        prepare(unit)
    except UnknownUnit as error:
        return ungraded(unit, student, "submission.unknown_unit", str(error))
    if submitted.follow:
        builds_on(unit)
    exercises = {e.id: e for e in master(unit).exercises}
    settled: dict[str, Verdict] = {}
    skipped: set[str] = set()
    better: dict[str, Followed] = {}
    left = TOTAL_SECONDS
    while left > 0:
        try:
            work = _Attempt(submitted, settled, skipped, better)
            return _in_a_child(work, session_factory, replace(BUDGET, wall_seconds=left))
        except BadSubmission as error:
            return ungraded(unit, student, error.name, str(error))
        except ChildEnded as end:
            left -= end.seconds
            for told in map(json.loads, end.notes):
                if "own" in told:
                    followed = followed_from(told)
                    better[followed.verdict.exercise] = followed
                else:
                    verdict = verdict_from(told)
                    settled[verdict.exercise] = verdict
            part = end.step if end.step in PARTS else CELLS
            if end.step in exercises and end.step not in settled:
                why = _(TOO_COMPLICATED).format(error=end)
                settled[end.step] = zero(exercises[end.step], "generic.too_complicated", why)
            elif part == NOTEBOOK:
                return ungraded(unit, student, _UNREADABLE[0], _(_UNREADABLE[1]))
            elif part in skipped:
                break
            else:
                skipped.add(part)
    settled |= {i: f.verdict for i, f in better.items()}
    late = _(_OUT_OF_TIME)
    verdicts = [settled.get(i) or zero(e, "generic.too_complicated", late) for i, e in exercises.items()]
    graded = GradedNotebook(student, unit, verdicts, signs=[UNREADABLE_SOURCE])
    mark_followed(graded, better)
    return graded


def rebuild(data: bytes, unit: str) -> Rebuilt:
    """Runs ``rebuild.rebuild`` in a child. Raises BadSubmission, UnknownUnit, and ChildFailed for a grader bug."""
    master(unit)  # cached here, so that children inherit it
    if not disposable.available():
        return rebuilding.rebuild(data, unit)

    def inside(line: Line) -> bytes:
        try:
            return packed(to_json(rebuilding.rebuild(data, unit)))
        except BadSubmission as error:
            return _bad(error)

    try:
        return rebuilt_from(_read(disposable.run(inside, BUDGET)))
    except ChildEnded:
        raise BadSubmission(_UNREADABLE[0], _(_UNREADABLE[1])) from None


class _Attempt(Work):
    """One attempt at grading a submission; runs in the child."""

    def __init__(
        self,
        submitted: Submitted,
        settled: Mapping[str, Verdict],
        skipped: Collection[str],
        followed: Mapping[str, Followed],
    ):
        super().__init__(settled, skipped, followed)
        self.submitted = submitted

    def run(self, session: Session, line: Line) -> bytes:
        """Grades the submission; returns the result as JSON."""
        # A parallel loop would wait for threads that a forked process does not inherit.
        torch.set_num_threads(1)
        self.line = line
        self.step(NOTEBOOK)
        try:
            rebuilt = self.submitted.read()
        except BadSubmission as error:
            return _bad(error)
        return packed(to_json(direct.grade_in(session, rebuilt, self.submitted, self)))

    def step(self, name: str) -> None:
        self.line.step(name)

    def done(self, verdict: Verdict) -> None:
        self.line.note(packed(asdict(verdict)))

    def better(self, followed: Followed) -> None:
        self.line.note(packed(asdict(followed)))


def _in_a_child(work: _Attempt, session_factory: Callable[[], Session], budget: Budget) -> GradedNotebook:
    with session_factory() as session:
        answer = disposable.run(lambda line: work.run(session, line), budget, session.lend(), session.patience)
    return graded_from(_read(answer))


def _bad(error: BadSubmission) -> bytes:
    return packed({"bad": [error.name, str(error)]})


def _read(answer: bytes) -> dict[str, Any]:
    """Parses a child's answer. Raises BadSubmission if the child reported one."""
    found = json.loads(answer)
    if "bad" in found:
        raise BadSubmission(*map(str, found["bad"]))
    return found


def prepare(unit: str) -> None:
    """Warms this process's caches for a unit, so that forks inherit them. Raises UnknownUnit."""
    if unit not in _warmed:
        warm(master(unit).exercises)
        _warmed.add(unit)

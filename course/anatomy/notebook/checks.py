"""``check`` and ``evaluate``: the instant check in a learner's notebook."""

import contextlib
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..judge import judging, probing
from ..judge.verdict import Verdict
from ..program import records, runner
from ..progress.standing import note
from ..system import printed, stopped, translation
from ..system.translation import _, listed
from . import after_check, claims, session


class CheckFailed(AssertionError):
    """Raised by ``check``, so that a run of the whole notebook stops there. ``verdict`` holds the verdict, which has
    been shown already."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(_("{exercise}: not yet. What is wrong stands above.").format(exercise=verdict.exercise))

    def _render_traceback_(self):
        # nbgrader's Validate shows an error's traceback and no other output.
        if os.environ.get("NBGRADER_EXECUTION") or os.environ.get("NBGRADER_VALIDATING"):
            return [self.verdict.text()]
        return [_("{exercise}: not yet").format(exercise=self.verdict.exercise)]


class NotChecked(CheckFailed):
    """Raised by ``check`` if the code in memory is not the code on the screen: nothing was judged."""

    def __init__(self, exercise_id: str, said: str) -> None:
        self.exercise, self.said = exercise_id, said
        said = _("{exercise}: not checked. Why stands above.").format(exercise=exercise_id)
        AssertionError.__init__(self, said)

    def _render_traceback_(self):
        return [_("{exercise}: not checked").format(exercise=self.exercise)]


class Stopped(NotChecked, KeyboardInterrupt):
    """Raised if the learner stopped a check; to other code it is an ordinary interrupt.

    line: where the learner's code was, (number, text), or None.
    """

    def __init__(self, exercise_id: str, shows: str, line: tuple[int, str] | None) -> None:
        case = _("Stopped in this case: {case}").format(case=translation.said(exercise_id, shows))
        place = [_("Your code was at line {n}: {line}").format(n=line[0], line=line[1])] if line else []
        self.lines = [case, *place, _("Nothing was judged.")]
        super().__init__(exercise_id, "\n".join(self.lines))

    def _render_traceback_(self):
        return self.lines


def evaluate(exercise_id: str, *functions: Callable[..., Any]) -> Verdict:
    """The verdict on a learner's functions as an object, without raising or displaying.

    Args:
        exercise_id: e.g. ``"rope.rotate_half"``.
        functions: the function or class asked for; if an exercise asks for several, in the order of its text.

    Returns:
        Verdict with ``passed``, ``score``, ``max_score``, ``mistakes`` and per-case detail.

    Raises:
        MissingRecording: unknown exercise, or missing recordings; the message says what to do.
        TypeError: the number of functions is not the exercise's.
    """
    return _tried(exercise_id, functions)[0]


def _tried(exercise_id: str, functions: Sequence[Callable[..., Any]]) -> tuple[Verdict, printed.Kept]:
    """The verdict, and what the functions printed in the case that it shows.

    Raises: what ``evaluate`` raises; Stopped if the learner stopped it.
    """
    record = records.recent(exercise_id, with_mistakes=False)
    named = _named(record, functions)
    problem = runner.calling_problem(named, record.signature)
    words = [printed.Kept() for _case in record.cases]
    start = time.perf_counter()
    if problem:
        outcomes: runner.Outcomes = [({"results": [], "signature": problem}, {})] * len(record.cases)
    else:
        outcomes = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they would name a line of ours, above the verdict on what is wrong
            for i, case in enumerate(record.cases):
                try:
                    with printed.kept() as words[i]:
                        outcomes.append(runner.run_program(case.program, case.tensors, named, record.forbidden))
                except KeyboardInterrupt as stop:
                    raise Stopped(exercise_id, case.shows, stopped.line_of(stop)) from None
    seconds = time.perf_counter() - start
    if not judging.passes(record, outcomes):
        record = records.recent(exercise_id)
    verdict = verdict_on(record, named, outcomes, seconds)
    failed = next((i for i, case in enumerate(verdict.cases) if not case.passed), None)
    return verdict, printed.Kept() if failed is None else words[failed]


def verdict_on(
    record: records.ExerciseRecord, functions: runner.Functions, outcomes: runner.Outcomes, seconds: float = 0.0
) -> Verdict:
    """The verdict on the outcomes of functions in the cases of a record; calls the functions again if they fail."""
    verdict = judging.judge(record, outcomes, seconds)
    if not verdict.passed:
        probing.add_findings(record, functions, verdict)
    return verdict


def _named(record, functions):
    if len(functions) != len(record.targets):
        words = _("check({exercise!r}, …) needs {names}: {n} given to it, not {given}")
        names, n = listed(record.targets), len(record.targets)
        raise TypeError(words.format(exercise=record.id, names=names, n=n, given=len(functions)))
    return dict(zip(record.targets, functions, strict=True))


def check(exercise_id: str, *functions: Callable[..., Any]) -> None:
    """Checks an exercise: shows the verdict, records the try, and raises CheckFailed unless everything passes.

    Judges nothing, and raises NotChecked, if the cell that defines a function failed to run or was changed since.
    """
    check_and_note(exercise_id, functions, _in_progress)


def _in_progress(verdict):
    entry = note(verdict)
    # The count is saved in the notebook: an instructor's report says which exercises took most tries. Checks after a
    # pass do not add to it.
    tries = entry.get("passed_on_try") or entry.get("tries", 0)
    return after_check.after(verdict, entry), {"anatomy": {"exercise": verdict.exercise, "tries": tries}}


def check_and_note(
    exercise_id: str,
    functions: Sequence[Callable[..., Any]],
    noted: Callable[[Verdict], tuple[tuple[str, str], dict[str, Any]]],
) -> None:
    """As ``check``.

    noted: records the try; returns the lines below the verdict, as HTML and as text, and the output's metadata.
    """
    shell = _shell()
    if shell is not None:
        named = _named(records.recent(exercise_id, with_mistakes=False), functions)
        stale = session.current.stale(named, shell.user_ns)
        if stale is not None:
            markup, text = after_check.not_checked(stale)
            _display(shell, markup, text, {})
            raise NotChecked(exercise_id, text)
    with stopped.sign_of_life(sys.stdout) if shell is not None else contextlib.nullcontext():
        verdict, words = _tried(exercise_id, functions)
    after, about = noted(verdict)
    named = _named(records.recent(exercise_id, with_mistakes=False), functions)
    gone, failing = [], []
    if shell is not None:
        gone = session.current.helpers_gone(named, shell.user_ns)
        failing = [] if verdict.passed else session.current.helpers_failing(named, shell.user_ns)
        session.current.judged(named, verdict.passed)
    below = after_check.helpers_failing(failing), after_check.helpers_gone(gone), printed.below(words), after
    _display(
        shell,
        verdict.html("".join(markup for markup, _text in below)),
        "\n".join(t for t in (verdict.text(), *(text for _markup, text in below)) if t),
        about,
    )
    # There is nothing to update if no widget was imported.
    following = sys.modules.get("anatomy.widgets.tools.following")
    if following is not None:
        following.after_check(verdict, named)
    if not verdict.passed:
        raise CheckFailed(verdict)


def _shell():
    """IPython's shell, or None; a notebook has imported IPython long before this package."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if hasattr(ipython, "get_ipython") else None


def _display(shell, markup, text, about):
    if shell is None:
        print(text)
        return
    from IPython.display import display

    display({"text/html": markup, "text/plain": text}, raw=True, metadata=about)


def _follow():
    """Listens to the cells of a notebook, if there is one and it is not being graded."""
    shell = _shell()
    if shell is None or os.environ.get("NBGRADER_EXECUTION"):
        return
    session.current.listeners.append(claims.Tracker().ran)
    session.install(shell, lambda name, source: after_check.undefined(name, source, session.current.left_behind))


_follow()

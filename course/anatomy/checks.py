"""``check`` and ``evaluate``: the instant check in a learner's notebook."""

import time

from . import judging, records, runner
from .progress import note


class CheckFailed(AssertionError):
    """Raised by ``check``. Its traceback is the verdict alone: the lines of this package would only distract."""

    def __init__(self, verdict):
        self.verdict = verdict
        super().__init__(verdict.text())

    def _render_traceback_(self):
        m = self.verdict.mistakes[0].message if self.verdict.mistakes else "see above"
        return [f"CheckFailed: {self.verdict.exercise}: {m}"]


def evaluate(exercise_id, *functions):
    """The verdict on a learner's functions as an object, without raising or displaying.

    Args:
        exercise_id: e.g. ``"rope.rotate_half"``.
        functions: the function or class asked for; where an exercise asks for several, in the order of its text.

    Returns:
        Verdict with ``passed``, ``score``, ``max_score``, ``mistakes`` and per-case detail.

    Raises:
        MissingRecording: unknown exercise, or recordings that are not there; the message says what to do.
    """
    record = records.load(exercise_id)
    if len(functions) != len(record.targets):
        raise TypeError(f"check({exercise_id!r}, …) needs {', '.join(record.targets)}: "
                        f"{len(record.targets)} given to it, not {len(functions)}")
    named = dict(zip(record.targets, functions, strict=True))
    problem = runner.signature_problem(functions[0], record.signature)
    start, outcomes = time.perf_counter(), []
    for case in record.cases:
        if problem:
            outcomes.append(({"results": [], "signature": problem}, {}))
            continue
        outcomes.append(runner.run(case.program, case.tensors, named, record.forbidden))
    return judging.judge(record, outcomes, seconds=time.perf_counter() - start)


def check(exercise_id, *functions):
    """Checks an exercise: shows the verdict, records the try, and raises CheckFailed unless everything passes."""
    verdict = evaluate(exercise_id, *functions)
    tries = note(verdict)[verdict.exercise]["tries"]
    _display(verdict, tries)
    if not verdict.passed:
        raise CheckFailed(verdict)


def _display(verdict, tries):
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        get_ipython = lambda: None
    if get_ipython() is None:
        print(verdict.text())
        return
    # The count stays in the notebook: an instructor's report says which exercises took most tries.
    display({"text/html": verdict.html(), "text/plain": verdict.text()}, raw=True,
            metadata={"anatomy": {"exercise": verdict.exercise, "tries": tries}})

"""Lets widgets follow this kernel's checks: which widget shows which function, and its check's message.

A widget identifies a function by its own name, or by the key under which it was passed; if an exercise asks for that
name, this identifies the exercise. A lambda or wrapper that only calls such a function is drawn as it is: it gets no
message, and no check replaces it, because it may be an experiment.
"""

import contextlib
import os
import textwrap
import weakref
from collections.abc import Iterator, Mapping

import torch

from ...judge.verdict import Verdict
from ...program import records
from ...system.translation import listed
from ...system.translation import said as unit_said
from .types import Function, Widget
from .words import _

MOST = 3  # number of mistakes that a widget describes; of the others it lists the names
LONGEST = 360  # maximal number of characters of a message: a generic one may quote an error

# widget → (cell, run) that created it
_live: weakref.WeakKeyDictionary[Widget, tuple[str | None, str | None]] = weakref.WeakKeyDictionary()
# (id of a function, target) → (weak reference to it, its last check's message; "" if it passed)
_verdicts: dict[tuple[int, str], tuple[weakref.ref[Function], str]] = {}
# target → (function, exercise), for checks whose widgets are not refreshed yet
_checked: dict[str, tuple[Function, str]] = {}


def register(widget: Widget) -> None:
    """Makes the widget follow the checks from now on. Drops widgets from earlier runs of the same cell: their pictures
    are gone from the page, but ipywidgets keeps them alive."""
    cell, run = _place()
    for other, (its_cell, its_run) in list(_live.items()):
        if cell and its_cell == cell and its_run != run:
            del _live[other]
    _live[widget] = cell, run


def target_of(function: Function, key: str | None = None) -> str | None:
    """The name by which an exercise asks for the function, or None. key: the name under which it was passed, if any."""
    own = getattr(function, "__name__", None)
    return next((n for n in (own, key) if isinstance(n, str) and records.exercise_of(n)), None)


def exercise_for(widget: Widget | type[Widget], target: str) -> str | None:
    """Id of the exercise from which the widget gets the function of that name, or None. Two exercises may ask for the
    same name; then the widget says which one it means."""
    return widget.asked_by.get(target) or records.exercise_of(target)


def after_check(verdict: Verdict, functions: Mapping[str, Function]) -> None:
    """Makes widgets that show these functions switch to them, and show or remove messages about their mistakes.

    verdict: the check's result. functions: target → the function that was checked. In a notebook this happens after the
    cell has finished, so that pictures do not delay the verdict; elsewhere it happens at once. Raises nothing and
    prints nothing.
    """
    with contextlib.suppress(Exception):
        told = _told(verdict)
        for target, function in functions.items():
            _remember(target, function, told)
        shell, checked = _shell(), {target: (function, verdict.exercise) for target, function in functions.items()}
        if shell is None:
            _checked.update(checked)
            _refresh()
        elif _has_readers(shell):
            _checked.update(checked)
            shell.events.register("post_run_cell", _cell_done)  # repeated calls in one cell have no effect


def what_checks_say(widget: Widget) -> dict[str, str]:
    """target → its check's message, for the learner's functions shown that do not pass.

    If the widget holds all functions of the exercise, runs the check now, without counting a try. Else returns the
    message of the last check of that same function in this kernel. Returns {} if there is no reader, or if recordings
    are missing.
    """
    try:
        shell = _shell()
        if shell is not None and not _has_readers(shell):
            return {}
        slots = targets_in(widget)
        given = {target: widget.given()[slot] for slot, target in slots.items()}
        shown = [target for slot, target in slots.items() if widget.own(slot)]
        for exercise in dict.fromkeys(exercise_for(widget, target) for target in shown):
            _judge(exercise, given)
        return {t: said for t in shown if (said := last_said(t, given[t]))}
    except Exception:  # a picture must not fail because of a message next to it
        return {}


def targets_in(widget: Widget) -> dict[str, str]:
    """slot → target, for those of the widget's functions that an exercise asks for."""
    slots = {slot: target_of(fn, slot if widget.keyed else None) for slot, fn in widget.given().items()}
    return {slot: target for slot, target in slots.items() if target}


def last_said(target: str, function: Function) -> str:
    """Message of the last check of that same function; "" if it passed or was never checked."""
    kept, said = _verdicts.get((id(function), target), (None, ""))
    return said if kept is not None and kept() is function else ""


def in_words(said: Mapping[str, str]) -> str:
    """The sentences for the banner, one line each. said: target → its check's message."""
    line, others = _("Your {name}, and what its check says: {sentence}"), list(said)[MOST:]
    lines = [line.format(name=target, sentence=sentence) for target, sentence in list(said.items())[:MOST]]
    if others:
        lines.append(_("Not right yet either: {names}.").format(names=listed(others)))
    return "\n".join(lines)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Drops all output of the learner's code, and restores torch's random state afterwards."""
    from IPython.utils.capture import capture_output

    with capture_output(), torch.random.fork_rng(devices=[]):
        yield


def _judge(exercise, given):
    targets = records.calls_of(exercise)[0]
    if not all(target in given for target in targets):
        return
    from ...notebook.checks import evaluate  # imported here, because checks may be in the middle of its own import

    with quietly():
        told = _told(evaluate(exercise, *(given[target] for target in targets)))
    for target in targets:
        _remember(target, given[target], told)


def _told(verdict):
    """target → sentence, for the targets that failing cases point to. The first mistake belongs to the first case."""
    if verdict.passed:
        return {}
    targets, calls = records.calls_of(verdict.exercise)
    message = unit_said(verdict.exercise, verdict.mistakes[0].message) if verdict.mistakes else ""
    if verdict.mistakes and verdict.mistakes[0].name == "generic.signature":
        return {targets[0]: _sentence(message)}  # in this case the check tests no other signature and no values
    told, first = {}, None
    for case, suspects in _suspects(verdict.cases, targets, calls):
        first = first or suspects
        for target in suspects:
            about = message if target in first else case.sentence
            where = _("it fails where {case}").format(case=unit_said(verdict.exercise, case.shows))
            told.setdefault(target, _sentence(about or where))
    # Without a failing case, something else is wrong, e.g. a forbidden built-in.
    return told or dict.fromkeys(targets, _sentence(message or _("it does not pass yet")))


def _suspects(cases, targets, calls):
    """Yields (failing case, suspected targets). If a case calls several functions, the suspects are those that fail on
    their own; if there are none, those that never passed a case on their own."""
    cases = list(zip(cases, calls, strict=False))
    alone = {
        passed: {name for case, names in cases if len(names) == 1 and case.passed is passed for name in names}
        for passed in (True, False)
    }
    for case, names in cases:
        if not case.passed:
            suspects = names & alone[False] or names - alone[True] or names
            yield case, [target for target in targets if target in suspects or not suspects]


def _sentence(text):
    text = textwrap.shorten(text, LONGEST, placeholder=" …")
    return text + ("" if text.endswith((".", "!", "?", "…", "。", "！", "？")) else ".")


def _remember(target, function, told):
    key = id(function), target
    with contextlib.suppress(TypeError):  # objects without weak references are not remembered
        _verdicts[key] = weakref.ref(function, lambda gone: _verdicts.pop(key, None)), told.get(target, "")


def _refresh():
    checked = dict(_checked)
    _checked.clear()
    for widget in list(_live):
        if widget.comm is None:  # closed
            _live.pop(widget, None)
            continue
        mine = {t: fn for t, (fn, exercise) in checked.items() if widget.asked_by.get(t, exercise) == exercise}
        with contextlib.suppress(Exception), quietly():
            widget.follow(mine)


def _cell_done(result):
    shell = _shell()
    shell.events.unregister("post_run_cell", _cell_done)
    with contextlib.suppress(KeyboardInterrupt):  # the check is over, and IPython would print a traceback of this code
        _refresh()


def _shell():
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    return get_ipython()


def _has_readers(shell):
    """True if this kernel has a page. Graders run whole notebooks and do not look at pictures."""
    return hasattr(shell, "kernel") and not os.environ.get("NBGRADER_EXECUTION")


def _place():
    """(cell, run) that is being executed, or (None, None) if unknown."""
    try:
        parent = _shell().kernel.get_parent("shell")
        return parent["metadata"].get("cellId"), parent["header"]["msg_id"]
    except Exception:
        return None, None

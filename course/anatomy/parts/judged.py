"""Judges a learner's answer in another notebook as it is now: runs it from the file, with its public check."""

import contextlib
import io
import json
import linecache
import sys
import threading
import time
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ..notebook.checks import _shell, evaluate
from ..program import records, units
from ..system import store, translation
from ..system.texts import short
from ..system.translation import _, none_of
from . import books
from .statements import Needed, needed
from .torchs_own import OWN, Own

PATIENCE = 10.0  # seconds before a message says what takes so long
_TOO_LONG = 320  # maximal number of characters of a verdict's sentence
STUB = "still to do."
_NOT_SAVED = (
    "you passed it, but the file holds no answer to it; save that notebook (File, Save Notebook), then run this cell "
    "again."
)


class NotYet(Exception):
    """A part is not ready yet; the message is one sentence that says which, why, and where to go."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Stopped(KeyboardInterrupt):
    """The learner interrupted an answer; the message says which."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Found(NamedTuple):
    """What a judged answer gave: the first three are a Part's. said: the check's own words on the mistake, else ""."""

    why: str
    values: tuple[Any, ...] = ()
    needed: Needed = Needed([])
    said: str = ""


@dataclass
class Part:
    """One exercise's answer. why: the reason why it does not count as the learner's, as the end of a sentence, else "".

    values: its functions and classes, in the order of targets. needed: its code, with everything that it uses.
    """

    id: str
    unit: str
    title: str
    targets: tuple[str, ...]
    path: Path
    why: str = ""
    values: tuple[Any, ...] = ()
    needed: Needed = field(default_factory=lambda: Needed([]))

    @property
    def problem(self) -> str:
        """One sentence if the answer is not ready yet, else ""."""
        return f"{self.id} in {self.where}: {self.why}" if self.why else ""

    @property
    def own(self) -> Own | None:
        """Torch's own version, to use if the learner's does not pass."""
        return OWN.get(self.id) if self.why else None

    @property
    def where(self) -> str:
        """The notebook's path, as a learner finds it."""
        return books.shown(self.path)


def look(exercise_id: str) -> Part:
    """Returns the Part of an exercise, judged again if its notebook was saved since.

    Raises MissingRecording for an unknown exercise, and Stopped if the learner interrupts their own code.
    """
    try:
        unit, about = units.exercise(exercise_id)
        targets = tuple(records.calls_of(exercise_id)[0])
    except KeyError:
        record = records.load(exercise_id)  # else raises MissingRecording, which suggests similar names
        path = books.find(record.unit)
        return Part(record.id, record.unit, record.title, tuple(record.targets), path, _("your course leaves it out."))
    part = Part(exercise_id, unit, about["title"], targets, books.find(unit))
    try:
        book = books.read(part.path, unit)
    except books.Unreadable as error:
        part.why = str(error)
        return part
    if exercise_id not in book.found:
        book.found[exercise_id] = judge(part, book)
    part.why, part.values, part.needed = book.found[exercise_id][:3]
    if part.why == STUB and _passed_before(exercise_id):
        part.why = _NOT_SAVED
    return part


def judge(part: Part, book: books.Book) -> Found:
    """Runs a part's answer from its notebook, with the public check."""
    answer = book.answers.get(part.id)
    if answer is None or part.id in book.released:
        return Found(STUB)
    if book.codes[answer].error:
        return Found(_("its cell cannot run: {error}.").format(error=book.codes[answer].error))
    at, first = max(answer, book.place.get(part.id, 0)), None
    # First only what the functions need, then their whole cells: a few answers rely on what a cell does besides
    # defining names.
    for whole in ((), [*book.answers.values(), *book.own]):
        code = needed(book.codes, part.targets, at, whole)
        found = _tried(part, code)
        if not found.why or found.why == STUB:
            return found
        first = first or found
    assert first is not None
    return first


def _tried(part: Part, code: Needed) -> Found:
    """Runs the code in its own module and checks what it defines."""
    missing = [t for t in part.targets if t in code.unknown]
    if missing:
        return Found(_("it defines no {names}.").format(names=none_of(missing)))
    with _watched(part), _quietly():
        try:
            names = _run(part, "\n".join(s.text for s in code.statements))
        except (SystemExit, Exception) as error:
            said = short(f"{type(error).__name__}: {error}", _TOO_LONG)
            return Found(_("its cell stops with {said}.").format(said=said))
        values = tuple(names[t] for t in part.targets)
        verdict = evaluate(part.id, *values)
    if verdict.passed:
        return Found("", values, code)
    mistake = verdict.mistakes[0]
    if mistake.name == "generic.not_written":
        return Found(STUB)
    said = " ".join(translation.said(part.id, mistake.message).split())
    return Found(_("does not pass as saved. {said}").format(said=short(said, _TOO_LONG)), said=said)


def _passed_before(exercise_id: str) -> bool:
    """True if the progress file says so. Reads it directly, because the usual reader may write."""
    try:
        entries = json.loads((store.home() / "progress.json").read_text(encoding="utf-8-sig"))
        return entries[exercise_id]["passed_on_try"] is not None
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _run(part: Part, source: str) -> dict[str, Any]:
    """Runs the source as a module; returns its global names. Errors show its lines, and its classes can be pickled."""
    name, place = f"{part.unit}.{part.id}", f"<{part.id} in {part.path.name}>"
    module = types.ModuleType(name)
    linecache.cache[place] = len(source), None, source.splitlines(True), place
    sys.modules[name] = module
    exec(compile(source, place, "exec", dont_inherit=True), vars(module))
    return vars(module)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Hides what an answer prints or draws, and keeps the notebook's own random state."""
    with contextlib.ExitStack() as held:
        held.enter_context(torch.random.fork_rng(devices=()))
        held.callback(torch.set_grad_enabled, torch.is_grad_enabled())
        held.callback(torch.set_default_dtype, torch.get_default_dtype())
        held.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        if _shell() is not None:
            from IPython.utils.capture import capture_output

            held.enter_context(capture_output())
        else:
            held.enter_context(contextlib.redirect_stdout(io.StringIO()))
            held.enter_context(contextlib.redirect_stderr(io.StringIO()))
        yield


@contextlib.contextmanager
def _watched(part: Part) -> Iterator[None]:
    """Says after some seconds which answer is still running; turns an interrupt into Stopped, with a sentence."""
    began, out = time.monotonic(), sys.stdout

    def say() -> None:
        print(
            _("Still running your answer to {id} from {where}. ■ (interrupt) stops it.").format(
                id=part.id, where=part.where
            ),
            file=out,
            flush=True,
        )

    timer = threading.Timer(PATIENCE, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    except KeyboardInterrupt:
        seconds = time.monotonic() - began
        raise Stopped(
            _("{id}: stopped after {seconds:.0f} s in your answer in {where}. Does one of its loops never end?").format(
                id=part.id, seconds=seconds, where=part.where
            )
        ) from None
    finally:
        timer.cancel()

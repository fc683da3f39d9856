"""Judges the answers of a saved notebook in a process of their own, one after the other, for ``anatomy check``.

An answer may compute for ever, or end Python: then only that one is lost, and the next ones get a new process. The
process has the learner's own rights, as their notebook has; nothing is kept from it.
"""

import contextlib
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from ..system.translation import _, usually

COMPUTES = 60.0  # seconds of processor time for one answer with its check; the course's slowest takes 8
WAITS = 300.0  # seconds of the clock, against answers that sleep
TOO_LONG = 71  # exit status of a process whose answer took more than COMPUTES


@dataclass(frozen=True)
class Saved:
    """A saved notebook with the unit that it belongs to, and the language that it sets."""

    path: Path
    unit: str
    language: str


@dataclass(frozen=True)
class Outcome:
    """The outcome of one exercise. state: ``passed``, ``failed`` or ``open`` (nothing is written yet).

    said: what is wrong, in the words of the check, else "".
    """

    exercise: str
    state: str
    said: str = ""


def outcomes(saved: Saved, exercises: Sequence[str]) -> Iterator[Outcome]:
    """The outcome of each exercise, in this order, as soon as it is known."""
    left = list(exercises)
    while left:
        with _process(saved, left) as (process, pipe):
            is_lost = False
            while left and not is_lost:
                try:
                    found = pipe.recv() if pipe.poll(WAITS) else None
                    said = _("it gave no result within {n:g} s and was stopped; perhaps it waits for something.")
                    said = said.format(n=WAITS)
                except (EOFError, OSError):
                    process.join()
                    found, said = None, _("it ended Python, so it could not be judged.")
                    if process.exitcode == TOO_LONG:
                        said = _("it computed for more than {n:g} s and was stopped; perhaps a loop in it never ends.")
                        said = said.format(n=COMPUTES)
                if isinstance(found, ImportError):
                    raise found
                is_lost = found is None
                yield found or Outcome(left[0], "failed", said)
                del left[0]


@contextlib.contextmanager
def _process(saved, exercises):
    start = multiprocessing.get_context("spawn")  # the same on all systems
    ours, theirs = start.Pipe(duplex=False)
    process = start.Process(target=_judge, args=(saved, exercises, theirs, COMPUTES), daemon=True)
    process.start()
    theirs.close()
    try:
        yield process, ours
    finally:
        process.kill()
        process.join()
        ours.close()


def _judge(saved: Saved, exercises: Sequence[str], pipe: Connection, seconds: float) -> None:
    """What the process does: sends the Outcome of each exercise, or ends itself after some seconds of work on one."""
    _be_silent()
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError), usually(saved.language):
        try:
            from . import books, judged  # torch, which takes seconds
        except ImportError as error:
            pipe.send(error)
            return
        os.chdir(saved.path.parent)  # as Jupyter does
        sys.path.insert(0, str(saved.path.parent))
        book, began = books.read(saved.path, saved.unit), [time.process_time()]
        threading.Thread(target=_watch, args=(began, seconds), daemon=True).start()
        for exercise in exercises:
            began[0] = time.process_time()
            pipe.send(_outcome(judged, book, saved, exercise))


def _be_silent():
    """What answers print or start has no place among the lines of the command."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _watch(began, seconds):
    while time.process_time() - began[0] < seconds:
        time.sleep(0.2)
    os._exit(TOO_LONG)


def _outcome(judged, book, saved, exercise):
    from ..program import records, units

    title, targets = units.exercise(exercise)[1]["title"], tuple(records.calls_of(exercise)[0])
    found = judged.judge(judged.Part(exercise, saved.unit, title, targets, saved.path), book)
    if not found.why:
        return Outcome(exercise, "passed")
    return (
        Outcome(exercise, "open") if found.why == judged.STUB else Outcome(exercise, "failed", found.said or found.why)
    )

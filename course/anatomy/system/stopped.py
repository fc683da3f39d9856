"""Shows an error, or a stop with ■, by the line of the learner's own code, without the course's files around it."""

import linecache
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from .translation import _

PATIENCE = 10.0  # seconds until a sign of life


def line_of(error: BaseException) -> tuple[int, str] | None:
    """(number, text) of the line in the learner's notebook at which an error occurred, or None."""
    found = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_globals.get("__name__") == "__main__":
            found = number, linecache.getline(frame.f_code.co_filename, number, frame.f_globals).strip()
    return found


def shortly(error: BaseException) -> BaseException:
    """The same error; a notebook shows only its message and the line of the learner's code at which it occurred."""
    place = line_of(error)
    at = [_("At line {n}: {line}").format(n=place[0], line=place[1])] if place and place[1] else []
    said = [_("Stopped.")] if isinstance(error, KeyboardInterrupt) else [f"{type(error).__name__}: {error}"]
    error._render_traceback_ = lambda: said + at  # type: ignore[attr-defined]
    return error


@contextmanager
def sign_of_life(out: TextIO, seconds: float = PATIENCE) -> Iterator[None]:
    """Says after some seconds that code is still running, and how to stop it."""
    said = _("Still running after {n:.0f} s. The button ■ above stops it.").format(n=seconds)
    timer = threading.Timer(seconds, lambda: print(said, file=out, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()

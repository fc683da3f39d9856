"""Ends commands with one line after Ctrl-C, because a traceback looks like a bug. Nothing is left half done: each
notebook is written in one step, and a roster in one transaction."""

import sys
from collections.abc import Callable
from types import TracebackType

STOPPED = 130  # the exit status that shells report for a program ended by Ctrl-C


def politely(run: Callable[[], int]) -> int:
    """The exit status that ``run`` returns; 130 after Ctrl-C."""
    try:
        return run()
    except KeyboardInterrupt:
        _say()
        return STOPPED


def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """For ``sys.excepthook``: the same while modules are imported, before ``politely`` runs. The interpreter then
    ends itself with the signal."""
    if issubclass(kind, KeyboardInterrupt):
        _say()
    else:
        sys.__excepthook__(kind, error, trace)


def _say() -> None:
    print("Stopped; run the same command again.", file=sys.stderr)

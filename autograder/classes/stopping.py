"""How commands end that somebody stops: with one line, as a traceback looks like a fault. Nothing is half done then:
notebooks are written in one step each, and rosters in one transaction."""

import sys
from collections.abc import Callable
from types import TracebackType

STOPPED = 130  # what shells make of a program that Ctrl-C has ended


def politely(run: Callable[[], int]) -> int:
    """The exit status that ``run`` returns; 130 after Ctrl-C."""
    try:
        return run()
    except KeyboardInterrupt:
        _say()
        return STOPPED


def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """For ``sys.excepthook``: the same where no function runs yet, while modules are imported. The interpreter then
    ends itself by the signal."""
    if issubclass(kind, KeyboardInterrupt):
        _say()
    else:
        sys.__excepthook__(kind, error, trace)


def _say() -> None:
    print("Stopped; run the same command again.", file=sys.stderr)

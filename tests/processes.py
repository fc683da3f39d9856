"""No process that a test starts outlives the tests, however they end: also where pytest is killed.

Each pytest process (with xdist: each worker) has a watcher. What is started while the tests run inherits a variable
in its environment, at any distance and in whatever session or process group: servers, their kernels, browsers,
databases, workers. When pytest is gone, by the end of the run or by a signal that nobody can catch, the watcher ends
whatever still carries that variable. (What sandboxes start sees no variable of ours; they have guards of their own.)
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PREFIX = "STARTED_BY_TESTS_"


def guard() -> str | None:
    """Starts this process's watcher; returns the variable that marks what it will end, None where there is no /proc."""
    if not Path("/proc/self/environ").exists():
        return None
    tag = f"{PREFIX}{os.getpid()}_{time.monotonic_ns()}"
    # A session of its own: an interrupt from the keyboard goes to all processes of the foreground.
    subprocess.Popen(
        [sys.executable, "-S", __file__, str(os.getpid()), tag],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )
    os.environ[tag] = "1"  # only now, so that the watcher does not carry it
    return tag


def carrying(tag: str) -> Iterator[int]:
    """Numbers of the living processes that were started with a variable in their environment."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            if f"{tag}=".encode() in (folder / "environ").read_bytes() and "\nState:\tZ" not in _status(folder):
                yield int(folder.name)


def _status(folder):
    return (folder / "status").read_text(errors="replace")


def end_all(tag: str, patience: float = 3.0) -> None:
    """Ends all processes that carry the variable: asks them, and after ``patience`` seconds asks no more."""
    begun = time.monotonic()
    asked: set[int] = set()
    while found := set(carrying(tag)):
        late = time.monotonic() - begun > patience
        for pid in found if late else found - asked:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
        asked |= found
        if time.monotonic() - begun > 10 * patience:
            return
        time.sleep(0.1)


def _watch(parent, tag):
    while os.getppid() == parent:
        time.sleep(0.5)
    end_all(tag)


if __name__ == "__main__":
    _watch(int(sys.argv[1]), sys.argv[2])

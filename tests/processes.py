"""Ends all processes that tests started when the tests end, even if pytest is killed.

Each pytest process (with xdist: each worker) has a watcher. Every process started during the tests, directly or not
and in any session or process group, inherits an environment variable: servers, their kernels, browsers, databases,
workers. When pytest is gone, after the run or by a signal that can't be caught, the watcher ends all processes that
still have this variable. (Processes in sandboxes don't see it; sandboxes have their own guards.)
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
    """Starts this process's watcher; returns the variable that marks processes to end, or None without a /proc."""
    if not Path("/proc/self/environ").exists():
        return None
    tag = f"{PREFIX}{os.getpid()}_{time.monotonic_ns()}"
    # In a separate session, since an interrupt from the keyboard reaches all foreground processes.
    subprocess.Popen(
        [sys.executable, "-S", __file__, str(os.getpid()), tag],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )
    os.environ[tag] = "1"  # set only now, so that the watcher does not inherit it
    return tag


def carrying(tag: str) -> Iterator[int]:
    """Yields the ids of living processes that were started with a variable in their environment."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended, or belongs to another user
            if f"{tag}=".encode() in (folder / "environ").read_bytes() and "\nState:\tZ" not in _status(folder):
                yield int(folder.name)


def _status(folder):
    return (folder / "status").read_text(errors="replace")


def end_all(tag: str, patience: float = 3.0) -> None:
    """Ends all processes that have the variable: by SIGTERM, and after ``patience`` seconds by SIGKILL."""
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

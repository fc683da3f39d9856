"""How long a test waits for another process: as long as the process would need on an idle machine."""

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

PATIENCE = 60.0  # seconds of a core; only broken code waits that long
RUNNING = Path("/proc/loadavg")

T = TypeVar("T")


def share() -> float:
    """The share of a core that a process gets now; below 1 if more processes want to run than there are cores."""
    try:
        wanting = int(RUNNING.read_text().split()[3].split("/")[0])
    except OSError:  # not Linux: each second counts
        return 1.0
    return min(1.0, (os.cpu_count() or 1) / max(1, wanting))


def allow(seconds: float) -> float:
    """A limit in wall time for a program that uses a clock: in it, a process gets about ``seconds`` of a core."""
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    return seconds * max(1.0, busy, 1 / share())


def patience(seconds: float = PATIENCE, pause: float = 0.05) -> Iterator[None]:
    """Yields repeatedly, with pauses, until the patience is used up.

    A second counts only as much as a process could compute in it: with fourteen processes on two cores, a seventh.
    """
    before = time.monotonic()
    while seconds > 0:
        yield
        time.sleep(pause)
        now = time.monotonic()
        seconds -= (now - before) * share()
        before = now


def wait_until(
    condition: Callable[[], object],
    otherwise: str | Callable[[], str] = "it did not happen",
    pause: float = 0.05,
    seconds: float = PATIENCE,
) -> None:
    """Evaluates the condition until it is true; fails with ``otherwise`` when the patience is used up."""
    for _ in patience(seconds, pause):
        if condition():
            return
    raise AssertionError(otherwise if isinstance(otherwise, str) else otherwise())


def patiently(
    call: Callable[[], T], otherwise: str | Callable[[], str] = "no answer came", seconds: float = PATIENCE
) -> T:
    """Makes a call that has no time limit; returns or raises its result. A call that never ends stays in its thread."""
    answered: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            answered.append(call())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(1.0)  # most calls end sooner
    wait_until(lambda: not thread.is_alive(), otherwise, seconds=seconds)
    if raised:
        raise raised[0]
    return answered[0]


def finished(command: Sequence[str], seconds: float = 300.0, **options: Any) -> subprocess.CompletedProcess:
    """``subprocess.run`` with captured output; kills the process when the patience is used up."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as process:
        try:
            out, err = patiently(process.communicate, f"{command} has not ended", seconds)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fails if the work inside the context takes longer, in seconds of a core."""
    done = threading.Event()
    spent = 0.0

    def count() -> None:
        nonlocal spent
        before = time.monotonic()
        while not done.wait(0.05):
            now = time.monotonic()
            spent += (now - before) * share()
            before = now

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    assert spent < seconds, f"it took {spent:.0f} s of a core"

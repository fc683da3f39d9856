"""Time limits that a busy machine does not shorten.

A limit is meant for what code does, not for how many others want the processor. So time in which a process was ready
to run but had to wait for a processor doesn't count. Processor time always counts: code that starts many processes,
which then wait for one another, gains nothing by it.

The system reports both for each task in ``/proc/PID/task/TID/schedstat``. Where it does not (macOS), all time counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from . import usage

_NANO = 1e-9
_LATE = 0.2  # seconds of waiting that the system may only report after the next look, when the wait is over
LOOK_SECONDS = 1.0  # between two looks; if a process ends, its waiting time since the last look is unknown


class Patience:
    """A time allowance for some processes and their descendants, from now on.

    seconds: the allowance. roots: process ids; without any, all time counts. but: processes among them that only watch
    the others, and are ignored.
    """

    def __init__(self, seconds: float, roots: Iterable[int] = (), but: Iterable[int] = ()):
        self.seconds, self._roots, self._but = seconds, tuple(roots), frozenset(but)
        self._spent, self._owed, self._looked = 0.0, 0.0, time.monotonic()
        self._seen = self._tasks()

    def left(self) -> float:
        """Estimated seconds left; measures again when the next look is due or nothing seems left."""
        now = time.monotonic()
        if self._roots and (now >= self._looked + LOOK_SECONDS or self.seconds - self.spent(now) <= 0):
            self._look(now)
        return self.seconds - self.spent(now)

    def pause(self) -> float:
        """Longest wait for an event, in milliseconds: until the time may be used up or the next look is due."""
        left = max(0.0, self.left())
        if self._roots:
            left = min(left, max(0.0, self._looked + LOOK_SECONDS - time.monotonic()))
        return left * 1000

    def spent(self, now: float | None = None) -> float:
        """Seconds that count so far; all time since the last look counts until the next look corrects it."""
        return self._spent + (time.monotonic() if now is None else now) - self._looked

    def _look(self, now: float) -> None:
        """Counts the time since the last look. Each interval is counted separately: many tasks may have waited at once,
        and that waiting must not offset later time, such as sleep."""
        passed, self._looked = now - self._looked, now
        ran, waited = 0.0, self._owed
        for task, numbers in self._tasks().items():
            before = self._seen.get(task, (0.0, 0.0))
            if numbers[0] >= before[0]:  # else the number was given to another task
                ran += numbers[0] - before[0]
                waited += max(0.0, numbers[1] - before[1])
            self._seen[task] = numbers
        self._spent += max(passed - waited, min(passed, ran))
        self._owed = min(max(0.0, waited - passed), _LATE)

    def _tasks(self) -> dict[int, tuple[float, float]]:
        """Task → (seconds that it ran, seconds that it was ready to run and waited)."""
        found = {}
        for root in self._roots:
            for pid, tasks in usage.tree(root):
                for task in tasks if pid not in self._but else ():
                    numbers = usage.read(f"{usage.PROC}/{pid}/task/{task}/schedstat").split()
                    if len(numbers) >= 2 and numbers[0].isdigit() and numbers[1].isdigit():
                        found[task] = int(numbers[0]) * _NANO, int(numbers[1]) * _NANO
        return found

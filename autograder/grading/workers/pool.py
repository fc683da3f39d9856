"""Worker processes on this machine: forked from one that has everything imported, replaced when they die.

The *nursery* is forked from the grader before the gradebook is open, has no threads, and does nothing but fork workers;
it ends with the grader, however that ends, and its workers with it. The grader and a worker talk on a socket of their
own, in frames of a bounded size.
"""

import contextlib
import ctypes
import gc
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Self

from autograder.sandbox.disposable import Budget
from autograder.sandbox.zygote import Forked

from ..intake.collect import Submission
from ..judging.contained import prepare
from .jobs import WATCHDOG_SECONDS, Graded, Job, NoWorkers, WorkerLost, answer, pack, result_of, unpack

HEADER = struct.Struct(">I")
MAX_ANSWER = 2 * Budget().reply_bytes
MAX_JOB = 1 << 30
READY = b"ready"
_WORKER, _UNIT = b"w", b"u"  # what a nursery is asked for
START_SECONDS = 60.0  # a worker that has not said a word by then will not
MOST_STARTS = 5  # that fail in a row
# A worker ends itself after WATCHDOG_SECONDS; one that cannot even do that (a stopped process) is left alone then.
PATIENCE_SECONDS = WATCHDOG_SECONDS + 15
_FRAME_SECONDS = 30.0  # for the rest of a frame that has begun
_LAST_SECONDS = 1.0  # for workers to end when the grader has; then they are ended
_PR_SET_PDEATHSIG = 1
Outcome = Graded | Exception
Make = Callable[[Submission], Job]


# ---- frames ----------------------------------------------------------------------------------------------------------
def send(sock: socket.socket, body: bytes) -> None:
    """One frame. Raises OSError."""
    sock.sendall(HEADER.pack(len(body)) + body)


def receive(sock: socket.socket, most: int) -> bytes:
    """One frame of at most ``most`` bytes. Raises EOFError where the other side is gone, OSError else."""
    (size,) = HEADER.unpack(_exactly(sock, HEADER.size))
    if size > most:
        raise OSError(f"a frame of {size} bytes")
    return _exactly(sock, size)


def _exactly(sock: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = sock.recv(min(size - len(parts), 1 << 20))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)


# ---- in the forks ----------------------------------------------------------------------------------------------------
def _settle(keep: int) -> None:
    """In a fork: no descriptor but ``keep`` and the standard ones, and no signal handlers."""
    for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGCHLD", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    null = os.open(os.devnull, os.O_RDWR)
    folder = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
    for fd in map(int, os.listdir(folder)):
        if fd > 2 and fd not in (keep, null):
            with contextlib.suppress(OSError):  # the listing's own descriptor
                os.fstat(fd)
                os.dup2(null, fd)  # not closed: some object of the parent's may still close that number


def _end_with(parent: int) -> None:
    """Where the system can: this process ends when its parent does, even if it is busy."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0)


def _nurse(control: socket.socket, units: Iterable[str]) -> None:
    """Forks a worker for each socket that arrives, until the grader is gone."""
    _settle(control.fileno())
    os.setsid()  # an interrupt at the keyboard is for the grader alone
    for unit in units:
        prepare(unit)
    gc.freeze()
    me = os.getpid()
    while True:
        data, fds, *_ = socket.recv_fds(control, 1, 1)
        if not data:
            _bury(time.monotonic() + _LAST_SECONDS)
            return
        _bury()
        if data == _UNIT:
            prepare(receive(control, 1000).decode())
            gc.freeze()
            continue
        sock = socket.socket(fileno=fds[0])
        if os.fork() == 0:
            try:
                _end_with(me)
                _settle(sock.fileno())
                _work(sock)
            finally:
                os._exit(1)
        sock.close()


def _bury(until: float = 0.0) -> None:
    """Takes note of workers that ended, so that their time counts as this process's; waits for the others ``until``."""
    with contextlib.suppress(ChildProcessError):  # none is left
        while True:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                if time.monotonic() > until:
                    return
                time.sleep(0.005)


def _work(sock: socket.socket) -> None:
    """A worker's life."""
    send(sock, READY)
    while True:
        try:
            job = unpack(receive(sock, MAX_JOB), receive(sock, MAX_JOB))
        except EOFError:
            os._exit(0)
        # With its default action the signal ends this process wherever it is, in the middle of a C function too.
        signal.setitimer(signal.ITIMER_REAL, WATCHDOG_SECONDS)
        said = answer(job)
        signal.setitimer(signal.ITIMER_REAL, 0)
        send(sock, said)


# ---- in the grader ---------------------------------------------------------------------------------------------------
class Nursery:
    """Where workers come from. units: what they will have to grade, so that each finds it prepared."""

    def __init__(self, units: Iterable[str] = ()):
        self.units = tuple(units)
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                stream.flush()
        self._process = Forked(os.fork())
        if self._process.pid == 0:
            try:
                _nurse(theirs, self.units)
            finally:
                os._exit(0)
        theirs.close()

    def fork(self) -> socket.socket:
        """The socket of a new worker, which says READY. Raises OSError."""
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            try:
                socket.send_fds(self._control, [_WORKER], [theirs.fileno()])
            except OSError:  # something ended the nursery
                self._end()
                self._begin()
                socket.send_fds(self._control, [_WORKER], [theirs.fileno()])
        return ours

    def expect(self, unit: str) -> None:
        """Has it prepare a unit before it forks the next worker."""
        with self._lock, contextlib.suppress(OSError):  # without it, all is slower and the same
            self._control.sendall(_UNIT)
            send(self._control, unit.encode())

    def close(self) -> None:
        """Ends the nursery, and its workers with it. The next ``fork`` starts another one."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2 * _LAST_SECONDS)
        self._process.kill()
        self._process.wait()


class _Worker:
    """A worker as the grader sees it. job: what it is at; until: when it is given up."""

    def __init__(self, nursery: Nursery):
        self.sock = nursery.fork()
        self.sock.settimeout(_FRAME_SECONDS)
        self.ready = False
        self.submission: Submission | None = None
        self.until = time.monotonic() + START_SECONDS

    def give(self, submission: Submission | None, job: Job) -> None:
        """Has it grade a submission. If it is dead, the next ``hear`` says so."""
        self.submission, self.until = submission, time.monotonic() + PATIENCE_SECONDS
        with contextlib.suppress(OSError):
            send(self.sock, pack(job))
            send(self.sock, job["data"] or b"")

    def hear(self) -> bytes | None:
        """What it says; None where it is lost."""
        try:
            return receive(self.sock, MAX_ANSWER)
        except (EOFError, OSError):
            return None


class Runner:
    """One worker, for one job after the other: what a machine of a cluster has for each of its threads."""

    def __init__(self, nursery: Nursery):
        self.nursery = nursery
        self._worker: _Worker | None = None

    def run(self, job: Job) -> bytes | None:
        """The answer to a job; None where two workers were lost over it."""
        for _ in range(2):
            said = self._once(job)
            if said is not None:
                return said
            if self._worker is not None:
                self._worker.sock.close()
                self._worker = None
        return None

    def _once(self, job: Job) -> bytes | None:
        if self._worker is None:
            self._worker = _Worker(self.nursery)
            self._worker.sock.settimeout(START_SECONDS)
            if self._worker.hear() is None:
                self.nursery.close()  # forked in a bad moment of another thread; the next worker gets another one
                return None
        self._worker.sock.settimeout(PATIENCE_SECONDS)
        self._worker.give(None, job)
        return self._worker.hear()


class Pool:
    """Some workers. A context manager.

    A submission whose worker was lost is tried once more when all others are done, alone; if it loses that worker as
    well, its outcome is WorkerLost.
    """

    def __init__(self, size: int, nursery: Nursery | None = None):
        self.size, self.nursery = max(1, size), nursery or Nursery()
        self._selector = selectors.DefaultSelector()
        self._workers: set[_Worker] = set()
        self._failed = 0  # starts in a row

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the workers, whatever they are at."""
        for worker in list(self._workers):
            self._drop(worker)
        self._selector.close()
        self.nursery.close()

    def results(self, submissions: Iterable[Submission], make: Make) -> Iterator[tuple[Submission, Outcome]]:
        """Yields (submission, outcome) in the order in which they end. Raises NoWorkers where none can be had."""
        suspects: list[Submission] = []
        for submission, outcome in self._round(submissions, make, self.size):
            if isinstance(outcome, WorkerLost):
                suspects.append(submission)
            else:
                yield submission, outcome
        yield from self._round(suspects, make, 1)

    def _round(self, submissions: Iterable[Submission], make: Make, size: int) -> Iterator[tuple[Submission, Outcome]]:
        waiting, heard = iter(submissions), deque[tuple[Submission, Outcome]]()
        following = next(waiting, None)
        while True:
            while following is not None and (worker := self._idle(size)) is not None:
                worker.give(following, make(following))
                following = next(waiting, None)
            if heard:  # only now that everybody has something to do
                yield heard.popleft()
                continue
            if following is None and not any(w.submission for w in self._workers):
                return
            heard += self._listen()

    def _idle(self, size: int) -> _Worker | None:
        """A worker without work, if there may be one; starts those that are missing."""
        while len(self._workers) < size:
            worker = _Worker(self.nursery)
            self._workers.add(worker)
            self._selector.register(worker.sock, selectors.EVENT_READ, worker)
        if sum(w.submission is not None for w in self._workers) >= size:
            return None
        return next((w for w in self._workers if w.ready and w.submission is None), None)

    def _listen(self) -> list[tuple[Submission, Outcome]]:
        """Waits until something happens; the outcomes that this brings."""
        first = min(w.until for w in self._workers if w.submission or not w.ready)
        ready = [key.data for key, _ in self._selector.select(max(0.0, first - time.monotonic()))]
        found = []
        for worker in ready:
            said = worker.hear()
            if said is None:
                found += self._lose(worker)
            elif not worker.ready:
                worker.ready, self._failed = True, 0
            elif worker.submission is not None:
                found.append((worker.submission, result_of(said)))
                worker.submission = None
        now = time.monotonic()
        late = [w for w in self._workers if w not in ready and (w.submission or not w.ready) and w.until < now]
        for worker in late:
            found += self._lose(worker)
        return found

    def _lose(self, worker: _Worker) -> list[tuple[Submission, Outcome]]:
        self._drop(worker)
        if not worker.ready:
            self._failed += 1
            if self._failed >= MOST_STARTS:
                raise NoWorkers("The processes that grade end as soon as they start: is there enough memory?")
        return [(worker.submission, WorkerLost())] if worker.submission else []

    def _drop(self, worker: _Worker) -> None:
        self._workers.discard(worker)
        self._selector.unregister(worker.sock)
        worker.sock.close()

"""Worker processes on this machine: forked from a process that has imported everything, and replaced when they die.

The *nursery* is forked from the grader before the gradebook is opened. It has no threads and only forks workers. When
the grader ends, however that happens, the nursery and its workers end, too. The grader talks to each worker over a
separate socket, in frames of limited size.
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
_WORKER, _UNIT = b"w", b"u"  # requests to a nursery: fork a worker, prepare a unit
START_SECONDS = 60.0  # how long a new worker may take to report that it is ready
MOST_STARTS = 5  # failed starts in a row
# A worker ends itself after WATCHDOG_SECONDS; one that cannot even do that (a stopped process) is given up after this.
PATIENCE_SECONDS = WATCHDOG_SECONDS + 15
_FRAME_SECONDS = 30.0  # for the rest of a frame that has started to arrive
_LAST_SECONDS = 1.0  # how long workers may take to end after the grader; then they are killed
_PR_SET_PDEATHSIG = 1
Outcome = Graded | Exception
Make = Callable[[Submission], Job]


# ---- frames ----------------------------------------------------------------------------------------------------------
def send(sock: socket.socket, body: bytes) -> None:
    """Sends one frame. Raises OSError."""
    sock.sendall(HEADER.pack(len(body)) + body)


def receive(sock: socket.socket, most: int) -> bytes:
    """Receives one frame. Raises EOFError if the other side is gone, OSError otherwise, also beyond ``most`` bytes."""
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
    """Cleans up a fork: keeps only the descriptor ``keep`` and the standard ones, and resets signal handlers."""
    for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGCHLD", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    null = os.open(os.devnull, os.O_RDWR)
    folder = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
    for fd in map(int, os.listdir(folder)):
        if fd > 2 and fd not in (keep, null):
            with contextlib.suppress(OSError):  # the listing's own descriptor
                os.fstat(fd)
                os.dup2(null, fd)  # not closed: an object inherited from the parent may still close that number


def _end_with(parent: int) -> None:
    """On Linux: makes this process end with its parent, even while it is busy."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0)


def _nurse(control: socket.socket, units: Iterable[str]) -> None:
    """Runs the nursery: forks a worker for each socket that it receives, until the grader is gone."""
    _settle(control.fileno())
    os.setsid()  # Ctrl-C should reach only the grader
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
    """Reaps workers that ended, so that their CPU time counts for this process; waits for the others ``until``."""
    with contextlib.suppress(ChildProcessError):  # none is left
        while True:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                if time.monotonic() > until:
                    return
                time.sleep(0.005)


def _work(sock: socket.socket) -> None:
    """Runs a worker: answers jobs until the grader closes the socket."""
    send(sock, READY)
    while True:
        try:
            job = unpack(receive(sock, MAX_JOB), receive(sock, MAX_JOB))
        except EOFError:
            os._exit(0)
        # The signal's default action ends this process at any point, even inside a C function.
        signal.setitimer(signal.ITIMER_REAL, WATCHDOG_SECONDS)
        said = answer(job)
        signal.setitimer(signal.ITIMER_REAL, 0)
        send(sock, said)


# ---- in the grader ---------------------------------------------------------------------------------------------------
class Nursery:
    """The process that forks workers. units: prepared before it forks, so that workers inherit them."""

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
        """Forks a worker; returns its socket, on which it sends READY. Raises OSError."""
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
        """Makes the nursery prepare a unit before it forks the next worker."""
        with self._lock, contextlib.suppress(OSError):  # failure only makes grading slower
            self._control.sendall(_UNIT)
            send(self._control, unit.encode())

    def close(self) -> None:
        """Ends the nursery and its workers. The next ``fork`` starts a new one."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2 * _LAST_SECONDS)
        self._process.kill()
        self._process.wait()


class _Worker:
    """The grader's view of a worker. submission: what it is grading. until: when it is given up."""

    def __init__(self, nursery: Nursery):
        self.sock = nursery.fork()
        self.sock.settimeout(_FRAME_SECONDS)
        self.ready = False
        self.submission: Submission | None = None
        self.until = time.monotonic() + START_SECONDS

    def give(self, submission: Submission | None, job: Job) -> None:
        """Sends a job to the worker. If it is dead, the next ``hear`` returns None."""
        self.submission, self.until = submission, time.monotonic() + PATIENCE_SECONDS
        with contextlib.suppress(OSError):
            send(self.sock, pack(job))
            send(self.sock, job["data"] or b"")

    def hear(self) -> bytes | None:
        """Receives the worker's message; None if the worker is lost."""
        try:
            return receive(self.sock, MAX_ANSWER)
        except (EOFError, OSError):
            return None


class Runner:
    """One worker that runs one job after the other; a cluster's machine has one for each thread."""

    def __init__(self, nursery: Nursery):
        self.nursery = nursery
        self._worker: _Worker | None = None

    def run(self, job: Job) -> bytes | None:
        """The answer to a job; None if two workers died over it."""
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
                self.nursery.close()  # perhaps forked while another thread held a lock: use a new one
                return None
        self._worker.sock.settimeout(PATIENCE_SECONDS)
        self._worker.give(None, job)
        return self._worker.hear()


class Pool:
    """A pool of workers on this machine. A context manager.

    A submission whose worker died is retried once, alone, after all the others; if it loses that worker, too, its
    outcome is WorkerLost.
    """

    def __init__(self, size: int, nursery: Nursery | None = None):
        self.size, self.nursery = max(1, size), nursery or Nursery()
        self._selector = selectors.DefaultSelector()
        self._workers: set[_Worker] = set()
        self._failed = 0  # failed starts in a row

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the workers, even if they are busy."""
        for worker in list(self._workers):
            self._drop(worker)
        self._selector.close()
        self.nursery.close()

    def results(self, submissions: Iterable[Submission], make: Make) -> Iterator[tuple[Submission, Outcome]]:
        """Yields (submission, outcome) in the order in which they finish. Raises NoWorkers if no worker can start."""
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
            if heard:  # yield only after every worker has a job
                yield heard.popleft()
                continue
            if following is None and not any(w.submission for w in self._workers):
                return
            heard += self._listen()

    def _idle(self, size: int) -> _Worker | None:
        """An idle worker, or None if there is none or ``size`` of them are busy; starts missing workers."""
        while len(self._workers) < size:
            worker = _Worker(self.nursery)
            self._workers.add(worker)
            self._selector.register(worker.sock, selectors.EVENT_READ, worker)
        if sum(w.submission is not None for w in self._workers) >= size:
            return None
        return next((w for w in self._workers if w.ready and w.submission is None), None)

    def _listen(self) -> list[tuple[Submission, Outcome]]:
        """Waits for messages from workers or a timeout; returns the resulting outcomes."""
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

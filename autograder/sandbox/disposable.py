"""A forked child for work on what untrusted code has sent: it reads, compares, words and answers, and may be lost.

Comparing a reply is our own code, but the data is an enemy's: a tree that takes for ever to print, a shape that fills
the memory, a file that crashes a parser. In the child such a thing costs one step of the work, with a reason; the
parent only reads frames whose sizes it has bounded. What the child can do besides is little: it has limits on
processor time (for each step and in all), memory and files, holds no descriptor that it does not need, and, where the
system has the filter (``seccomp.seal``), it starts no program, opens nothing for writing and reaches no network.

Only on Linux: elsewhere forking a process that has threads is not safe, and ``available`` says so.
"""

from __future__ import annotations

import ctypes
import gc
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from . import seccomp
from .limits import GIB, MIB, mapped_bytes
from .patience import Patience

if sys.platform != "win32":
    import resource

FRAME = struct.Struct(">cI")
STEP, NOTE, RESULT, FAILED = b"S", b"N", b"R", b"X"
_START = "start"
_START_SECONDS = 30.0  # a child that has not said a word by then was forked in a bad moment of another thread
_PR_SET_PDEATHSIG = 1
_MEMORY_ERROR, _FAILURE = 71, 72  # exit codes


@dataclass(frozen=True)
class Budget:
    """What the child may use up.

    step_seconds   processor time between two steps
    cpu_seconds    processor time in all
    wall_seconds   time until it is given up, sleep included; not what it and its session waited for a processor
    memory_bytes   what it may map on top of what it was born with
    reply_bytes    of all frames together
    """

    step_seconds: float = 8.0
    cpu_seconds: int = 60
    wall_seconds: float = 150.0
    memory_bytes: int = GIB
    reply_bytes: int = 48 * MIB


class ChildEnded(Exception):
    """The child ended without a result. The message is a clause that says how; step: what it was at; notes: what it
    had sent until then; seconds: what it took of ``Budget.wall_seconds``."""

    def __init__(self, why: str, step: str, notes: list[bytes], seconds: float = 0.0):
        super().__init__(why)
        self.step, self.notes, self.seconds = step, notes, seconds


class ChildFailed(RuntimeError):
    """The work raised an exception in the child: a mistake of ours. The message names it."""


class Line:
    """The child's side: says what it is at, and sends what is finished."""

    def __init__(self, sock: socket.socket, step_seconds: float):
        self._sock, self._seconds = sock, step_seconds

    def step(self, name: str) -> None:
        """From here on the child is at ``name``, with a fresh allowance of processor time."""
        # The signal keeps its default action: a handler of Python's would wait for the end of a long C call.
        signal.setitimer(signal.ITIMER_PROF, self._seconds)
        self._send(STEP, name.encode("utf-8", "replace")[:200])

    def note(self, body: bytes) -> None:
        """Something that stays true if the child is lost later."""
        self._send(NOTE, body)

    def _send(self, kind: bytes, body: bytes) -> None:
        self._sock.sendall(FRAME.pack(kind, len(body)))
        self._sock.sendall(body)


@dataclass
class _Heard:
    """What the parent has read so far."""

    step: str = ""
    notes: list[bytes] = field(default_factory=list)
    result: bytes | None = None
    failure: str = ""


def available() -> bool:
    """Can work be done in a child here? Elsewhere it is done in the grader's own process."""
    return sys.platform == "linux"


Allow = Callable[[float, Iterable[int]], Patience]


def run(
    work: Callable[[Line], bytes], budget: Budget | None = None, keep: Iterable[int] = (), allow: Allow = Patience
) -> bytes:
    """What ``work`` returns, computed in a forked child.

    keep: descriptors that it needs. allow: (seconds, process ids) → their Patience; a session's own counts its
    processes as well, for which the child waits.

    Raises:
        ChildEnded: it used up its budget, crashed, or was ended from outside.
        ChildFailed: ``work`` raised an exception.
    """
    budget = budget or Budget()
    try:
        return _once(work, budget, list(keep), allow)
    except ChildEnded as end:
        if end.step:
            raise
    # It never began: some other thread held a lock at the fork. The work is not to blame, so once more.
    return _once(work, budget, list(keep), allow)


def _once(work: Callable[[Line], bytes], budget: Budget, keep: list[int], allow: Allow) -> bytes:
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    with ours:
        with theirs:
            pid = os.fork()
            if pid == 0:
                _be_the_child(work, theirs, budget, keep, parent)
        heard, why, patience = _Heard(), "", allow(budget.wall_seconds, [pid])
        try:
            start = allow(min(_START_SECONDS, budget.wall_seconds), [pid])
            why = _listen(ours, budget, heard, start, patience)
        finally:
            os.kill(pid, signal.SIGKILL)  # not reaped yet, so the number is still its own; the dead don't mind
            _, status = os.waitpid(pid, 0)
    if heard.result is not None:
        return heard.result
    if heard.failure:
        raise ChildFailed(heard.failure)
    raise ChildEnded(why or _ending(status), heard.step, heard.notes, patience.spent())


_TOO_LONG, _TOO_MUCH = "the time was used up", "the answer was too large"


def _listen(ours: socket.socket, budget: Budget, heard: _Heard, start: Patience, patience: Patience) -> str:
    """Reads frames until the child is done or gone. Returns why it has to be ended, or ""."""
    buffer, room = bytearray(), budget.reply_bytes
    poll = select.poll()
    poll.register(ours, select.POLLIN)
    while True:
        allowed = patience if heard.step else start
        if allowed.left() <= 0:
            return _TOO_LONG
        if not poll.poll(allowed.pause()):
            continue
        part = ours.recv(1 << 20)
        if not part:
            return ""
        buffer += part
        while len(buffer) >= FRAME.size:
            kind, size = FRAME.unpack_from(buffer)
            # Frame by frame, so that a step which arrives together with the beginning of a flood is heard before it.
            if FRAME.size + size > room:
                return _TOO_MUCH
            if len(buffer) < FRAME.size + size:
                break
            room -= FRAME.size + size
            body = bytes(buffer[FRAME.size : FRAME.size + size])
            del buffer[: FRAME.size + size]
            if kind == STEP:
                heard.step = body.decode("utf-8", "replace")
            elif kind == NOTE:
                heard.notes.append(body)
            elif kind == FAILED:
                heard.failure = body.decode("utf-8", "replace") or "an exception"
            elif kind == RESULT:
                heard.result = body
                return ""


def _ending(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code in (-signal.SIGPROF, -signal.SIGXCPU):
        return "the processor time was used up"
    if code == _MEMORY_ERROR:
        return "the memory was used up"
    return f"the process was ended by {signal.Signals(-code).name}" if code < 0 else "the process ended by itself"


def _be_the_child(
    work: Callable[[Line], bytes], sock: socket.socket, budget: Budget, keep: list[int], parent: int
) -> None:
    """Never returns, and leaves without the clean-up that belongs to the parent."""
    try:
        line = Line(sock, budget.step_seconds)
        _settle(budget, [sock.fileno(), *keep], parent)
        line.step(_START)
        result = work(line)
        line._send(RESULT, result)
        os._exit(0)
    except MemoryError:
        os._exit(_MEMORY_ERROR)
    except BaseException as error:
        try:
            line._send(FAILED, f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:2_000])
        finally:
            os._exit(_FAILURE)
    finally:
        os._exit(_FAILURE)


def _settle(budget: Budget, keep: list[int], parent: int) -> None:
    """Limits, no foreign descriptors, no privileges beyond computing."""
    gc.freeze()  # the parent's objects are not this process's to collect: some would close descriptors
    for name in ("SIGPROF", "SIGXCPU", "SIGINT", "SIGTERM", "SIGCHLD"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(_FAILURE)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd not in keep and fd != null:
            try:
                os.fstat(fd)
                os.dup2(null, fd)  # not closed: some object of the parent's may still close that number
            except OSError:
                pass  # the listing's own descriptor
    bounds = {
        resource.RLIMIT_CORE: 1,  # at 0 a core_pattern that names a program would still be fed
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CPU: budget.cpu_seconds,
        resource.RLIMIT_AS: mapped_bytes() + budget.memory_bytes,
    }
    for which, value in bounds.items():
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))
    seal = getattr(seccomp, "seal", None)
    if seal is not None:
        seal()

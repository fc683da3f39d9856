"""A forked child that processes untrusted data: it may crash without harm to the grader.

Our own code compares a reply, but the data is untrusted: a tree that takes forever to print, a shape that fills the
memory, a file that crashes a parser. In the child such data costs only one step of the work, with a reason; the
parent only reads frames of bounded size. The child can do little else: it has limits on processor time (per step and
in total), memory and files, holds no descriptor that it does not need, and, where the system has the filter
(``seccomp.seal``), it can't start a program, open a file for writing or reach a network.

Only on Linux: elsewhere it is not safe to fork a process that has threads; ``available`` returns False there.
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
_START_SECONDS = 30.0  # a child silent for that long was forked while another thread held a lock
_PR_SET_PDEATHSIG = 1
_MEMORY_ERROR, _FAILURE = 71, 72  # exit codes


@dataclass(frozen=True)
class Budget:
    """Limits on the child's resources.

    step_seconds   processor time between two steps
    cpu_seconds    processor time in total
    wall_seconds   time until we give up, sleep included; time that it and its session wait for a processor excluded
    memory_bytes   memory that it may map in addition to what it inherited
    reply_bytes    size of all frames together
    """

    step_seconds: float = 8.0
    cpu_seconds: int = 60
    wall_seconds: float = 150.0
    memory_bytes: int = GIB
    reply_bytes: int = 48 * MIB


class ChildEnded(Exception):
    """The child ended without a result. The message is a clause that says how. step: its last step; notes: the notes
    it had sent; seconds: how much of ``Budget.wall_seconds`` it used."""

    def __init__(self, why: str, step: str, notes: list[bytes], seconds: float = 0.0):
        super().__init__(why)
        self.step, self.notes, self.seconds = step, notes, seconds


class ChildFailed(RuntimeError):
    """The work raised an exception in the child: a bug in our code. The message names the exception."""


class Line:
    """The child's side: reports the current step and sends finished parts."""

    def __init__(self, sock: socket.socket, step_seconds: float):
        self._sock, self._seconds = sock, step_seconds

    def step(self, name: str) -> None:
        """Start the step ``name``, with a fresh allowance of processor time."""
        # The signal keeps its default action: a Python handler would only run after the end of a long C call.
        signal.setitimer(signal.ITIMER_PROF, self._seconds)
        self._send(STEP, name.encode("utf-8", "replace")[:200])

    def note(self, body: bytes) -> None:
        """Send a partial result, which stays valid if the child dies later."""
        self._send(NOTE, body)

    def _send(self, kind: bytes, body: bytes) -> None:
        self._sock.sendall(FRAME.pack(kind, len(body)))
        self._sock.sendall(body)


@dataclass
class _Heard:
    """Everything the parent has read so far."""

    step: str = ""
    notes: list[bytes] = field(default_factory=list)
    result: bytes | None = None
    failure: str = ""


def available() -> bool:
    """True if work can be done in a child here; otherwise the grader's own process does it."""
    return sys.platform == "linux"


Allow = Callable[[float, Iterable[int]], Patience]


def run(
    work: Callable[[Line], bytes], budget: Budget | None = None, keep: Iterable[int] = (), allow: Allow = Patience
) -> bytes:
    """Run ``work`` in a forked child and return its result.

    Args:
        keep: descriptors that the child needs.
        allow: (seconds, process ids) → their Patience; that of a session also covers the session's processes, for
            which the child waits.

    Raises:
        ChildEnded: the child used up its budget, crashed, or was ended from outside.
        ChildFailed: ``work`` raised an exception.
    """
    budget = budget or Budget()
    try:
        return _once(work, budget, list(keep), allow)
    except ChildEnded as end:
        if end.step:
            raise
    # It never began: another thread held a lock at the fork. That isn't the work's fault, so try once more.
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
            os.kill(pid, signal.SIGKILL)  # not reaped yet, so the id is still its own; harmless if it has ended
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
            # Frame by frame, so that a step that arrives together with the start of a flood is still recorded.
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
    """Do the work in the child. Never returns, and exits without the clean-up that belongs to the parent."""
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
    """Set limits, close inherited descriptors and drop all privileges beyond computing."""
    gc.freeze()  # this process must not collect the parent's objects: some would close descriptors
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
                os.dup2(null, fd)  # not closed: one of the parent's objects may still close that number
            except OSError:
                pass  # the listing's own descriptor
    bounds = {
        resource.RLIMIT_CORE: 1,  # at 0 a program named in core_pattern would still get the dump
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

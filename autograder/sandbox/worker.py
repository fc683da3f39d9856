"""The student's side of a session: the processes that run cells and answer questions.

``head``  holds the submission's state and runs no student code while it is head. For every request it forks a
child     which does the work. A cell's child that finishes takes over as head; if it hangs, dies or runs out of
          memory, the old head is still there, in the state before the cell. A question's child always exits.
``reap``  is the job of the first head, the session's first process, once another has taken over: it reaps dead
          processes and ends everything when the grader hangs up. In a sandbox it is process 1 of its own process
          namespace, so all others end with it. Later heads simply exit when they are replaced.

The grader trusts nothing here once student code has run: this code protects honest submissions from their own
accidents, while ``channel.py`` defends against dishonest ones.
"""

from __future__ import annotations

import ctypes
import os
import random
import select
import signal
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable

# Commands (grader to head; the first two carry a request socket and an output pipe) and notices (back). All have the
# same shape: a letter, the request's number, and for DIED the exit status.
EXECUTE, ASK, KILL, HANG_UP = b"E", b"A", b"K", b""
READY, FAILED, DIED = b"H", b"F", b"D"  # FAILED: its number is the length of the text that follows
COMMAND = struct.Struct(">cI")
NOTICE = struct.Struct(">cIi")
# Frames on the request socket: type, length, bytes.
FRAME = struct.Struct(">cQ")
REPLY, CELL, ERROR = b"R", b"C", b"X"
TEXT_BYTES = 32 << 10  # maximum size of one text (message, traceback) that a child sends


def read_exactly(sock: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = sock.recv(min(size, 1 << 20))
        if not part:
            raise EOFError("the grader hung up")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_blob(sock: socket.socket) -> bytes:
    return read_exactly(sock, int.from_bytes(read_exactly(sock, 8), "big"))


def pack_texts(*texts: str) -> bytes:
    blobs = [t.encode("utf-8", "replace")[:TEXT_BYTES] for t in texts]
    return b"".join(len(b).to_bytes(4, "big") + b for b in blobs)


def send_frame(sock: socket.socket, kind: bytes, body: bytes) -> None:
    sock.sendall(FRAME.pack(kind, len(body)))
    sock.sendall(body)


def describe(error: BaseException, skip: tuple[str, ...] = ()) -> tuple[str, str, str]:
    """(class name, message, traceback) without the outer frames in files whose names start with one of ``skip``."""
    try:
        text = str(error)
    except BaseException:  # a student's __str__ may raise
        text = "(the exception's message could not be made)"
    tb = error.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename.startswith(skip):
        tb = tb.tb_next
    try:
        lines = "".join(traceback.format_exception(type(error), error, tb))
    except BaseException:
        lines = ""
    return type(error).__name__, text, lines[-TEXT_BYTES:]


def head(
    control: socket.socket,
    run_cell: Callable[[str, int], tuple[str, str, str]],
    student_ns: dict,
    *,
    own_pid_namespace: bool,
    at_end: Callable[[], None] = lambda: None,
) -> None:
    """Run as the first process of a session: report ready, then serve until the grader hangs up. Never returns.

    Args:
        control: connected stream socket to the grader.
        run_cell: (source, limit) -> (error name, message, traceback); see shell.py.
        student_ns: the namespace in which run_cell works.
        own_pid_namespace: True if this is process 1 of its own process namespace.
        at_end: final clean-up, called in the first process.
    """
    if own_pid_namespace and os.getpid() != 1:
        raise RuntimeError("kill(-1) would reach processes outside the session")
    if not own_pid_namespace and os.getpgrp() != os.getpid():
        raise RuntimeError("killpg(0) would reach processes outside the session")
    # Heads come and go; those whose parent has exited must become children of this first process, so that it notices
    # their end. Process 1 gets them anyway. Without this only the grader's time limits notice.
    first, adopts = os.getpid(), own_pid_namespace or adopt_orphans()

    def end() -> None:
        if os.getpid() == first:
            at_end()
            if not own_pid_namespace:
                os.killpg(0, signal.SIGKILL)
        os._exit(0)

    def replaced() -> None:
        if os.getpid() == first:
            reap(control, adopts)
            end()
        os._exit(0)

    try:
        control.sendall(NOTICE.pack(READY, 0, 0))
        command = None
        while True:
            letter, number, fds = command or _next_command(control)
            command = None
            if letter == HANG_UP:
                break
            if letter not in (EXECUTE, ASK) or len(fds) != 2:
                if letter == KILL:  # too late, the work is done: confirm, because the grader waits for that
                    control.sendall(NOTICE.pack(DIED, number, 0))
                continue
            request, out = socket.socket(fileno=fds[0]), fds[1]
            mine, theirs = socket.socketpair()
            child = _fork()
            if child == 0:
                mine.close()
                if letter == ASK:
                    control.close()
                    _answer(request, out, student_ns)  # does not return
                _cell(request, out, run_cell, theirs)
                continue  # this process is the head now
            theirs.close()
            request.close()
            os.close(out)
            command = _attend(control, mine, child, number, own_pid_namespace, replaced)
            mine.close()
    finally:
        end()


def _fork() -> int:
    """Fork. If there are too many processes, retry for a second: killed processes take a while to disappear."""
    deadline = time.monotonic() + 1.0
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:  # orphans that became children of this process
                pass
        except ChildProcessError:
            pass
        state = random.getstate()
        try:
            pid = os.fork()
            if pid == 0:
                random.setstate(state)  # Python reseeds it in a child, but the notebook should see a single process
            return pid
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def reap(control: socket.socket, adopts: bool) -> None:
    """Wait until the grader hangs up or (if orphans become this process's children) no process is left."""
    # A signal must wake poll(): Python's own handler writes a byte into this pipe.
    wake_r, wake_w = os.pipe()
    os.set_blocking(wake_r, False)
    os.set_blocking(wake_w, False)
    signal.set_wakeup_fd(wake_w)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poll = select.poll()
    poll.register(control.fileno(), 0)  # hang-up and errors only: the head reads the commands
    poll.register(wake_r, select.POLLIN)
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            if adopts:
                return
        ready = dict(poll.poll())
        if control.fileno() in ready:
            return
        os.read(wake_r, 512)


def adopt_orphans() -> bool:
    """Make orphaned descendants children of this process; False if the system cannot do that (macOS)."""
    if sys.platform != "linux":
        return False
    pr_set_child_subreaper = 36
    return ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0) == 0


def _next_command(control: socket.socket) -> tuple[bytes, int, list[int]]:
    data, fds, *_ = socket.recv_fds(control, COMMAND.size, 2)
    if len(data) < COMMAND.size:  # commands are sent whole
        return HANG_UP, 0, []
    return *COMMAND.unpack(data), fds


def _attend(
    control: socket.socket,
    promotion: socket.socket,
    child: int,
    number: int,
    own_pid_namespace: bool,
    replaced: Callable[[], None],
) -> tuple[bytes, int, list[int]] | None:
    """Wait until the child takes over (``replaced`` does not return), ends, or has to be killed.

    Returns the command that arrived in the meantime and is still to be executed, if any.
    """
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(promotion, select.POLLIN)
    command, pause = None, 50
    while True:
        # A child that ends closes its side of ``promotion``, which ends the wait at once; if a process that it started
        # keeps that side open, we notice the end a little later, after the poll's time limit.
        events = {fd for fd, _ in poll.poll(pause)}
        if promotion.fileno() in events:
            if promotion.recv(1) == b"+":
                promotion.close()  # at once: the child waits for it
                replaced()
            poll.unregister(promotion)
            pause = 1
        elif control.fileno() in events:
            command = _next_command(control)
            os.kill(child, signal.SIGKILL)
        done, status = os.waitpid(child, 0 if command else os.WNOHANG)
        if done:
            break
    if own_pid_namespace:
        # All other processes here belong to this or an earlier cell; the signal spares process 1 and this process.
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass
    control.sendall(NOTICE.pack(DIED, number, os.waitstatus_to_exitcode(status)))
    return command if command and command[0] != KILL else None


def _redirect(fd: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    os.dup2(fd, 1)
    os.dup2(fd, 2)


def _silence() -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    _redirect(null)
    os.close(null)


def _cell(request: socket.socket, out: int, run_cell: Callable, promotion: socket.socket) -> None:
    """Run one cell; returns once this process has become the head and has sent the result to the grader."""
    _redirect(out)
    os.close(out)
    limit = int.from_bytes(read_exactly(request, 8), "big")
    source = read_blob(request).decode("utf-8", "replace")
    me = os.getpid()
    try:
        texts = run_cell(source, limit)
    except BaseException as error:  # only our own code raises here: run_cell catches the cell's exceptions
        texts = describe(error)
    if os.getpid() != me:
        os._exit(0)  # the cell forked, and this is its copy
    _silence()
    spent = texts[0] == "MemoryError"  # the cell filled the memory, so no later cell could work
    if not spent:
        promotion.sendall(b"+")
        promotion.recv(1)  # returns when the old head has closed its side
        promotion.close()
    # Tell the grader only now: its next command must reach the new head.
    try:
        send_frame(request, CELL, pack_texts(*texts))
    except OSError:
        pass  # the grader gave up in the meantime
    if spent:
        os._exit(0)
    request.close()


def _answer(request: socket.socket, out: int, student_ns: dict) -> None:
    try:
        os.close(out)
        _silence()
        max_bytes = int.from_bytes(read_exactly(request, 8), "big")
        code, payload = read_blob(request).decode(), read_blob(request)
        try:
            space = {"__name__": "ask", "payload": payload, "student_ns": student_ns, "reply": None}
            exec(compile(code, "<ask>", "exec"), space)
            reply = space["reply"]
            if not isinstance(reply, bytes):
                raise TypeError(f"the asked code left {type(reply).__name__} in reply, not bytes")
        except BaseException as error:
            send_frame(request, ERROR, pack_texts(*describe(error, (__file__, "<ask>"))))
        else:
            request.sendall(FRAME.pack(REPLY, len(reply)))
            if len(reply) <= max_bytes:
                request.sendall(reply)
    finally:
        os._exit(0)

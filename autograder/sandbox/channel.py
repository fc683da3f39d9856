"""The grader's side of a session: requests out, untrusted answers in, every wait and every size bounded."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import time
import weakref
from collections.abc import Callable, Iterable

from . import worker as w
from .limits import Limits
from .patience import Patience
from .printable import printable
from .session import (
    CELL_DIED,
    CELL_TIMEOUT,
    AskDied,
    AskFailed,
    AskTimeout,
    CellResult,
    DeadSession,
    ReplyTooLarge,
    SandboxUnavailable,
    Session,
    StudentError,
)
from .usage import Note

_TEXTS_MAX = 3 * (w.TEXT_BYTES + 4)
# Seconds for the head to confirm a kill (it may share a used-up quota with many); then the whole session is ended.
_GRACE = 10.0
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def clean(data: bytes) -> str:
    """Untrusted bytes as text: invalid UTF-8 replaced, no colors, no control or direction-override characters."""
    return printable(_ANSI.sub("", data.decode("utf-8", "replace").replace("\r\n", "\n")))


def _unpack_texts(body: bytes) -> list[str]:
    texts, at = [], 0
    for _ in range(3):
        size = int.from_bytes(body[at : at + 4], "big")
        texts.append(clean(body[at + 4 : at + 4 + size]))
        at += 4 + size
    return texts


_USUAL_CAUSE: dict[int, str] = {signal.SIGKILL: " (out of memory?)", signal.SIGXCPU: " (its CPU time was used up)"}


def _ending(status: int) -> str:
    if status >= 0:
        return f"the process ended itself with exit code {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = str(-status)
    return f"the process was ended by signal {name}{_USUAL_CAUSE.get(-status, '')}"


class _Died(Exception):
    """The child of the request ended without a complete answer; the text says how."""


class ChannelSession(Session):
    """A Session over a connected stream socket to a ``worker.head``.

    Args:
        control: the grader's end of the socket.
        end: called once on close; ends the processes and removes the files.
        note: where the watcher writes why it ended the processes; closed with the session.
        root: the session's first process; time that it and its descendants wait for a processor doesn't count.
        watcher: a process that watches from outside; its own waiting is ignored.
    """

    def __init__(
        self,
        control: socket.socket,
        limits: Limits,
        end: Callable[[], None],
        start_timeout: float = 60.0,
        note: Note | None = None,
        root: int | None = None,
        watcher: int | None = None,
    ):
        self._control, self._limits, self._note = control, limits, note
        self._roots = () if root is None else (root,)
        self._watchers = () if watcher is None else (watcher,)
        # Runs once: on close, when the session is forgotten, or when the interpreter exits.
        self._finish: Callable[[], object] = weakref.finalize(self, _hang_up, control, end, note)
        self._owner = os.getpid()
        self._dead = ""
        self._left = float(limits.wall_seconds)
        control.setblocking(False)
        try:
            self._number = 0
            self._await_start(self.patience(start_timeout))
        except BaseException:
            self.close()
            raise

    # ---- Session ---------------------------------------------------------------------------------------------------
    @property
    def alive(self) -> bool:
        return not self._dead

    def execute(self, source: str, timeout: float = 10.0) -> CellResult:
        began = time.monotonic()
        head = self._limits.output_bytes.to_bytes(8, "big")
        name, text, trace, out = "", "", "", bytearray()
        try:
            kind, body = self._request(w.EXECUTE, [head, _blob(source.encode())], timeout, _TEXTS_MAX, out)
            if kind != w.CELL:
                raise _Died("the answer was not a cell's")
            name, text, trace = _unpack_texts(body)
        except TimeoutError as e:
            name, text = CELL_TIMEOUT, f"the cell did not end within {e}"
        except (_Died, ReplyTooLarge) as e:
            name, text = CELL_DIED, str(e)
        limit = self._limits.output_bytes
        return CellResult(
            stdout=clean(bytes(out[:limit])),
            error_name=name or None,
            error_text=text,
            truncated=len(out) > limit,
            traceback=trace,
            seconds=time.monotonic() - began,
        )

    def ask(self, code: str, payload: bytes = b"", timeout: float = 10.0, max_bytes: int = 16 << 20) -> bytes:
        parts = [max_bytes.to_bytes(8, "big"), _blob(code.encode()), _blob(payload)]
        try:
            kind, body = self._request(w.ASK, parts, timeout, max_bytes, None)
        except TimeoutError as e:
            raise AskTimeout(f"no answer within {e}") from None
        except _Died as e:
            raise AskDied(f"{e} before it answered") from None
        if kind == w.ERROR:
            raise StudentError(*_unpack_texts(body))
        if kind != w.REPLY:
            raise AskFailed("the answer was not a reply")
        return body

    def close(self) -> None:
        self._bury("the session is closed")

    def lend(self) -> list[int]:
        return [self._control.fileno(), *([self._note.fd] if self._note else [])]

    def patience(self, seconds: float, beside: Iterable[int] = ()) -> Patience:
        return Patience(seconds, [*self._roots, *beside], but=self._watchers)

    # ---- plumbing --------------------------------------------------------------------------------------------------
    def _bury(self, why: str) -> str:
        """End the session for good. Returns the first reason given."""
        if not self._dead:
            self._dead = why
            if os.getpid() == self._owner:  # a forked child that uses the session has nothing to end
                self._finish()
        return self._dead

    def _gone(self, otherwise: str) -> str:
        """Bury a session whose processes have ended. Returns the reason: the watcher's if it gave one."""
        told = clean(self._note.read().encode()) if self._note else ""
        return self._bury(told or otherwise)

    def _await_start(self, patience: Patience) -> None:
        """Wait for the start notice. No student code has run yet, so this notice can be trusted."""
        notice = self._read_control(w.NOTICE.size, patience)
        if notice[:1] == w.READY:
            return
        why = "it gave no sign of life"
        if notice[:1] == w.FAILED:
            why = clean(self._read_control(w.NOTICE.unpack(notice)[1], patience))
        raise SandboxUnavailable(self._bury(f"the session did not start: {why}"))

    def _read_control(self, size: int, patience: Patience) -> bytes:
        """Read ``size`` bytes from the control socket; fewer if the time runs out or the other side is gone."""
        data = b""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        while len(data) < size:
            if patience.left() <= 0:
                break
            if not poll.poll(patience.pause()):
                continue
            try:
                part = self._control.recv(size - len(data))
            except BlockingIOError:
                continue
            except OSError:
                break
            if not part:
                break
            data += part
        return data

    def _request(
        self, command: bytes, parts: list[bytes], timeout: float, max_bytes: int, out: bytearray | None
    ) -> tuple[bytes, bytes]:
        """Send one request; returns (frame type, body). Raises TimeoutError, _Died, ReplyTooLarge, DeadSession."""
        if self._dead:
            raise DeadSession(self._dead)
        if self._left <= 0:
            raise DeadSession(self._bury("the time for this submission is used up"))
        patience = self.patience(min(timeout, self._left))
        mine, theirs = socket.socketpair()
        out_r, out_w = os.pipe()
        try:
            mine.setblocking(False)
            os.set_blocking(out_r, False)
            self._number += 1
            header = w.COMMAND.pack(command, self._number)
            socket.send_fds(self._control, [header], [theirs.fileno(), out_w])
            theirs.close()
            os.close(out_w)
            out_w = -1
            exchange = _Exchange(mine, out_r, b"".join(parts), max_bytes, out, self._limits.output_bytes)
            return exchange.run(patience, self._control, self._number)
        except (TimeoutError, ReplyTooLarge) as e:
            mine.close()
            self._kill_child()
            if isinstance(e, TimeoutError):
                left = f"the {self._left:.3g} s that were left for this submission"
                raise TimeoutError(f"{timeout:g} s" if timeout <= self._left else left) from None
            raise
        except OSError as e:
            raise DeadSession(self._gone(f"the session's processes are gone ({e.strerror or e})")) from None
        finally:
            mine.close()
            theirs.close()
            os.close(out_r)
            if out_w >= 0:
                os.close(out_w)
            self._left -= patience.spent()

    def _kill_child(self) -> None:
        """Have the head kill the child at work; if it does not confirm, end the session."""
        try:
            self._control.send(w.COMMAND.pack(w.KILL, self._number))
        except OSError:
            self._gone("the session's processes are gone")
            return
        patience = self.patience(_GRACE)
        # Check the time for each notice: student code may send them without end.
        while patience.left() > 0 and (notice := self._read_control(w.NOTICE.size, patience)):
            if len(notice) == w.NOTICE.size and w.NOTICE.unpack(notice)[:2] == (w.DIED, self._number):
                return
        self._gone("the session did not stop what it was told to stop")


def _hang_up(control: socket.socket, end: Callable[[], None], note: Note | None) -> None:
    try:
        control.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    control.close()
    try:
        end()
    finally:
        if note is not None:
            note.close()


def _blob(data: bytes) -> bytes:
    return len(data).to_bytes(8, "big") + data


class _Exchange:
    """One request's traffic: payload out, one frame in, printed output in, death notices in."""

    def __init__(
        self, sock: socket.socket, out_fd: int, data: bytes, max_bytes: int, out: bytearray | None, out_limit: int
    ):
        self.sock, self.out_fd = sock, out_fd
        self.data, self.sent = memoryview(data), 0
        self.max_bytes, self.out, self.out_limit = max_bytes, out, out_limit
        self.frame, self.notice = bytearray(), b""

    def run(self, patience: Patience, control: socket.socket, number: int) -> tuple[bytes, bytes]:
        poll = select.poll()
        poll.register(self.sock, select.POLLIN | select.POLLOUT)
        poll.register(control, select.POLLIN)
        poll.register(self.out_fd, select.POLLIN)
        while True:
            if patience.left() <= 0:
                self._drain()
                raise TimeoutError
            died = None
            for fd, event in poll.poll(patience.pause()):
                if fd == self.sock.fileno():
                    if event & select.POLLOUT:
                        self._send(poll)
                    if event & ~select.POLLOUT and not self._receive():
                        poll.unregister(self.sock)
                elif fd == self.out_fd:
                    if self._drain():
                        poll.unregister(self.out_fd)
                else:
                    died = self._read_notice(control, number)
            if died is not None:  # everything the child sent before it died is in the socket by now
                while self._receive() and not self._complete():
                    pass
            done = self._complete()
            if done:
                self._drain()
                return done
            if died is not None:
                self._drain()
                raise _Died(_ending(died))

    def _send(self, poll: select.poll) -> None:
        try:
            self.sent += self.sock.send(self.data[self.sent : self.sent + (1 << 20)])
        except BlockingIOError:
            return
        except OSError:
            self.sent = len(self.data)  # the reader is gone: the answer or the notice says why
        if self.sent == len(self.data):
            poll.modify(self.sock, select.POLLIN)

    def _receive(self) -> bool:
        """Read up to 1 MiB; False at the end of the stream or if there is nothing to read."""
        try:
            part = self.sock.recv(1 << 20)
        except OSError:
            return False
        self.frame += part
        return bool(part)

    def _complete(self) -> tuple[bytes, bytes] | None:
        if len(self.frame) < w.FRAME.size:
            return None
        kind, size = w.FRAME.unpack_from(self.frame)
        allowed = self.max_bytes if kind == w.REPLY else _TEXTS_MAX
        if size > allowed:
            raise ReplyTooLarge(f"a reply of {size} bytes, at most {allowed} are allowed")
        if len(self.frame) < w.FRAME.size + size:
            return None
        return kind, bytes(self.frame[w.FRAME.size : w.FRAME.size + size])

    def _drain(self) -> bool:
        """Read printed output from the pipe and keep what the limit allows. True at the end of the stream."""
        for _ in range(64):  # a flood must not keep us from checking the clock
            try:
                part = os.read(self.out_fd, 1 << 16)
            except BlockingIOError:
                return False
            if not part:
                return True
            if self.out is not None:
                self.out += part[: max(0, self.out_limit + 1 - len(self.out))]
        return False

    def _read_notice(self, control: socket.socket, number: int) -> int | None:
        """The exit status if the child of request ``number`` died; notices of earlier requests are ignored."""
        part = control.recv(w.NOTICE.size - len(self.notice))
        if not part:
            raise OSError("hung up")
        self.notice += part
        if len(self.notice) < w.NOTICE.size:
            return None
        letter, which, status = w.NOTICE.unpack(self.notice)
        self.notice = b""
        return status if (letter, which) == (w.DIED, number) else None

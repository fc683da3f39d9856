"""The interface between a trusted judge and the process in which a student's code runs.

A session executes the submission's cells one after the other, then answers questions about what they defined.
Everything that comes back was written by untrusted code: text is cut and cleaned, replies are plain bytes of bounded
size for the caller to parse, and nothing is ever unpickled.

>>> with LocalSession() as s:                                     # doctest: +SKIP
...     s.execute("def double(x): return 2 * x", timeout=5)
...     s.ask("reply = bytes([student_ns['double'](payload[0])])", b"\\x15", timeout=5)
b'*'

Each call works on a fork of the process that holds the submission's state:

* ``execute`` keeps the fork's state when the cell ends in time (also when it raises), and returns to the state before
  the cell when it hangs, runs out of memory or kills its process;
* ``ask`` always throws the fork away, so no question sees what an earlier one changed, broke or left running.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

from .patience import Patience

#: ``CellResult.error_name`` of a cell that exceeded its time limit, and of one that ended its process.
CELL_TIMEOUT = "CellTimeout"
CELL_DIED = "CellDied"


@dataclass(frozen=True)
class CellResult:
    """The result of one cell.

    stdout      printed text, including standard error and displayed values, at most ``Limits.output_bytes`` bytes
    error_name  None, the exception's class name, ``CELL_TIMEOUT`` or ``CELL_DIED``
    error_text  the exception's message, or a sentence for a timeout or a dead process; "" without an error
    truncated   True if stdout was cut
    traceback   plain text without colors, only frames of the student's cells and below; "" if there is none
    seconds     wall time of the call

    All text is untrusted: valid Unicode without control characters apart from newline and tab, but otherwise chosen by
    the student. Escape it before you put it into HTML.
    """

    stdout: str
    error_name: str | None = None
    error_text: str = ""
    truncated: bool = False
    traceback: str = ""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.error_name is None


class SessionError(Exception):
    """Base class of all exceptions that a session raises because of the student's process."""


class DeadSession(SessionError):
    """No process is left to answer, or the session's time is used up. Every later call raises it again."""


class AskFailed(SessionError):
    """One question got no answer; the session can still answer the next one."""


class StudentError(AskFailed):
    """The asked code raised. ``name`` is the exception's class, ``text`` its message, ``traceback`` plain text."""

    def __init__(self, name: str, text: str, traceback: str = ""):
        super().__init__(f"{name}: {text}" if text else name)
        self.name, self.text, self.traceback = name, text, traceback


class AskTimeout(AskFailed):
    """No answer within the time limit; the process that was asked has been killed."""


class AskDied(AskFailed):
    """The process ended (os._exit, a signal, the memory limit of the group) before it answered."""


class ReplyTooLarge(AskFailed):
    """The reply is longer than the caller allowed, and was dropped."""


class SandboxUnavailable(RuntimeError):
    """This machine cannot start the session asked for; the message is one sentence that says why."""


class Session(ABC):
    """One submission's process. Not thread-safe: one caller at a time."""

    @abstractmethod
    def execute(self, source: str, timeout: float = 10.0) -> CellResult:
        """Run one notebook cell (IPython syntax) in the student's namespace; ``timeout`` in seconds (``Patience``).

        Never raises because of the cell itself. Raises DeadSession if no process is left to run it.
        """

    @abstractmethod
    def ask(self, code: str, payload: bytes = b"", timeout: float = 10.0, max_bytes: int = 16 << 20) -> bytes:
        """Run Python ``code`` in the student's process and return the bytes that it assigns to ``reply``.

        The code runs in a fresh namespace with ``payload`` (bytes) and ``student_ns`` (the dict of the student's
        names); its printed output is dropped. Student code can read and rewrite it, so it must contain no secret, and
        the caller must not trust the bytes.

        Raises StudentError, AskTimeout, AskDied, ReplyTooLarge (all AskFailed) or DeadSession.
        """

    @abstractmethod
    def close(self) -> None:
        """End every process of the session and remove its files; may be called more than once."""

    @abstractmethod
    def patience(self, seconds: float, beside: Iterable[int] = ()) -> Patience:
        """A time allowance for this session's processes and those with the ids in ``beside``."""

    @abstractmethod
    def lend(self) -> list[int]:
        """The descriptors that a forked child needs to use the session instead of this process. The child cannot end
        the session; this process closes it."""

    @property
    @abstractmethod
    def alive(self) -> bool:
        """False once a call raised DeadSession or the session was closed."""

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

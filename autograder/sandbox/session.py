"""The interface between a trusted judge and the process in which a student's code runs.

A session executes the submission's cells one after the other, then answers questions about what they defined.
Everything that comes back was written by code that nobody trusts: text is cut and cleaned, replies are plain bytes
of bounded size for the caller to parse, and nothing is ever unpickled.

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

#: ``CellResult.error_name`` of a cell that ran into its time limit, and of one that ended its process.
CELL_TIMEOUT = "CellTimeout"
CELL_DIED = "CellDied"


@dataclass(frozen=True)
class CellResult:
    """What one cell did.

    stdout      what it printed, standard error and displayed values included, at most ``Limits.output_bytes`` bytes
    error_name  None, the exception's class name, ``CELL_TIMEOUT`` or ``CELL_DIED``
    error_text  the exception's message, or a sentence for the two others; "" without an error
    truncated   True where stdout was cut
    traceback   plain text without colors, only frames of the student's cells and below; "" without one
    seconds     wall time of the call

    All text is untrusted: valid Unicode without control characters apart from newline and tab, but otherwise what the
    student chose. Escape it before it becomes HTML.
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
    """Base of everything that a session raises on account of the student's process."""


class DeadSession(SessionError):
    """No process is left to answer, or the session's time is used up. Every later call raises it again."""


class AskFailed(SessionError):
    """One question got no answer; the session goes on with the next one."""


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
    """The reply is longer than the caller allowed; nothing of it was kept."""


class SandboxUnavailable(RuntimeError):
    """This machine cannot start the session asked for; the message is one sentence that says why."""


class Session(ABC):
    """One submission's process. Not thread-safe: one caller at a time."""

    @abstractmethod
    def execute(self, source: str, timeout: float = 10.0) -> CellResult:
        """Run one notebook cell (IPython syntax) in the student's namespace; ``timeout`` in seconds (``Patience``).

        Never raises on account of the cell itself. Raises DeadSession where no process is left to run it.
        """

    @abstractmethod
    def ask(self, code: str, payload: bytes = b"", timeout: float = 10.0, max_bytes: int = 16 << 20) -> bytes:
        """Run Python ``code`` next to the student's state and return the bytes that it leaves in ``reply``.

        The code runs in a fresh namespace with ``payload`` (bytes) and ``student_ns`` (the dict of the student's
        names); what it prints is dropped. Student code can read and rewrite it: it carries no secret, and the bytes
        are a claim to be judged.

        Raises StudentError, AskTimeout, AskDied, ReplyTooLarge (all AskFailed) or DeadSession.
        """

    @abstractmethod
    def close(self) -> None:
        """End every process of the session and remove its files; may be called more than once."""

    @abstractmethod
    def patience(self, seconds: float, beside: Iterable[int] = ()) -> Patience:
        """An allowance of time for this session's processes, and for those that ``beside`` names."""

    @abstractmethod
    def lend(self) -> list[int]:
        """The descriptors that a forked child needs to talk with the session in this process's place. In such a
        child nothing ends the session; this process closes it."""

    @property
    @abstractmethod
    def alive(self) -> bool:
        """False once a call raised DeadSession or the session was closed."""

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

"""Sessions that run a student's code away from the grader: see ``session.py`` for the interface.

``SandboxedSession`` (from a ``Zygote``) is the one for untrusted code, ``LocalSession`` has no sandbox.
"""

from .limits import Limits
from .local import LocalSession
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
    SessionError,
    StudentError,
)

__all__ = [
    "CELL_DIED",
    "CELL_TIMEOUT",
    "AskDied",
    "AskFailed",
    "AskTimeout",
    "CellResult",
    "DeadSession",
    "Limits",
    "LocalSession",
    "ReplyTooLarge",
    "SandboxUnavailable",
    "Session",
    "SessionError",
    "StudentError",
]

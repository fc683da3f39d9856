"""Sessions that run a student's code away from the grader: see ``session.py`` for the interface.

``SandboxedSession`` (from a ``Zygote``) is the one for untrusted code, ``BubblewrapSession`` its slower stand-in,
``LocalSession`` has no sandbox. ``provisioner.py`` puts stock Jupyter kernels into the same sandboxes.
"""

from .availability import Availability, open_session, require_sandbox, sandbox_available
from .bubblewrap import BubblewrapSession
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
from .zygote import SandboxedSession, Zygote

__all__ = [
    "CELL_DIED",
    "CELL_TIMEOUT",
    "AskDied",
    "AskFailed",
    "AskTimeout",
    "Availability",
    "BubblewrapSession",
    "CellResult",
    "DeadSession",
    "Limits",
    "LocalSession",
    "ReplyTooLarge",
    "SandboxUnavailable",
    "SandboxedSession",
    "Session",
    "SessionError",
    "StudentError",
    "Zygote",
    "open_session",
    "require_sandbox",
    "sandbox_available",
]

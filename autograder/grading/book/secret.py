"""The course secret: it keeps a student's inputs unknown to the student and the same at each regrade."""

import os
import secrets
from pathlib import Path

from autograder import ROOT

from .database import GradebookError

VARIABLE = "ANATOMY_SECRET"


class BadSecret(GradebookError, ValueError):
    """The secret cannot be used; the message says what to do. Commands show it like any GradebookError."""


def _path(root: str | os.PathLike[str]) -> Path:
    return Path(root) / ".secret"


def require_private(root: str | os.PathLike[str] = ROOT) -> None:
    """Raises BadSecret if ``.secret`` is used and others may read it. The file need not exist yet."""
    path = _path(root)
    if VARIABLE not in os.environ and os.name == "posix" and path.exists() and path.stat().st_mode & 0o077:
        raise BadSecret(f"{path.name} can be read by others: run `chmod 600 {path.name}`")


def course_secret(root: str | os.PathLike[str] = ROOT) -> str:
    """The secret as text: from the environment variable ANATOMY_SECRET, else from ``.secret``, made at first use.

    Keep the file: with a different secret, a regrade draws different inputs. Raises BadSecret if the secret is empty,
    or if the file can be read by others or cannot be read.
    """
    if VARIABLE in os.environ:
        if not os.environ[VARIABLE].strip():
            raise BadSecret(f"{VARIABLE} is set but empty: unset it, and the file .secret is used")
        return os.environ[VARIABLE].strip()
    path = _path(root)
    try:
        # O_EXCL: if two graders start together, one of them writes the file and the other reads it.
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32) + "\n")
    except FileExistsError:
        pass
    require_private(root)
    try:
        text = path.read_text(encoding="ascii").strip()
    except UnicodeDecodeError:
        raise BadSecret(f"{path.name} is damaged: copy it again from a backup") from None
    except OSError as error:
        raise BadSecret(f"{path.name} cannot be read: {error.strerror}") from None
    if not text:
        raise BadSecret(f"{path.name} is empty: delete it, and a new one is made")
    return text

"""Writing files so that a crash, a full disk or a power cut leaves the old file or the new one, never half of one.

Every file of this project that replaces another one is written here, and files in a learner's folder are read here;
``store`` decides what a learner's files hold, and this module how they reach the disk.
"""

import contextlib
import errno
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

LEFTOVER = ".anatomy-tmp"
LARGEST = 200 << 20  # bytes of a file; 200 times the largest notebook of the course
PAUSES = (0.01, 0.03, 0.1, 0.3)  # seconds
T = TypeVar("T")


def read(path: Path, most: int = LARGEST) -> bytes:
    """The bytes of a file. Raises OSError, also if it is no ordinary file (a pipe, or a link to one, never ends) or has
    more than ``most`` bytes."""
    about = os.stat(path)
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EINVAL, "not an ordinary file", str(path))
    if about.st_size > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return patiently(Path(path).read_bytes)


def write_new(path: Path, data: bytes) -> bool:
    """Writes a file that does not exist yet, whole or not at all; makes its folder. Returns False if something is there
    already: that stays as it is. Raises OSError."""
    if os.path.lexists(path):
        return False
    temporary = _temporary(path, data)
    try:
        try:
            os.link(temporary, path)  # unlike a rename, this never replaces another file
        except FileExistsError:
            return False
        except (OSError, NotImplementedError, AttributeError):  # a file system without hard links
            if os.path.lexists(path):
                return False
            patiently(os.replace, temporary, path)
        _settle(path)
        return True
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def replace(path: Path, data: bytes, alone: bool = False) -> None:
    """Writes or replaces a file, whole or not at all; makes its folder. Raises OSError.

    An existing file's permissions are kept. alone: a lock keeps every other writer of this file away; then all of them
    use one temporary file, so that leftovers of killed processes never pile up.
    """
    temporary = _temporary(path, data, alone)
    try:
        with contextlib.suppress(OSError):
            shutil.copymode(path, temporary)
        patiently(os.replace, temporary, path)
        _settle(path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def patiently(action: Callable[..., T], *arguments: object) -> T:
    """``action(*arguments)``. On Windows an open file cannot be replaced, nor read while it is being replaced: there
    the action is retried for half a second. Raises what the last try raises."""
    for pause in PAUSES:
        try:
            return action(*arguments)
        except PermissionError:
            if sys.platform != "win32":
                raise
            time.sleep(pause)
    return action(*arguments)


def _temporary(path: Path, data: bytes, alone: bool = False) -> Path:
    """Path of a new file beside ``path``, complete and on the disk."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name[:60]}{'' if alone else f'.{os.getpid()}'}{LEFTOVER}")
    with contextlib.suppress(OSError):
        os.unlink(temporary)  # left by a killed process, and perhaps not ours to write
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # otherwise a power cut may leave an empty file under the new name
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


def _settle(path: Path) -> None:
    """Puts the new name on the disk as well, where folders can be synced."""
    with contextlib.suppress(OSError, AttributeError):
        folder = os.open(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def sweep(folder: Path, below: bool = True) -> None:
    """Removes the temporary files that a killed run left in a folder, and below it."""
    for path in (Path(folder).rglob if below else Path(folder).glob)(f".*{LEFTOVER}"):
        with contextlib.suppress(OSError):
            path.unlink()

"""Writing files so that a crash, a full disk or a power cut leaves the old file or the new one, never half of one."""

import contextlib
import os
import shutil
from pathlib import Path

LEFTOVER = ".anatomy-tmp"


def write_new(path, data):
    """Writes a file that is not there yet, whole or not at all; makes its folder. Returns False where something is
    there already: that stays as it is. Raises OSError."""
    if os.path.lexists(path):
        return False
    temporary = _temporary(path, data)
    try:
        try:
            os.link(temporary, path)  # unlike a rename, this never takes another file's place
        except FileExistsError:
            return False
        except (OSError, NotImplementedError, AttributeError):  # a file system without hard links
            if os.path.lexists(path):
                return False
            os.replace(temporary, path)
        _settle(path)
        return True
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def replace(path, data):
    """Writes a file, in place of what is there, whole or not at all; makes its folder. Raises OSError."""
    temporary = _temporary(path, data)
    try:
        with contextlib.suppress(OSError):
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
        _settle(path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def _temporary(path, data):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name[:60]}.{os.getpid()}{LEFTOVER}")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


def _settle(path):
    """The new name on the disk as well, where folders can be synced."""
    with contextlib.suppress(OSError, AttributeError):
        folder = os.open(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def sweep(folder, below=True):
    """Removes what a killed run left half written in a folder, and below it."""
    for path in (Path(folder).rglob if below else Path(folder).glob)(f".*{LEFTOVER}"):
        with contextlib.suppress(OSError):
            path.unlink()

"""Makes expensive folders once per run, shared by all its processes."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import filelock
import pytest


def made_once(temporary: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder filled by ``make(folder)``, for all processes of this run: read or copy it, but don't write there.

    A name means one folder in the whole suite. A second caller waits for the first; if making the folder fails, the
    next caller tries again.
    """
    base = temporary.getbasetemp()
    shared = base.parent if base.name.startswith("popen-gw") else base  # the parent of the folders of xdist's workers
    folder = shared / f"once-{name}"
    with filelock.FileLock(f"{folder}.lock"):
        if not folder.exists():
            half = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=shared))
            make(half)
            half.rename(folder)
    return folder

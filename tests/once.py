"""What is made once in a run, whichever of its processes asks first."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import filelock
import pytest


def made_once(temporary: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that ``make(folder)`` fills, for all processes of this run: look at it or copy it, don't write there.

    A name stands for one thing in the whole suite. Who comes second waits for the first; where making it fails, the
    next one tries again.
    """
    base = temporary.getbasetemp()
    shared = base.parent if base.name.startswith("popen-gw") else base  # where xdist's workers have their folders
    folder = shared / f"once-{name}"
    with filelock.FileLock(f"{folder}.lock"):
        if not folder.exists():
            half = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=shared))
            make(half)
            half.rename(folder)
    return folder

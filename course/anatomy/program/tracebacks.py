"""Finds the learner's own line in a traceback, skipping Python, packages and the course."""

import sysconfig
import traceback
from collections.abc import Collection, Iterable
from pathlib import PurePath

import torch

# The folders of Python and its packages: an error raised there does not come from an answer's own line.
_INSTALLED = (
    *(PurePath(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")),
    PurePath(torch.__file__).parents[1],  # may be elsewhere, if this environment sees another one's packages
)


def is_installed(filename: str, folders: Iterable[PurePath] = _INSTALLED) -> bool:
    """Whether a file belongs to Python or to a package. Paths are compared as the system does it: on Windows without
    regard to case, and with either slash."""
    return any(type(folder)(filename).is_relative_to(folder) for folder in folders)


def learners_line(error: BaseException, ours: Collection[str]) -> str:
    """The innermost of the learner's lines that an error passed through, or "". ours: the course's own files."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if f.filename not in ours and not is_installed(f.filename)]
    return (theirs[-1].line or "").strip() if theirs else ""

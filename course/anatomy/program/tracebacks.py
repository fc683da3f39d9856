"""Whose line of a traceback is it: the learner's, or one of Python, of a package, or of the course?"""

import sysconfig
import traceback
from collections.abc import Collection, Iterable
from pathlib import PurePath

import torch

# Where Python and its packages lie: what is raised there is raised by nobody's answer.
_INSTALLED = (
    *(PurePath(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")),
    PurePath(torch.__file__).parents[1],  # elsewhere in an environment that sees the packages of another one
)


def is_installed(filename: str, folders: Iterable[PurePath] = _INSTALLED) -> bool:
    """Whether a file belongs to Python or to a package. Paths are compared as the system does it: on Windows without
    regard to case, and with either slash."""
    return any(type(folder)(filename).is_relative_to(folder) for folder in folders)


def learners_line(error: BaseException, ours: Collection[str]) -> str:
    """The innermost line of the learner's that an error passed through, or "". ours: files of the course's own."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if f.filename not in ours and not is_installed(f.filename)]
    return (theirs[-1].line or "").strip() if theirs else ""

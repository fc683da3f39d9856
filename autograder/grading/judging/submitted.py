"""One submission to grade: its student, its unit and a function that reads its notebook."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from autograder.judge.drawing import submission_key

from ..intake.rebuild import Rebuilt, rebuild


@dataclass(frozen=True)
class Submitted:
    """One submission to grade.

    student: the name in the gradebook. key: the ``submission_key(…)`` that the inputs are drawn from. read: makes the
    runnable notebook; raises BadSubmission or UnknownUnit. follow: the setting ``follow_through``.
    """

    unit: str
    student: str
    key: bytes
    read: Callable[[], Rebuilt]
    follow: bool = False


def of_bytes(data: bytes, unit: str, student: str, key: bytes, follow: bool = False) -> Submitted:
    """The Submitted for a file's bytes. key: ``student_key(secret, student, unit)``."""
    key = submission_key(key, hashlib.sha256(data).hexdigest())
    return Submitted(unit, student, key, lambda: rebuild(data, unit), follow)

"""One submission as it is graded: whose, for which unit, and how its notebook is read."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from autograder.judge.drawing import submission_key

from ..intake.rebuild import Rebuilt, rebuild


@dataclass(frozen=True)
class Submitted:
    """read: makes the notebook that can be run; raises BadSubmission or UnknownUnit. key: what the inputs are drawn
    from, ``submission_key(…)``. student: the name that the gradebook knows. follow: the setting ``follow_through``."""

    unit: str
    student: str
    key: bytes
    read: Callable[[], Rebuilt]
    follow: bool = False


def of_bytes(data: bytes, unit: str, student: str, key: bytes, follow: bool = False) -> Submitted:
    """The Submitted of a file's bytes. key: ``student_key(secret, student, unit)``."""
    key = submission_key(key, hashlib.sha256(data).hexdigest())
    return Submitted(unit, student, key, lambda: rebuild(data, unit), follow)

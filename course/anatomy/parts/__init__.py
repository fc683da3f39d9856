"""Your own answers as parts: code that you wrote in the other notebooks, used in this one.

``show()`` lists the parts: yours, torch's own, or still to do. ``mine("norm.rms_norm")`` returns your function or class
of an exercise. ``bring("norm.rms_norm", "cache.grouped")`` puts your code into the cell that calls it: each notebook is
graded by itself, so it has to contain the code. All three read the notebooks as they were saved, count answers that
pass their check right now, and leave your progress unchanged. ``written()`` counts the lines of all that you passed.
"""

from typing import Any

from .bringing import bring
from .judged import NotYet, Stopped, look
from .table import ASSEMBLY, Table
from .written import Written, written

__all__ = ["ASSEMBLY", "NotYet", "Stopped", "Written", "bring", "mine", "show", "written"]


def mine(exercise_id: str) -> Any:
    """Returns your own function or class of an exercise; a tuple, in the order of its text, if it asks for several.

    Raises:
        NotYet: no answer passes; the message says why, and where to go.
        MissingRecording: the exercise is unknown.
        Stopped: you interrupted your own code.
    """
    part = look(exercise_id)
    if part.why:
        raise NotYet(part.problem)
    return part.values[0] if len(part.values) == 1 else part.values


def show(*exercise_ids: str) -> Table:
    """Table of the parts: yours, torch's own, or still to do with a link. Without ids: the parts of a whole model.

    Raises MissingRecording for an unknown exercise, and Stopped if you interrupt your own code.
    """
    return Table([look(i) for i in exercise_ids or ASSEMBLY])

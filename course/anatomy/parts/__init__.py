"""Your own answers as parts: what you wrote in the other notebooks, used in this one.

``show()`` lists the parts: yours, torch's own, or still to do. ``mine("norm.rms_norm")`` gives your function or class
of an exercise. ``bring("norm.rms_norm", "cache.grouped")`` puts your code into the cell that calls it: an answer is
graded by itself, so the code has to stand in its notebook. All three read the notebooks as they were saved, count what
passes its check right now, and change nothing of your progress.
"""

from typing import Any

from .bringing import bring
from .judged import NotYet, Stopped, look
from .table import ASSEMBLY, Table

__all__ = ["ASSEMBLY", "NotYet", "Stopped", "bring", "mine", "show"]


def mine(exercise_id: str) -> Any:
    """Your own function or class of an exercise; a tuple, in the order of its text, where it asks for several.

    Raises:
        NotYet: there is no answer that passes; the message says why, and where to go.
        MissingRecording: there is no such exercise.
        Stopped: you interrupted your own code.
    """
    part = look(exercise_id)
    if part.why:
        raise NotYet(part.problem)
    return part.values[0] if len(part.values) == 1 else part.values


def show(*exercise_ids: str) -> Table:
    """A table of the parts: yours, torch's own, or still to do with a link. Without ids: those of a whole model.

    Raises MissingRecording for an unknown exercise, Stopped where you interrupt your own code.
    """
    return Table([look(i) for i in exercise_ids or ASSEMBLY])

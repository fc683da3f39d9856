"""Your own answers as parts: code that you wrote in the other notebooks, used in this one.

``show()`` lists the parts: yours, torch's own, or still to do. ``mine("norm.rms_norm")`` returns your function or class
of an exercise. ``bring("norm.rms_norm", "cache.grouped")`` puts your code into the cell that calls it: each notebook is
graded by itself, so it has to contain the code. All three read the notebooks as they were saved, count answers that
pass their check right now, and leave your progress unchanged. ``written()`` counts the lines of all that you passed.
``compare_newer()`` builds whole models of 2024 to 2026 from your parts.
"""

from typing import Any

from ..system.translation import _
from .bringing import bring
from .judged import NotYet, Stopped, look
from .newer_models import build_newer, compare_newer, needed_by
from .table import ASSEMBLY, Table
from .written import Written, written

__all__ = ["ASSEMBLY", "NotYet", "Stopped", "Written", "bring", "build_newer", "compare_newer", "mine", "needed_by"]
__all__ += ["show", "written"]


def mine(exercise_id: str, otherwise: Any = None) -> Any:
    """Returns your own function or class of an exercise; a tuple, in the order of its text, if it asks for several.

    otherwise: a part of the course that is used until your answer passes, which a line of output says then.

    Raises:
        NotYet: no answer passes, and there is no ``otherwise``; the message says why, and where to go.
        MissingRecording: the exercise is unknown.
        Stopped: you interrupted your own code.
    """
    part = look(exercise_id)
    if part.why and otherwise is not None:
        print(part.problem, _("Until it passes, a part of the course stands in for yours. Then run this cell again."))
        return otherwise
    if part.why:
        raise NotYet(part.problem)
    return part.values[0] if len(part.values) == 1 else part.values


def show(*exercise_ids: str) -> Table:
    """Table of the parts: yours, torch's own, or still to do with a link. Without ids: the parts of a whole model.

    Raises MissingRecording for an unknown exercise, and Stopped if you interrupt your own code.
    """
    return Table([look(i) for i in exercise_ids or ASSEMBLY])

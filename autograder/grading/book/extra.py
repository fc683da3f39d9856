"""Stores the points of extensions in nbgrader's gradebook, as extra credit.

The grade cell of an extension has a maximum of 0, so that the maximum of a unit is that of its core path. The points
earned go into nbgrader's extra credit, which all of nbgrader's totals include. The formgrader's score box takes no more
than the maximum, so instructors also use its extra credit to give points for an extension.
"""

import math

from nbgrader.api import Grade

Remembered = list[float]  # [written, instructor's part of it]


def settle(grade: Grade, earned: float | None, before: Remembered | None, changed: bool = True) -> Remembered | None:
    """Writes the points of an extension into a grade's extra credit, unless an instructor has changed it.

    An instructor's number stays: if the extra credit differs from the value written here last time, or if there is a
    manual score, nothing changes, and the cell is marked for another look if the file changed. If an instructor empties
    the box, computed points are written again. Extra credit from before the exercise became an extension is added to
    the points.

    Args:
        grade: nbgrader's Grade, with ``needs_manual_grade`` already set.
        earned: points of an extension; None for an exercise of the core path.
        before: what this function returned for the submission's last result, or None.
        changed: True if the file is not the one that counted before.

    Returns:
        The value to pass as ``before`` next time, or None.
    """
    now, decided = grade.extra_credit, grade.manual_score is not None
    if before is None:
        if earned is None:
            return None
        own = now or 0.0
    else:
        written, own = before
        decided = decided or (now is not None and not math.isclose(now, written, abs_tol=1e-9))
        own = 0.0 if now is None else own
    if decided:
        grade.needs_manual_grade = grade.needs_manual_grade or changed
        return before if earned is not None else None
    if earned is None:  # it was an extension until now
        grade.extra_credit = own or None
        return None
    grade.extra_credit = earned + own
    return [grade.extra_credit, own]

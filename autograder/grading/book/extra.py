"""Extensions count extra: how their points stand in nbgrader's gradebook.

The grade cell of an extension has a maximum of 0, so that the maximum of a unit is that of its core path. What was
earned goes into nbgrader's own extra credit, which every total of nbgrader adds: in the formgrader, whose score box
takes no more than the maximum, this is also where an instructor gives points for an extension.
"""

import math

from nbgrader.api import Grade

Remembered = list[float]  # [written, instructor's part of it]


def settle(grade: Grade, earned: float | None, before: Remembered | None, changed: bool = True) -> Remembered | None:
    """Writes the points of an extension into a grade's extra credit, unless an instructor has decided otherwise.

    A number that an instructor wrote stays: where the extra credit is no longer what was written here the last time,
    or where there is a manual score, nothing changes, and a changed file's cell is marked for another look. An
    instructor who empties the box gives it back. Extra credit that was there before the exercise became an extension
    is kept on top.

    Args:
        grade: nbgrader's Grade, with ``needs_manual_grade`` already set.
        earned: points of an extension; None for an exercise of the core path.
        before: what this function returned for the submission's last result, or None.
        changed: is it another file than the one that counted before?

    Returns:
        What is to be remembered, or None.
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

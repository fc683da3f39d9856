"""Late policies that a course can choose in nbgrader_config.py; they are nbgrader plugins."""

import math

from nbgrader.plugins import BasePlugin
from nbgrader.preprocessors import AssignLatePenalties
from traitlets import Float
from traitlets.config import Config


class PerDay(BasePlugin):
    """Takes off a share of the points for each day, or part of a day, after the due date.

    ``c.AssignLatePenalties.plugin_class = "autograder.grading.book.late.PerDay"`` switches it on; the options are set
    like ``c.PerDay.percent = 5``.
    """

    percent = Float(10.0, help="Percent of the points that are taken off for each day.").tag(config=True)
    most = Float(100.0, help="No more than this percent is taken off, however late it is.").tag(config=True)
    grace_minutes = Float(10.0, help="So many minutes after the due date cost nothing.").tag(config=True)

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float:
        """Points to take off. score: points before the penalty."""
        if total_seconds_late <= 60 * self.grace_minutes:
            return 0.0
        days = math.ceil(total_seconds_late / 86_400)
        return score * min(self.percent * days, self.most, 100.0) / 100.0


def taken_off(config: Config | None, student: str, score: float, late: float) -> float:
    """Points that the course's plugin takes off for being ``late`` seconds late: 0 to ``score``."""
    if late <= 0:
        return 0.0
    steps = AssignLatePenalties(config=config)
    steps.init_plugin()
    penalty = steps.plugin_inst.late_submission_penalty(student, score, late)
    return min(max(0.0, penalty or 0.0), score)

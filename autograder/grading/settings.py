"""What an instructor may set about grading: a line each in nbgrader_config.py, like ``c.Grading.attempts = "best"``."""

from traitlets import Bool, Enum
from traitlets.config import Configurable


class Grading(Configurable):
    """Settings of the course's own; nbgrader's stand under its own classes in the same file."""

    attempts = Enum(
        ("last", "best"),
        "last",
        help="Which of a student's submissions of a unit counts: the last one, or the one with the most points.",
    ).tag(config=True)

    follow_through = Bool(
        False,
        help="Where an exercise fails only because an earlier answer of the same notebook is missing or wrong, run it "
        "once more with the values of the course's own function in that place, and count what it then earns.",
    ).tag(config=True)

    written_answers = Bool(
        False,
        help="The written question of each unit has points, which a person gives in the formgrader. Off: it has none, "
        "and nothing waits for a person.",
    ).tag(config=True)

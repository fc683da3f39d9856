"""Student side of the Transformer Anatomy course.

``check("rope.rotate_half", rotate_half)`` checks an exercise, ``evaluate`` returns the same verdict as an object,
``case("rope.rotate_half", 3)`` fetches one of its cases,
``predict`` and ``reveal`` record a prediction and show it beside the result, ``quiz`` asks recap questions,
``progress()`` shows how far you are. Widgets live in ``anatomy.widgets``, plotting style in ``anatomy.plots``.
"""

from .cases import case
from .checks import CheckFailed, check, evaluate
from .predictions import predict, record_prediction, reveal
from .progress import progress
from .quizzes import quiz
from .setup import environment_report
from .translation import speak

__all__ = [
    "CheckFailed",
    "case",
    "check",
    "environment_report",
    "evaluate",
    "predict",
    "progress",
    "quiz",
    "record_prediction",
    "reveal",
    "speak",
]

"""Student side of the Transformer Anatomy course.

``check("rope.rotate_half", rotate_half)`` checks an exercise, ``evaluate`` returns the same verdict as an object,
``case("rope.rotate_half", 3)`` fetches one of its cases,
``predict`` and ``reveal`` record a prediction and show it beside the result, ``quiz`` asks recap questions,
``progress()`` shows how far you are. Widgets live in ``anatomy.widgets``, plotting style in ``anatomy.plots``.

All of these are imported when the first of them is asked for: the command ``anatomy`` has to work, and to say what is
wrong, where torch does not.
"""

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"  # the one place that says so; CHANGELOG.md begins with it

if TYPE_CHECKING:
    from .cases import case as case
    from .checks import CheckFailed as CheckFailed
    from .checks import check as check
    from .checks import evaluate as evaluate
    from .predictions import predict as predict
    from .predictions import record_prediction as record_prediction
    from .predictions import reveal as reveal
    from .progress_page import progress as progress
    from .quizzes import quiz as quiz
    from .setup import environment_report as environment_report
    from .translation import speak as speak

# what learners call → the module that it is in
_PUBLIC = {
    "CheckFailed": "checks",
    "case": "cases",
    "check": "checks",
    "environment_report": "setup",
    "evaluate": "checks",
    "predict": "predictions",
    "progress": "progress_page",
    "quiz": "quizzes",
    "record_prediction": "predictions",
    "reveal": "predictions",
    "speak": "translation",
}
__all__ = [*_PUBLIC]


def _load() -> None:
    """All at once: some modules listen to the notebook's cells from their import on."""
    for name, module in _PUBLIC.items():
        globals()[name] = getattr(importlib.import_module(f".{module}", __name__), name)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _load()
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})


class _Package(types.ModuleType):
    """``anatomy.progress`` is a module and, for learners, a function: importing the module must not hide it."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _PUBLIC and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

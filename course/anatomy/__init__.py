"""Student side of the Transformer Anatomy course.

``check("rope.rotate_half", rotate_half)`` checks an exercise, ``evaluate`` returns the same verdict as an object,
``case("rope.rotate_half", 3)`` fetches one of its cases, ``show_answer("rope.rotate_half")`` shows a whole answer,
``predict`` and ``reveal`` record a prediction and show it beside the result, ``quiz`` asks recap questions,
``progress()`` shows how far you are. Widgets live in ``anatomy.widgets``, plotting style in ``anatomy.plots``.

Everything is imported as soon as one of these names is used: the command ``anatomy`` has to work, and to report what
is wrong, even where torch does not.
"""

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

from . import moved

__version__ = "0.2.0"  # the only place with the version; CHANGELOG.md begins with it

if TYPE_CHECKING:
    from .notebook.answers import show_answer as show_answer
    from .notebook.cases import case as case
    from .notebook.checks import CheckFailed as CheckFailed
    from .notebook.checks import check as check
    from .notebook.checks import evaluate as evaluate
    from .notebook.predictions import predict as predict
    from .notebook.predictions import record_prediction as record_prediction
    from .notebook.predictions import reveal as reveal
    from .notebook.quizzes import quiz as quiz
    from .notebook.setup import environment_report as environment_report
    from .progress.page import progress as progress
    from .system.translation import speak as speak

# name that learners use → module that defines it
_PUBLIC = {
    "CheckFailed": "notebook.checks",
    "case": "notebook.cases",
    "check": "notebook.checks",
    "environment_report": "notebook.setup",
    "evaluate": "notebook.checks",
    "predict": "notebook.predictions",
    "progress": "progress.page",
    "quiz": "notebook.quizzes",
    "record_prediction": "notebook.predictions",
    "reveal": "notebook.predictions",
    "show_answer": "notebook.answers",
    "speak": "system.translation",
}
__all__ = [*_PUBLIC]


def _load() -> None:
    """Imports everything at once: some modules listen to the notebook's cells as soon as they are imported."""
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
    """``anatomy.progress`` is a folder and, for learners, a function: importing the folder must not hide it."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _PUBLIC and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
moved.listen()

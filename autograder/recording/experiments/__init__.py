"""Scripts that record the measurements under ``assets/experiments``; each says on which device it ran.

An experiment has one name, say ``root_d``, and is found by it. What there is of one:

- ``experiments/root_d.py``, here: a script that measures (``Experiment`` below says what it has);
- ``figures/<any>.py``: a function ``root_d(data)`` that draws what was measured;
- ``assets/experiments/root_d.json`` and ``assets/figures/root_d.svg``, which the command writes;
- ``course/anatomy/experiments/root_d.py``, where a learner runs a small setting live: what both measure stands there;
- its row in ``METHOD.md``, and in ``tests/recording/tiny.py`` a size that runs in a second.

The other modules here (``writing``, ``resume``, ``counting``, ``timing``) are what scripts share.
"""

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

Data = dict[str, Any]  # what an experiment's JSON file holds
Row = dict[str, Any]  # one measurement in it
Facts = dict[str, Any]  # number or text by name, in dicts of dicts: what sentences tell


class Incomplete(Exception):
    """A script lacks something that every experiment has; one sentence says what."""


@dataclass(frozen=True)
class About:
    """What the command that runs all experiments must know of one.

    seconds: the large setting's on one H200, estimated (``METHOD.md`` says how); a recording that is there replaces
    it. alone: it measures times or bytes, and needs the machine for itself. read: it is read off published
    configurations: no device, one size, the same bytes everywhere, a table in the notebooks and no figure.
    """

    seconds: int = 0
    alone: bool = False
    read: bool = False


class Experiment(Protocol):
    """What a script has. ``main`` and ``ABOUT`` are in each; text and verdicts ask for the others.

    ``main`` takes the options of ``writing.arguments``, keeps each row as soon as it is measured (``resume.Rows``) and
    ends with ``writing.save``. setting: sizes of the script's own ``Setting`` in place of those that it has for
    ``small`` and ``large``.
    """

    ABOUT: About

    def main(self, argv: Sequence[str] | None = None, setting: Any = None) -> int | None:
        """Command line."""

    def facts(self, data: Data) -> Facts:
        """Numbers for ``{{root_d.seeds}}`` in a text, read off the recorded data. Without it, no text tells any."""

    def seeds(self, data: Data) -> int:
        """Seeds of the setting that has fewest. A verdict that rests on the recording needs three."""

    def controls(self, data: Data) -> dict[str, int]:
        """What was varied besides → in how many values. A verdict names one that has two or more."""


@cache
def found() -> dict[str, About]:
    """name → About of every experiment, in alphabetical order. Raises Incomplete for a script that says nothing."""
    experiments = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name == "__main__":
            continue
        script = importlib.import_module(f"{__name__}.{module.name}")
        if hasattr(script, "ABOUT"):
            experiments[module.name] = script.ABOUT
        elif hasattr(script, "main"):
            raise Incomplete(
                f"autograder/recording/experiments/{module.name}.py has a main, but does not say what kind of "
                "experiment it is: give it ABOUT = About(seconds=…), with alone=True if it measures times or bytes."
            )
    return experiments

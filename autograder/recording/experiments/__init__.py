"""Scripts that record the measurements under ``assets/experiments``; each recording names its device.

An experiment has one name, say ``root_d``, which all of its files share:

- ``experiments/root_d.py``, here: a script that measures (for its contents see ``Experiment`` below);
- ``figures/<any>.py``: a function ``root_d(data)`` that draws the measurements;
- ``assets/experiments/root_d.json`` and ``assets/figures/root_d.svg``, which the command writes;
- ``course/anatomy/experiments/root_d.py``, where a learner runs a small setting live; holds the code that both share;
- its row in ``METHOD.md``, and in ``tests/recording/tiny.py`` a size that runs in a second.

The other modules here (``writing``, ``resume``, ``counting``, ``timing``) are shared by the scripts.
"""

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

Data = dict[str, Any]  # contents of an experiment's JSON file
Row = dict[str, Any]  # one measurement in it
Facts = dict[str, Any]  # name → number or text, in nested dicts, for use in sentences


class Incomplete(Exception):
    """A script lacks something that every experiment needs; one sentence says what."""


@dataclass(frozen=True)
class About:
    """Properties of an experiment, for the command that runs all of them.

    seconds: estimated duration of the large setting on one H200 (``METHOD.md`` says how); an existing recording
    replaces it. alone: it measures times or bytes, and needs the machine to itself. read: it is read from published
    configurations: no device, one size, the same bytes everywhere, a table in the notebooks and no figure. waits: its
    models are so small that a GPU only waits for launches; there it is measured only where ``--only`` names it.
    """

    seconds: int = 0
    alone: bool = False
    read: bool = False
    waits: bool = False


class Experiment(Protocol):
    """Contents of a script. Every script has ``main`` and ``ABOUT``; texts and verdicts need the others.

    ``main`` takes the options of ``writing.arguments``, saves each row as soon as it is measured (``resume.Rows``) and
    ends with ``writing.save``. setting: an instance of the script's ``Setting``, used instead of its sizes for
    ``small`` and ``large``.
    """

    ABOUT: About

    def main(self, argv: Sequence[str] | None = None, setting: Any = None) -> int | None:
        """Command line."""

    def facts(self, data: Data) -> Facts:
        """Numbers for ``{{root_d.seeds}}`` in a text, computed from the recorded data. Optional if no text uses any."""

    def seeds(self, data: Data) -> int:
        """The smallest number of seeds of any setting. A verdict based on the recording needs three."""

    def controls(self, data: Data) -> dict[str, int]:
        """Control, a varied quantity → number of its values. A verdict names a control with two or more."""


@cache
def found() -> dict[str, About]:
    """Name → About of every experiment, in alphabetical order. Raises Incomplete for a script without ``ABOUT``."""
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

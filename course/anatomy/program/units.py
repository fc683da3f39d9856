"""Reads the data on units in the student's package: titles, minutes, questions, facts worth knowing.

Written by the build into ``assets/units/NN-name.json``, from the same source as the notebook.
"""

import html
import json
import os
import re
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from ..system import hosted
from ..system.installation import how_to_repair
from ..system.translation import _, listed
from .assets import MissingRecording, assets_dir

Known = dict[str, Any]  # of one exercise, prediction or question; see ``load`` for its keys


@cache
def _read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def names() -> list[str]:
    """Names of the units, e.g. ``06-rope``, in course order."""
    found = sorted(p.stem for p in _folder().glob("*.json"))
    chosen = _chosen(assets_dir() / "course.json")
    return [name for name in chosen if name in found] or found


@cache
def _chosen(path):
    """The units of an instructor's own course, in order; () in the course as it is."""
    try:
        return tuple(json.loads(path.read_text(encoding="utf-8"))["units"])
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def _folder():
    # A preview of changed units brings its own texts.
    return Path(os.environ.get("ANATOMY_UNITS") or assets_dir() / "units")


def load(unit: str) -> dict[str, Any]:
    """The description of one unit in ``assets/units``.

    Returns:
        dict with ``unit``, ``title``, ``minutes`` (of all exercises), ``reading`` (minutes of it, for ``core`` and for
        ``extensions``) and the lists ``exercises`` (id, title, points, minutes, difficulty, extension: not on the core
        path, worth), ``predictions`` (id, question, options, adjacent: the result comes in the next cell), ``quizzes``
        (id, question, choices of text, right, why) and ``claims`` (id, claim, cells: marks of the cells that decide
        it).

    Raises:
        MissingRecording: there is no such unit, or its file is damaged; the message says what to do.
    """
    path = _folder() / f"{unit}.json"
    try:
        return _read(path)
    except FileNotFoundError:
        known = listed(names()) or _("none: the folder assets/units is missing")
        raise MissingRecording(_("There is no unit {unit!r}. Units: {known}").format(unit=unit, known=known)) from None
    except ValueError:
        damaged = _("{file} in assets/units is damaged. {repair}")
        raise MissingRecording(damaged.format(file=path.name, repair=how_to_repair("make build"))) from None


def core_minutes(unit: Known) -> int:
    """Minutes for a unit's core path, reading included, rounded to five: what its first cell says. unit: ``load``'s.

    The length of the course is the sum over its units; whatever says how long something takes asks here.
    """
    return _minutes(unit, "core", [e for e in unit["exercises"] if not e.get("extension")])


def extension_minutes(unit: Known) -> int:
    """The same for all extensions of a unit; 0 if it has none."""
    more = [e for e in unit["exercises"] if e.get("extension")]
    return _minutes(unit, "extensions", more) if more else 0


def _minutes(unit, path, exercises):
    return to_five(sum(e["minutes"] for e in exercises) + unit.get("reading", {}).get(path, 0))


def to_five(minutes: float) -> int:
    """The nearest five minutes, at least five."""
    return max(5, 5 * round(minutes / 5))


def exercise(exercise_id: str) -> tuple[str, Known]:
    """(unit name, description of the exercise). Raises KeyError for an unknown id."""
    return _find("exercises", exercise_id)


def prediction(prediction_id: str) -> tuple[str, Known]:
    """(unit name, description of the prediction). Raises KeyError for an unknown id."""
    return _find("predictions", prediction_id)


def _find(kind, wanted):
    for unit in names():
        try:
            items = load(unit)[kind]
        except MissingRecording:
            continue  # one damaged file must not hide other units
        for item in items:
            if item["id"] == wanted:
                return unit, item
    raise KeyError(wanted)


def cell_id(kind: str, name: str) -> str:
    """Id of a cell in the notebooks: ``cell_id("solve", "rope.rotate_half")`` is ``solve-rope-rotate_half``."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", f"{kind}-{name}")[:64]


def grade_id(exercise_id: str, kind: str = "check") -> str:
    """nbgrader's name for an exercise's cell: ``check-rope-rotate_half``; kind ``solve`` for the learner's."""
    return f"{kind}-{exercise_id.replace('.', '-')}"


def link(unit: str, cell: str | None = None, here: str | None = None) -> str:
    """Relative address of a unit's notebook, or of a cell in it, as JupyterLab follows it; to be passed to ``anchor``.

    here: unit of the notebook that holds the link; None for any other unit's folder (all are side by side). Where a
    notebook is shown alone (Colab, Kaggle), this is the public address of another unit, and "" for everything else:
    cells are in the learner's own copy, whose address is unknown.
    """
    if not hosted.has_links():
        return "" if cell or here == unit else hosted.unit_address(unit)
    path = PurePosixPath(f"{unit}.ipynb") if here == unit else PurePosixPath("..") / unit / f"{unit}.ipynb"
    return f"{path}#cell-id={cell}" if cell else str(path)


def anchor(address: str, words: str) -> str:
    """HTML of a link around ``words``, which are HTML; without an address only the words."""
    if not address:
        return words
    # Outputs on Colab and Kaggle are frames within the page: a link that opens in there shows nothing.
    tab = "" if hosted.has_links() else ' target="_blank" rel="noopener"'
    return f'<a href="{html.escape(address)}"{tab}>{words}</a>'

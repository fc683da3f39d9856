"""All tests of one exercise run in a row in one process, on one set of drawn records."""

from pathlib import Path

import pytest

from ..grading.conftest import define, staff_session  # noqa: F401
from .drawn import Drawn

HERE = Path(__file__).parent
_latest: dict[str, Drawn] = {}  # only the latest exercise: its tests all run before the next one's


@pytest.fixture
def drawn(exercise):
    """The ``Drawn`` that all tests of an exercise share."""
    if exercise.id not in _latest:
        _latest.clear()
        _latest[exercise.id] = Drawn(exercise)
    return _latest[exercise.id]


def _is_of_exercise(item):
    return "exercise" in getattr(item, "fixturenames", ())


def pytest_itemcollected(item):
    """Sends the tests of an exercise to one worker, in a row, with ``--dist loadgroup``."""
    if _is_of_exercise(item):
        item.add_marker(pytest.mark.xdist_group(item.callspec.params["exercise"].id))


def pytest_collection_modifyitems(items):
    """Does the same without workers: orders tests by exercise instead of by file."""
    mine = [i for i, item in enumerate(items) if item.path.parent == HERE and _is_of_exercise(item)]
    order = {id(items[i]): n for n, i in enumerate(mine)}
    first: dict[str, int] = {}
    for i in mine:
        first.setdefault(items[i].callspec.params["exercise"].id, len(first))
    ordered = sorted((items[i] for i in mine), key=lambda t: (first[t.callspec.params["exercise"].id], order[id(t)]))
    for i, item in zip(mine, ordered, strict=True):
        items[i] = item

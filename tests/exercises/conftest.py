"""All that is asked of one exercise is asked in one process and in a row, of one set of drawn records."""

from pathlib import Path

import pytest

from ..grading.conftest import define, staff_session  # noqa: F401
from .drawn import Drawn

HERE = Path(__file__).parent
_latest: dict[str, Drawn] = {}  # of one exercise: the next one's tests come after all of this one's


@pytest.fixture
def drawn(exercise):
    """Drawn, the same one for all tests of an exercise."""
    if exercise.id not in _latest:
        _latest.clear()
        _latest[exercise.id] = Drawn(exercise)
    return _latest[exercise.id]


def _is_of_exercise(item):
    return "exercise" in getattr(item, "fixturenames", ())


def pytest_itemcollected(item):
    """With ``--dist loadgroup`` the tests of an exercise go to one worker, in a row."""
    if _is_of_exercise(item):
        item.add_marker(pytest.mark.xdist_group(item.callspec.params["exercise"].id))


def pytest_collection_modifyitems(items):
    """The same without workers: by exercise, and not by file."""
    mine = [i for i, item in enumerate(items) if item.path.parent == HERE and _is_of_exercise(item)]
    order = {id(items[i]): n for n, i in enumerate(mine)}
    first: dict[str, int] = {}
    for i in mine:
        first.setdefault(items[i].callspec.params["exercise"].id, len(first))
    ordered = sorted((items[i] for i in mine), key=lambda t: (first[t.callspec.params["exercise"].id], order[id(t)]))
    for i, item in zip(mine, ordered, strict=True):
        items[i] = item

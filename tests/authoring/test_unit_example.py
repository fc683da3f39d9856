"""Follows docs/contributing/unit.md: the example's three files go to their places, two commands do the rest."""

import json
import re

import pytest

from autograder import ROOT
from tests.once import made_once

from .clone import Clone, with_unit

UNIT = "90-sampling"


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    return Clone(tmp_path_factory.mktemp("unit"), made_once(tmp_path_factory, f"unit-{UNIT}", with_unit))


def test_two_places_are_enough(clone):
    """Notebooks, text and recordings follow, and no other unit's files change."""
    assert "up to date" in clone.python("-m", "autograder.build", "--check")
    book = json.loads((clone / f"course/{UNIT}/{UNIT}.ipynb").read_text(encoding="utf-8"))
    assert any(c["id"] == "solve-sampling-tempered" for c in book["cells"])
    for name in ("assets/recordings/06-rope.json", "assets/units/06-rope.json", "course/06-rope/06-rope.ipynb"):
        assert (clone / name).read_bytes() == (ROOT / name).read_bytes()


@pytest.mark.slow
def test_every_rule_for_a_unit_holds_but_its_length(clone):
    """Runs the suite's tests of this unit; only its length fails, since the example takes 15 minutes instead of 60."""
    rules = [
        "tests/course/test_notebooks.py",
        "tests/course/test_build.py",
        "tests/course/test_written.py",
        "tests/evidence",
        "tests/exercises",
    ]
    said = clone.tests("--unit", UNIT, *rules, "--tb=short", fails=True)
    failed = set(re.findall(r"^FAILED (\S+)", said, re.M))
    assert failed == {f"{LENGTH}[{UNIT}]"} and "minutes" in said and " passed" in said and " error" not in said, said


LENGTH = "tests/course/test_notebooks.py::test_the_core_path_is_two_sittings_at_most"

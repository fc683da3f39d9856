"""Every test has its unit, and ``--unit`` selects the tests of that unit and no others."""

import json
import subprocess
import sys

import pytest

from autograder import ROOT, exercises

from . import selection
from .conftest import EVERYTHING

pytestmark = pytest.mark.xdist_group("selection")  # so that everything is collected once

# Collects as pytest does, in a separate process; prints the collected tests and the imported test files.
COLLECT = """
import json, sys
import pytest

class Found:
    def pytest_collection_finish(self, session):
        self.tests = {i.nodeid: sorted(m.args[0] for m in i.iter_markers("unit")) for i in session.items}

found = Found()
status = pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", "-p", "no:warnings", *sys.argv[1:]], [found])
files = [m for m in sys.modules if m.startswith("tests.")]
print("\\n" + json.dumps([int(status), found.tests, files]))
"""


def collect(*arguments):
    done = subprocess.run([sys.executable, "-c", COLLECT, *arguments], cwd=ROOT, capture_output=True, text=True)
    status, tests, files = json.loads(done.stdout.splitlines()[-1])
    assert status == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return tests, files


@pytest.fixture(scope="module")
def everything(request):
    """{test: its units} for the whole suite; a run of everything has collected it already."""
    return request.config.stash.get(EVERYTHING, None) or collect("--all")[0]


def test_each_test_is_of_known_units_or_of_none(everything):
    assert len(everything) > 5_000
    assert {u for units in everything.values() for u in units} == set(exercises.units())
    assert any(not units for units in everything.values())
    several = [test for test, units in everything.items() if len(units) > 1]
    assert not several, several[:5]


@pytest.mark.parametrize("unit", exercises.units())
def test_a_unit_has_its_notebook_its_matrix_and_its_browser_test(unit, everything):
    mine = {test for test, units in everything.items() if unit in units}
    for test in (
        "tests/course/test_notebooks.py::test_nothing_hangs_on_an_answer_before_the_first_check",
        "tests/course/test_walls.py::test_released_notebooks_hold_no_solution",
        "tests/course/test_build.py::test_committed_notebooks_are_what_build_writes",
        "tests/browser/test_units_in_lab.py::test_unit_runs_and_its_widgets_move",
        "tests/evidence/test_numbers.py::test_no_number_is_typed_that_a_recording_holds",
    ):
        assert f"{test}[{unit}]" in mine, test
    for exercise in exercises.of_unit(unit):
        for test in (
            "tests/exercises/test_matrix.py::test_every_mistake_fails_and_is_named",
            "tests/exercises/test_trusted.py::test_right_answers_get_full_marks",
            "tests/exercises/test_by_heart.py::test_the_recorded_answers_earn_nothing_on_fresh_inputs",
        ):
            assert f"{test}[{exercise.id}]" in mine, test


def test_what_is_named_after_a_unit_or_an_exercise_belongs_to_it(everything):
    ids = {e.id: e.unit for e in exercises.all_exercises()}
    for test, units in everything.items():
        words = test.partition("[")[2].removesuffix("]")
        if words in ids:
            assert units == [ids[words]], test
        if words in exercises.units():
            assert units == [words], test
        if test.startswith("tests/units/"):
            assert units == [selection.unit_of_path(ROOT / test.partition("::")[0])], test


def test_the_option_takes_that_units_tests_and_whole_files_and_imports_no_others(everything):
    tests, files = collect("--unit", "04", "--whole", "tests/reference/test_ffn.py")
    also = {t for t in everything if t.startswith("tests/reference/test_ffn.py::")}
    mine = {t for t, units in everything.items() if units == ["04-ffn-and-gating"]}
    assert mine and also and set(tests) == mine | also
    assert [f for f in files if f.startswith("tests.units.")] == ["tests.units.test_u04_ffn_and_gating"]
    left_out = [f for f in files if f.split(".")[1] in selection.WITHOUT_UNITS and ".test_" in f]
    assert left_out == ["tests.reference.test_ffn"]


def test_folders_that_are_left_out_hold_no_units_tests(everything):
    of_units = {test for test, units in everything.items() if units}
    assert not [t for t in of_units if t.split("/")[1] in selection.WITHOUT_UNITS]


def test_a_short_form_is_enough():
    assert selection.full_name("04") == selection.full_name("04-ffn") == "04-ffn-and-gating"


@pytest.mark.parametrize("name", ["99", "0", "rope", ""])
def test_an_unknown_unit_is_one_sentence(name):
    with pytest.raises(exercises.UnknownName) as raised:
        selection.full_name(name)
    assert str(raised.value) == f"There is no unit {name!r}. Units: {', '.join(exercises.units())}"


def test_on_the_command_line_too():
    command = [sys.executable, "-m", "pytest", "-q", "--unit", "77", "tests/test_groups.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 4 and "Traceback" not in done.stderr
    assert done.stderr.strip().startswith("ERROR: There is no unit '77'. Units: 00-start-here")

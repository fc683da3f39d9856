"""The example widget, followed step by step as its page says: registered, recorded, shown and tested."""

import shutil

import pytest

from autograder import ROOT

from .clone import Clone

EXAMPLE = ROOT / "docs" / "examples" / "widget"
WING = "course/anatomy/widgets/__init__.py"
RECORDER = "autograder/recording/widgets/temperature.py"
PLACES = "tests/widgets/test_registration.py"

# All tests run in order in one process, so that the clone is made once.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("widget-example")]


def line():
    """The registration line that the example's page gives."""
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    return next(row.strip() for row in text.splitlines() if row.strip().startswith("from ."))


def register(clone):
    path = clone / WING
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("from .tools.base", line() + "\nfrom .tools.base"), encoding="utf-8")


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clone with the example's files in place, but without the registration line or a recording."""
    made = Clone(tmp_path_factory.mktemp("widget"))
    made.take("widget")
    return made


@pytest.fixture(scope="module")
def told_before(clone):
    return clone.tests(PLACES, fails=True)


@pytest.fixture(scope="module")
def done(clone, told_before):
    """A clone with all steps done; ``without_recorder`` is the tests' output from before the recorder was added."""
    register(clone)
    shutil.move(clone / RECORDER, clone / "kept.py")
    clone.without_recorder = clone.tests(PLACES, fails=True)
    shutil.move(clone / "kept.py", clone / RECORDER)
    gallery = clone / "solutions" / "gallery.py"
    text = gallery.read_text(encoding="utf-8")
    gallery.write_text(text + "\n" + (EXAMPLE / "gallery.txt").read_text(encoding="utf-8"), encoding="utf-8")
    clone.python("-m", "autograder.recording.widgets")
    return clone


def test_a_forgotten_line_is_said_in_one_sentence(told_before):
    assert (
        "The widget 'temperature' is not registered: add `from .temperature import … as …` to "
        "course/anatomy/widgets/__init__.py." in told_before
    )
    assert "'temperature' is not recorded: run `make record`." in told_before


def test_a_forgotten_recorder_and_gallery_are_said_in_one_sentence_each(done):
    said = done.without_recorder
    assert "'temperature' has no recorder: add autograder/recording/widgets/temperature.py with its RECORDER." in said
    assert "add a cell with `widgets.TemperatureExplorer()` to solutions/gallery.py." in said
    assert "not registered" not in said and "no test case" not in said and "'rope'" not in said


def test_its_recording_leaves_the_others_as_they_are(done):
    folder = "assets/recordings/widgets"
    assert (done / f"{folder}/temperature.safetensors").is_file()
    for before in (ROOT / folder).glob("*.safetensors"):
        assert (done / f"{folder}/{before.name}").read_bytes() == before.read_bytes()


def test_all_its_tests_pass(done):
    chosen = "temperature or Temperature or registration or feed_it"
    said = done.tests("tests/widgets", "-m", "not browser", "-k", chosen)
    assert "passed" in said and "failed" not in said


def test_the_gallery_shows_it(done):
    done.python("-m", "autograder.build")
    assert "TemperatureExplorer" in (done / "course/gallery/gallery.ipynb").read_text(encoding="utf-8")

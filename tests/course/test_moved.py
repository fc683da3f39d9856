"""Moved modules keep their names of 0.2 for one release; modules that notebooks import keep theirs."""

import re
import subprocess
import sys

import pytest
from anatomy import moved
from traitlets.utils.importstring import import_item

from autograder import ROOT
from autograder.grading.book.late import PerDay
from autograder.notebooks.release import NamedStub

# The flat modules of 0.2, except ``progress``, which is tested below.
OLD = """advice asking assets carry cases certificate certificate_page checks claims codec command compare contrast cost
    cotangents diagnosis doctor doctor_folders edits elsewhere files findings fingerprint forms formula frames gallery
    installation judging lab laws likeness loop naming newer places plots predictions printed probing progress_page
    quizzes records relations runner session setup spelling stopped store symbolic texts torch_settings toys
    translation units verdict workspace""".split()
EACH = """
import importlib, sys, anatomy
for name in sys.argv[1:]:
    module = importlib.import_module("anatomy." + name)
    assert getattr(anatomy, name) is module is sys.modules["anatomy." + name], name
from anatomy.progress import passed
from anatomy.progress.standing import passed as here
assert passed is here
from anatomy import runner, progress
from anatomy.program import runner as now
assert runner is now and now.__spec__.name == "anatomy.program.runner", now.__spec__
assert callable(progress), progress
"""


def run(*words, **more):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, **more)


def test_every_old_name_gives_the_module_that_there_is():
    done = run("-c", EACH, *OLD)
    assert done.returncode == 0, done.stderr
    assert {f"anatomy.{n}" for n in OLD} - set(moved.MOVED) == {f"anatomy.{n}" for n in of_the_top()}


def of_the_top():
    return {p.stem for p in (ROOT / "course" / "anatomy").glob("*.py")} - {"__init__", "__main__", "moved"}


def test_an_old_module_runs_as_a_program():
    done = run("-m", "anatomy.workspace", "--help")
    assert done.returncode == 0 and done.stdout.startswith("usage: python -m anatomy.app.workspace"), done.stderr


def test_a_file_that_an_older_release_left_behind_is_not_imported(tmp_path):
    """Unpacking a zip over a course folder removes no file."""
    subprocess.run(["cp", "-r", str(ROOT / "course" / "anatomy"), str(tmp_path)], check=True)
    (tmp_path / "anatomy" / "codec.py").write_text("raise RuntimeError('an old file')\n", encoding="utf-8")
    (tmp_path / "anatomy" / "progress.py").write_text("raise RuntimeError('an old file')\n", encoding="utf-8")
    code = "import anatomy.codec as a, anatomy.program.codec as b, anatomy.progress; assert a is b; print(b.__file__)"
    done = run("-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith(str(tmp_path)), done.stderr


def test_an_instructors_own_settings_may_name_what_moved():
    """nbgrader finds them by their dotted names."""
    named = """environment.find_alembic stamps.careful late.PerDay nbgrader_steps.SubmissionExporter
        nbgrader_steps.JudgedExecute nbgrader_steps.RecordVerdicts nbgrader_steps.FeedbackExporter
        nbgrader_steps.InertOutputs exchange.CarefulCollect exchange.CarefulList rubric.ShowRubric""".split()
    assert all(import_item(f"autograder.grading.{name}").__module__.startswith("autograder.") for name in named)
    assert import_item("autograder.build.release.NamedStub") is NamedStub
    assert import_item("autograder.grading.late.PerDay") is PerDay


@pytest.mark.parametrize("folder", ["solutions", "course"])
def test_notebooks_import_no_old_name(folder):
    """Notebooks belong to learners, so they must not use names that last for only one release."""
    for path in (ROOT / folder).glob("*/*.ipynb"):
        text = path.read_text(encoding="utf-8")
        named = set(re.findall(r"\banatomy\.\w+", text))
        named |= {
            f"anatomy.{n}" for line in re.findall(r"from anatomy import ([\w, ]+)", text) for n in line.split(", ")
        }
        assert not named & set(moved.MOVED), path.name

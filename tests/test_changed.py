"""``make test-changed``: which tests a change selects."""

import subprocess

import pytest

from autograder import ROOT, exercises

from . import changed
from .changed import Selection
from .imports import Imports

pytestmark = pytest.mark.xdist_group("changed")  # so that all imports are read once


@pytest.fixture(scope="module")
def chosen():
    """chosen(path) → Selection for a change of that file in this repository."""
    imports = Imports(ROOT)
    return lambda path: changed._of_one(path, imports)


@pytest.mark.parametrize(
    "path",
    [
        "solutions/04-ffn-and-gating.py",
        "solutions/04-ffn-and-gating/04-ffn-and-gating.ipynb",
        "course/04-ffn-and-gating/04-ffn-and-gating.ipynb",
        "assets/units/04-ffn-and-gating.json",
        "assets/recordings/04-ffn-and-gating.json",
        "assets/recordings/04-ffn-and-gating.safetensors",
        "autograder/exercises/u04_ffn_and_gating/new.py",
        "assets/experiments/unit_health.json",
        "autograder/recording/experiments/unit_health.py",
    ],
)
def test_a_units_files_ask_for_that_unit(path, chosen):
    assert chosen(path).units == {"04-ffn-and-gating"} and not chosen(path).everything


def test_exercises_that_another_unit_asks_again_ask_for_both(chosen):
    """Unit 11 uses cases of unit 04's exercises."""
    said = chosen("autograder/exercises/u04_ffn_and_gating/__init__.py")
    assert said.units == {"04-ffn-and-gating", "11-assembly"} and not said.everything
    assert chosen("autograder/exercises/u10_stability/__init__.py").units == {"10-stability"}


@pytest.mark.parametrize("path", ["tests/grading/test_reply.py", "tests/units/test_u04_ffn_and_gating.py"])
def test_a_test_file_asks_for_itself(path, chosen):
    assert path in chosen(path).files and not chosen(path).units and len(chosen(path).files) < 4


def test_helpers_of_tests_ask_for_those_that_use_them(chosen):
    assert "tests/grading" in chosen("tests/grading/conftest.py").files
    assert "tests/classes/test_collect.py" in chosen("tests/classes/downloads.py").files


def test_a_module_asks_for_those_that_import_it_at_any_distance(chosen):
    report = chosen("autograder/grading/pages/report.py")
    assert "tests/grading/test_make_grade.py" in report.files and "tests/sandbox" not in report.files
    assert not report.units and not any("reference" in f or "units" in f for f in report.files)
    rope = chosen("autograder/reference/rope.py")
    assert "06-rope" in rope.units and "02-normalization" not in rope.units
    assert {"tests/reference/test_rope.py", "tests/reference/test_cache_equivalence.py"} <= rope.files
    assert "tests/reference/test_norms.py" not in rope.files


def test_a_module_that_is_gone_asks_for_those_that_still_import_it(tmp_path):
    for folder in ("autograder", "tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tests" / "test_one.py").write_text("from autograder import gone")
    (tmp_path / "tests" / "test_two.py").write_text("from autograder import other")
    asked = changed.select(["autograder/gone.py"], tmp_path)["autograder/gone.py"]
    assert asked == Selection(files={"tests/test_one.py"})


def test_a_module_that_became_a_package_is_followed(tmp_path):
    (tmp_path / "autograder" / "part").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "autograder" / "part" / "__init__.py").write_text("from .inner import name")
    (tmp_path / "autograder" / "part" / "inner.py").write_text("name = 1")
    (tmp_path / "tests" / "test_one.py").write_text("from autograder.part import name")
    paths = ["autograder/part.py", "autograder/part/__init__.py", "autograder/part/inner.py"]
    found = changed.select([*paths, "docs/examples/x.py"], tmp_path)
    assert all(found[p].files == {"tests/test_one.py"} for p in paths[1:])


@pytest.mark.parametrize("path", ["rope/rope.js", "rope/__init__.py"])
def test_a_widgets_folder_asks_for_its_tests_and_the_units_that_show_it(path, chosen):
    asked = chosen(f"course/anatomy/widgets/{path}")
    assert "06-rope" in asked.units and "10-stability" not in asked.units
    assert any(f.startswith("tests/widgets") for f in asked.files)
    assert not any(f.startswith(("tests/grading", "tests/sandbox")) for f in asked.files), "a picture grades nobody"


def test_what_all_widgets_share_asks_for_all_of_them(chosen):
    asked = chosen("course/anatomy/widgets/tools/base.py")
    assert asked.units == set(exercises.units())


def test_what_every_notebook_uses_asks_for_every_unit(chosen):
    assert chosen("course/anatomy/notebook/checks.py").units == set(exercises.units())


def test_an_export_is_not_an_import_of_all_that_is_exported_besides(chosen):
    """Many files import ``anatomy``, whose __init__ imports the progress page, but few use that page."""
    assert "tests/reference/test_rope.py" not in chosen("course/anatomy/progress/page.py").files
    assert "tests/course/test_progress.py" in chosen("course/anatomy/progress/page.py").files


@pytest.mark.parametrize("path", ["pyproject.toml", "requirements.lock", "Makefile", "tests/conftest.py", ".ci/run"])
def test_some_files_change_everything(path, chosen):
    assert chosen(path).everything


def test_a_document_asks_for_the_tests_that_read_it(chosen):
    assert "tests/course/test_package.py" in chosen("README.md").files
    assert chosen("CONTRIBUTING.md").files and not chosen("CONTRIBUTING.md").units
    assert not chosen(f"no-such-folder/{'x' * 9}.md")


def test_each_unit_and_folder_once_on_the_command_line():
    some = Selection(units={"06-rope"}, files={"tests/reference/test_rope.py"})
    assert some.arguments() == ["--unit", "06-rope", "--whole", "tests/reference/test_rope.py"]
    assert Selection(files={"b", "a"}).arguments() == ["a", "b"]
    assert (some | Selection(everything=True)).arguments() == []
    assert not Selection() and str(Selection()) == "no test reads it"


@pytest.fixture
def repository(tmp_path):
    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init", "-q", "-b", "main")
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
        git("add", ".")
        git("commit", "-qm", name)
    return tmp_path, git


def test_without_a_base_what_differs_from_main_counts(repository):
    folder, git = repository
    (folder / "three").write_text("new, not yet known to git")
    (folder / "one").unlink()
    assert changed.changed(changed.default_base(folder), folder) == ["one", "three"]
    git("checkout", "-qb", "branch")
    git("add", ".")
    git("commit", "-qm", "three")
    assert changed.changed(changed.default_base(folder), folder) == ["one", "three"]


def test_where_nothing_differs_from_main_its_last_commit_counts(repository):
    folder, _ = repository
    assert changed.default_base(folder) == "HEAD~1"
    assert changed.changed("HEAD~1", folder) == ["two"]


def test_an_unknown_base_is_one_sentence(capsys):
    assert changed.main(["--base", "nowhere"]) == 2
    assert "Traceback" not in (said := capsys.readouterr().err) and "nowhere" in said

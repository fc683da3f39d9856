"""Proofs: a test that passed gets one, and a change of anything that it depends on makes it invalid."""

import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from autograder import ROOT

from . import proofs

UNIT = "02-normalization"
EXERCISE = "norm.axes"
NODE = "tests/exercises/test_by_heart.py::test_the_recorded_answers_earn_nothing_on_fresh_inputs"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the files that exercises depend on."""
    root = tmp_path_factory.mktemp("tree")
    for name in ("autograder", "course/anatomy", "tests", "solutions", "assets/recordings"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "*.ipynb"))
    for name in ("requirements.lock", "requirements-staff.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, root / name)
    return root


def digest(root):
    proofs.forget()
    return proofs.of_exercise(UNIT, root)


@pytest.fixture(scope="module")
def unchanged(tree):
    """The digest of the unchanged tree, computed once, since it takes seconds."""
    return digest(tree)


def with_a_line_more(root, path):
    """The digest of the tree with a line added to this file; restores the file."""
    content = (root / path).read_bytes()
    (root / path).write_bytes(content + b"\n")
    try:
        return digest(root)
    finally:
        (root / path).write_bytes(content)


@pytest.mark.parametrize(
    "path",
    [
        "course/anatomy/judge/judging.py",
        "course/anatomy/judge/fingerprint_match.py",
        "course/anatomy/program/runner.py",
        "autograder/judge/asked.py",
        "autograder/judge/trusted.py",
        "autograder/reference/norms.py",
        "autograder/exercises/u02_normalization/layer_norm.py",
        "autograder/mutation/operators.py",
        "assets/recordings/02-normalization.safetensors",
        "solutions/02-normalization.py",
        "requirements.lock",
        "requirements-staff.lock",
        "pyproject.toml",
        "tests/conftest.py",
        "tests/exercises/test_matrix.py",
        "tests/exercises/conftest.py",
        "tests/grading/conftest.py",
    ],
)
def test_a_change_of_what_an_exercise_hangs_on_undoes_its_proof(tree, unchanged, path):
    assert with_a_line_more(tree, path) != unchanged


@pytest.mark.parametrize(
    "path",
    [
        "autograder/site/__main__.py",
        "autograder/exercises/u06_rope/rotate_half.py",
        "solutions/06-rope.py",
        "course/anatomy/widgets/rope/__init__.py",
        "tests/docs/test_pages.py",
    ],
)
def test_a_change_elsewhere_leaves_it(tree, unchanged, path):
    assert with_a_line_more(tree, path) == unchanged


def test_a_file_that_is_new_or_gone_undoes_it_too(tree, unchanged):
    new = tree / "tests/exercises/test_more.py"
    new.write_text("def test_more(exercise):\n    assert exercise.id\n")
    assert digest(tree) != unchanged
    new.unlink()
    assert digest(tree) == unchanged


def test_a_folder_is_hashed_with_all_its_files(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c.js").write_text("1")
    seen = [proofs.of_paths(("a",), tmp_path)]
    for change in (lambda: (tmp_path / "a/b/c.js").write_text("2"), lambda: (tmp_path / "a/d.css").write_text("")):
        change()
        proofs.forget()
        seen.append(proofs.of_paths(("a",), tmp_path))
    assert len(set(seen)) == 3


def test_what_is_started_as_a_person_starts_it_hangs_on_all_but_the_site():
    inside = {p.name for p in (ROOT / "autograder").iterdir() if p.is_dir() and p.name != "__pycache__"} - {"site"}
    assert {f"autograder/{name}" for name in inside} <= set(proofs.PRODUCT)
    assert all((ROOT / path).exists() for path in proofs.PRODUCT)
    assert all((ROOT / place).exists() for place in proofs.READS)


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    """A ledger with two proofs, in a run that begins now."""
    monkeypatch.setattr(proofs, "changed_since", lambda moment: [])
    path = tmp_path / "proved.txt"
    path.write_text("old\nother")
    usual = SimpleNamespace(getoption=lambda name: None, args_source=pytest.Config.ArgsSource.TESTPATHS)
    return proofs.Ledger(usual, path)


def report(key, **outcomes):
    for when, outcome in ({"setup": "passed", "call": "passed", "teardown": "passed"} | outcomes).items():
        if outcome:
            yield SimpleNamespace(when=when, outcome=outcome, user_properties=[("proof", key), ("else", 1)])


def kept(ledger, *reports):
    for one in reports:
        ledger.pytest_runtest_logreport(one)
    ledger.pytest_sessionfinish()
    return ledger.path.read_text().split()


def test_what_passed_is_kept(ledger):
    assert ledger.leaves_out == {"old", "other"}
    assert kept(ledger, *report("new"), *report("old")) == ["other", "new", "old"]


@pytest.mark.parametrize(
    "outcomes",
    [
        {"call": "failed"},
        {"setup": "failed", "call": None},
        {"teardown": "failed"},
        {"call": "skipped"},
        {"setup": "skipped", "call": None},
        {"call": None, "teardown": None},  # a worker died, or the run was interrupted
        {"teardown": None},
    ],
    ids=str,
)
def test_what_failed_or_did_not_end_has_no_proof(ledger, outcomes):
    assert kept(ledger, *report("new", **outcomes)) == ["old", "other"]


def test_a_test_that_failed_once_in_a_run_has_no_proof(ledger):
    assert kept(ledger, *report("new"), *report("new", call="failed")) == ["old", "other"]


def test_nothing_is_proved_of_files_that_change_meanwhile(ledger, monkeypatch):
    monkeypatch.setattr(proofs, "changed_since", lambda moment: [ROOT / "pyproject.toml"])
    assert kept(ledger, *report("new")) == ["old", "other"]


def test_a_file_that_is_written_is_seen(tmp_path):
    (tmp_path / "autograder").mkdir()
    (tmp_path / "autograder/judge.py").write_text("")
    moment = (tmp_path / "autograder/judge.py").stat().st_mtime
    assert not proofs.changed_since(moment, tmp_path)
    os.utime(tmp_path / "autograder/judge.py", (moment + 1, moment + 1))
    assert proofs.changed_since(moment, tmp_path) == [tmp_path / "autograder/judge.py"]


@pytest.mark.parametrize("asked", ["all", "unit", "exercise", "keyword"])
def test_who_asks_for_tests_gets_them(asked):
    config = SimpleNamespace(getoption=lambda name: name == asked, args_source=pytest.Config.ArgsSource.TESTPATHS)
    assert not proofs.is_usual(config)
    named = SimpleNamespace(getoption=lambda name: None, args_source=pytest.Config.ArgsSource.ARGS)
    assert not proofs.is_usual(named)


def test_a_proof_is_kept_by_a_real_run_and_used_by_the_next(tmp_path):
    """One test runs, is skipped in a usual run, and runs again with --all."""
    kept = tmp_path / "transformer-anatomy/proved.txt"
    assert "1 passed" in run(tmp_path, f"{NODE}[{EXERCISE}]")
    (key,) = kept.read_text().split()
    usual = run(tmp_path, "--collect-only", "-o", "testpaths=tests/exercises")
    assert f"{NODE}[{EXERCISE}]" not in usual and f"{NODE}[norm.layer_norm]" in usual and "1 deselected" in usual
    assert f"{NODE}[{EXERCISE}]" in run(tmp_path, "--collect-only", "--all", "-o", "testpaths=tests/exercises")
    assert kept.read_text().split() == [key]


def run(cache, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"XDG_CACHE_HOME": str(cache)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout

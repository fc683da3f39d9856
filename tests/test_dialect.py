"""One style: annotations on public interfaces, and the same checks by hand, before a commit and in CI."""

import ast
import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from autograder import ROOT

from .linter import found_in

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
UNANNOTATED = """
def f(x, *, y=1):
    return x


class A:
    def f(self, x: int):
        return x

    @staticmethod
    def g(x: int):
        return x

    @classmethod
    def h(cls, x: int):
        return x


class _A:
    def f(self):
        pass


def _g(x):
    def inner(x):
        pass
"""


@pytest.mark.parametrize(
    "path",
    ["course/anatomy/x.py", "course/anatomy/widgets/tools/x.py", "benchmarks/x.py", "autograder/grading/__main__.py"]
    + ["autograder/authoring/x.py", "autograder/build/x.py", "autograder/classes/x.py", "autograder/judge/x.py"]
    + ["autograder/mutation/x.py", "autograder/recording/widgets/x.py", "autograder/reference/models/x.py"]
    + ["autograder/sandbox/x.py", "autograder/exercises/__init__.py", "autograder/exercises/u06_rope/shared_x.py"],
)
def test_the_linter_wants_to_know_what_public_functions_return(path):
    assert found_in(UNANNOTATED, path) == {(2, "ANN201"), (7, "ANN201"), (11, "ANN205"), (15, "ANN206")}


@pytest.mark.parametrize("path", ["autograder/exercises/u06_rope/rope.py", "tests/test_x.py"])
def test_answers_and_tests_need_no_annotations(path):
    assert not found_in(UNANNOTATED, path)


def test_what_says_its_result_says_its_arguments_too(tmp_path):
    """mypy finds what the linter doesn't: an argument without an annotation."""
    whole = {"autograder", "course/anatomy", "benchmarks"}
    assert SETTINGS["mypy"]["disallow_incomplete_defs"] is True and set(SETTINGS["mypy"]["files"]) == whole
    text = "def f(x, *, y=1) -> int:\n    return 1\n\n\nclass A:\n    def f(self, x) -> int:\n        return 1\n"
    (tmp_path / "x.py").write_text(text, encoding="utf-8")
    line = [ROOT / ".venv" / "bin" / "mypy", "--output", "json", "--cache-dir", tmp_path / "cache", tmp_path / "x.py"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
    said = [json.loads(one) for one in done.stdout.splitlines() if one.startswith("{")]
    assert [(e["line"], e["code"]) for e in said] == [(1, "no-untyped-def"), (6, "no-untyped-def")], done.stdout


# Neither mypy nor the linter requires annotated arguments of ``__init__``. All other functions are left to mypy.


def bare(source):
    """One line for each ``__init__`` of a public class that lacks an annotation."""
    found = []
    for node in public_classes(ast.parse(source)):
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                a = method.args
                listed = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))][1:]
                missing = [x.arg for x in listed if x.annotation is None]
                found += [f"{method.lineno}: {node.name} ({', '.join(missing)})"] * bool(missing)
    return found


def public_classes(tree):
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node
            yield from public_classes(node)


def test_public_classes_are_annotated():
    files = [p for folder in ("autograder", "course/anatomy", "benchmarks") for p in (ROOT / folder).rglob("*.py")]
    answers = {p for p in (ROOT / "autograder" / "exercises").glob("u*/*.py") if not p.name.startswith("shared")}
    found = {str(p.relative_to(ROOT)): bare(p.read_text(encoding="utf-8")) for p in files if p not in answers}
    assert len(found) > 300 and not {path: lines for path, lines in found.items() if lines}


def test_a_missing_annotation_is_found():
    assert bare("class A:\n def __init__(self, x): pass") == ["2: A (x)"]
    assert bare("class A:\n class B:\n  def __init__(self, x: int, *, y=1): pass") == ["3: B (y)"]
    assert bare("class _A:\n def __init__(self, x): pass\nclass B:\n def __init__(self): pass") == []


def targets():
    text = (ROOT / "autograder" / "staff.mk").read_text()
    return dict(re.findall(r"^([a-z-]+):[^\n]*\n((?:\t[^\n]*\n)*)", text, re.M))


def test_lint_is_part_of_the_test_run_and_checks_style_layout_and_types():
    lint = targets()["lint"]
    assert all(tool in lint for tool in ("ruff check", "ruff format --quiet --check", "mypy"))
    assert re.search(r"^test: lint\b", (ROOT / "autograder" / "staff.mk").read_text(), re.M)


def test_before_a_commit_the_same_tools_run_as_in_lint():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [r["repo"] for r in hooks] == ["local"], "hooks of another place have versions of their own"
    entries = " ".join(h["entry"] for h in hooks[0]["hooks"])
    assert all(f".venv/bin/{tool}" in entries for tool in ("ruff check", "ruff format", "mypy"))
    assert "autograder.build --check" in entries


def test_public_hosts_run_what_every_other_machine_runs():
    for name, command in (("test", ".ci/run"), ("all", ".ci/run --all")):
        workflow = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text())
        job = workflow["jobs"]["test"]
        assert [s["run"] for s in job["steps"] if "run" in s][-1] == command
        assert "bookworm" in job["container"]["image"] and "3.11" in job["container"]["image"]


def test_the_formatter_leaves_out_the_units_sources_only():
    settings = SETTINGS["ruff"]
    texts = ["solutions/*.py", "docs/examples/*/solutions/*.py", "docs/examples/*/text.py"]  # units' sources, examples
    assert settings["format"]["exclude"] == texts and settings["extend-exclude"] == ["*.ipynb"]
    less = {where: rules for where, rules in settings["lint"]["per-file-ignores"].items() if not where.startswith("!")}
    assert less.pop("autograder/judge/proxies.py") == ["ANN205"]
    assert list(less) == ["solutions/*.py", "docs/examples/*/{solutions/*,text}.py"]
    assert {r for w, rules in settings["lint"]["per-file-ignores"].items() if w.startswith("!") for r in rules} == {
        *("ANN", "PLW1514", "TID251")  # all other rules apply everywhere
    }


def test_no_file_grows_beyond_reading():
    """At most about 400 lines, except for a unit's source, which is one continuous text."""
    long = {
        str(p.relative_to(ROOT)): n
        for folder in ("course/anatomy", "autograder", "tests", "benchmarks")
        for p in (ROOT / folder).rglob("*")
        if p.suffix in (".py", ".js", ".css") and (n := len(Path(p).read_text(encoding="utf-8").splitlines())) > 420
    }
    assert not long, f"split these: {long}"

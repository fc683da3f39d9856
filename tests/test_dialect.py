"""One dialect: annotations where strangers look, and the same checks by hand, before a commit and in CI."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from autograder import ROOT

ANNOTATED = (
    *("course/anatomy", "autograder/authoring", "autograder/build", "autograder/classes", "autograder/grading"),
    *("autograder/judge", "autograder/mutation", "autograder/recording", "autograder/reference"),
    *("autograder/sandbox", "benchmarks"),
)
# Answers stand in specs as learners write them, without annotations; what builds their cases is annotated.
SPECS = ROOT / "autograder" / "exercises"
BUILDERS = [*SPECS.glob("*.py"), *SPECS.glob("u*/shared*.py")]
FILES = [p for folder in ANNOTATED for p in sorted((ROOT / folder).rglob("*.py"))] + BUILDERS


def public_functions(tree):
    """(name, node) of functions in a module and methods in its classes whose names, and whose classes', are public."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield node.name, node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for name, method in public_functions(node):
                yield f"{node.name}.{name}", method
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                    yield f"{node.name}.__init__", method


def bare(function, is_method):
    """What of a function has no annotation: names of arguments, and "return"."""
    a = function.args
    listed = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list)
    missing = [x.arg for x in listed[is_method and not static :] if x.annotation is None]
    return missing + ["return"] * (function.returns is None and function.name != "__init__")


def unannotated(source):
    """One line for each public function of a module that lacks an annotation."""
    found = []
    for name, function in public_functions(ast.parse(source)):
        missing = bare(function, "." in name)
        if missing:
            found.append(f"{function.lineno}: {name} ({', '.join(missing)})")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_public_functions_are_annotated(path):
    found = unannotated(path.read_text(encoding="utf-8"))
    assert not found, f"{path.relative_to(ROOT)}: annotate " + "; ".join(found)


def test_a_missing_annotation_is_found():
    assert unannotated("def f(x, *, y=1): return x") == ["1: f (x, y, return)"]
    assert unannotated("class A:\n def f(self, x: int): return x") == ["2: A.f (return)"]
    assert unannotated("class A:\n def __init__(self, x): pass") == ["2: A.__init__ (x)"]
    assert unannotated("class _A:\n def f(self): pass\ndef _g(x): pass\ndef h() -> None:\n def inner(x): pass") == []


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
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]
    texts = ["solutions/*.py", "docs/examples/*/solutions/*.py", "docs/examples/*/text.py"]  # the units', and examples
    assert settings["format"]["exclude"] == texts and settings["extend-exclude"] == ["*.ipynb"]
    assert list(settings["lint"]["per-file-ignores"]) == ["solutions/*.py", "docs/examples/*/{solutions/*,text}.py"]


def test_no_file_grows_beyond_reading():
    """About 400 lines; a unit's source is one text from top to bottom, so it may be long."""
    long = {
        str(p.relative_to(ROOT)): n
        for folder in ("course/anatomy", "autograder", "tests", "benchmarks")
        for p in (ROOT / folder).rglob("*")
        if p.suffix in (".py", ".js", ".css") and (n := len(Path(p).read_text(encoding="utf-8").splitlines())) > 420
    }
    assert not long, f"split these: {long}"

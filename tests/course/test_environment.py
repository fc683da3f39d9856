"""Both ways to install give the same set of packages, and the files that list it agree."""

import ast
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib

import pytest

from autograder import ROOT


def pins(name):
    lines = [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9.-]+==[A-Za-z0-9.]+", line) for line in lines), "every line is an exact pin"
    return dict(line.split("==") for line in lines)


def test_environment_yml_installs_the_locked_set():
    text = (ROOT / "environment.yml").read_text()
    items = re.findall(r"^ {6}- (.+)$", text, re.M)
    assert items == ["-r requirements.lock", "-e course"], "conda users must get exactly what make lab installs"
    makefile = (ROOT / "Makefile").read_text()
    assert "install --quiet --no-compile -r requirements.lock" in makefile and "EDITABLE = -e course" in makefile
    wanted = re.search(r"- python=(\S+)", text)[1]
    assert f"Python {wanted}" in (ROOT / "requirements.lock").read_text()


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-staff.lock"])
def test_what_runs_here_is_what_is_locked(name):
    wrong = {}
    for package, version in pins(name).items():
        have = importlib.metadata.version(package).split("+")[0]
        if have != version:
            wrong[package] = (have, version)
    assert not wrong, f"installed against locked: {wrong}"


def test_locks_do_not_overlap_and_torch_is_pinned():
    learner, staff = pins("requirements.lock"), pins("requirements-staff.lock")
    assert not set(learner) & set(staff)
    assert "torch" in learner and not any(p.startswith(("nvidia", "triton")) for p in {*learner, *staff})


def test_instructors_tools_are_the_staffs_alone():
    learner, staff = pins("requirements.lock"), pins("requirements-staff.lock")
    assert {"nbgrader", "jupytext", "notebook"} <= set(staff)
    assert {"jupyterlab", "ipywidgets", "anywidget", "filelock", "safetensors", "sympy"} <= set(learner)


def test_what_the_learners_package_imports_is_in_the_learners_lock():
    """The learner's package imports nothing that only the staff's tools install."""
    learner, found = pins("requirements.lock"), set()
    for path in sorted((ROOT / "course" / "anatomy").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [a.name for a in node.names]
                if isinstance(node, ast.Import)
                else [node.module]
                if isinstance(node, ast.ImportFrom) and not node.level
                else []
            )
            found |= {n.split(".")[0] for n in names}
    distributions = importlib.metadata.packages_distributions()
    needed = {
        re.sub(r"[-_.]+", "-", d).lower()
        for n in found - set(sys.stdlib_module_names) - {"anatomy", "google"}  # google: only on Colab
        for d in distributions.get(n, [n])
    }
    needed -= set(extras())
    assert {"torch", "filelock", "numpy"} <= needed <= set(learner), needed - set(learner)


def extras():
    """dict name → version of the package's optional dependencies."""
    project = tomllib.loads((ROOT / "course" / "pyproject.toml").read_text())["project"]
    return dict(pin.split("==") for pins in project["optional-dependencies"].values() for pin in pins)


def test_extras_have_the_version_that_tests_run():
    staff = pins("requirements-staff.lock")
    assert extras() == {name: staff[name] for name in extras()} and "transformers" in extras()


def test_extras_are_imported_when_they_are_asked_for():
    """Importing the package works without them."""
    for path in sorted((ROOT / "course" / "anatomy").rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert not re.search("|".join(extras()), ast.unparse(node)), path


def test_every_make_target_is_explained():
    for name in ("Makefile", "autograder/staff.mk"):
        for line in (ROOT / name).read_text().splitlines():
            if re.match(r"^[a-z-]+:(?!=)", line):
                assert "## " in line, f"{name}: {line}"


def made_by(*given):
    """The commands that make would run, whatever is built already."""
    set_here = ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "ARGS", "LANGUAGE")
    clean = {k: v for k, v in os.environ.items() if k not in set_here}
    done = subprocess.run(["make", "-n", *given], cwd=ROOT, capture_output=True, text=True, env=clean)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_notebooks_of_another_language_are_built_before_they_are_opened():
    built, opened = "autograder.languages.notebooks", "-m anatomy lab"
    other = made_by("lab", "LANGUAGE=zh_CN")
    assert f'{built} "zh_CN"' in other and other.index(built) < other.index(f'{opened} --language "zh_CN"')
    for given in ((), ("LANGUAGE=en",)):
        assert built not in made_by("lab", *given) and opened in made_by("lab", *given)


@pytest.mark.parametrize(
    "given, expected",
    [
        ("SUBMITTED=dir UNIT=06-rope STUDENT=ada", '"dir" --unit "06-rope" --student "ada"'),
        ("SUBMITTED=dir", '"dir"'),
        ("SUBMITTED=dir SCHEDULER=tcp://a:8786", '"dir" --scheduler tcp://a:8786'),
        ("SUBMITTED=dir ARGS=--force", '"dir"  --force'),
    ],
)
def test_make_grade_hands_on_what_it_is_given(given, expected):
    shown = made_by("grade", *given.split())
    assert re.search(rf"-m autograder\.grading {re.escape(expected)} *$", shown, re.M), shown

"""What the course installs on a hosted machine: all that it imports, nothing that is already there, and never torch."""

import ast
import importlib.metadata
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from anatomy.system import hosted

from autograder import ROOT
from autograder.build.lock import LEARNER, closure
from autograder.notebooks.first_cell import PACKAGES

THEIRS = ("torch", "ipykernel", "ipywidgets", "matplotlib")  # on Colab and Kaggle, with their dependencies
# An extra of course/pyproject.toml, and what only the commands of a terminal at home import.
OPTIONAL = {"transformers", "jupyterlab_server", "fsrs", "jupyter_server"}


def named(package):
    return re.sub(r"[-_.]+", "-", package).lower()


def test_what_the_package_imports_is_brought_or_theirs():
    found = set()
    for path in (ROOT / "course" / "anatomy").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {a.name.split(".")[0] for a in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add((node.module or "").split(".")[0])
    found -= {*sys.stdlib_module_names, "anatomy", "google", *OPTIONAL}
    assert {"torch", "safetensors", "anywidget"} < found
    known = importlib.metadata.packages_distributions()
    theirs = {module for module in found if {named(d) for d in known.get(module, [])} & set(closure(THEIRS))}
    assert found - theirs <= set(hosted.NEEDED), "elsewhere.NEEDED leaves these out"
    assert "torch" not in hosted.NEEDED and "torch" not in PACKAGES


def test_what_those_need_in_turn_stands_there_too():
    """pip runs with --no-deps, so it installs nothing else."""
    brought = {named(p) for p in hosted.NEEDED.values()}
    roots = brought - {named(t) for t in THEIRS} - {"huggingface-hub"}  # only for models that a learner downloads
    assert set(closure(sorted(roots - {"tokenizers"}))) <= brought | set(closure(THEIRS))
    assert {named(p) for p in hosted.NEEDED.values()} <= set(closure(LEARNER)), "not in requirements.lock"


def test_the_first_cell_brings_what_importing_the_package_needs():
    code = "import sys, torch; theirs = set(sys.modules); from anatomy import check; print(*set(sys.modules) - theirs)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    known = importlib.metadata.packages_distributions()
    loaded = {named(d) for module in shown for d in known.get(module.split(".")[0], [])}
    rest = loaded - set(closure(THEIRS)) - set(PACKAGES.split())
    assert "filelock" in loaded
    assert not {r for r in rest if r in closure(LEARNER)}, "these are needed before anatomy.system.hosted can look"


@pytest.fixture
def machine(monkeypatch):
    """A Kaggle session; records pip's arguments, and lets it succeed or fail."""
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Interactive")
    asked = SimpleNamespace(lines=[], status=0)

    def run(line, **more):
        asked.lines.append(line)
        return SimpleNamespace(returncode=asked.status)

    monkeypatch.setattr(hosted.subprocess, "run", run)
    return asked


def test_only_what_is_missing_is_asked_for_and_without_dependencies(machine, monkeypatch):
    hosted._bring_what_is_missing()
    assert not machine.lines, "all is here"
    monkeypatch.setattr(hosted, "NEEDED", {"numpy": "numpy", "no_such_module": "no-such-package"})
    hosted._bring_what_is_missing()
    ((*_, package),) = machine.lines
    assert package == "no-such-package" and {"--no-deps", "install"} < set(machine.lines[0])
    assert not {"torch", "numpy"} & set(machine.lines[0])


def test_what_cannot_be_had_is_one_sentence(machine, monkeypatch):
    machine.status = 1
    monkeypatch.setattr(hosted, "NEEDED", {"no_such_module": "no-such-package"})
    with pytest.raises(hosted.CannotRun, match="no-such-package could not be installed. Switch the network on"):
        hosted._bring_what_is_missing()
    monkeypatch.setattr(hosted.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(hosted.CannotRun, match="PyTorch is missing"):
        hosted._bring_what_is_missing()

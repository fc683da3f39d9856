"""A class that is graded once per test run: with ``make grade`` as its own process, and with stock nbgrader.

Tests that only read use this one folder; tests that change something take a copy.
"""

import json
import os
import shutil
import subprocess

import filelock

from autograder import ROOT

from . import stock
from .cheats.base import ATTENTION, START
from .classroom import ANSWERS, called, course, notebook, started, submit

UNITS = (START, ATTENTION)
STAMP = "2030-01-01 12:00:00 UTC"
SCRIPT = "def weighted_average(values, weights):\n    raise ValueError('<script>x</script>')\n"


class Term:
    """A graded class.

    made, nbgraders: folders of the class graded by ``make grade``, and of a smaller one graded by nbgrader. done: the
    finished ``make grade``. said: the logs of nbgrader's commands, in order.
    """

    def __init__(self, folder):
        self.folder, self.made, self.nbgraders = folder, folder / "made", folder / "nbgraders"
        self._kept = folder / "said.json"

    def begin(self):
        """Grades the class, unless another worker already has."""
        if not self._kept.exists():
            for root in (self.made, self.nbgraders):  # left by a run that was killed
                shutil.rmtree(root, ignore_errors=True)
            done, said = _with_make(self.made), _with_nbgrader(self.nbgraders)
            unfinished = self._kept.with_suffix(".new")
            unfinished.write_text(json.dumps([[done.returncode, done.stdout, done.stderr], said]))
            unfinished.rename(self._kept)
        finished, self.said = json.loads(self._kept.read_text())
        self.done = subprocess.CompletedProcess("make grade", *finished)
        return self


def once(tmp_path_factory):
    """The term of this run; the first worker that needs it grades it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with filelock.FileLock(folder / "term.lock"):
        return Term(folder / "term").begin()


def copy(root, to):
    """A copy of a graded class, for tests that change it."""
    return shutil.copytree(root, to / root.name, symlinks=True)


def solved(unit):
    return (ROOT / "solutions" / unit / f"{unit}.ipynb").read_bytes()


def _with_make(root):
    """Honest, wrong, broken and hostile submissions, and files that are not submissions."""
    course(root)
    for name, source in ANSWERS.items():
        submit(root, name, notebook(source, tries={"right": 4, "mutant": 8}.get(name)))
    submit(root, "two-units", notebook(ANSWERS["right"]))
    submit(root, "two-units", solved(ATTENTION), unit=ATTENTION)
    submit(root, "late", notebook(ANSWERS["right"]), timestamp=STAMP)
    submit(root, "no-json", b"PK\x03\x04 a zip file")
    submit(root, "renamed", notebook(ANSWERS["right"]), name="00-start-here (1).ipynb")
    submit(root, "unknown-unit", notebook(), unit="99-nothing")
    submit(root, "=cmd", notebook(ANSWERS["right"]))
    entries = root / "submitted"
    (entries / "loose").mkdir()
    (entries / "loose" / f"{START}.ipynb").write_bytes(notebook())
    (entries / "linked" / START).mkdir(parents=True)
    (entries / "linked" / START / f"{START}.ipynb").symlink_to(entries / "right" / START / f"{START}.ipynb")
    (entries / ".DS_Store").write_bytes(b"x")
    return started(root, "--workers", "2")


def _with_nbgrader(root):
    """Runs generate_assignment, autograde, generate_feedback and export, each once."""
    course(root)
    for unit in UNITS:
        shutil.copytree(ROOT / "solutions" / unit, root / "solutions" / unit)
        shutil.copy(ROOT / "solutions" / f"{unit}.py", root / "solutions")
    for name in ("right", "mutant", "hostile"):
        submit(root, name, notebook(ANSWERS[name]), timestamp=STAMP)
    submit(root, "no-json", b"this is not a notebook")
    submit(root, "script", notebook(SCRIPT))
    submit(root, "right", solved(ATTENTION), unit=ATTENTION)
    steps = [[step, unit] for step in ("generate_assignment", "autograde", "generate_feedback") for unit in UNITS]
    return [nbgrader(root, *step).stderr for step in [*steps, ["export"]]]


def nbgrader(root, *arguments):
    """Runs an nbgrader command in this process; it must succeed."""
    done = called(root, stock.run, *arguments)
    assert done.returncode == 0, done.stderr
    return done

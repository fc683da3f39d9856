"""One class, graded once in a run of the tests: with ``make grade`` as a machine starts it, and with stock nbgrader.

Whoever reads it reads the one folder; whoever changes something takes a copy.
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
    """made, nbgraders: folders of the class that ``make grade`` graded, and of a smaller one that nbgrader did. done:
    the finished ``make grade``. said: what nbgrader's commands logged, in their order."""

    def __init__(self, folder):
        self.folder, self.made, self.nbgraders = folder, folder / "made", folder / "nbgraders"
        self._kept = folder / "said.json"

    def begin(self):
        """Grades the class, if nobody has."""
        if not self._kept.exists():
            for root in (self.made, self.nbgraders):  # left by one who was ended
                shutil.rmtree(root, ignore_errors=True)
            done, said = _with_make(self.made), _with_nbgrader(self.nbgraders)
            unfinished = self._kept.with_suffix(".new")
            unfinished.write_text(json.dumps([[done.returncode, done.stdout, done.stderr], said]))
            unfinished.rename(self._kept)
        finished, self.said = json.loads(self._kept.read_text())
        self.done = subprocess.CompletedProcess("make grade", *finished)
        return self


def once(tmp_path_factory):
    """The term of this run, whichever worker is the first to need it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with filelock.FileLock(folder / "term.lock"):
        return Term(folder / "term").begin()


def copy(root, to):
    """A copy of a graded class, to be changed."""
    return shutil.copytree(root, to / root.name, symlinks=True)


def solved(unit):
    return (ROOT / "solutions" / unit / f"{unit}.ipynb").read_bytes()


def _with_make(root):
    """Honest, wrong, broken and hostile submissions, and files that are none."""
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
    """generate_assignment, autograde, generate_feedback and export, each once."""
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
    """A command of nbgrader's, in this process; it ends well."""
    done = called(root, stock.run, *arguments)
    assert done.returncode == 0, done.stderr
    return done

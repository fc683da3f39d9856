"""Reads the calls of answers in a solved notebook; the answers that try this (``answers/*.txt``)."""

import functools
from pathlib import Path

import nbformat

from autograder import ROOT, exercises
from autograder.grading.base.masters import MARK
from autograder.grading.intake.rebuild import rebuild
from autograder.grading.source.calls import read_calls
from autograder.messages import read_answers

ANSWERS = Path(__file__).parent / "answers"
# Each lets a library compute what the exercise asks students to write by hand, or rebinds names.
EVASIONS = read_answers(ANSWERS / "evasions.txt")
# Right answers in as many styles as students write them.
RIGHT = read_answers(ANSWERS / "right.txt")
# Cells in which students try things out next to their answers.
PLAYING = read_answers(ANSWERS / "playing.txt")
BANNED = {e.id: e for e in exercises.all_exercises() if e.forbidden}


def read(exercise, answer, *own):
    """Calls of the solved notebook of the exercise's unit, with another answer and with cells of the student's own."""
    cells = [
        (name, mark, answer if mark.get("exercise") == exercise else source)
        for name, mark, source in solved(BANNED[exercise].unit)
    ]
    return read_calls(notebook_with(cells, own))


@functools.cache
def solved(unit):
    """(id, mark, source) of the cells of a solved notebook that run."""
    book = rebuild((ROOT / "solutions" / unit / f"{unit}.ipynb").read_bytes(), unit).notebook
    marked = [(c.id, dict(c.metadata[MARK]), c.source) for c in book.cells if c.cell_type == "code"]
    return [(name, mark, source) for name, mark, source in marked if mark["role"] in ("setup", "answer")]


def notebook_with(cells, own=()):
    """A notebook of cells (id, mark, source), and of the student's own."""
    cells = [*cells, *((f"extra-{i}", {"role": "extra"}, source) for i, source in enumerate(own))]
    plain = [
        {"cell_type": "code", "id": name, "metadata": {MARK: mark}, "source": source} for name, mark, source in cells
    ]
    return nbformat.from_dict({"cells": plain})


def findings(exercise, answer, *own):
    """What the source of an answer gives away: calls that the exercise forbids."""
    spec = BANNED[exercise]
    return read(exercise, answer, *own).findings(spec.targets, spec.forbidden)

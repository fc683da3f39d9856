"""A course of a few cells, for tests of what happens to learners' notebooks."""

import copy
import json
import shutil

from anatomy.app import carry_over
from anatomy.app.build_stamp import parse, sign, text_of, to_bytes

UNIT = "00-start-here"


def cell(name, source, kind="code", **about):
    made = {"cell_type": kind, "id": name, "metadata": about, "source": source}
    return made | {"outputs": [], "execution_count": None} if kind == "code" else made


def answer(n, source=None):
    made = cell(
        f"solve-x-{n}",
        source or f"def f{n}():\n    raise NotImplementedError('x.{n}')",
        nbgrader={"grade_id": f"solve-x-{n}", "grade": False, "solution": True, "locked": False},
    )
    made["metadata"]["nbgrader"]["checksum"] = carry_over.checksum(made)
    return made


def check(n):
    made = cell(
        f"check-x-{n}",
        f'check("x.{n}", f{n})',
        deletable=False,
        editable=False,
        nbgrader={"grade_id": f"check-x-{n}", "grade": True, "solution": False, "locked": True, "points": 1},
    )
    made["metadata"]["nbgrader"]["checksum"] = carry_over.checksum(made)
    return made


def written(stub="Write here.", source=None):
    made = cell(
        "written-x",
        stub,
        "markdown",
        nbgrader={"grade_id": "written-x", "grade": True, "solution": True, "locked": False, "points": 0},
    )
    made["metadata"]["nbgrader"]["checksum"] = carry_over.checksum(made)
    return made if source is None else made | {"source": source}


def exercise(n, say="Write it."):
    return [cell(f"say-x-{n}", say, "markdown"), answer(n), check(n)]


def text(word):
    return cell(f"c-{word}", f"text {word}", "markdown")


def demo(word):
    return cell(f"c-{word}", f"demo('{word}')")


def book(*cells, unit=UNIT, **about):
    made = {"nbformat": 4, "nbformat_minor": 5, "metadata": about, "cells": [copy.deepcopy(c) for c in cells]}
    return sign(made, unit)


def sources(made, kind=None):
    return [text_of(c) for c in made["cells"] if kind in (None, c["cell_type"])]


def edit(made, name, source):
    next(c for c in made["cells"] if c.get("id") == name)["source"] = source


FIRST = book(text("intro"), *exercise(1), demo("a"), *exercise(2))
SECOND = book(text("intro2"), *exercise(1, "Write it anew."), *exercise(3), demo("a"))
OTHER = "01-more"
ANSWER, OWN, GONE = "def f1():\n    return 'answered'", "my own cell", "def f2():\n    return 'answered too'"


def other(made):
    """The second unit's notebook, with the same cells."""
    return book(*made["cells"], unit=OTHER)


def course(root, made=FIRST):
    """Writes a course folder with two units; returns it."""
    for unit, content in ((UNIT, made), (OTHER, other(made))):
        path = root / "course" / unit / f"{unit}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(to_bytes(content))
    (root / "course" / "anatomy").mkdir(exist_ok=True)
    (root / "course" / "anatomy" / "__init__.py").write_text(f"# {len(made['cells'])} cells\n")
    (root / "course" / "README.md").write_text("read me\n")
    (root / "Makefile").write_text(f"# {len(made['cells'])} cells\n")
    return root


def write_answers(path):
    """Adds an answer, a learner's own cell, and an answer to an exercise that the next release drops."""
    made = parse(path.read_bytes())
    edit(made, "solve-x-1", ANSWER)
    edit(made, "solve-x-2", GONE)
    at = next(i for i, c in enumerate(made["cells"]) if c["id"] == "check-x-1")
    made["cells"].insert(at + 1, cell("mine", OWN))
    path.write_text(json.dumps(made))
    return path


def zipped(root, folder):
    """Zips the course under ``root`` as a student package; returns the zip's path."""
    name = shutil.make_archive(str(folder / "package"), "zip", root.parent, root.name)
    return folder / name


def texts(path):
    """Sources of a notebook file's cells. Fails for an incomplete file."""
    return [text_of(c) for c in parse(path.read_bytes())["cells"]]

"""Small classes for the tests: folders of submissions, and ``make grade`` on them."""

import contextlib
import csv
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from unittest import mock

from autograder import ROOT
from autograder.grading.__main__ import main

from ..waiting import finished
from .cheats.base import CHECK, SOLVE, START, find, released

ANSWERS = {
    "right": "def weighted_average(values, weights):\n    return weights @ values / weights.sum()\n",
    "mutant": "def weighted_average(values, weights):\n    return weights @ values\n",
    "partly": "def weighted_average(values, weights):\n"
    "    return weights @ values / (weights.sum() if len(weights) != 5 else 1)\n",
    "broken": "def weighted_average(values, weights)\n    return 0\n",
    "hostile": "import os\ndef weighted_average(values, weights):\n    os._exit(0)\n",
}


def notebook(source=None, unit=START, tries=None):
    """Bytes of a submission: the released notebook, optionally with an answer in unit 00, and with the output of a
    check that says it was the learner's attempt number ``tries``."""
    book = released(unit)
    if source is not None:
        find(book, SOLVE)["source"] = source
    if tries is not None:
        about = {"anatomy": {"exercise": "start.weighted_average", "tries": tries}}
        find(book, CHECK)["outputs"] = [{"output_type": "display_data", "data": {"text/plain": "?"}, "metadata": about}]
    return json.dumps(book).encode()


def course(root):
    """A course root with the repository's nbgrader configuration, and nothing else."""
    root.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "nbgrader_config.py", root)
    return root


def submit(root, student, data, unit=START, name=None, timestamp=None):
    """Writes submitted/student/unit/unit.ipynb; returns the path."""
    folder = root / "submitted" / student / unit
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name or f"{unit}.ipynb")
    path.write_bytes(data)
    if timestamp:
        (folder / "timestamp.txt").write_text(timestamp)
    return path


def command(*arguments):
    """The command line of ``make grade``."""
    return [sys.executable, "-m", "autograder.grading", "submitted", *arguments]


def settings(**more):
    """The environment variables that all grading has in addition to this process's: a fixed secret, one thread."""
    return {"OMP_NUM_THREADS": "1", "ANATOMY_SECRET": "of the tests", **more}


def environment(**more):
    """Environment of a grading process."""
    return {**os.environ, **settings(**more)}


def started(root, *arguments, **more):
    """Runs ``make grade`` in ``root`` in a new process; returns the finished process with its output as text."""
    return finished(command(*arguments), cwd=root, env=environment(**more), text=True)


def called(root, function, *arguments, encoding="utf-8", **more):
    """Like ``started``, but calls a command's function in this process, on a console with that encoding.

    Starting a process takes ten times as long as grading a small class.
    """
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True) for _ in range(2)]
    with (
        contextlib.chdir(root),
        mock.patch.dict(os.environ, settings(**more)),
        contextlib.redirect_stdout(streams[0]),
        contextlib.redirect_stderr(streams[1]),
    ):
        status = function(arguments)
    out, err = (stream.buffer.getvalue().decode(encoding) for stream in streams)
    return subprocess.CompletedProcess(arguments, status, out, err)


def grade(root, *arguments, **more):
    """Runs ``make grade`` in ``root``, in this process."""
    return called(root, main, "submitted", *arguments, **more)


def grades(root, table="grades.csv"):
    """Rows of a table as dicts."""
    with open(root / table, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def query(root, sql, *values):
    """Rows of an SQL query on the SQLite gradebook."""
    with contextlib.closing(sqlite3.connect(root / "gradebook.db")) as db:
        return db.execute(sql, values).fetchall()


def times_graded(root):
    """dict student → how many times the submission of unit 00 was stored."""
    return dict(query(root, "SELECT student_id, times FROM anatomy_graded"))


def consistent(root):
    """Checks that each stored submission has all its scores and that they equal the verdicts."""
    assert query(root, "PRAGMA integrity_check") == [("ok",)]
    rows = query(root, "SELECT student_id, unit, result FROM anatomy_graded")
    for student, unit, result in rows:
        scores = query(
            root,
            """SELECT g.auto_score + coalesce(g.extra_credit, 0) FROM grade g
                       JOIN submitted_notebook n ON g.notebook_id = n.id
                       JOIN submitted_assignment s ON n.assignment_id = s.id JOIN assignment a ON s.assignment_id = a.id
                       JOIN base_cell c ON g.cell_id = c.id
                       WHERE s.student_id = ? AND a.name = ? AND c.name NOT LIKE 'written-%'""",
            student,
            unit,
        )
        want = [v["score"] for v in json.loads(result)["verdicts"]]
        assert sorted(s for (s,) in scores) == sorted(want), (student, scores, want)
        assert (root / "feedback" / student / unit / f"{unit}.html").read_text().rstrip().endswith("</html>")
    count = query(root, "SELECT count(*) FROM submitted_assignment")[0][0]
    assert count == len(rows)
    return len(rows)

"""The whole answers that a learner may look up: the exercise cells of ``solutions/*.py``, in one file.

The file stands in ``solutions/``, where neither a class's package nor a sandbox looks. The wheel takes it along, the
student package only if ``c.Release.answers`` says so. Read on the other side by ``anatomy.notebook.answers``.
"""

import json
import re

from autograder import ROOT, exercises

from .cells import read_cells
from .source import source_path

FILE = ROOT / "solutions" / "answers.json"
INSIDE = "assets/answers.json"  # its place in a package that holds it
_EDGE = re.compile(r"^[ \t]*### (?:BEGIN|END) SOLUTION[ \t]*\n?", re.M)


def to_bytes() -> bytes:
    """The file's content: exercise id → the cell that solves it, in course order. Raises SourceError."""
    found = {}
    for unit in exercises.units():
        for cell in read_cells(source_path(unit))[0]:
            if cell.part == "exercise":
                found[cell.exercise] = _EDGE.sub("", cell.source).strip("\n")
    return (json.dumps(found, ensure_ascii=False, indent=0) + "\n").encode()


def read() -> dict[str, str]:
    """The answers as the last build wrote them; {} before the first one."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}

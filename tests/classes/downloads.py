"""Small downloads in the formats of the platforms, and the class that they belong to."""

import json
import zipfile
from functools import cache

from autograder import ROOT
from autograder.classes import collect
from autograder.classes.people import Person, Roster

START, ROPE = "00-start-here", "06-rope"
PEOPLE = [
    Person("ada", "Ada", "Lovelace", "ada@example.org", "901"),
    Person("grace", "Grace", "Hopper", "grace@example.org", "902"),
    Person("zoe", "Zoë", "Müller-Lüdenscheidt", "zoe@example.org", "903"),
]
ROSTER = Roster(PEOPLE)


@cache
def released(unit):
    return (ROOT / "course" / unit / f"{unit}.ipynb").read_bytes()


def book(unit=START, mark=""):
    """Bytes of the released notebook with a student's own cell in it."""
    made = json.loads(released(unit))
    made["cells"].append({"cell_type": "raw", "id": "own", "metadata": {}, "source": mark})
    return json.dumps(made).encode()


def zipped(path, files):
    """Writes a zip; files: name or ZipInfo → bytes, or a list of such pairs."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in files.items() if isinstance(files, dict) else files:
            target.writestr(name, data)
    return path


def tree(root, files):
    """Writes the same files as a folder."""
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def take(course, path, monkeypatch, roster=ROSTER, **options):
    """Collects a download; returns dict (student, unit) → the line about it."""
    monkeypatch.setattr(collect, "roster_of", lambda course: roster)
    _, lines, _ = collect.take_in(path, course, **options)
    return {(line.student, line.unit): line for line in lines}


def became(lines):
    return {where: line.what for where, line in lines.items()}


def submitted(course):
    """dict path below submitted/ → bytes."""
    top = course.root / "submitted"
    return {p.relative_to(top).as_posix(): p.read_bytes() for p in sorted(top.rglob("*")) if p.is_file()}

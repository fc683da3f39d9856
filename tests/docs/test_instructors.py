"""docs/instructors.md: its commands run in order in a copy of the repository, and each does what the guide says."""

import csv
import os
import re
import sys
import zipfile
from pathlib import Path

import pytest
from traitlets.config import Config

from autograder import ROOT
from autograder.notebooks import own_course
from tests.authoring.clone import Clone
from tests.grading.cheats.base import ATTENTION, START
from tests.grading.classroom import ANSWERS, notebook, submit
from tests.grading.test_holding import HIDDEN, submission
from tests.waiting import finished

from .warm import Warm

PAGE = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S) for line in block.splitlines()]
SETTINGS = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
# Commands that other tests run, since they need an exchange, a hub or a second machine.
ELSEWHERE = {
    "nbgrader release_feedback 01-attention": "tests/grading/test_exchange.py",
    ".venv/bin/dask scheduler": "tests/grading/test_cluster.py",
    "nbgrader generate_assignment": "tests/grading/term.py",
    "nbgrader export": "tests/grading/term.py",
    "nbgrader collect 01-attention": "tests/grading/test_exchange.py",
}
STUDENTS = """First name,Last name,Username,Email address,ID number
Ada,Lovelace,ada,ada@example.org,1
Bob,Bool,bob,bob@example.org,2
Eve,Curie,eve,eve@example.org,3
Zoe,Young,zoe,zoe@example.org,4
"""
CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,00-start-here (77)
    Points Possible,,,,,1
"Lovelace, Ada",901,1,ada,A,
"Curie, Eve",903,3,eve,A,
"""
WORKSHEET = """Identifier,Full name,Status,Grade,"Last modified (submission)","Last modified (grade)"
Participant 11,Ada Lovelace,Submitted for grading,,-,-
Participant 12,Bob Bool,Submitted for grading,,"Tuesday, 1 December 2026, 8:15 PM",-
"""
BOBS_TIME = "2026-12-01 20:15:00 UTC\n"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("guide")]


class Office:
    """The instructor's machine: a copy of the repository, with a class that is about to submit."""

    def __init__(self, folder):
        self.clone = Clone(folder)
        tools = folder / ".venv" / "bin"
        own = os.pathsep.join([str(folder), str(folder / "course")])
        inherited = os.environ.get("PYTHONPATH", "")
        # Without the variables that `make test` itself was called with.
        inner = {k: v for k, v in os.environ.items() if k not in ("ARGS", "UNIT", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        self.environment = inner | {
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(filter(None, [own, inherited])),
            "OMP_NUM_THREADS": "1",
            "ANATOMY_SECRET": "of the tests",
            "TZ": "UTC",
        }
        self.python = Warm(tools, self.environment)
        (tools / "nbgrader").symlink_to(Path(sys.prefix) / "bin" / "nbgrader")
        (folder / "students.csv").write_text(STUDENTS)
        (folder / "canvas.csv").write_text(CANVAS)
        (folder / "worksheet.csv").write_text(WORKSHEET)
        with zipfile.ZipFile(folder / "moodle.zip", "w") as archive:
            for name, answer in (("Ada Lovelace_11", "right"), ("Bob Bool_12", "mutant")):
                archive.writestr(f"{name}_assignsubmission_file_/{START}.ipynb", notebook(ANSWERS[answer]))
        submit(folder, "eve", submission(HIDDEN), unit=ATTENTION)
        submit(folder, "eve", b"PK", timestamp="2026-12-03 12:00:00 UTC")

    def __truediv__(self, name):
        return self.clone / name

    def run(self, command):
        """Runs a command; returns (exit status, its output). `make` treats the environment as up to date."""
        script = 'make() { command make -o .venv/.ready -o .venv/.ready-staff WORKERS=1 "$@"; }\n' + command
        done = finished(["bash", "-c", script], cwd=self.clone.folder, env=self.environment, text=True)
        return done.returncode, done.stdout + done.stderr

    def table(self, name="grades.csv"):
        with open(self / name, newline="", encoding="utf-8-sig") as file:
            return list(csv.DictReader(file))

    def status(self):
        return {(r["student"], r["unit"]): r["status"] for r in self.table()}

    def page(self, student, unit=START):
        return (self / f"feedback/{student}/{unit}/{unit}.html").read_text()


# Checks after each command, in the guide's order: (the command's start, a check of the office and the printed text).
def released(office, said):
    names = zipfile.ZipFile(office / "dist/transformer-anatomy-student.zip").namelist()
    return any(n.endswith(f"{START}.ipynb") for n in names) and not any("solutions/" in n for n in names)


def graded(office, said):
    stands = office.status()
    return (
        stands["ada", START] == stands["bob", START] == "graded"
        and stands["eve", START] == "unreadable"
        and stands["eve", ATTENTION] == "waiting"
        and stands["zoe", START] == "missing"
        and "no submission: 00-start-here: 1 of the gradebook's students (zoe)" in said
        and "1 of 1 point" in office.page("ada")
    )


def handed_back(office, said):
    with zipfile.ZipFile(office / "feedback-moodle.zip") as packed:
        pages = {name: packed.read(name).decode() for name in packed.namelist()}
    return pages == {
        f"{name}_assignsubmission_file_/{START}.html": office.page(student)
        for name, student in (("Ada Lovelace_11", "ada"), ("Bob Bool_12", "bob"))
    }


def wide(office, said):
    rows = {r["student"]: r for r in office.table("export-wide.csv")}
    return rows["ada"][START] == "1" and rows["zoe"][START] == "" and len(rows) == 4


def rehearsed(office, said):
    """Three pages and a report, apart from the class: nothing else is new in the instructor's folder."""
    made = office / "build/rehearsal"
    rows = office.table("build/rehearsal/grades.csv")
    points = {who: sum(float(r["score"]) for r in rows if r["student"] == who) for who in ("ada", "bob", "eve")}
    named = {r["mistake"] for r in rows if r["student"] == "bob"}
    return (
        {r["status"] for r in rows} == {"graded"}
        and points["ada"] == sum(float(r["max_score"]) + float(r["max_extra"]) for r in rows if r["student"] == "ada")
        and 0 < points["bob"] < points["ada"] > points["eve"] > 0
        and "no_scale" in named
        and "generic.not_written" in {r["mistake"] for r in rows if r["student"] == "eve"}
        and str(made / "report.html") in said
        and all((made / f"feedback/{who}/{ATTENTION}/{ATTENTION}.html").is_file() for who in points)
        and not any((office / name).exists() for name in ("gradebook.db", "grades.csv", "report.html", ".secret"))
    )


AFTER = [
    ("make rehearsal", rehearsed),
    ("make release", released),
    ("make roster", lambda office, said: "4" in said and "zoe" in said + str(office.table("students.csv"))),
    ('make due UNIT=00-start-here DATE="2026-12-01', lambda o, said: "00-start-here is due 2026-12-" in said),
    ('make due UNIT=00-start-here DATE="2026-12-08', lambda o, said: "for ada" in said),
    ("make collect", lambda o, said: (o / f"submitted/ada/{START}/{START}.ipynb").exists() and "zoe" in said),
    ("make collect", lambda o, said: (o / f"submitted/bob/{START}/timestamp.txt").read_text() == BOBS_TIME),
    ("make grade SUBMITTED=submitted", graded),
    ("make grade SUBMITTED=submitted UNIT=00-start-here STUDENT=ada ARGS=--force", lambda o, s: " 1 graded now" in s),
    ("make report", lambda office, said: "handed nothing in (zoe)" in (office / "report.html").read_text()),
    ("make held", lambda office, said: "eve  attention.softmax" in said),
    ('make held ARGS="release eve attention.softmax"', lambda o, s: "eve has 2 points for attention.softmax" in s),
    ('make held ARGS="release eve attention.softmax --points 0"', lambda o, s: "eve has 0 points" in s),
    ("make publish", lambda office, said: office.status()["eve", ATTENTION] == "graded"),
    ("make feedback", handed_back),
    ("make export FORMAT=wide", wide),
    ("make export FORMAT=moodle", lambda o, s: {r[START] for r in o.table("export-moodle.csv")} == {"1", "0", ""}),
    ("make export FORMAT=canvas", lambda o, s: o.table("export-canvas.csv")[1]["00-start-here (77)"] == "1"),
    ("make backup", lambda o, s: "gradebook.db" in zipfile.ZipFile(next((o / "backups").iterdir())).namelist()),
    ("nbgrader db student remove bob", lambda office, said: True),
    ("rm -rf submitted/bob", lambda office, said: not (office / "feedback/bob").exists()),
    ("make publish", lambda office, said: "bob" not in {s for s, _ in office.status()}),
]


def test_each_command_of_the_guide_does_what_it_says(tmp_path, sandbox_here):
    assert len(COMMANDS) == len(AFTER), "a command of the guide that nothing looks at"
    office = Office(tmp_path / "office")
    with office.python:
        for command, (begins, holds) in zip(COMMANDS, AFTER, strict=True):
            assert command.startswith(begins)
            status, said = office.run(command)
            # Grading exits with 1 if a submission has no result; here the invalid file only gets zero points.
            assert status == 0, f"{command}\n{said}"
            assert "Traceback" not in said and holds(office, said), f"{command}\n{said}"


def test_the_other_commands_are_run_by_other_tests():
    for command, where in ELSEWHERE.items():
        assert command in PAGE and (ROOT / where).exists(), command
        assert command.split()[1] in (ROOT / where).read_text(), (command, where)


def test_each_setting_of_the_guide_is_one(tmp_path):
    for lines in SETTINGS:
        config = Config()
        exec(lines, {"c": config, "get_config": lambda config=config: config})
        for name, values in config.items():
            assert values
            known = _configurable(name)
            assert set(values) <= set(known.class_traits(config=True)), (name, values)
            known(config=config)
            own_course.of(config)  # raises if an exercise or a unit of the guide is none


def _configurable(name):
    from nbgrader.preprocessors import AssignLatePenalties

    from autograder.grading.book.late import PerDay
    from autograder.settings import Class, Course, Grading, Release

    return {c.__name__: c for c in (AssignLatePenalties, PerDay, Class, Grading, Release, Course)}[name]


def test_what_the_guide_says_of_files_and_links_is_there():
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
    for name in re.findall(r"`(make [a-z-]+)", PAGE):
        assert (
            f"\n{name.split()[1]}:"
            in "\n" + (ROOT / "autograder/staff.mk").read_text() + (ROOT / "Makefile").read_text()
        )
    statuses = re.findall(r"^\| `([a-z ]+)` \|", PAGE, re.M)
    from autograder.grading.book.tables import STATUSES

    assert statuses == list(STATUSES)


def test_the_messages_of_the_guide_are_those_of_the_programs():
    written = "".join(path.read_text() for path in sorted((ROOT / "autograder").rglob("*.py")))
    messages = re.findall(r"^\| \*([^*]+)\*", PAGE, re.M)
    assert len(messages) > 5
    for message in messages:
        for words in re.split(r"…|\[|ada/01-attention|: database is locked|^\.secret ", message):
            assert words.strip(" :]") in written, words


@pytest.fixture
def sandbox_here():
    from autograder.sandbox import sandbox_available

    if not sandbox_available():
        pytest.skip(sandbox_available().reason)

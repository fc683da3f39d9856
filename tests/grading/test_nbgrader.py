"""The stock nbgrader commands and the formgrader, with this repository's configuration, on the class of this run."""

import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from autograder import ROOT
from autograder.grading.base.masters import master

from ..waiting import patiently, wait_until
from . import stock
from .cheats.base import ATTENTION, SOLVE, START
from .classroom import called, environment, grade, grades, query
from .term import UNITS, copy, nbgrader


@pytest.mark.parametrize("unit", UNITS)
def test_generate_assignment_writes_what_make_build_writes(unit, term):
    ours = (ROOT / "course" / unit / f"{unit}.ipynb").read_bytes()
    assert (term.nbgraders / "release" / unit / f"{unit}.ipynb").read_bytes() == ours


def test_autograde_stores_the_judges_scores(term):
    root, logs = term.nbgraders, "".join(term.said)
    scores = query(
        root,
        """SELECT s.student_id, sum(g.auto_score), sum(g.needs_manual_grade) FROM grade g
                   JOIN submitted_notebook n ON g.notebook_id = n.id JOIN submitted_assignment s
                   ON n.assignment_id = s.id JOIN assignment a ON s.assignment_id = a.id
                   WHERE a.name = ? GROUP BY s.student_id""",
        START,
    )
    assert dict((s, p) for s, p, _ in scores) == {"right": 1, "mutant": 0, "hostile": 0, "no-json": 0, "script": 0}
    assert not any(m for _, _, m in scores)
    assert query(root, "SELECT sum(auto_score) FROM grade") == [(1 + master(ATTENTION).points,)]
    assert "cannot be read as JSON" in logs and "Traceback" not in logs


def test_feedback_has_the_words_of_the_check_and_no_script(term):
    page = lambda s: (term.nbgraders / "feedback" / s / START / f"{START}.html").read_text()
    assert "This is the weighted sum. Divide it by the sum of the weights." in page("mutant")
    assert "cannot be read as JSON" in page("no-json")
    assert "Your code ended its Python process" in page("hostile")
    assert "<script>x" not in page("script") and "&lt;script&gt;x" in page("script")


def test_export_writes_the_totals(term):
    table = (term.nbgraders / "gradebook.csv").read_text().splitlines()
    right = next(line for line in table if line.startswith(f"{START},") and ",right," in line)
    assert right.endswith("1.0,0.0,1.0,1.0")
    assert not (term.nbgraders / "grades.csv").exists(), "that name belongs to make grade"


def test_make_grade_finds_what_autograde_did(term, tmp_path):
    root = copy(term.nbgraders, tmp_path)
    done = grade(root, "--workers", "1")
    assert " 0 graded now, 6 were up to date" in done.stdout, done.stdout + done.stderr
    assert {r["student"]: r["mistake"] for r in grades(root) if r["unit"] == START}["mutant"] == "not_divided"


def test_autograde_with_force_keeps_what_instructors_wrote(term, tmp_path):
    from nbgrader.api import Gradebook

    root = copy(term.nbgraders, tmp_path)
    with Gradebook(f"sqlite:///{root}/gradebook.db", "transformer-anatomy") as book:
        book.find_grade("check-start-weighted_average", START, START, "mutant").manual_score = 0.5
        book.find_comment(SOLVE, START, START, "mutant").manual_comment = "Nearly."
        book.db.commit()
    nbgrader(root, "autograde", START, "--student", "mutant", "--force")
    nbgrader(root, "generate_feedback", START, "--student", "mutant", "--force")
    assert query(root, "SELECT manual_score, auto_score FROM grade WHERE manual_score IS NOT NULL") == [(0.5, 0.0)]
    assert "Nearly." in (root / "feedback" / "mutant" / START / f"{START}.html").read_text()


def test_validate_names_the_mistake(term):
    books = [f"submitted/{student}/{START}/{START}.ipynb" for student in ("mutant", "right")]
    wrong, right = called(term.nbgraders, stock.run, "validate", *books).stdout.split("Success")
    assert "VALIDATION FAILED ON 1 CELL" in wrong and "This is the weighted sum" in wrong and "FAILED" not in right


class Server:
    """A Jupyter server in the course's root, on a free port; ``ask`` sends it requests."""

    def __init__(self, root):
        self.root = root
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = root / "jupyter.log"
        command = [
            sys.executable,
            "-m",
            "jupyter",
            "server",
            "--allow-root",
            "--no-browser",
            f"--port={self.port}",
            "--IdentityProvider.token=t",
            f"--ServerApp.root_dir={root}",
            "--ServerApp.disable_check_xsrf=True",
        ]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, cwd=root, env=environment(HOME=str(root)), stdout=log, stderr=log)

    def ask(self, path, data=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/{path}",
            method="PUT" if data else "GET",
            data=data and json.dumps(data).encode(),
            headers={"Authorization": "token t", "Content-Type": "application/json"},
        )
        with patiently(lambda: urllib.request.urlopen(request), self.said) as answer:
            return answer.read().decode()

    def said(self):
        return self.log.read_text()

    def answers(self):
        assert self.process.poll() is None, self.said()
        try:
            return self.ask("api/status")
        except (urllib.error.URLError, ConnectionError):
            return None


@pytest.fixture
def server(term, tmp_path):
    running = Server(copy(term.nbgraders, tmp_path))
    try:
        wait_until(running.answers, running.said, pause=0.2)
        yield running
    finally:
        running.process.terminate()
        wait_until(lambda: running.process.poll() is not None)


def test_the_formgrader_shows_verdicts_and_takes_a_manual_score(server):
    root = server.root
    names = {a["name"]: a for a in json.loads(server.ask("formgrader/api/assignments"))}
    assert set(UNITS) <= set(names) and names[START]["num_submissions"] == 5
    assert not any("anatomy" in n or n.endswith(".py") for n in names)
    listed = json.loads(server.ask(f"formgrader/api/submitted_notebooks/{START}/{START}"))
    mine = next(s for s in listed if s["student"] == "mutant")
    page = server.ask(f"formgrader/submissions/{mine['id']}/?index=0")
    assert "This is the weighted sum" in page
    given = json.loads(server.ask(f"formgrader/api/grades?submission_id={mine['id']}"))
    server.ask(f"formgrader/api/grade/{given[0]['id']}", {"manual_score": 0.25})
    assert query(root, "SELECT manual_score FROM grade WHERE id = ?", given[0]["id"]) == [(0.25,)]

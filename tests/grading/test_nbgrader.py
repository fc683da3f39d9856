"""The stock nbgrader commands and the formgrader, with this repository's configuration, on a temporary copy."""

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from autograder import ROOT
from autograder.grading.masters import master

from ..waiting import PATIENCE
from .cheats.base import ATTENTION, SOLVE, START
from .classroom import ANSWERS, course, environment, grade, grades, notebook, query, submit

pytestmark = pytest.mark.xdist_group("nbgrader")  # the class is set up once

UNITS = (START, ATTENTION)


def nbgrader(root, *arguments, check=True):
    command = [sys.executable, "-m", "nbgrader", *arguments]
    done = subprocess.run(command, cwd=root, env=environment(), capture_output=True, text=True, timeout=300)
    assert not check or done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def school(tmp_path_factory, sandbox):
    """generate_assignment, autograde, generate_feedback and export, each once."""
    root = course(tmp_path_factory.mktemp("nbgrader"))
    (root / "solutions").mkdir()
    for unit in UNITS:
        shutil.copytree(ROOT / "solutions" / unit, root / "solutions" / unit)
        shutil.copy(ROOT / "solutions" / f"{unit}.py", root / "solutions")
        nbgrader(root, "generate_assignment", unit)
    for name in ("right", "mutant", "hostile"):
        submit(root, name, notebook(ANSWERS[name]), timestamp="2030-01-01 12:00:00 UTC")
    submit(root, "no-json", b"this is not a notebook")
    script = "def weighted_average(values, weights):\n    raise ValueError('<script>x</script>')\n"
    submit(root, "script", notebook(script))
    submit(root, "right", (ROOT / "solutions" / ATTENTION / f"{ATTENTION}.ipynb").read_bytes(), unit=ATTENTION)
    logs = [nbgrader(root, "autograde", unit).stderr for unit in UNITS]
    logs += [nbgrader(root, "generate_feedback", unit).stderr for unit in UNITS]
    nbgrader(root, "export")
    return root, logs


@pytest.mark.parametrize("unit", UNITS)
def test_generate_assignment_writes_what_make_build_writes(unit, school):
    root, _ = school
    ours = (ROOT / "course" / unit / f"{unit}.ipynb").read_bytes()
    assert (root / "release" / unit / f"{unit}.ipynb").read_bytes() == ours


def test_autograde_stores_the_judges_scores(school):
    root, logs = school
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
    assert "cannot be read as JSON" in logs[0] and "Traceback" not in "".join(logs)


def test_feedback_has_the_words_of_the_check_and_no_script(school):
    root, _ = school
    page = lambda s: (root / "feedback" / s / START / f"{START}.html").read_text()
    assert "This is the weighted sum. Divide it by the sum of the weights." in page("mutant")
    assert "cannot be read as JSON" in page("no-json")
    assert "Your code ended its Python process" in page("hostile")
    assert "<script>x" not in page("script") and "&lt;script&gt;x" in page("script")


def test_export_writes_the_totals(school):
    root, _ = school
    table = (root / "gradebook.csv").read_text().splitlines()
    right = next(line for line in table if line.startswith(f"{START},") and ",right," in line)
    assert right.endswith("1.0,0.0,1.0,1.0")
    assert not (root / "grades.csv").exists(), "that name belongs to make grade"


def test_make_grade_finds_what_autograde_did(school):
    root, _ = school
    done = grade(root, "--workers", "1")
    assert " 0 graded now, 6 were up to date" in done.stdout, done.stdout + done.stderr
    assert {r["student"]: r["mistake"] for r in grades(root) if r["unit"] == START}["mutant"] == "not_divided"


def test_autograde_with_force_keeps_what_instructors_wrote(school):
    from nbgrader.api import Gradebook

    root, _ = school
    with Gradebook(f"sqlite:///{root}/gradebook.db", "transformer-anatomy") as book:
        book.find_grade("check-start-weighted_average", START, START, "mutant").manual_score = 0.5
        book.find_comment(SOLVE, START, START, "mutant").manual_comment = "Nearly."
        book.db.commit()
    nbgrader(root, "autograde", START, "--student", "mutant", "--force")
    nbgrader(root, "generate_feedback", START, "--student", "mutant", "--force")
    assert query(root, "SELECT manual_score, auto_score FROM grade WHERE manual_score IS NOT NULL") == [(0.5, 0.0)]
    assert "Nearly." in (root / "feedback" / "mutant" / START / f"{START}.html").read_text()


def test_validate_names_the_mistake(school):
    root, _ = school
    said = nbgrader(root, "validate", f"submitted/mutant/{START}/{START}.ipynb", check=False).stdout
    assert "VALIDATION FAILED ON 1 CELL" in said and "This is the weighted sum" in said
    assert "Success" in nbgrader(root, "validate", f"submitted/right/{START}/{START}.ipynb").stdout


class Server:
    """A Jupyter server in the course's root, on a free port; ``ask`` speaks to it."""

    def __init__(self, root):
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
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()

    def wait(self):
        for _ in range(300):
            try:
                return self.ask("api/status")
            except (urllib.error.URLError, ConnectionError):
                assert self.process.poll() is None, self.log.read_text()
                time.sleep(0.2)
        raise TimeoutError(self.log.read_text())


@pytest.fixture(scope="module")
def server(school):
    running = Server(school[0])
    try:
        running.wait()
        yield running
    finally:
        running.process.terminate()
        running.process.wait(PATIENCE)


def test_the_formgrader_shows_verdicts_and_takes_a_manual_score(server, school):
    root, _ = school
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

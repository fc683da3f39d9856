"""What stock nbgrader reads and writes with this configuration in a class of odd folders: only the notebook."""

import contextlib
import json
import os
import shutil
import socket
import sys
import unicodedata

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbgrader.apps.api import NbGraderAPI
from traitlets.config import Config

from autograder import ROOT
from autograder.grading.book.course import load_course
from autograder.grading.nbgrader.steps import InertOutputs

from . import stock
from .cheats.base import START
from .classroom import ANSWERS, called, course, environment, notebook, query, submit
from .commands import Commands
from .term import nbgrader

pytestmark = [
    pytest.mark.xdist_group("nbgrader-files"),  # the class is set up once
    pytest.mark.skipif(sys.platform == "win32", reason="the folders of this test need POSIX"),
]
SECRET = "5e" * 32
NFD = unicodedata.normalize("NFD", "Zoë")
LIVE = r"$\href{javascript:alert(1)}{x}$ <img src=x onerror=alert(1)> [x](javascript:alert(1)) \(\href{x}{y}\)"
PRINTS = f"print({LIVE!r})\nprint('\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07 \\u202egnp')\n"


def beside(root, student, data):
    """Submits a notebook and returns the folder, so that more files can be put next to it."""
    return submit(root, student, data).parent


def instead(root, student):
    """Path of a notebook that does not exist."""
    folder = root / "submitted" / student / START
    folder.mkdir(parents=True)
    return folder / f"{START}.ipynb"


@pytest.fixture(scope="module")
def school(tmp_path_factory, sandbox):
    """Runs generate_assignment, autograde and generate_feedback once on odd students and three ordinary ones."""
    root = course(tmp_path_factory.mktemp("files"))
    shutil.copytree(ROOT / "solutions" / START, root / "solutions" / START)
    nbgrader(root, "generate_assignment", START)
    (root / ".secret").write_text(f"{SECRET}\n")
    right = notebook(ANSWERS["right"])
    submit(root, "right", right, timestamp="2030-01-01 12:00:00 UTC")
    (root / "submitted" / "right" / START / "submission_secret.txt").write_text("0a" * 64)
    submit(root, NFD, right, timestamp="2030-01-01 12:00:00 UTC")
    submit(root, "printing", notebook(PRINTS + ANSWERS["right"]))
    folder = beside(root, "leaking", right)
    (folder / "leak.txt").symlink_to(root / ".secret")
    (folder / "submission_secret.txt").symlink_to(root / ".secret")
    (folder / "leaks").symlink_to(root / "solutions")
    os.mkfifo(folder / "timestamp.txt")
    folder = beside(root, "endless", right)
    (folder / "timestamp.txt").symlink_to("/dev/zero")
    folder = beside(root, "crowded", right)
    for i in range(2_000):
        (folder / f"{i}.txt").write_text("x")
        (folder / f"{i}.ipynb").write_text("x")
    (folder / "deep").mkdir()
    instead(root, "linked").symlink_to(root / "submitted" / "right" / START / f"{START}.ipynb")
    os.mkfifo(instead(root, "waiting"))
    (root / "submitted" / "copying").mkdir()
    (root / "submitted" / "copying" / START).symlink_to(root / "submitted" / "right" / START)
    (root / "submitted" / "alias").symlink_to(root / "submitted" / "right")
    submit(root, "renamed", right, name="start (1).ipynb")
    submit(root, "bad\x1b[31mname", right)
    with contextlib.suppress(OSError):  # macOS only accepts UTF-8
        submit(root, os.fsdecode(b"\xc0\xee\xc4\xc8"), right)
    with Commands(root, environment(LC_ALL="C", PYTHONIOENCODING="ascii")) as teacher:
        said = teacher.run(f"autograde {START}")
        for student in ("right", "printing"):  # as an earlier version left it there
            (root / "autograded" / student / START / "leak.txt").write_text(SECRET)
        teacher.run(f"generate_feedback {START}")
    return root, said


def scores(root):
    rows = query(
        root,
        """SELECT s.student_id, sum(g.auto_score) FROM grade g JOIN submitted_notebook n ON g.notebook_id = n.id
           JOIN submitted_assignment s ON n.assignment_id = s.id GROUP BY s.student_id""",
    )
    return {student: score for student, score in rows}


def test_each_odd_folder_costs_itself_alone(school):
    root, _ = school
    zero = dict.fromkeys(("linked", "waiting", "copying", "alias"), 0)
    whole = dict.fromkeys(("right", "Zoë", "printing", "leaking", "endless", "crowded", "renamed"), 1)
    assert scores(root) == {**zero, **whole}
    reasons = dict(query(root, "SELECT student_id, result FROM anatomy_graded"))
    for student in ("linked", "waiting", "copying", "alias"):
        assert json.loads(reasons[student])["problem"][0] == "submission.not_a_file"
    for student in ("leaking", "endless"):
        assert "submission.timestamp" in [n["name"] for n in json.loads(reasons[student])["notes"]]
    stamps = dict(query(root, "SELECT student_id, timestamp FROM submitted_assignment"))
    assert stamps["Zoë"].startswith("2030-01-01 12") and stamps["leaking"] is stamps["endless"] is None


def test_names_that_are_none_are_left_out_with_a_legible_line(school):
    _, said = school
    lines = [line for line in said.splitlines() if "was left out" in line]
    assert len(lines) >= 1 and all("\x1b" not in line for line in lines)
    assert any(r"bad\x1b[31mname" in line for line in lines)
    assert "UnicodeEncodeError" not in said and "Traceback" not in said


def test_nothing_but_the_notebook_is_copied(school):
    root, _ = school
    left = {str(p.relative_to(root)) for p in (root / "autograded").rglob("*") if p.is_file()}
    left -= {f"autograded/{s}/{START}/leak.txt" for s in ("right", "printing")}  # put there by this test
    assert {os.path.basename(p) for p in left} == {f"{START}.ipynb", "timestamp.txt", "submission_secret.txt"}
    pages = {str(p.relative_to(root)) for p in (root / "feedback").rglob("*") if p.is_file()}
    assert {os.path.basename(p) for p in pages} == {f"{START}.html", "timestamp.txt", "submission_secret.txt"}
    for step in ("autograded", "feedback"):  # nbgrader's exchange needs these: the student's own, or one made here
        secrets = {p.parts[-3]: p.read_text() for p in (root / step).rglob("submission_secret.txt")}
        assert secrets.pop("right") == "0a" * 64
        assert all(len(s) == 128 and "0a" * 4 not in s for s in secrets.values())
        assert len(set(secrets.values())) == len(secrets) >= 10
        assert not any(
            SECRET in p.read_text() for p in (root / step).rglob("*") if p.is_file() and p.name != "leak.txt"
        )


def test_pages_hold_nothing_that_is_alive(school):
    root, _ = school
    page = BeautifulSoup((root / "feedback" / "printing" / START / f"{START}.html").read_text(), "html.parser")
    assert "javascript:alert" in page.get_text(), "it was printed"
    assert not page.select("[onerror], [onload], base, iframe, object, embed, meta[http-equiv]")
    for element in page.select("[href], [src], [action]"):
        assert not any("javascript" in str(element.get(a, "")).lower() for a in ("href", "src", "action"))
    for text in page.find_all(string=lambda t: "javascript:" in t):
        assert {"pre", "style"} & {p.name for p in text.parents}, "a typesetter goes over everything else"
    whole = str(page)
    assert "\x1b" not in whole and "\x07" not in whole and "\u202e" not in whole


def test_feedback_again_takes_only_the_page(school):
    root, _ = school
    nbgrader(root, "generate_feedback", START, "--student", "right", "--force")
    assert not (root / "feedback" / "right" / START / "leak.txt").exists()


def test_the_formgraders_api_does_the_same(school, monkeypatch):
    root, _ = school
    monkeypatch.setenv("ANATOMY_SECRET", "of the tests")
    api = NbGraderAPI(load_course(root).directory, config=load_course(root).config)
    graded = [api.autograde(START, s, force=True)["success"] for s in ("leaking", "waiting", "../right", "nobody")]
    page = api.generate_feedback(START, "leaking", force=True)["success"]
    stamp = str(api.get_submitted_timestamp(START, "right"))
    none = [str(api.get_submitted_timestamp(START, s)) for s in ("leaking", "endless", "..")]
    good = [s["student"] for s in api.get_submissions(START) if s["score"]]
    assert graded == [True, True, False, False] and page and stamp == "2030-01-01 12:00:00"
    assert set(none) == {"None"} and {"leaking", "right"} <= set(good)
    assert scores(root)["leaking"] == 1 and scores(root)["waiting"] == 0
    assert not (root / "right").exists() and not (root / "autograded" / ".." / "right").exists()
    names = {p.name for p in (root / "feedback" / "leaking" / START).iterdir()}
    assert names == {f"{START}.html", "timestamp.txt", "submission_secret.txt"}


@pytest.mark.parametrize("student", ["..", "../../elsewhere", "right/../right", "."])
def test_a_students_name_never_leads_elsewhere(student, school):
    root, _ = school
    outside = root.parent / "elsewhere" / START
    outside.mkdir(parents=True, exist_ok=True)
    (outside / f"{START}.ipynb").write_bytes(notebook(ANSWERS["right"]))
    before = scores(root)
    assert called(root, stock.run, "autograde", START, "--student", student, "--force").returncode == 1
    assert scores(root) == before and {p.name for p in outside.iterdir()} == {f"{START}.ipynb"}


def outputs(*found):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x")])
    book.cells[0].outputs = list(found)
    return InertOutputs(config=Config(), enabled=True).preprocess(book, {})[0].cells[0].outputs


def test_only_text_is_left_of_outputs():
    new = nbformat.v4.new_output
    stream, error, shown = outputs(
        new("stream", name="stdout", text="\x1b[31mred\x1b[0m\x1b[2J\u202e"),
        new("error", ename="E\x1b", evalue="\x07", traceback=["\x1b[1;32mx\x9b"]),
        new(
            "display_data",
            data={
                "text/html": f"<p>{LIVE}</p>",
                "text/plain": "a\x00",
                "application/javascript": "alert(1)",
                "text/latex": LIVE,
                "image/svg+xml": "<svg onload=alert(1)>",
                "application/vnd.jupyter.widget-view+json": {},
            },
            metadata={"text/html": {"isolated": True}},
        ),
    )
    assert stream.text == "\x1b[31mred\x1b[0m[2J"
    assert error.ename == "E" and error.evalue == "" and error.traceback == ["\x1b[1;32mx"]
    assert set(shown.data) == {"text/html", "text/plain"} and shown.data["text/plain"] == "a" and not shown.metadata
    page = BeautifulSoup(shown.data["text/html"], "html.parser")
    assert page.div["class"] == ["tex2jax_ignore", "mathjax_ignore"]
    assert "$\\href{javascript:alert(1)}{x}$" in page.get_text(), "it reads as before"
    assert all(len(t) == 1 or not {"$", "\\"} & set(t) for t in page.find_all(string=True))


def test_a_socket_in_the_notebooks_place_is_no_notebook(tmp_path, sandbox):
    """The same without a class: the exporter's own part, which nbgrader calls with a path."""
    from nbgrader.coursedir import CourseDirectory

    from autograder.grading.intake.opening import BadSubmission
    from autograder.grading.intake.stamps import opened

    directory = CourseDirectory(config=Config(CourseDirectory={"root": str(tmp_path)}))
    folder = tmp_path / "submitted" / "eve" / START
    folder.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(folder):
        server.bind("s.ipynb")
    with opened(directory, str(folder)) as here, pytest.raises(BadSubmission, match="a socket"):
        here.read("s.ipynb")
    with pytest.raises(BadSubmission, match="no folder"), opened(directory, str(folder.parent / "nothing")):
        pass

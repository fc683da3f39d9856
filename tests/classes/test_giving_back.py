"""Students' pages go back to Moodle and Canvas in one zip, under names by which those find their students."""

import io
import json
import re
import zipfile

import pytest

from autograder.classes import giving_back
from autograder.grading.book.course import load_course
from tests.grading import classroom

from .downloads import ROPE, ROSTER, START, became, book, submitted, take, tree, zipped

PAGE = "<!DOCTYPE html><html><head><style>body{}</style></head><body><main><h1>%s</h1></main></body></html>\n"


@pytest.fixture
def course(tmp_path):
    made = load_course(classroom.course(tmp_path / "course"))
    tree(made.root / "feedback", {f"{s}/{START}/{START}.html": (PAGE % s).encode() for s in ("ada", "grace")})
    return made


def packed(course, monkeypatch, capsys, path, *arguments):
    """(exit status, what was printed, dict name in the zip → bytes)."""
    monkeypatch.chdir(course.root)
    monkeypatch.setattr(giving_back, "roster_of", lambda course: ROSTER)
    status = giving_back.main([str(path), *arguments])
    said = "".join(capsys.readouterr())
    made = list(course.root.glob("feedback-*.zip"))
    return status, said, contents(made[0].read_bytes()) if made else {}


def contents(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def moodles(name):
    """(number, file) as Moodle's importziplib.php takes a name apart."""
    parts = name.split("/")
    while parts:
        info = parts.pop(0).split("_", 4)
        if len(info) >= 4 and info[1].isdigit():
            assert info[2:4] == ["assignsubmission", "file"], "Moodle knows this plugin of its"
            return info[1], "/".join([*info[4:], *parts]).lstrip("/")
    return None


def canvas_of(name):
    """(student, upload) as Canvas's infer_comment_context_from_filename finds them."""
    return tuple([part for part in name.split("_") if part != "LATE" and re.fullmatch(r"\d+", part)][:2])


@pytest.mark.parametrize("above", ["", "downloaded/"])
@pytest.mark.parametrize("form", ["_assignsubmission_file_/", "_assignsubmission_file/", "_assignsubmission_file_"])
def test_moodle_finds_each_student(form, above, course, tmp_path, monkeypatch, capsys):
    names = {"Ada Lovelace_11": f"{START}.ipynb", "Grace Hopper_12": "my_own_99_name.ipynb"}
    path = zipped(tmp_path / "a.zip", {f"{above}{n}{form}{f}": book() for n, f in names.items()})
    status, said, pages = packed(course, monkeypatch, capsys, path)
    assert status == 0 and "Upload multiple feedback files in a zip" in said
    assert {moodles(n): d for n, d in pages.items()} == {
        (number, f"{START}.html"): (PAGE % s).encode() for number, s in (("11", "ada"), ("12", "grace"))
    }


def test_canvas_finds_each_student_and_shows_a_file_of_the_kind_that_its_name_says(
    course, tmp_path, monkeypatch, capsys
):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as target:
        target.writestr(f"{START}.ipynb", book())
    files = {
        f"lovelaceada_901_5_{START}-old.ipynb": book(mark="old"),
        f"lovelaceada_901_7_{START}.ipynb": book(),
        "hoppergrace_LATE_902_8_all.zip": inner.getvalue(),
    }
    status, said, pages = packed(course, monkeypatch, capsys, zipped(tmp_path / "a.zip", files))
    assert status == 0 and "Re-Upload Submissions" in said
    assert {canvas_of(name) for name in pages} == {("901", "7"), ("902", "8")}
    notebook = json.loads(pages[f"lovelaceada_901_7_{START}.ipynb"])
    (output,) = notebook["cells"][0]["outputs"]
    shown = "".join(output["data"]["text/html"])
    assert "<h1>ada</h1>" in shown and "<style>" not in shown
    assert contents(pages["hoppergrace_LATE_902_8_all.zip"]) == {f"{START}.html": (PAGE % "grace").encode()}


def test_a_page_that_is_handed_in_again_replaces_no_notebook(course, tmp_path, monkeypatch, capsys):
    """It has the name of the student's own notebook."""
    name = f"lovelaceada_901_7_{START}.ipynb"
    path = zipped(tmp_path / "a.zip", {name: book()})
    assert became(take(course, path, monkeypatch)) == {("ada", START): "taken"}
    _, _, pages = packed(course, monkeypatch, capsys, path)
    line = take(course, zipped(tmp_path / "b.zip", {name: pages[name]}), monkeypatch)["ada", ""]
    assert line.what == "not taken" and "is the feedback that came back" in line.says
    assert submitted(course)[f"ada/{START}/{START}.ipynb"] == book()


def test_who_gets_no_page_is_said(course, tmp_path, monkeypatch, capsys):
    entry = "{}_assignsubmission_file_/{}"
    files = {
        entry.format("Ada Lovelace_11", f"{START}.ipynb"): book(),
        entry.format("Zoë Müller-Lüdenscheidt_13", f"{START}.py"): b"x",
        entry.format("Alan Turing_14", f"{START}.ipynb"): book(),
    }
    status, said, pages = packed(course, monkeypatch, capsys, zipped(tmp_path / "a.zip", files))
    assert status == 1 and len(pages) == 1
    assert "zoe: left out (there is no page: collect, grade and publish first)" in said
    assert "nobody in the roster is 'Alan Turing'" in said
    assert "They have a page and are not in this download: grace." in said


def test_a_page_reaches_nobody_else_whatever_files_are_called(course, tmp_path, monkeypatch, capsys):
    mine = "Ada Lovelace_11_assignsubmission_file_/"
    files = {f"{mine}Grace Hopper_12_assignsubmission_file_/{START}.ipynb": book()}
    _, _, pages = packed(course, monkeypatch, capsys, zipped(tmp_path / "a.zip", files))
    assert {moodles(n): d for n, d in pages.items()} == {("11", f"{START}.html"): (PAGE % "ada").encode()}


def test_only_pages_of_the_unit_that_was_handed_in_go_back(course, tmp_path, monkeypatch, capsys):
    tree(course.root / "feedback", {f"ada/{ROPE}/{ROPE}.html": b"<main>rope</main>"})
    path = zipped(tmp_path / "a.zip", {"Ada Lovelace_11_assignsubmission_file_/x.ipynb": book(ROPE)})
    _, _, pages = packed(course, monkeypatch, capsys, path)
    assert [moodles(n)[1] for n in pages] == [f"{ROPE}.html"]
    _, _, pages = packed(course, monkeypatch, capsys, path, "--unit", START)
    assert [moodles(n)[1] for n in pages] == [f"{START}.html"], "also of a notebook that came another way"


def test_other_downloads_are_refused_in_a_sentence(course, tmp_path, monkeypatch, capsys):
    path = zipped(tmp_path / "a.zip", {f"ada/{START}/{START}.ipynb": book()})
    status, said, pages = packed(course, monkeypatch, capsys, path)
    assert status == 2 and "nbgrader release_feedback" in said and not pages
    assert packed(course, monkeypatch, capsys, path, "--unit", "x")[0] == 2
    path = zipped(tmp_path / "b.zip", {f"Zoë Müller-Lüdenscheidt_1_assignsubmission_file_/{START}.ipynb": book()})
    status, said, pages = packed(course, monkeypatch, capsys, path)
    assert status == 2 and "grade and publish first" in said and not pages

"""The rubric of a written question: only on the formgrader's pages, always up to date, without effect on scores."""

import copy
import json

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbconvert.exporters import HTMLExporter
from nbgrader.server_extensions.formgrader import handlers
from traitlets.config.loader import PyFileConfigLoader

from autograder import ROOT
from autograder.grading.base import masters
from autograder.grading.base.masters import gradable_units, master, rubrics, source_notebook_path
from autograder.grading.pages.rubric import ShowRubric
from autograder.notebooks import written

UNIT = gradable_units()[0]
NAME = f"written-{UNIT}"
FORMGRADER = {"submission_id": "1", "assignment_id": UNIT}


@pytest.mark.parametrize("unit", gradable_units())
def test_the_master_knows_what_the_answer_is_worth_and_the_notebook_gives_it_no_points(unit):
    trusted = master(unit)
    assert trusted.written.keys() == {f"written-{unit}"} and trusted.written[f"written-{unit}"] in range(2, 5)
    assert written.points_of(trusted.notebook.cells) == {f"written-{unit}": 0.0}
    assert not trusted.written.keys() & (trusted.checks.keys() | trusted.answers.keys())
    assert trusted.points == sum(e.points for e in trusted.exercises if not e.extension)


def shown(resources, unit=UNIT):
    book = copy.deepcopy(master(unit).notebook)
    return ShowRubric().preprocess(book, dict(resources))[0].cells


def test_graders_see_the_rubric_below_the_answer():
    cells = shown(FORMGRADER)
    at = next(i for i, c in enumerate(cells) if written.is_written(c))
    answer, scheme, _ = rubrics(UNIT)[NAME]
    text = cells[at + 1].source
    assert scheme in text and all(f"> {line}".rstrip() in text for line in answer.split("\n"))
    assert "graders only" in text and "MARK SCHEME" not in text and "nbgrader" not in cells[at + 1].metadata
    assert len(cells) == len(master(UNIT).notebook.cells) + 1


@pytest.mark.parametrize("counts", [False, True])
def test_the_formgrader_shows_the_answer_its_maximum_and_the_rubric(counts, tmp_path):
    """The page as its server renders it, after the setting was changed in the file that the server has read."""
    config = PyFileConfigLoader("nbgrader_config.py", str(ROOT)).load_config()
    config.Grading.written_answers = not counts
    config.CourseDirectory.root = str(tmp_path)
    (tmp_path / "nbgrader_config.py").write_text(f"c = get_config()\nc.Grading.written_answers = {counts}\n")
    config.HTMLExporter.update(template_name="formgrade", extra_template_basedirs=[handlers.template_path])
    book = copy.deepcopy(master(UNIT).notebook)
    cell = next(c for c in book.cells if written.is_written(c))
    cell.source = "Because both sums are equal."
    path = tmp_path / f"{UNIT}.ipynb"
    nbformat.write(book, path)
    about = FORMGRADER | {"notebook_id": UNIT, "index": 0, "total": 1, "base_url": "", "student": "ada"}
    about |= {"first_name": "", "last_name": "", "notebook_path": ""}
    page, _ = HTMLExporter(config=config).from_filename(str(path), resources=about)
    soup = BeautifulSoup(page, features="html.parser")
    panel = soup.find(id=NAME).find_parent(class_="nbgrader_cell")
    most = master(UNIT).written[NAME] if counts else 0.0
    assert "Because both sums are equal." in panel.get_text() and f"/ {most}" in panel.get_text()
    shown = soup.find(string="Rubric, for graders only").find_parent(class_="text_cell").get_text()
    assert "1 point:" in shown and "A model answer" in shown and ("written_answers is off" in shown) is not counts


@pytest.mark.parametrize(
    "resources",
    [
        {"nbgrader": {"assignment": UNIT}},
        {"assignment_id": UNIT},
        FORMGRADER | {"assignment_id": "../solutions"},
        FORMGRADER | {"assignment_id": gradable_units()[1]},
    ],
    ids=["feedback", "no submission", "no unit", "another unit"],
)
def test_no_other_page_has_it(resources):
    assert shown(resources) == master(UNIT).notebook.cells


def test_marks_that_a_student_made_up_show_nothing():
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("x", metadata={"nbgrader": {}})])
    book.cells[0].metadata.nbgrader = nbformat.from_dict({"grade": True, "solution": True, "grade_id": "written-x"})
    assert len(ShowRubric().preprocess(book, dict(FORMGRADER))[0].cells) == 1


def test_a_rubric_can_change_while_a_class_is_graded(monkeypatch, tmp_path):
    """Changing the model answer, rubric or points makes no computed score outdated; changing the question does."""
    path = tmp_path / "unit.ipynb"
    book = json.loads(source_notebook_path(UNIT).read_text())
    cells = {c["id"]: c for c in book["cells"]}
    monkeypatch.setattr(masters, "source_notebook_path", lambda unit: path)

    def version():
        path.write_text(json.dumps(book))
        return masters.Master(UNIT, None, (), {}, {}).version

    before = version()
    cells[NAME]["source"] = "Another.\n\n### BEGIN MARK SCHEME\n- 4 points: all of it\n### END MARK SCHEME"
    cells[NAME]["metadata"]["nbgrader"]["points"] = 4
    assert version() == before and rubrics(UNIT)[NAME] == ("Another.", "- 4 points: all of it", 4)
    cells[f"say-{NAME}"]["source"] = "Another question?"
    assert version() != before

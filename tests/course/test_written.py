"""The written question of each unit: the build makes it, and learners get no trace of its answer."""

import json
import re

import nbformat
import pytest
from anatomy.app.build_stamp import is_as_built, parse, text_of, to_bytes
from nbgrader.api import Gradebook
from traitlets.config.loader import PyFileConfigLoader
from traitlets.utils.importstring import import_item

from autograder import ROOT, exercises
from autograder.authoring.review import words
from autograder.build import __main__ as build
from autograder.build import package
from autograder.notebooks import source, written
from autograder.notebooks.release import release_notebook

UNITS = exercises.units()
BEGIN = "### BEGIN MARK SCHEME"
FIRST = UNITS[0]


def solved(unit):
    return nbformat.read(ROOT / "solutions" / unit / f"{unit}.ipynb", as_version=4)


def released(unit):
    return nbformat.read(ROOT / "course" / unit / f"{unit}.ipynb", as_version=4)


def the_cell(book):
    (cell,) = [c for c in book.cells if written.is_written(c)]
    return cell


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_asks_for_one_answer_in_words(unit):
    book = released(unit)
    at = book.cells.index(the_cell(book))
    asked, cell, compare = book.cells[at - 1 : at + 2]
    assert cell.source == written.STUB and cell.id == cell.metadata.nbgrader.grade_id == f"written-{unit}"
    marks = cell.metadata.nbgrader
    assert (marks.grade, marks.solution, marks.locked, marks.points) == (True, True, False, 0)
    assert cell.metadata.deletable is False and "editable" not in cell.metadata
    assert asked.source.startswith("## In your own words\n") and "?" in asked.source
    assert compare.source.startswith("<details>") and compare.source.count("\n- ") in range(2, 5)
    assert cell.id not in json.loads((ROOT / "assets" / "units" / f"{unit}.json").read_text())["extension_cells"]
    assert "5 for writing" in book.cells[0].source


@pytest.mark.parametrize("unit", UNITS)
def test_the_model_answer_is_what_is_asked_for_and_the_rubric_gives_the_points(unit):
    cell = the_cell(solved(unit))
    answer, scheme = written.parts_of(cell.source)
    sentences = re.findall(r"[.?!](?=\s|$)", answer)
    assert 3 <= len(sentences) <= 8 and words(answer) <= 120
    given = sum(int(n) for n in re.findall(r"^- (\d) point", scheme, re.M))
    assert given == cell.metadata.nbgrader.points and given in range(2, 5)
    assert "\n- No point: " in scheme, "what is often written and is not right"


@pytest.mark.parametrize("unit", UNITS)
def test_nothing_that_learners_get_holds_the_answer_or_the_rubric(unit):
    answer, scheme = written.parts_of(the_cell(solved(unit)).source)
    lines = [line for line in re.split(r"(?<=[.:;])\s|\n", f"{answer}\n{scheme}") if len(line) > 30]
    for path in (ROOT / "course" / unit / f"{unit}.ipynb", ROOT / "assets" / "units" / f"{unit}.json"):
        text = json.loads(path.read_text())
        shown = "\n".join(map(text_of, text["cells"])) if "cells" in text else json.dumps(text, ensure_ascii=False)
        assert BEGIN not in shown and not [line for line in lines if line in shown]


def config(**grading):
    """nbgrader_config.py, with these settings of ``c.Grading`` added."""
    made = PyFileConfigLoader("nbgrader_config.py", str(ROOT)).load_config()
    made.Grading.update(grading)
    return made


@pytest.mark.parametrize("counts", [False, True])
def test_stock_generate_assignment_and_ours_make_the_same_notebook_with_the_same_points(counts, tmp_path):
    settings, url = config(written_answers=counts), f"sqlite:///{tmp_path}/gradebook.db"
    where = {"nbgrader": {"notebook": FIRST, "assignment": FIRST, "db_url": url}}
    with Gradebook(url) as gradebook:
        gradebook.add_assignment(FIRST)
    book, most = solved(FIRST), float(the_cell(solved(FIRST)).metadata.nbgrader.points)
    for step in settings.GenerateAssignment.preprocessors:
        book, where = import_item(step)(config=settings).preprocess(book, where)
    assert book == release_notebook(solved(FIRST), settings) and (book == released(FIRST)) is not counts
    with Gradebook(url) as gradebook:
        stored = {c.name: c.max_score for c in gradebook.find_notebook(FIRST, FIRST).grade_cells}
        kept = gradebook.find_source_cell(f"written-{FIRST}", FIRST, FIRST)
    assert stored == {"check-start-weighted_average": 1.0, f"written-{FIRST}": most if counts else 0.0}
    assert kept.source == written.STUB, "the gradebook holds no rubric either"


def test_an_answer_in_course_stops_the_release_and_the_build(tmp_path, monkeypatch, capsys):
    path = tmp_path / "course" / FIRST / f"{FIRST}.ipynb"
    path.parent.mkdir(parents=True)
    made = parse(to_bytes(json.loads(nbformat.writes(released(FIRST)))))
    assert is_as_built(made)
    next(c for c in made["cells"] if c["id"] == f"written-{FIRST}")["source"] = "Because both sums are equal."
    path.write_bytes(to_bytes(made))
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "all_outputs", lambda: {path: b"a newer release"})
    monkeypatch.setattr(package, "contents", lambda root=tmp_path: {f"course/{FIRST}/{FIRST}.ipynb": b""})
    (said,) = package.unfit(tmp_path)
    assert said.startswith(f"course/{FIRST}/{FIRST}.ipynb holds something that no build wrote (answers?")
    assert build.main([]) == 1 and "the last build did not write" in capsys.readouterr().err
    assert "Because both sums" in path.read_text()


@pytest.fixture
def edit(monkeypatch, tmp_path):
    """Builds unit 00 from an edited copy of its source."""

    def build_edited(old, new):
        text = source.source_path(FIRST).read_text()
        assert text.count(old) >= 1
        path = tmp_path / f"{FIRST}.py"
        path.write_text(text.replace(old, new))
        monkeypatch.setattr(source, "source_path", lambda unit: path)
        return source.source_notebook(FIRST)

    return build_edited


ASKED, ANSWERED = '# %% [markdown] written="question"', '# %% [markdown] written="answer" points=2'


@pytest.mark.parametrize(
    "old, new, says",
    [
        (ANSWERED, ANSWERED.replace("2", "3"), r"00-start-here.py:\d+: the rubric's lines .* give 2 points, and"),
        (ANSWERED, ANSWERED.replace(" points=2", ""), "says points=2 to 4"),
        (ANSWERED, ANSWERED.replace("2", '"two"'), "points stand at the written answer"),
        (ANSWERED, ANSWERED.replace("answer", "answers"), "the written question is text"),
        (ASKED, "# %% [markdown] points=2", "points stand at the written answer"),
        (ASKED, "# %% [markdown]", "one written=.question. cell and behind it"),
        (ASKED, f"{ASKED}\n# Why?\n#\n# - a\n# - b\n\n{ASKED}", "one written=.question. cell and behind it"),
        (ANSWERED, f"# %%\n1 + 1\n\n{ANSWERED}", "stands right behind its"),
        (ANSWERED, "# %% [markdown]", "has no written=.answer. cell behind it"),
        ("# ### BEGIN MARK SCHEME\n", "", "is the model answer, then"),
        ("\n# - ", "\n# * ", "2 to 4 things"),
    ],
)
def test_an_authors_mistake_is_named(edit, old, new, says):
    with pytest.raises(source.SourceError, match=says):
        edit(old, new)


def test_a_unit_may_go_without(edit):
    text = source.source_path(FIRST).read_text()
    group = text[text.index(ASKED) : text.index("# %% [markdown]\n# ## Recap")]
    book = edit(group, "")
    assert not any(map(written.is_written, book.cells)) and "for writing" not in book.cells[0].source

"""Pictures pasted into a written answer reach the graders and the student's page; nothing else gets through."""

import base64
import io
import json

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbconvert.exporters import HTMLExporter
from PIL import Image
from traitlets.config.loader import PyFileConfigLoader

from autograder import ROOT
from autograder.grading.book.stored import packed
from autograder.grading.intake import pictures
from autograder.grading.intake.rebuild import rebuild
from autograder.grading.judging.results import GradedNotebook
from autograder.grading.pages import feedback
from autograder.notebooks import written

from .cheats.base import START
from .classroom import released

NAME = f"written-{START}"


def encoded(kind="png", size=(4, 3), **options):
    out = io.BytesIO()
    Image.new("RGB", size, "red").save(out, kind, **options)
    return base64.b64encode(out.getvalue()).decode()


PNG = encoded()


def handed_in(text, attachments, *copies):
    book = released()
    cell = next(c for c in book["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == NAME)
    cell |= {"source": text, "attachments": attachments}
    book["cells"] += [{**cell, "id": f"w{i}", **copy} for i, copy in enumerate(copies)]
    result = rebuild(json.dumps(book).encode(), START)
    return next(c for c in result.notebook.cells if written.is_written(c)), result


def said(result):
    return [n.sentence for n in result.notes if n.name == "submission.picture_left_out"]


def graded(result):
    return GradedNotebook("ada", START, [], notebook=result.notebook)


def test_what_the_text_shows_is_taken_in_its_order_under_names_of_ours():
    jpeg = encoded("jpeg")
    text = "![a](attachment:b.jpg) so ![](attachment:a.png)"
    there = {"a.png": {"image/png": PNG}, "b.jpg": {"image/jpeg": jpeg}, "unused.png": {"image/png": PNG}}
    cell, result = handed_in(text, there)
    assert [*cell.attachments.items()] == [
        ("picture-1.jpeg", {"image/jpeg": jpeg}),
        ("picture-2.png", {"image/png": PNG}),
    ]
    assert not said(result)
    nbformat.validate(result.notebook)


def test_a_small_file_that_is_huge_in_a_browser_is_left_out():
    huge, third = encoded(size=(16_000, 16_000)), encoded(size=(4_000, 4_000))
    there = {"a": {"image/png": huge}, **{n: {"image/png": third} for n in "bcd"}}
    cell, result = handed_in("".join(f"![](attachment:{n})" for n in "abcd"), there)
    assert len(huge) < 2_000_000 and list(cell.attachments) == ["picture-1.png", "picture-2.png"]
    assert said(result)[0].startswith("2 of the 4 pictures") and "40 million pixels" in said(result)[0]


def test_base64_in_lines_is_read():
    cell, _ = handed_in("![](attachment:a)", {"a": {"image/png": [PNG[:30] + "\n", PNG[30:]]}})
    assert cell.attachments == {"picture-1.png": {"image/png": PNG}}


@pytest.mark.parametrize(
    "data",
    [
        {"image/svg+xml": "<svg onload='alert(1)'/>"},
        {"text/html": "<script>alert(1)</script>"},
        {"image/png": base64.b64encode(b"<script>alert(1)</script>").decode()},
        {"image/png": PNG + "\"onerror='alert(1)'"},
        {"image/jpeg": PNG},
        {"image/gif": encoded("gif")},
        {"image/png": 7},
        {"image/png": [PNG, None]},
        {"image/png": "A" * 20_000_000},
        {"image/png": "é"},
        [PNG],
        None,
    ],
    ids="svg,html,html as png,breaks out,png as jpeg,gif,number,parts,huge,not Base64,list,none".split(","),
)
def test_what_is_no_picture_is_left_out_and_said(data):
    cell, result = handed_in("see ![](attachment:a.png)", {"a.png": data})
    assert "attachments" not in cell and "see" in cell.source
    (sentence,) = said(result)
    assert sentence.startswith("1 of the 1 pictures") and len(sentence) < 300


@pytest.mark.parametrize("attachments", [None, [], "x", {}])
def test_attachments_that_are_none_cost_nothing_but_the_pictures(attachments):
    cell, result = handed_in("![](attachment:a.png)", attachments)
    assert "attachments" not in cell and len(said(result)) == 1
    assert "attachments" not in handed_in("no picture", attachments)[0]


def test_there_is_an_end_to_them():
    large = base64.b64encode(base64.b64decode(PNG) + b"\0" * 4_000_000).decode()
    there = {f"{i}": {"image/png": large} for i in range(3)} | {f"s{i}": {"image/png": PNG} for i in range(9)}
    text = "".join(f"![](attachment:{n})" for n in there)
    cell, result = handed_in(text, there)
    assert len(cell.attachments) == pictures.MAX_PICTURES
    assert sum(len(d) for *_, d in pictures.taken_from(cell)) < pictures.MAX_ENCODED + 1_000
    assert said(result)[0].startswith("6 of the 12 pictures")


def test_of_copies_the_pictures_are_those_of_the_text_that_counts():
    cell, _ = handed_in("![](attachment:a)", {"a": {"image/png": PNG}}, {"source": "words", "attachments": {}})
    assert "attachments" not in cell and "words" in cell.source


def test_another_picture_is_another_answer():
    one = packed(graded(handed_in("![](attachment:a)", {"a": {"image/png": PNG}})[1]))["written"]
    other = packed(graded(handed_in("![](attachment:a)", {"a": {"image/png": encoded(size=(9, 9))}})[1]))["written"]
    assert one.keys() == other.keys() == {NAME} and one != other


def test_student_and_grader_see_them():
    _, result = handed_in("as drawn: ![](attachment:a)", {"a": {"image/png": PNG}})
    address = f"data:image/png;base64,{PNG}"
    (image,) = BeautifulSoup(feedback.page(graded(result)), "html.parser").select("img")
    assert (image["src"], image["alt"]) == (address, "picture-1.png, from your answer")
    config = PyFileConfigLoader("nbgrader_config.py", str(ROOT)).load_config()
    about = {"submission_id": "1", "assignment_id": START}
    page, _ = HTMLExporter(config=config).from_notebook_node(result.notebook, resources=about)
    assert [i["src"] for i in BeautifulSoup(page, "html.parser").select("img")] == [address]

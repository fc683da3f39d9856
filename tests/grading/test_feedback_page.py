"""The student's page: comments as they were meant, the written answer as typed, and no points lost by waiting."""

import pytest
from anatomy.judge.verdict import Verdict
from anatomy.program.units import grade_id
from anatomy.system import translation
from bs4 import BeautifulSoup

from autograder.grading.base.inert import as_text, as_typed
from autograder.grading.base.masters import MARK, master
from autograder.grading.book.standing import Standing
from autograder.grading.judging.results import GradedNotebook
from autograder.grading.pages import feedback
from autograder.notebooks import wording, written

from .cheats.base import START

EXERCISE = "start.weighted_average"
CHECK, NAME = grade_id(EXERCISE), f"written-{START}"
TYPED = "The weights sum to 1.\n\n```python\nx = 1\n```\nSo **none** leaves the range."


def page(typed=TYPED, **standing):
    book = master(START).notebook.copy()
    book.cells = [cell.copy() for cell in book.cells]
    for cell in book.cells:
        cell.metadata = cell.metadata.copy()
        cell.metadata[MARK] = {"role": "written" if written.is_written(cell) else "demo"}
        if written.is_written(cell):
            cell.source = as_text(typed)
    graded = GradedNotebook("ada", START, [Verdict(EXERCISE, True, 1.0, 1.0, [], [], 0.0)], notebook=book)
    return BeautifulSoup(feedback.page(graded, Standing(**standing)), "html.parser")


@pytest.mark.parametrize("text", [TYPED, "one line", "````\nfences\n````", "", "```"])
def test_the_answer_stands_as_it_was_typed(text):
    assert as_typed(as_text(text)) == text
    assert page().find(id=NAME).find_next("pre").text == TYPED


@pytest.mark.parametrize("text", [wording.WRITE_HERE, f"  {wording.WRITE_HERE}\n", "写", ""])
def test_an_answer_that_nobody_wrote_is_said_to_be_empty(text):
    after = page(text).find(id=NAME).find_next("p")
    assert (after is not None and after.text == "Nothing was written here.") == (text != "写")
    with translation.speaking("zh_CN"):
        given = translation.said(wording.BUILD, wording.WRITE_HERE)
    assert page(given).find(id=NAME).find_next("p").text == "Nothing was written here.", "in whatever language"


def test_a_comment_is_markdown_and_html_in_it_is_text():
    remark = "Say **what** changes in `dim`.\n\n<b>x</b> <script>alert(1)</script> [y](javascript:alert(1))"
    shown = page(comments={CHECK: remark, NAME: "*Good.*"})
    first, last = shown.select(".comment")
    assert first.strong.text == "what" and first.code.text == "dim" and last.em.text == "Good."
    assert "<b>x</b> <script>alert(1)</script>" in first.text and not shown.select("script, .comment b")
    assert not [a for a in shown.select("a") if a["href"].startswith("javascript")]


def test_an_answer_that_nobody_has_read_has_lost_no_points():
    most = {CHECK: 1.0, NAME: 3.0}
    shown = page(points={CHECK: 1.0, NAME: 0.0}, most=most, waiting=frozenset({NAME}))
    assert shown.h1.text == f"{START}: 1 of 1 point so far"
    assert "for up to 3 points more" in shown.text and "– of 3" in shown.text
    shown = page(points={CHECK: 1.0, NAME: 2.0}, most=most, decided=frozenset({NAME}))
    assert shown.h1.text == f"{START}: 3 of 4 points" and "2 of 3" in shown.text
    # Its points stay while an instructor reviews a changed answer.
    shown = page(points={CHECK: 1.0, NAME: 2.0}, most=most, decided=frozenset({NAME}), waiting=frozenset({NAME}))
    assert shown.h1.text == f"{START}: 3 of 4 points"

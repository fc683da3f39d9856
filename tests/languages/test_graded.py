"""A submission in another language is graded like the English one; the student's page is in that language."""

import json
import re

import nbformat
import pytest
from anatomy.app import build_stamp, carry_over
from nbclient import NotebookClient

from autograder import ROOT
from autograder.grading.book.stored import untouched
from autograder.grading.intake.rebuild import language_of, rebuild
from autograder.grading.judging import grade, results
from autograder.grading.judging.submitted import of_bytes
from autograder.grading.pages import feedback
from autograder.judge.drawing import student_key
from autograder.languages import notebooks
from autograder.notebooks.source import read_unit, to_json
from autograder.sandbox import Limits, LocalSession

from .conftest import LANGUAGE, bracketed

UNIT = "00-start-here"
ANSWER = "def weighted_average(values, weights):\n    return weights @ values / weights.sum()\n"
WRITTEN = "They agree where the weights sum to the number of words."


def released(language=LANGUAGE):
    """The unit as learners get it, in that language or in English."""
    if language is None:
        return json.loads((ROOT / "course" / UNIT / f"{UNIT}.ipynb").read_text(encoding="utf-8"))
    return json.loads(to_json(notebooks.notebook(UNIT, language, lambda mark: bracketed(mark.says))))


def written(book, kind, text):
    cell = next(c for c in book["cells"] if c["id"].startswith(kind))
    cell["source"] = text
    return book


def graded(book):
    sessions = lambda: LocalSession(Limits(wall_seconds=300), python_path=[str(ROOT / "course")])
    return grade.grade(of_bytes(json.dumps(book).encode(), UNIT, "ada", student_key("s", "ada", UNIT)), sessions)


def test_a_solved_notebook_gets_full_marks_and_its_page_is_in_its_language(brackets):
    mine = graded(written(released(), "solve-", ANSWER))
    english = graded(written(released(None), "solve-", ANSWER))
    assert mine.score == english.score == english.max_score == 1 and not mine.signs
    assert mine.notes == english.notes, "the first cell is nobody's own"
    assert language_of(mine.notebook) == LANGUAGE and language_of(english.notebook) == "en"
    page, plain = feedback.page(mine), feedback.page(english)
    assert '<html lang="eo">' in page and '<html lang="en">' in plain and "⟦" not in plain
    for words in ("⟦A weighted average⟧", "⟦passed⟧", "⟦Exercise⟧", "⟦Your code⟧", "⟦1 point⟧"):
        assert words in page, words
    visible = re.sub(r"<style>.*?</style>|<pre.*?</pre>|<code>.*?</code>|<[^>]+>", " ", page, flags=re.S)
    while "⟦" in visible:
        at = visible.rindex("⟦")
        visible = visible[:at] + visible[visible.index("⟧", at) + 1 :]
    assert not re.search("[A-Za-z]{3,}", visible.replace(UNIT, "")), visible


def test_a_wrong_answer_is_told_in_the_language(brackets):
    wrong = graded(written(released(), "solve-", ANSWER.replace(" / weights.sum()", "")))
    (verdict,) = wrong.verdicts
    assert verdict.mistakes[0].name == "not_divided" and wrong.score == 0
    assert "⟦This is the weighted sum. Divide it by the sum of the weights.⟧" in feedback.page(wrong)
    raised = graded(written(released(), "solve-", ANSWER.replace("weights @", "weights @ 1 @")))
    assert "⟦Your code raised " in raised.verdicts[0].mistakes[0].message


@pytest.mark.parametrize("language", [LANGUAGE, None])
def test_an_answer_that_nobody_wrote_is_none_in_any_language(brackets, language):
    name = f"written-{UNIT}"
    blank = rebuild(json.dumps(released(language)).encode(), UNIT)
    cell = next(c for c in blank.notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == name)
    assert cell.source.startswith("Write your answer here")
    assert name in untouched(results.GradedNotebook("ada", UNIT, [], notebook=blank.notebook))
    answered = rebuild(json.dumps(written(released(language), "written-", WRITTEN)).encode(), UNIT)
    assert WRITTEN in "".join(c.source for c in answered.notebook.cells)


@pytest.mark.parametrize("source", ['from anatomy import speak\n\nspeak("xx")', 'speak("eo")', "print('speak')"])
def test_only_the_cell_that_the_build_writes_tells_a_language(brackets, source):
    book = released(None)
    book["cells"].insert(0, nbformat.v4.new_code_cell(source, id="speak"))
    rebuilt = rebuild(json.dumps(book).encode(), UNIT)
    assert language_of(rebuilt.notebook) == "en"
    assert source in [c.source for c in rebuilt.notebook.cells], "it is a cell of the student's own"


@pytest.mark.parametrize("before, after", [(None, LANGUAGE), (LANGUAGE, None), (LANGUAGE, LANGUAGE)])
def test_a_change_of_language_keeps_answers(before, after):
    work = written(written(released(before), "solve-", ANSWER), "written-", WRITTEN)
    work["cells"].insert(5, nbformat.v4.new_code_cell("my_own = 1", id="mine"))
    release = released(after)
    if before == after:  # a newer text in the same language
        work["cells"][1]["source"] = "an older text"
    data = [build_stamp.parse(json.dumps(book)) for book in (work, release)]
    merged, report = carry_over.merge(*data)
    text = {c["id"]: build_stamp.text_of(c) for c in merged["cells"]}
    assert text["solve-start-weighted_average"] == ANSWER and text[f"written-{UNIT}"] == WRITTEN
    assert report.answers == 2 and "my_own = 1" in text.values()
    assert ("speak" in text) == (after is not None)
    assert build_stamp.release_of(merged) == build_stamp.release_of(data[1])
    titles = [build_stamp.text_of(c) for c in merged["cells"] if c["cell_type"] == "markdown"]
    if before != after:
        assert any("⟦Start here⟧" in t for t in titles) == (after is not None)
        assert not any(t.startswith("## Kept from") for t in titles), "nothing is left over"


def test_a_notebook_in_another_language_runs(tmp_path, monkeypatch):
    """In the committed language, with its own kernel, as a learner runs it once the answer is written."""
    monkeypatch.setenv("ANATOMY_RUN_ALL", "1")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    lookup = notebooks.lookup_of("zh_CN", UNIT)
    book = notebooks.notebook(UNIT, "zh_CN", lookup)
    solved = read_unit(UNIT)[0]
    answers = {c["id"]: c.source for c in solved.cells if c["id"].startswith("solve-")}
    for cell in book.cells:
        cell["source"] = answers.get(cell["id"], cell.source)
    NotebookClient(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = json.dumps([c.get("outputs", []) for c in book.cells], ensure_ascii=False)
    assert "start.weighted_average" in outputs and '"output_type": "error"' not in outputs

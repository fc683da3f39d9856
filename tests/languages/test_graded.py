"""A submission in another language is graded like the English one; the student's page is in that language."""

import html
import json
import re

import nbformat
import pytest
from anatomy.app import build_stamp, carry_over
from anatomy.system import translation

from autograder import ROOT
from autograder.grading.base.masters import master
from autograder.grading.book.stored import untouched
from autograder.grading.intake.rebuild import language_of, rebuild
from autograder.grading.judging import grade, results
from autograder.grading.judging.submitted import of_bytes
from autograder.grading.pages import feedback, report
from autograder.judge.drawing import student_key
from autograder.languages import notebooks
from autograder.notebooks.source import to_json
from autograder.sandbox import Limits, LocalSession

from ..grading import classroom
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
    data = book if isinstance(book, bytes) else json.dumps(book).encode()
    sessions = lambda: LocalSession(Limits(wall_seconds=300), python_path=[str(ROOT / "course")])
    return grade.grade(of_bytes(data, UNIT, "ada", student_key("s", "ada", UNIT)), sessions)


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


ODD = {  # what can be odd about a file that is graded nevertheless → what makes it so
    "submission.not_installed": lambda book: solve(book, f"import tensorflow\n{ANSWER}"),
    "submission.input": lambda book: solve(book, f"{ANSWER}\ninput()"),
    "submission.fence": lambda book: solve(book, f"```\n{ANSWER}```"),
    "submission.conflict": lambda book: solve(book, f"<<<<<<< HEAD\n{ANSWER}>>>>>>> other\n"),
    "submission.check_altered": lambda book: written(book, "check-", "pass"),
    "submission.check_missing": lambda book: without(book, "check-"),
    "submission.answer_missing": lambda book: without(book, "solve-"),
    "submission.answer_twice": lambda book: book["cells"].append(cell_of(book, "solve-")) or book,
    "submission.written_missing": lambda book: without(book, "written-"),
    "submission.marks_altered": lambda book: cell_of(book, "check-")["metadata"]["nbgrader"].update(points=9) or book,
    "submission.found_by_name": lambda book: book["cells"].append(nbformat.v4.new_code_cell(ANSWER)) or book,
}


def solve(book, text):
    return written(book, "solve-", text)


def cell_of(book, kind):
    return next(c for c in book["cells"] if c["id"].startswith(kind))


def without(book, kind):
    book["cells"].remove(cell_of(book, kind))
    return book


@pytest.mark.parametrize("name", ODD)
def test_remarks_on_a_file_are_in_its_language(brackets, name):
    notes = rebuild(json.dumps(ODD[name](released())).encode(), UNIT).notes
    assert [re.fullmatch("⟦.*⟧", n.sentence) is not None for n in notes if n.name == name] == [True]
    plain = rebuild(json.dumps(ODD[name](released(None))).encode(), UNIT).notes
    assert [n.name for n in plain] == [n.name for n in notes] and not any("⟦" in n.sentence for n in plain)


@pytest.mark.parametrize("data", [b"", b"%PDF-1", b"{", b"[1]", b"\xff\xfe\x00", b"<<<<<<< a\n", b'{"cells": []}'])
def test_why_a_file_cannot_be_read_is_said_in_the_language_of_the_class(brackets, data):
    with translation.speaking(LANGUAGE):
        unread = graded(data)
        page = feedback.page(unread)
    assert unread.score == 0 and re.fullmatch("⟦.*⟧", unread.problem[1])
    assert '<html lang="eo">' in page and html.escape(unread.problem[1]) in page
    assert "⟦" not in graded(data).problem[1], "English where no language is set"


@pytest.mark.parametrize("unit", [UNIT, "08-kv-cache-and-gqa", "11-assembly"])
def test_what_was_handed_out_in_another_language_is_no_answer(unit):
    """Else an answer in a cell of the student's own would not count while the stub still stands in its place."""
    trusted = master(unit)
    book = notebooks.notebook(unit, LANGUAGE, lambda mark: bracketed(mark.says))
    assert "⟦" in "".join(c.source for c in book.cells if c.cell_type == "code")
    for exercise in trusted.exercises:
        own = "".join(f"def {name}(*args):\n    return 42\n\n" for name in exercise.targets)
        book.cells.append(nbformat.v4.new_code_cell(own))
    notes = rebuild(nbformat.writes(book).encode(), unit).notes
    assert {n.exercise for n in notes if n.name == "submission.found_by_name"} == {e.id for e in trusted.exercises}


def test_a_wrong_answer_is_told_in_the_language(brackets):
    wrong = graded(written(released(), "solve-", ANSWER.replace(" / weights.sum()", "")))
    (verdict,) = wrong.verdicts
    assert verdict.mistakes[0].name == "not_divided" and wrong.score == 0
    assert "⟦This is the weighted sum. Divide it by the sum of the weights.⟧" in feedback.page(wrong)
    raised = graded(written(released(), "solve-", ANSWER.replace("weights @", "weights @ 1 @")))
    assert "⟦Your code raised " in raised.verdicts[0].mistakes[0].message


WRONG = {
    "not_divided": ANSWER.replace(" / weights.sum()", ""),
    "generic.factor": ANSWER.replace("weights.sum()", "(weights.sum() if len(weights) < 5 else 1)"),
    "generic.signature": ANSWER.replace("values, weights)", "weights)"),
}
STAYS = {"weighted_average", "values", "weights", "torch", "tensor", "ada"}  # names are the same in every language


def english_in(page):
    """Words of three letters and more on a page that aren't code, in order."""
    page = re.sub(r"<style>.*?</style>|<pre.*?</pre>|<code>.*?</code>|<details.*?</details>", " ", page, flags=re.S)
    return re.findall("[A-Za-z_]{3,}", re.sub("<[^>]+>", " ", page).replace(UNIT, ""))


@pytest.mark.parametrize("name", [*WRONG, ""])
def test_a_class_in_chinese_gives_the_same_points_for_english_and_chinese_notebooks(name):
    """And pages in Chinese, in the committed catalogs: the file says its language, else the class does."""
    answer = WRONG.get(name, ANSWER)
    chinese = json.loads(notebooks.outputs("zh_CN", [UNIT])[f"course/{UNIT}/{UNIT}.ipynb"])
    with translation.speaking("zh_CN"):
        both = [graded(written(book, "solve-", answer)) for book in (chinese, released(None))]
        pages = [feedback.page(one) for one in both]
    one, other = ([(v.score, v.max_score, [m.name for m in v.mistakes]) for v in g.verdicts] for g in both)
    assert one == other and (name in one[0][2] if name else one[0][0] == 1)
    for page in pages:
        assert '<html lang="zh-CN">' in page and "加权平均" in page
        assert set(english_in(page)) <= STAYS, english_in(page)
    assert name != "not_divided" or "这是加权和" in pages[0]


def test_a_class_of_ten_is_graded_and_reported_in_chinese(tmp_path):
    classroom.course(tmp_path)
    (tmp_path / "class_settings.py").write_text('c = get_config()\nc.Class.language = "zh_CN"\n', encoding="utf-8")
    chinese = notebooks.outputs("zh_CN", [UNIT])[f"course/{UNIT}/{UNIT}.ipynb"]
    answers = {"a": ANSWER, "b": WRONG["not_divided"], "c": WRONG["generic.factor"]}
    for name, answer in answers.items():
        for student in (f"{name}1", f"{name}2"):
            classroom.submit(tmp_path, student, json.dumps(written(json.loads(chinese), "solve-", answer)).encode())
        classroom.submit(tmp_path, f"{name}3", json.dumps(written(released(None), "solve-", answer)).encode())
    classroom.submit(tmp_path, "d1", b"%PDF-1.7")
    done = classroom.started(tmp_path, "--workers", "2")
    assert done.returncode == 0, done.stderr
    scores = {r["student"]: r["score"] for r in classroom.grades(tmp_path) if r["exercise"]}
    assert scores == {f"{n}{i}": scores[f"{n}1"] for n in "abc" for i in (1, 2, 3)} | {"d1": "0"}
    assert scores["a1"] == "1" and scores["b1"] == "0" and 0 < float(scores["c1"]) < 1
    assert classroom.called(tmp_path, report.main).returncode == 0
    pages = {p.parts[-3]: p.read_text(encoding="utf-8") for p in tmp_path.glob("feedback/*/*/*.html")}
    pages["report"] = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert len(pages) == 11
    for name, page in pages.items():
        assert '<html lang="zh-CN">' in page and set(english_in(page)) <= STAYS | {"PDF", "ipynb"}, (
            name,
            english_in(page),
        )
    assert "文件不是笔记本，而是PDF" in pages["d1"] and "还要除以权重之和" in pages["b3"]
    assert "班级报告" in pages["report"] and "最常见的错误" in pages["report"] and "还要除以权重之和" in pages["report"]
    again = classroom.started(tmp_path, "--workers", "2")
    assert "0 graded now, 10 were up to date" in again.stdout and "stale" not in again.stderr


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

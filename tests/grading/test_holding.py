"""Points that wait for an instructor: what the student, the gradebook, the report and the command show."""

import dataclasses
import json
import shutil

import pytest

from autograder import ROOT
from autograder.grading.book.gradebook import GradebookWriter
from autograder.grading.judging import holding
from autograder.grading.judging.grade import grade as grade_one
from autograder.grading.judging.result_json import graded_from, to_json
from autograder.grading.judging.results import Held
from autograder.grading.judging.submitted import of_bytes
from autograder.grading.pages import feedback, waiting
from autograder.grading.pages.report import page, summarize
from autograder.judge.drawing import student_key

from .cheats.base import ATTENTION, SOLVE_SOFTMAX, code_cell, find, insert_before, released

KEY = student_key("course secret", "ada", ATTENTION)
RIGHT = """
def softmax(x, dim=-1):
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)
"""
HIDDEN = RIGHT.replace("torch.exp(", "eval('torch.exp')(")
NAMED = RIGHT + "    return torch.softmax(x, dim)\n"
SOFTMAX = "attention.softmax"


def submission(source, own=None):
    book = released(ATTENTION)
    find(book, SOLVE_SOFTMAX)["source"] = source
    if own:
        insert_before(book, "check-attention-softmax", code_cell(own))
    return json.dumps(book).encode()


@pytest.fixture(scope="module")
def graded(sandbox):
    """grade(source, own cell) → GradedNotebook, each graded once."""
    known = {}

    def grade(source, own=None, student="ada"):
        if (source, own) not in known:
            known[source, own] = grade_one(of_bytes(submission(source, own), ATTENTION, "ada", KEY), sandbox)
        return dataclasses.replace(known[source, own], student=student)

    return grade


@pytest.fixture
def book(tmp_path, monkeypatch):
    """Sets up an empty course; book() opens its gradebook for writing."""
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    from autograder.grading.book.course import load_course

    return lambda: GradebookWriter(load_course().db_url, load_course().directory.course_id or "default_course")


def verdict(result):
    return next(v for v in result.verdicts if v.exercise == SOFTMAX)


def test_a_right_answer_that_cannot_be_followed_waits_with_its_line(graded):
    result = graded(HIDDEN)
    (held,) = result.held
    assert (held.exercise, held.points, held.name) == (SOFTMAX, 2, "eval")
    assert held.evidence.startswith("e = eval('torch.exp')") and held.where == f"{SOLVE_SOFTMAX}, line 3"
    assert not verdict(result).score and not verdict(result).passed
    first = verdict(result).mistakes[0]
    assert first.name == "held" and "Line 3" in first.message and "eval" in first.message
    assert "2 of 2" in first.message and "wait" in first.message and "submit again" in first.message
    assert "Use exp, a maximum" in first.message and "wait until a person has looked" in feedback.page(result)


def test_what_plainly_names_the_forbidden_built_in_is_wrong_and_does_not_wait(graded):
    result = graded(NAMED.replace("return e /", "if dim is None:\n        return torch.softmax(x, 0)\n    return e /"))
    assert not result.held and not verdict(result).score
    assert verdict(result).mistakes[0].name == "forbidden_builtin" and "ban" in {s.technique for s in result.signs}


def test_a_cell_that_compares_with_the_library_holds_nothing(graded):
    result = graded(RIGHT, "x = torch.randn(3)\nprint(softmax(x) - torch.softmax(x, -1), x.softmax(0))")
    assert not result.held and verdict(result).passed and verdict(result).score == 2


def test_a_cell_that_changes_the_library_holds_the_points(graded):
    result = graded(RIGHT, "torch.exp = torch.exp")
    assert [h.name for h in result.held] == ["torch.exp"] and "cell of your own" in verdict(result).mistakes[0].message


def test_other_exercises_keep_their_points(graded):
    assert [h.exercise for h in graded(HIDDEN).held] == [SOFTMAX]


def test_source_beyond_the_limits_holds_everything_with_a_ban(graded):
    result = graded(RIGHT)
    again = dataclasses.replace(result, verdicts=list(result.verdicts), held=[])
    from autograder.grading.base.masters import master
    from autograder.grading.intake.rebuild import rebuild

    exercises = master(ATTENTION).exercises
    holding.hold(again, rebuild(submission(RIGHT), ATTENTION), exercises, readable=False)
    assert [h.exercise for h in again.held] == [e.id for e in exercises if e.forbidden and e.id == SOFTMAX]
    assert again.held[0].name == "cannot be resolved"


def test_held_points_travel_between_processes(graded):
    result = graded(HIDDEN)
    assert graded_from(json.loads(json.dumps(to_json(result)))).held == result.held
    broken = to_json(result)
    broken["held"] = [{**broken["held"][0], "points": "2"}]
    with pytest.raises(TypeError):
        graded_from(broken)


def test_the_formgrader_is_asked_for_a_look_and_a_release_stays(graded, book, capsys):
    check = ("check-attention-softmax", ATTENTION, ATTENTION, "ada")
    with book() as writer:
        writer.write(graded(HIDDEN), "digest", "1")
        writer.write(graded(RIGHT, student="bob"), "digest", "1")
        grade = writer.gradebook.find_grade(*check)
        assert grade.needs_manual_grade and grade.auto_score == 0
        assert not writer.gradebook.find_grade(*check[:3], "bob").needs_manual_grade
        assert [(s, h.points) for s, _, h in waiting.waiting(writer)] == [("ada", 2)]
    assert waiting.main([]) == 0
    assert "ada" in (out := capsys.readouterr().out) and "eval('torch.exp')" in out and "bob" not in out
    assert waiting.main(["release", "ada", SOFTMAX]) == 0
    assert "2 points" in capsys.readouterr().out
    with book() as writer:
        grade = writer.gradebook.find_grade(*check)
        assert (grade.manual_score, grade.needs_manual_grade, grade.score) == (2, False, 2)
        assert not waiting.waiting(writer)
        writer.write(graded(HIDDEN), "digest", "1")
        assert writer.gradebook.find_grade(*check).score == 2
        (result,) = (r for r in writer.results() if r["student"] == "ada")
        assert result["scores"][SOFTMAX] == 2 and result["decided"] == {SOFTMAX} and len(result["held"]) == 1
    assert waiting.main(["list"]) == 0 and "No points are held" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["release", "nobody", SOFTMAX], "nobody"),
        (["release", "ada", "attention.nothing"], "attention.nothing"),
        (["release", "ada", SOFTMAX, "--points", "7"], "0 to 2"),
    ],
)
def test_a_release_that_makes_no_sense_is_refused_with_one_line(graded, book, capsys, arguments, says):
    with book() as writer:
        writer.write(graded(HIDDEN), "digest", "1")
    assert waiting.main(arguments) == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1
    with book() as writer:
        assert len(waiting.waiting(writer)) == 1


@pytest.mark.parametrize("points", ["-1", "nan", "inf", "many"])
def test_points_must_be_points(points, capsys):
    with pytest.raises(SystemExit):
        waiting.main(["release", "ada", SOFTMAX, f"--points={points}"])
    assert "Traceback" not in capsys.readouterr().err


def test_points_may_be_settled_as_none(graded, book):
    with book() as writer:
        writer.write(graded(HIDDEN), "digest", "1")
    assert waiting.main(["release", "ada", SOFTMAX, "--points", "0"]) == 0
    with book() as writer:
        assert not waiting.waiting(writer)
        assert writer.gradebook.find_grade("check-attention-softmax", ATTENTION, ATTENTION, "ada").score == 0


def test_the_report_lists_what_waits_and_escapes_it(graded, book):
    with book() as writer:
        result = graded(HIDDEN)
        evil = Held(SOFTMAX, 2, "<b>x</b>", "<script>alert(1)</script>\x1b[2J", "cell, line 1")
        writer.write(dataclasses.replace(result, held=[evil]), "digest", "1")
        text = page(*summarize(writer.results()))
    assert "Points held for a look (1 open)" in text and "&lt;script&gt;" in text and "2 held" in text
    assert "<script" not in text and "\x1b" not in text
    assert not any(word in text.lower() for word in ("honest", "clean"))

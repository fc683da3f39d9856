"""``make grade`` on the class of this run: table, gradebook, pages, regrades, report."""

import json
import shutil

import pytest
from anatomy import evaluate

from autograder.grading.__main__ import main
from autograder.grading.book.gradebook import GradebookWriter
from autograder.grading.pages import report
from autograder.sandbox import SandboxUnavailable

from .cheats.base import ATTENTION, START
from .classroom import ANSWERS, called, consistent, course, grade, grades, notebook, query, submit, times_graded
from .term import copy


def test_every_submission_ends_in_a_result_or_a_clear_message(term):
    root, done = term.made, term.done
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    rows = {(r["student"], r["unit"], r["exercise"]): r for r in grades(root) if r["status"] != "missing"}
    start = lambda s: rows[s, START, "start.weighted_average"]
    assert start("right")["score"] == start("right")["max_score"] == "1" and start("right")["mistake"] == ""
    assert (start("mutant")["score"], start("mutant")["mistake"]) == ("0", "not_divided")
    assert start("partly")["score"] == "0.666667"
    assert start("broken")["mistake"] == "generic.cell_raised"
    assert start("hostile")["mistake"] == "generic.process_ended"
    assert start("no-json")["mistake"] == "submission.not_json"
    assert start("renamed")["score"] == "1"
    assert start("linked")["mistake"] == "submission.not_a_file"
    assert start("two-units")["score"] == "1"
    assert sum(u == ATTENTION for _, u, _ in rows) == len({e for _, u, e in rows if u == ATTENTION}) > 5
    assert rows["unknown-unit", "99-nothing", ""]["mistake"] == "submission.unknown_unit"
    assert rows["loose", START, ""]["mistake"] == "submission.layout"
    assert "99-nothing" in done.stderr
    assert "'=cmd" in {s for s, _, _ in rows}, "a spreadsheet would run it"
    assert consistent(root) == 12
    stands = {(r["student"], r["unit"]): r["status"] for r in grades(root)}
    assert stands["right", START] == "graded" and stands["no-json", START] == stands["linked", START] == "unreadable"
    assert stands["right", ATTENTION] == "missing" and stands["loose", START] == "no result"


def test_feedback_and_notebooks_lie_where_nbgrader_looks(term):
    root = term.made
    page = (root / "feedback" / "mutant" / START / f"{START}.html").read_text()
    assert evaluate("start.weighted_average", lambda values, weights: weights @ values).html() in page
    book = json.loads((root / "autograded" / "mutant" / START / f"{START}.ipynb").read_text())
    assert any(
        "0" in "".join(o.get("data", {}).get("text/plain", "")) for c in book["cells"] for o in c.get("outputs", ())
    )
    assert (root / "autograded" / "late" / START / "timestamp.txt").read_text() == "2030-01-01 12:00:00 UTC\n"
    page = (root / "feedback" / "renamed" / START / f"{START}.html").read_text()
    assert "The notebook is named 00-start-here (1).ipynb" in page


def test_a_second_run_grades_nothing_and_a_changed_file_alone_again(term, tmp_path):
    root = copy(term.made, tmp_path)
    again = grade(root, "--workers", "1")
    assert " 0 graded now, 12 were up to date" in again.stdout, again.stdout + again.stderr
    assert set(times_graded(root).values()) == {1}
    old = (root / "submitted" / "broken" / START / f"{START}.ipynb").read_bytes()
    submit(root, "broken", notebook(ANSWERS["right"]))
    changed = grade(root, "--workers", "1")
    assert " 1 graded now, 11 were up to date" in changed.stdout
    assert {r["student"]: r["score"] for r in grades(root) if r["unit"] == START}["broken"] == "1"
    submit(root, "broken", old)
    grade(root, "--workers", "1")
    assert times_graded(root)["broken"] == 3


def test_one_students_submission_can_be_graded_alone(term, tmp_path):
    root = copy(term.made, tmp_path)
    before = times_graded(root)
    again = grade(root, "--workers", "1", "--force", "--student", "mutant", "--student", "right", "--unit", START)
    assert " 2 graded now, 0 were up to date" in again.stdout, again.stdout + again.stderr
    assert {s for s, n in times_graded(root).items() if n != before[s]} == {"mutant", "right"}
    assert "loose/" in again.stderr, "what could not be stored is said by every run"
    nobody = grade(root, "--student", "nobody")
    assert nobody.returncode == 2 and "nothing of nobody in submitted" in nobody.stderr


def test_what_instructors_wrote_survives_a_regrade(term, tmp_path):
    root = copy(term.made, tmp_path)
    db = f"sqlite:///{root}/gradebook.db"
    with GradebookWriter(db, "transformer-anatomy") as writer:
        book = writer.gradebook
        given = book.find_grade("check-start-weighted_average", START, START, "mutant")
        given.manual_score, given.extra_credit = 0.75, 0.1
        book.find_comment("solve-start-weighted_average", START, START, "mutant").manual_comment = "See me <b>today</b>"
        book.db.commit()
    assert grade(root, "--workers", "1", "--force", "--unit", START).returncode == 1
    assert query(
        root,
        "SELECT manual_score, extra_credit, auto_score, needs_manual_grade FROM grade WHERE manual_score IS NOT NULL",
    ) == [(0.75, 0.1, 0.0, 0)], "the file is the same, so nobody has to look again"
    assert query(root, "SELECT manual_comment FROM comment WHERE manual_comment IS NOT NULL") == [
        ("See me <b>today</b>",)
    ]
    row = next(r for r in grades(root) if r["student"] == "mutant")
    assert row["score"] == "0.85" and row["mistake"] == "not_divided"
    page = (root / "feedback" / "mutant" / START / f"{START}.html").read_text()
    assert "See me &lt;b&gt;today&lt;/b&gt;" in page and "0.85 points; the computed score was 0" in page
    stamps = query(root, "SELECT timestamp FROM submitted_assignment WHERE student_id = 'late'")
    assert stamps[0][0].startswith("2030-01-01 12:00:00")


def test_a_late_penalty_is_taken_by_nbgraders_own_plugin(tmp_path, sandbox):
    root = course(tmp_path / "late")
    (root / "penalty.py").write_text(
        "from nbgrader.plugins import BasePlugin\nclass Half(BasePlugin):\n"
        "    def late_submission_penalty(self, student, score, seconds):\n"
        "        return score / 2\n"
    )
    with open(root / "nbgrader_config.py", "a") as file:
        file.write(
            "\nimport sys\nsys.path.insert(0, '.')\nimport penalty\nc.AssignLatePenalties.plugin_class = penalty.Half\n"
        )
    submit(root, "ada", notebook(ANSWERS["right"]), timestamp="2024-01-02 00:00:00 UTC")
    with GradebookWriter(f"sqlite:///{root}/gradebook.db", "transformer-anatomy") as writer:
        writer._ensure_unit(START)
        writer.gradebook.update_or_create_assignment(START, duedate="2024-01-01 00:00:00 UTC")
    assert grade(root, "--workers", "1").returncode == 0
    assert query(root, "SELECT late_submission_penalty FROM submitted_notebook") == [(0.5,)]
    assert "0.5 of 1 point" in (root / "feedback" / "ada" / START / f"{START}.html").read_text()


def test_the_class_report(term, tmp_path):
    root = copy(term.made, tmp_path)
    done = called(root, report.main)
    assert done.returncode == 0, done.stderr
    page = (root / "report.html").read_text()
    assert "not_divided" in page and "This is the weighted sum" in page and "Median tries" in page
    assert f'<a href="feedback/hostile/{START}/{START}.html">Feedback page of hostile</a>' in page
    assert "hostile" in page and "os._exit(0)" in page and "processes" in page
    assert "Entries without a result (2)" in page and "There is no unit" in page and "99-nothing" in page
    assert page.count("a zip archive") == 1, "a broken file is no mistake in an exercise"
    assert "<script" not in page
    table = (root / "report.csv").read_text().splitlines()
    assert table[0].startswith("unit,exercise,submissions,passed,mean_score")
    mine = [line for line in table if line.startswith(f"{START},start.weighted_average,9,") and ",6," in line]
    # "partly" divides in most cases: the passed cases rule out the named mistake, so the page gives the factor instead.
    assert {"not_divided,1", "generic.factor,1"} <= {",".join(line.split(",")[-2:]) for line in mine}, table
    (root / "report.html").unlink()
    (root / "report.html").mkdir()
    refused = called(root, report.main)
    assert refused.returncode == 2 and "could not be written" in refused.stderr and refused.stderr.count("\n") == 1


def test_without_a_sandbox_it_refuses_in_one_sentence(tmp_path, monkeypatch, capsys):
    root = course(tmp_path / "none")
    submit(root, "ada", notebook(ANSWERS["right"]))
    monkeypatch.chdir(root)

    def unavailable():
        raise SandboxUnavailable("no user namespaces here")

    monkeypatch.setattr("autograder.grading.judging.sessions.require_sandbox", unavailable)
    assert main(["submitted"]) == 2
    said = capsys.readouterr().err.strip()
    assert "no user namespaces here" in said and "--no-sandbox" in said and "\n" not in said
    assert not (root / "gradebook.db").exists()


def test_no_sandbox_says_what_is_given_up_and_grades(tmp_path):
    root = course(tmp_path / "bare")
    submit(root, "ada", notebook(ANSWERS["right"]))
    done = grade(root, "--no-sandbox", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert "can read your files" in done.stderr
    assert [r["score"] for r in grades(root)] == ["1"]


@pytest.mark.parametrize(
    "arguments, said",
    [(["nowhere"], "cannot be read"), (["."], "nothing to grade"), (["submitted", "--unit", "77-x"], "no unit 77-x")],
)
def test_usage_errors_are_one_sentence(arguments, said, tmp_path, monkeypatch, capsys):
    root = course(tmp_path / "usage")
    shutil.rmtree(root / "submitted", ignore_errors=True)
    monkeypatch.chdir(root)
    (root / "nbgrader_config.py").rename(root / ".config")
    assert main(arguments) == 2
    text = capsys.readouterr().err.strip()
    assert said in text and "\n" not in text

"""One truth: gradebook, grades.csv, nbgrader's export and the students' pages agree, whatever the order in which our
commands and nbgrader's own are used."""

import json
import random
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from nbgrader.exchange import ExchangeFactory
from nbgrader.utils import notebook_hash

from autograder.grading.__main__ import main
from autograder.grading.base.masters import master
from autograder.grading.base.outlines import outline
from autograder.grading.base.words import amount
from autograder.grading.book import tables
from autograder.grading.book.course import load_course
from autograder.grading.pages import publishing

from .cheats.base import START, find
from .classroom import ANSWERS, course, grades, notebook, query, submit
from .school import SECRET, School, close, query_rows

pytestmark = pytest.mark.xdist_group("publishing")  # the class is set up once


@pytest.fixture(scope="module")
def school(tmp_path_factory, sandbox):
    """Three students: one late, one in time, one whose answer is wrong. Released, as nbgrader requires."""
    school = School(tmp_path_factory.mktemp("truth"))
    submit(school.root, "late", notebook(ANSWERS["right"]), timestamp="2024-01-02 00:00:00 UTC")
    submit(school.root, "fine", notebook(ANSWERS["partly"]), timestamp="2023-12-31 00:00:00 UTC")
    submit(school.root, "wrong", notebook(ANSWERS["mutant"]))
    (school.root / "submitted" / "late" / START / "submission_secret.txt").write_text(SECRET)
    school.due("2024-01-01 00:00:00 UTC")
    return school


@pytest.fixture
def here(school, monkeypatch):
    monkeypatch.chdir(school.root)
    monkeypatch.setenv("ANATOMY_SECRET", "of the tests")
    return school


def test_lateness_comments_and_points_are_the_same_everywhere(here, capsys):
    here.grade()
    assert here.exported() == pytest.approx({"late": 0.9, "fine": 2 / 3, "wrong": 0})
    assert here.table() == pytest.approx(here.exported()) and close(here.pages(), here.exported())
    here.says("wrong", "Look at the <b>sum</b>.", manual_score=0.25)
    here.says("fine", extra_credit=0.1)
    here.due("2024-02-01 00:00:00 UTC")
    capsys.readouterr()
    here.publish()
    told = capsys.readouterr().out
    assert "wrong, 00-start-here: 0 → 0.25 of 1 point." in told
    assert "late, 00-start-here: 0.9 → 1 of 1 point, nothing off for lateness any more." in told
    assert "fine, 00-start-here: 0.67 → 0.77 of 1 point." in told and "3 pages written" in told
    assert here.exported() == pytest.approx({"late": 1, "fine": 2 / 3 + 0.1, "wrong": 0.25})
    assert here.table() == pytest.approx(here.exported()) and close(here.pages(), here.exported())
    assert "Look at the &lt;b&gt;sum&lt;/b&gt;." in here.page("wrong")
    here.publish()
    assert "0 pages written, 3 as they should be" in capsys.readouterr().out
    here.says("fine", "Nearly.")
    here.publish("--student", "wrong")
    assert "Nearly." not in here.page("fine")
    here.publish("--unit", START)
    assert "fine, 00-start-here: 0.77 of 1 point; the page is new." in capsys.readouterr().out
    assert "Nearly." in here.page("fine")
    assert {r["times"] for r in query_rows(here)} == {1}, "no code of a student's ran"


def test_what_is_stale_or_waits_is_said(here, capsys, monkeypatch):
    here.grade()
    submit(here.root, "fine", notebook(ANSWERS["right"]), timestamp="2023-12-31 00:00:00 UTC")
    here.says("wrong", manual_score=0.5, needs_manual_grade=True)
    here.publish()
    told = capsys.readouterr().out
    assert "waiting: wrong/00-start-here: 1 answer waits" in told
    assert "stale: fine/00-start-here: the file or the exercises changed" in told and "stale: 1." in told
    assert {r["student"]: r["status"] for r in grades(here.root)} == {
        "late": "graded",
        "fine": "graded",
        "wrong": "waiting",
    }
    later = replace(outline(START), version="another")
    monkeypatch.setattr(tables, "outline", lambda unit: later)
    here.publish()
    assert {r["status"] for r in grades(here.root) if r["student"] == "late"} == {"stale"}


def test_publishing_nothing_or_nobody_is_one_sentence(tmp_path, here, capsys, monkeypatch):
    here.grade()
    assert publishing.main(["--student", "nobody"]) == 2
    assert "Nothing is graded of the student nobody." in capsys.readouterr().err
    monkeypatch.chdir(course(tmp_path / "empty"))
    assert publishing.main([]) == 2
    assert "Nothing is graded yet" in capsys.readouterr().err


@pytest.mark.parametrize("number", range(4))
def test_in_whatever_order_the_commands_are_used(number, here):
    """Sequences of our commands, nbgrader's own and an instructor's edits; each sequence has all of them."""
    draw = random.Random(number)

    def instruct():
        who = draw.choice(["late", "fine", "wrong"])
        here.says(who, f"Remark {draw.random():.6f}", manual_score=draw.choice([None, 0.25, 0.5]))
        here.due(draw.choice(["2024-01-01 00:00:00 UTC", "2024-02-01 00:00:00 UTC"]))

    def resubmit():
        answer = draw.choice(["right", "partly", "mutant"])
        submit(here.root, "fine", notebook(ANSWERS[answer]), timestamp="2023-12-31 00:00:00 UTC")

    steps = [here.grade, here.publish, here.autograde, here.generate_feedback, instruct, instruct, resubmit]
    draw.shuffle(steps)
    here.grade()
    for step in steps:
        step()
        if step in (here.grade, here.publish):
            assert here.table() == pytest.approx(here.exported()), step
        if step in (here.grade, here.publish, here.generate_feedback):
            assert close(here.pages(), here.exported()), step
            remarks = query(here.root, "SELECT manual_comment FROM comment WHERE manual_comment LIKE 'Remark%'")
            words = here.page("late") + here.page("fine") + here.page("wrong")
            assert all(text in words for (text,) in remarks), step


def test_stock_release_feedback_works_after_make_grade(here):
    """It requires two files next to each page, even for students who handed in without the exchange."""
    here.grade()
    place = load_course(here.root)
    place.config.Exchange.root = str(here.root / "exchange")
    place.directory.assignment_id = START
    factory = ExchangeFactory(config=place.config)
    from nbgrader.auth import Authenticator

    def release():
        shutil.rmtree(here.root / "exchange" / place.course_id / "feedback", ignore_errors=True)
        factory.ReleaseFeedback(coursedir=place.directory, authenticator=Authenticator(), config=place.config).start()
        return {p.name: p.read_text() for p in (here.root / "exchange" / place.course_id / "feedback").iterdir()}

    for before in (lambda: None, here.autograde, here.generate_feedback, here.publish):
        before()
        released = release()
        assert len(released) == 3, before
        assert released[f"{notebook_hash(secret=SECRET, notebook_id=START)}.html"] == here.page("late")


# ---- attempts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "policy, counts, points", [("last", "the last one counts", 0.0), ("best", "the best one counts", 1.0)]
)
def test_attempts_are_kept_and_the_policy_decides(policy, counts, points, tmp_path, sandbox, monkeypatch, capsys):
    school = School(tmp_path / policy, f"c.Grading.attempts = {policy!r}\n")
    monkeypatch.chdir(school.root)
    monkeypatch.setenv("ANATOMY_SECRET", "of the tests")
    for day, answer in enumerate(("partly", "right", "mutant"), 1):
        submit(school.root, "ada", notebook(ANSWERS[answer]), timestamp=f"2024-01-0{day} 00:00:00 UTC")
        capsys.readouterr()
        school.grade()
    told = capsys.readouterr()
    assert f"0 points, the one before (2024-01-02 00:00 UTC) had 1; {counts}" in told.out + told.err
    (result,) = query_rows(school)
    tried = [(f"{a.submitted_at:%d}", round(a.score, 2), a.counts) for a in result["attempts"]]
    assert tried == [("01", 0.67, False), ("02", 1.0, policy == "best"), ("03", 0.0, policy == "last")]
    assert school.exported() == school.table() == school.pages() == {"ada": points}
    source = ANSWERS["right" if policy == "best" else "mutant"].splitlines()[1].strip()
    book = (school.root / "autograded" / "ada" / START / f"{START}.ipynb").read_text()
    assert source in book and source in school.page("ada").replace("&#x27;", "'")
    remark = {
        "last": "An earlier submission, of 2024-01-02 00:00 UTC, had 1 point, and this one has 0",
        "best": "The submission of 2024-01-02 00:00 UTC counts, which has the most points.",
    }
    assert remark[policy] in school.page("ada")
    school.grade()
    assert "1 were up to date" in capsys.readouterr().out, "the file was graded, whichever counts"
    # The setting changes: no student code runs again.
    other = "best" if policy == "last" else "last"
    with open(school.root / "nbgrader_config.py", "a") as file:
        file.write(f"c.Grading.attempts = {other!r}\n")
    school.publish()
    assert school.exported() == school.table() == school.pages() == {"ada": 1.0 - points}
    assert remark[other] in school.page("ada") and query_rows(school)[0]["times"] == 3
    # Stock autograde of a worse file follows the policy as well.
    school.autograde()
    assert school.exported() == {"ada": 1.0 - points}
    shown = ANSWERS["right" if other == "best" else "mutant"].splitlines()[1].strip()
    assert shown in (school.root / "autograded" / "ada" / START / f"{START}.ipynb").read_text()


def test_the_best_attempt_is_best_after_what_lateness_takes(tmp_path, sandbox, monkeypatch):
    harsh = "class Most(BasePlugin):\n    def late_submission_penalty(self, student, score, seconds):\n"
    harsh += "        return 0.9 * score\nc.AssignLatePenalties.plugin_class = Most\nc.Grading.attempts = 'best'\n"
    school = School(tmp_path / "harsh", harsh)
    monkeypatch.chdir(school.root)
    school.due("2024-01-02 00:00:00 UTC")
    submit(school.root, "ada", notebook(ANSWERS["partly"]), timestamp="2024-01-01 00:00:00 UTC")
    school.grade()
    submit(school.root, "ada", notebook(ANSWERS["right"]), timestamp="2024-01-03 00:00:00 UTC")
    school.grade()
    assert school.exported() == pytest.approx({"ada": 2 / 3}) and close(school.pages(), school.exported())


def test_a_gradebook_from_before_attempts_were_kept_goes_on(tmp_path, sandbox, monkeypatch):
    school = School(tmp_path / "old")
    monkeypatch.chdir(school.root)
    submit(school.root, "ada", notebook(ANSWERS["right"]), timestamp="2024-01-01 00:00:00 UTC")
    school.grade()
    with closing(sqlite3.connect(school.root / "gradebook.db")) as db:
        db.execute("DROP TABLE anatomy_attempts")
        db.execute("DROP TABLE anatomy_published")
    submit(school.root, "ada", notebook(ANSWERS["mutant"]), timestamp="2024-01-02 00:00:00 UTC")
    school.grade()
    (result,) = query_rows(school)
    assert [(a.score, a.counts) for a in result["attempts"]] == [(1.0, False), (0.0, True)]
    assert "An earlier submission, of 2024-01-01" in school.page("ada")


# ---- manual grading --------------------------------------------------------------------------------------------


def test_points_for_a_written_answer_reach_the_table_and_the_page(tmp_path, sandbox, monkeypatch, capsys):
    school = School(tmp_path / "written", "c.Grading.written_answers = True\n")
    monkeypatch.chdir(school.root)
    ((name, most),) = master(START).written.items()

    def hand_in(student, text):
        book = json.loads(notebook(ANSWERS["right"]))
        if text is not None:
            find(book, name)["source"] = text
        submit(school.root, student, json.dumps(book).encode())

    hand_in("ada", "Because the <script>alert(1)</script> weights sum to one.")
    hand_in("bob", None)
    submit(school.root, "eve", b"PK")
    school.grade()
    stands = {(r["student"], r["exercise"]): r for r in grades(school.root)}
    assert stands["ada", name]["status"] == "waiting" and stands["ada", name]["max_score"] == f"{most:g}"
    assert stands["bob", name]["status"] == "graded" and stands["eve", name]["status"] == "unreadable"
    page = school.page("ada")
    assert (
        f"not graded yet, {most:g} points" in page
        and "waits for your instructor" in page
        and "&lt;script&gt;" in page
        and "<script" not in page
    )
    with school.writer() as writer:
        given = writer.gradebook.find_grade(name, START, START, "ada")
        given.manual_score, given.needs_manual_grade = most - 0.5, False
        writer.gradebook.find_comment(name, START, START, "ada").manual_comment = "What if they don't?"
        writer.gradebook.db.commit()
    capsys.readouterr()
    school.publish()
    assert f"ada, {START}: 1 → {most + 0.5:g} of {most + 1:g} points." in capsys.readouterr().out
    assert school.exported()["ada"] == school.table()["ada"] == most + 0.5
    page = school.page("ada")
    assert "read by your instructor" in page and "not written" in school.page("bob")
    assert f"Your written answer: {most - 0.5:g} of {most:g} points" in page and "What if they don" in page
    assert f"{most + 0.5:g} of {most + 1:g} points</h1>" in page
    hand_in("ada", "Another answer.")
    school.grade()
    stands = {(r["student"], r["exercise"]): r for r in grades(school.root)}
    assert stands["ada", name]["status"] == "waiting" and float(stands["ada", name]["score"]) == most - 0.5
    # Without the setting the question is there, but no one has to grade it.
    with open(school.root / "nbgrader_config.py", "a") as file:
        file.write("c.Grading.written_answers = False\n")
    with school.writer() as writer:
        writer.gradebook.find_grade(name, START, START, "ada").manual_score = None
        writer.gradebook.db.commit()
    school.publish()
    rows = [r for r in grades(school.root) if r["student"] == "ada"]
    assert [(r["exercise"], r["status"]) for r in rows] == [("start.weighted_average", "graded")]
    assert "1 of 1 point</h1>" in school.page("ada")


def test_entries_without_a_result_are_said_until_the_next_grading(tmp_path, sandbox, monkeypatch):
    school = School(tmp_path / "odd")
    monkeypatch.chdir(school.root)
    submit(school.root, "ada", notebook(ANSWERS["right"]))
    odd = submit(school.root, "bob", notebook(), unit="99-nothing").parent
    assert main(["submitted", "--workers", "1"]) == 1
    for _ in range(2):
        rows = [(r["student"], r["unit"], r["mistake"], r["status"]) for r in grades(school.root)]
        assert ("bob", "99-nothing", "submission.unknown_unit", "no result") in rows
        school.publish()
    shutil.rmtree(odd.parent)
    school.grade()
    assert {r["student"] for r in grades(school.root)} == {"ada"}


def test_one_is_no_plural():
    assert [amount(n, "point") for n in (0, 1, 1.001, 0.5, 2)] == [
        *("0 points", "1 point", "1 point", "0.5 points", "2 points"),
    ]

"""How an instructor's commands report common mistakes: a wrong folder, setting, secret, time or key."""

import os

import pytest

from autograder.grading.__main__ import main
from autograder.grading.book import backup, due, one_secret
from autograder.grading.book.course import load_course
from autograder.grading.book.database import GradebookError
from autograder.grading.book.gradebook import GradebookWriter
from autograder.grading.book.secret import BadSecret, course_secret
from autograder.grading.judging import sessions
from autograder.grading.pages import publishing, report, waiting

from .cheats.base import ATTENTION, START
from .classroom import ANSWERS, course, grades, notebook, submit
from .term import nbgrader

GRADE = ["submitted", "--workers", "1"]
OPEN = ".secret can be read by others: run `chmod 600 .secret`"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(course(tmp_path / "here"))
    monkeypatch.delenv("ANATOMY_SECRET", raising=False)
    monkeypatch.setenv("TZ", "UTC")
    return tmp_path / "here"


def configure(root, line):
    with open(root / "nbgrader_config.py", "a") as file:
        file.write(f"{line}\n")


@pytest.mark.skipif(os.name != "posix", reason="rights of files are POSIX's")
def test_a_secret_that_others_can_read_is_the_same_sentence_everywhere(here, sandbox, capsys, monkeypatch):
    submit(here, "ada", notebook(ANSWERS["right"]))
    assert main(GRADE) == 0
    page = here / "feedback" / "ada" / START / f"{START}.html"
    page.unlink()  # so that there is a page to write
    for folder in ("autograded", "feedback"):
        (here / folder / "ada" / START / "submission_secret.txt").unlink()
    (here / ".secret").chmod(0o640)  # the group counts as others
    capsys.readouterr()
    monkeypatch.setattr(sessions, "ready", lambda zygote: pytest.fail("sandboxes were made ready first"))
    for command in (lambda: publishing.main([]), lambda: main(GRADE), one_secret.main):
        assert command() == 2
        assert capsys.readouterr().err.splitlines()[-1] == OPEN
    (here / ".secret").chmod(0o600)
    assert publishing.main([]) == 0 and page.exists()


@pytest.mark.parametrize("content, said", [(b"", "is empty: delete it"), (b"\xff\xfe", "is damaged: copy it again")])
def test_a_broken_secret_is_a_sentence_for_every_command(here, content, said):
    (here / ".secret").write_bytes(content)
    (here / ".secret").chmod(0o600)
    with pytest.raises(GradebookError, match=said):  # each command prints it
        course_secret(here)


def test_an_empty_variable_is_a_sentence_too(here, monkeypatch):
    monkeypatch.setenv("ANATOMY_SECRET", " ")
    with pytest.raises(BadSecret, match="ANATOMY_SECRET is set but empty"):
        course_secret(here)


def test_nbgrader_export_writes_where_it_is_told(here):
    assert due.main([START, "2026-12-01"]) == 0
    nbgrader(here, "export", "--to", "mine.csv")
    assert (here / "mine.csv").exists() and not (here / "gradebook.csv").exists()
    nbgrader(here, "export")
    assert (here / "gradebook.csv").exists() and not (here / "grades.csv").exists()


@pytest.mark.parametrize(
    "line, said",
    [
        ("c.Grading.attempts = 'bset'", "c.Grading.attempts is 'bset'; it can be 'last' or 'best'."),
        ("c.Grading.follow_through = 'yes'", "c.Grading.follow_through is 'yes'; it can be True or False."),
        ("c.PerDay.percent = 'ten'", "c.PerDay.percent is 'ten'; it can be a number."),
    ],
)
def test_a_setting_that_cannot_be_is_one_sentence_of_every_command(here, line, said, capsys):
    submit(here, "ada", notebook())
    configure(here, line)
    commands = {
        "grade": lambda: main(["submitted"]),
        "publish": lambda: publishing.main([]),
        "due": lambda: due.main([START, "2026-12-01"]),
        "held": lambda: waiting.main([]),
        "report": lambda: report.main([]),
        "backup": lambda: backup.main([]),
        "secret": one_secret.main,
    }
    for name, command in commands.items():
        assert command() == 2, name
        assert capsys.readouterr().err == f"nbgrader_config.py: {said}\n", name


def test_a_setting_of_nbgraders_own_is_a_sentence_as_well(here, capsys):
    configure(here, "c.CourseDirectory.course_id = 5")
    assert publishing.main([]) == 2
    said = capsys.readouterr().err
    assert said.startswith("nbgrader_config.py: ") and "course_id" in said and said.count("\n") == 1


@pytest.mark.parametrize("units", [[START], [START, ATTENTION]])
def test_a_students_folder_is_not_taken_for_the_class(here, units, capsys):
    for unit in units:
        submit(here, "kay27", notebook(unit=unit), unit=unit)
    (here / "submitted" / "kay27" / "notes.txt").write_text("an instructor's")
    assert main(["submitted/kay27"]) == 2
    assert capsys.readouterr().err == ("submitted/kay27: these are units, not students; give the folder above it.\n")
    assert sorted(p.name for p in here.iterdir()) == ["nbgrader_config.py", "submitted"]


@pytest.mark.parametrize("stamp, why", [("yesterday", "says 'yesterday', which is no date"), ("\n", "is empty")])
def test_a_time_that_cannot_be_read_is_said_to_the_instructor(here, sandbox, stamp, why, capsys):
    submit(here, "ada", notebook(ANSWERS["right"]), timestamp=stamp)
    submit(here, "bob", notebook(ANSWERS["right"]), timestamp="2026-12-01 12:00:00 UTC")
    sentence = f"The time of submission is not known, so nothing is taken off for lateness: timestamp.txt {why}."
    for _ in range(2):  # also reported when the submission is up to date: it can still be corrected
        assert main(GRADE) == 0
        lines = capsys.readouterr().err.splitlines()
        assert lines.count(f"ada/{START}: {sentence}") == 1 and not [n for n in lines if n.startswith("bob/")]


def test_an_extension_alone_is_no_submission(here, sandbox):
    with GradebookWriter(load_course().db_url, load_course().course_id) as writer:
        writer.gradebook.update_or_create_student("eve")
    assert due.main([START, "2026-12-01"]) == 0
    assert due.main([START, "2026-12-08", "--student", "eve"]) == 0
    submit(here, "ada", notebook(ANSWERS["right"]))
    assert main(GRADE) == 0
    assert {r["student"]: r["status"] for r in grades(here)} == {"ada": "graded", "eve": "missing"}
    submit(here, "eve", notebook(ANSWERS["right"]), timestamp="2026-12-05 12:00:00 UTC")
    assert main(GRADE) == 0
    with GradebookWriter(load_course().db_url, load_course().course_id) as writer:
        assert [r["standing"].late for r in writer.results(student="eve")] == [0.0], "the extension counts"


def test_an_interrupted_publish_says_what_to_do(here, monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(publishing, "load_course", interrupted)
    assert publishing.main([]) == 130
    assert capsys.readouterr().err == "Stopped. What was written is whole; run the same command again.\n"


def test_held_points_are_given_whatever_the_capitals(here, capsys):
    with GradebookWriter(load_course().db_url, load_course().course_id) as writer:
        writer.gradebook.update_or_create_student("Kay27")
    assert waiting.main(["release", "kay27", "attention.softmax"]) == 2
    assert "No points of Kay27 in attention.softmax are held" in capsys.readouterr().err
    assert waiting.main(["release", "kay72", "attention.softmax"]) == 2
    assert capsys.readouterr().err == "The gradebook has no student kay72. Did you mean Kay27?\n"

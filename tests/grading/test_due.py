"""When a unit is due, what lateness costs, and a backup of everything that a course can't make again."""

import os
import sqlite3
import zipfile
from contextlib import closing
from datetime import datetime, timedelta

import pytest
from traitlets.config import Config

from autograder.grading.book import backup, due
from autograder.grading.book.course import load_course
from autograder.grading.book.database import GradebookError
from autograder.grading.book.gradebook import GradebookWriter
from autograder.grading.book.late import PerDay

from .cheats.base import START
from .classroom import course

DAY = 86_400


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(course(tmp_path / "here"))
    monkeypatch.setenv("TZ", "UTC")
    return load_course()


def test_a_due_date_for_all_and_a_later_one_for_one(here, capsys):
    assert due.main([START, "2026-12-01T23:59+01:00"]) == 0
    assert capsys.readouterr().out == f"{START} is due 2026-12-01 22:59 UTC.\n"
    with GradebookWriter(here.db_url, here.course_id, here.config) as writer:
        writer.gradebook.update_or_create_student("ada")
        book = writer.gradebook
        assert book.find_assignment(START).duedate == datetime(2026, 12, 1, 22, 59)
    assert due.main([START, "2026-12-03 22:59+00:00", "--student", "ada"]) == 0
    assert "for ada" in capsys.readouterr().out
    with GradebookWriter(here.db_url, here.course_id, here.config) as writer:
        one = writer.gradebook.find_submission(START, "ada")
        assert one.extension == timedelta(days=2) and one.duedate == datetime(2026, 12, 3, 22, 59)
        assert not list(writer.results()) and not writer.graded(), "a date is no submission"
    assert due.main([START, "never"]) == 0
    assert capsys.readouterr().out == (
        f"{START} has no due date.\nada: the date of their own, 2026-12-03 22:59 UTC, goes with it.\n"
    )


def test_a_day_without_a_time_lasts_to_its_end(here, capsys):
    for day in ("2026-12-01", "20261201"):
        assert due.main([START, day]) == 0
        assert capsys.readouterr().out == f"{START} is due 2026-12-01 23:59 UTC.\n"
    assert due.main([START, "2026-12-01 00:00"]) == 0
    assert "2026-12-01 00:00 UTC" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["99-nothing", "2026-12-01"], "There is no unit 99-nothing"),
        ([START, "tomorrow"], "'tomorrow' is no date. Write it like"),
        ([START, "2026-13-01"], "is no date"),
        ([START, ""], f"Say which date: make due UNIT={START} DATE=…"),
        (["", ""], "Say which unit: make due UNIT=… DATE=…"),
        ([START, "2026-12-01", "--student", "nobody"], "has no student nobody"),
    ],
)
def test_what_is_no_date_unit_or_student_is_one_sentence(arguments, said, here, capsys):
    assert due.main(arguments) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_a_student_has_no_earlier_date(here):
    with GradebookWriter(here.db_url, here.course_id, here.config) as writer:
        writer.gradebook.update_or_create_student("ada")
        with pytest.raises(GradebookError, match="without a due date"):
            due.set_due(writer, START, datetime(2026, 1, 1), "ada")
        due.set_due(writer, START, datetime(2026, 1, 2))
        with pytest.raises(GradebookError, match="only have a later one"):
            due.set_due(writer, START, datetime(2026, 1, 1), "ada")


def own_dates(writer):
    """dict student → their own due date, None where they have the unit's."""
    there = writer.gradebook.find_assignment(START).submissions
    return {s.student_id: s.duedate if s.extension is not None else None for s in there}


def test_a_students_own_date_stays_when_the_units_moves(here, capsys):
    days = [datetime(2026, 12, d) for d in range(1, 10)]
    with GradebookWriter(here.db_url, here.course_id, here.config) as writer:
        for name, day in (("ada", 3), ("bob", 8), ("eve", 5)):
            writer.gradebook.update_or_create_student(name)
            due.set_due(writer, START, days[0])
            due.set_due(writer, START, days[day], name)
        due.set_due(writer, START, None, "eve")
        assert due.set_due(writer, START, days[3]) == [
            f"{START} is due 2026-12-04 00:00 UTC.",
            "ada: the date of their own, 2026-12-04 00:00 UTC, is not after that, so it is taken away.",
            "bob: still due 2026-12-09 00:00 UTC, as it was set.",
        ]
        assert own_dates(writer) == {"ada": None, "bob": days[8], "eve": None}
        assert "bob: still due 2026-12-09" in due.set_due(writer, START, days[0])[1], "also when it moves back"
        assert own_dates(writer) == {"ada": None, "bob": days[8], "eve": None}
        assert "bob: the date of their own" in due.set_due(writer, START, None)[1]
        assert due.set_due(writer, START, days[0]) == [f"{START} is due 2026-12-01 00:00 UTC."]
        assert own_dates(writer) == {"ada": None, "bob": None, "eve": None}


def test_an_extension_from_no_date_is_none(here):
    with GradebookWriter(here.db_url, here.course_id, here.config) as writer:
        writer.gradebook.update_or_create_student("ada")
        due.set_due(writer, START, datetime(2026, 12, 1))
        due.set_due(writer, START, datetime(2026, 12, 2), "ada")
        writer.gradebook.find_assignment(START).duedate = None  # a state in which the formgrader can leave it
        writer.gradebook.db.commit()
        assert "had no date to count from" in due.set_due(writer, START, datetime(2026, 12, 5))[1]
        assert own_dates(writer) == {"ada": None}


def test_a_date_before_any_submission_is_set_without_warnings(here, recwarn):
    with GradebookWriter(here.db_url, here.course_id, here.config) as writer:
        writer.gradebook.update_or_create_student("ada")
    assert due.main([START, "2026-12-01"]) == 0
    assert due.main([START, "2026-12-03", "--student", "ada"]) == 0
    assert not [str(w.message) for w in recwarn if "SAWarning" in w.category.__name__]
    with GradebookWriter(here.db_url, here.course_id, here.config) as writer:
        (notebook,) = writer.gradebook.find_submission(START, "ada").notebooks
        assert notebook.grades and notebook.comments, "what nbgrader wants to find in a submission"


def test_a_student_is_found_whatever_the_capitals(here, capsys):
    assert due.main([START, "2026-12-01"]) == 0
    with GradebookWriter(here.db_url, here.course_id, here.config) as writer:
        for name in ("Kay27", "bob", "BOB"):
            writer.gradebook.update_or_create_student(name)
    assert due.main([START, "2026-12-03", "--student", "kay27"]) == 0 and "for Kay27." in capsys.readouterr().out
    assert due.main([START, "2026-12-03", "--student", "bob"]) == 0 and "for bob." in capsys.readouterr().out
    for name, near in (("Bob", "BOB, bob"), ("kay72", "Kay27")):
        assert due.main([START, "2026-12-03", "--student", name]) == 2
        assert capsys.readouterr().err == f"The gradebook has no student {name}. Did you mean {near}?\n"


@pytest.mark.parametrize(
    "late, percent", [(0, 0), (599, 0), (601, 10), (DAY, 10), (DAY + 1, 20), (5 * DAY, 50), (30 * DAY, 100)]
)
def test_a_share_for_each_day(late, percent):
    assert PerDay().late_submission_penalty("ada", 8.0, late) == pytest.approx(8.0 * percent / 100)
    gentle = PerDay(config=Config({"PerDay": {"percent": 5, "most": 30, "grace_minutes": 0}}))
    assert gentle.late_submission_penalty("ada", 8.0, 30 * DAY) == pytest.approx(2.4)
    assert gentle.late_submission_penalty("ada", 8.0, 1) == pytest.approx(0.4)


def test_a_backup_has_what_cannot_be_made_again(here, capsys):
    assert backup.main([]) == 2 and "nothing to save" in capsys.readouterr().err
    assert due.main([START, "2026-12-01"]) == 0
    for name in (".secret", f"submitted/ada/{START}/x.ipynb", f"attempts/ada/{START}/y.ipynb", "feedback/ada/z.html"):
        (here.root / name).parent.mkdir(parents=True, exist_ok=True)
        (here.root / name).write_text(name)
    (here.root / "submitted" / "leak").symlink_to("/etc/passwd")
    os.mkfifo(here.root / "submitted" / "pipe")
    with closing(sqlite3.connect(here.root / "gradebook.db")) as open_elsewhere:
        open_elsewhere.execute("BEGIN")  # another process reads
        assert backup.main(["saved/all.zip"]) == 0
    path = here.root / "saved" / "all.zip"
    assert oct(path.stat().st_mode & 0o777) == "0o600" and [p.name for p in path.parent.iterdir()] == ["all.zip"]
    with zipfile.ZipFile(path) as archive:
        assert sorted(archive.namelist()) == sorted(
            [
                ".secret",
                "gradebook.db",
                "nbgrader_config.py",
                f"submitted/ada/{START}/x.ipynb",
                f"attempts/ada/{START}/y.ipynb",
            ]
        )
        archive.extract("gradebook.db", here.root / "restored")
    with closing(sqlite3.connect(here.root / "restored" / "gradebook.db")) as db:
        assert db.execute("SELECT name FROM assignment").fetchall() == [(START,)]


def test_another_database_is_saved_by_its_own_program(here, monkeypatch, capsys):
    here.config.CourseDirectory.db_url = "postgresql+psycopg2://ada:secret@host/book"
    monkeypatch.setattr(backup, "load_course", lambda: load_course_with(here))
    assert backup.main([]) == 2
    said = capsys.readouterr().err
    assert "pg_dump" in said and "secret@" not in said


def load_course_with(here):
    from nbgrader.coursedir import CourseDirectory

    from autograder.grading.book.course import Course

    return Course(CourseDirectory(config=here.config), here.config)

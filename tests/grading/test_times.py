"""Submission times and an instructor's decisions that arrive after the first grading."""

import pytest

from .cheats.base import START
from .classroom import ANSWERS, grades, notebook, submit
from .school import School, query_rows


@pytest.fixture
def empty(tmp_path, sandbox, monkeypatch):
    """A school without students, whose unit was due at the start of 2024."""
    school = School(tmp_path / "school")
    monkeypatch.chdir(school.root)
    monkeypatch.setenv("ANATOMY_SECRET", "of the tests")
    school.due("2024-01-01 00:00:00 UTC")
    return school


def test_a_time_that_becomes_known_after_grading_counts(empty, capsys):
    """Downloads have no time: it is written next to them by hand, or comes with a later archive."""
    submit(empty.root, "ada", notebook(ANSWERS["right"]))
    empty.grade()
    assert empty.exported() == {"ada": 1.0}
    stamp = empty.root / "submitted" / "ada" / START / "timestamp.txt"
    stamp.write_text("2024-01-02 00:00:00 UTC")
    capsys.readouterr()
    empty.publish()
    assert "ada, 00-start-here: 1 → 0.9 of 1 point, 0.1 off for lateness." in capsys.readouterr().out
    assert empty.exported() == empty.table() == empty.pages() == {"ada": 0.9}
    stamp.write_text("2023-12-31 00:00:00 UTC")
    empty.grade()  # nothing to grade, but the time counts
    assert empty.exported() == empty.table() == empty.pages() == {"ada": 1.0}
    stamp.unlink()  # collected again from a download: the known time is kept
    empty.publish()
    (result,) = query_rows(empty)
    assert f"{result['attempts'][0].submitted_at:%Y-%m-%d}" == "2023-12-31" and result["times"] == 1


@pytest.mark.parametrize("stock", [False, True])
def test_the_time_of_one_attempt_is_not_held_against_another(stock, empty):
    with open(empty.root / "nbgrader_config.py", "a") as file:
        file.write("c.Grading.attempts = 'best'\n")
    submit(empty.root, "ada", notebook(ANSWERS["right"]))
    empty.grade()
    submit(empty.root, "ada", notebook(ANSWERS["partly"]), timestamp="2024-01-02 00:00:00 UTC")
    empty.autograde() if stock else empty.grade()
    empty.publish()
    assert empty.exported() == empty.table() == empty.pages() == {"ada": 1.0}


def test_what_a_person_decided_waits_again_only_where_the_file_changed(empty):
    submit(empty.root, "ada", notebook(ANSWERS["partly"]))
    empty.grade()
    empty.says("ada", manual_score=0.5, needs_manual_grade=False)
    states = lambda: {r["status"] for r in grades(empty.root)}
    empty.grade("--force")
    assert states() == {"graded"} and empty.exported() == {"ada": 0.5}
    submit(empty.root, "ada", notebook(ANSWERS["right"]))
    empty.grade()
    assert states() == {"waiting"} and empty.exported() == {"ada": 0.5}
    empty.grade("--force")
    assert states() == {"waiting"}, "nobody has looked since"

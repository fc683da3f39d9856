"""All graders of one gradebook share one secret; a different one is reported before anything is graded."""

import threading

import pytest
import sqlalchemy as sa

from autograder.grading.book import one_secret
from autograder.grading.book.database import GradebookError
from autograder.grading.book.one_secret import fingerprint, replace, require_same


@pytest.fixture
def engine(tmp_path):
    made = sa.create_engine(f"sqlite:///{tmp_path / 'gradebook.db'}")
    yield made
    made.dispose()


def test_the_first_secret_is_remembered_and_another_refused(engine):
    require_same(engine, "course", "one")
    require_same(engine, "course", "one")
    with pytest.raises(GradebookError, match="copy the file .secret from the machine that graded first"):
        require_same(engine, "course", "another")
    require_same(engine, "course", "one")
    require_same(engine, "another course in the same database", "another")


def test_a_lost_secret_is_replaced_when_somebody_says_so(engine):
    require_same(engine, "course", "one")
    replace(engine, "course", "another")
    require_same(engine, "course", "another")
    with pytest.raises(GradebookError):
        require_same(engine, "course", "one")


def test_nothing_of_the_secret_is_stored(engine, tmp_path):
    require_same(engine, "course", "correct horse battery staple")
    engine.dispose()
    data = (tmp_path / "gradebook.db").read_bytes()
    assert b"battery" not in data and fingerprint("correct horse battery staple").encode() in data


def test_of_two_that_come_first_together_one_is_refused(engine):
    said = []

    def grader(secret):
        try:
            require_same(engine, "course", secret)
            said.append("kept")
        except GradebookError:
            said.append("refused")

    threads = [threading.Thread(target=grader, args=(s,)) for s in ("one", "another")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == ["kept", "refused"]


def test_the_command_takes_the_secret_that_is_here(tmp_path, monkeypatch, capsys):
    from .classroom import course

    root = course(tmp_path / "course")
    url = f"sqlite:///{root / 'gradebook.db'}"
    monkeypatch.chdir(root)
    monkeypatch.setenv("ANATOMY_SECRET", "new")
    made = sa.create_engine(url)
    require_same(made, "transformer-anatomy", "lost")
    assert one_secret.main() == 0 and "Copy it to the other machines" in capsys.readouterr().out
    require_same(made, "transformer-anatomy", "new")
    made.dispose()

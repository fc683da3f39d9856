"""Sessions are slow to start (they import torch): tests that only need a clean namespace share one."""

import pytest

from autograder import ROOT


@pytest.fixture(scope="session")
def staff_session():
    """A session without a sandbox whose process can import the specs: for implementations written by the project."""
    from autograder.sandbox import Limits, LocalSession

    with LocalSession(Limits(wall_seconds=3600), python_path=[str(ROOT / "course"), str(ROOT)]) as session:
        yield session


@pytest.fixture
def define(staff_session):
    """define(exercise, "E.reference") puts an implementation's names into the shared session."""

    def run(exercise, expression):
        source = (
            "from autograder import exercises\n"
            f"E = next(e for e in exercises.of_unit({exercise.unit!r}) if e.id == {exercise.id!r})\n"
            f"globals().update(E.functions({expression}))"
        )
        result = staff_session.execute(source, timeout=60)
        assert result.ok, result.error_text
        return staff_session

    return run


class InThisProcess:
    """Answers like a session, but without a separate process: faster for the project's many own implementations."""

    def __init__(self, functions):
        self.functions = functions

    def ask(self, code, payload=b"", timeout=10.0, max_bytes=16 << 20):
        from autograder.sandbox import ReplyTooLarge

        space = {"payload": payload, "student_ns": self.functions}
        exec(code, space)
        if len(space["reply"]) > max_bytes:
            raise ReplyTooLarge(len(space["reply"]))
        return space["reply"]


@pytest.fixture(scope="session")
def sandbox():
    """Opens sandboxed sessions, all from one zygote. Without a sandbox, skips the test and gives the reason."""
    from autograder.grading.judging import sessions
    from autograder.sandbox import sandbox_available

    if not sandbox_available():
        pytest.skip(sandbox_available().reason)
    return sessions.sandboxed


@pytest.fixture
def impatient(monkeypatch):
    """Short time limits, so that a submission that hangs costs seconds. Honest ones take a fraction of a second."""
    from autograder.grading.judging import execution
    from autograder.judge import trusted

    for module, name in (
        (execution, "CELL_SECONDS"),
        (execution, "TOGETHER_SECONDS"),
        (execution, "ANSWER_SECONDS"),
        (trusted, "TOGETHER_SECONDS"),
    ):
        monkeypatch.setattr(module, name, 4.0)


@pytest.fixture(scope="session")
def term(tmp_path_factory, sandbox):
    """The class that is graded once per test run. Read only."""
    from .term import once

    return once(tmp_path_factory)

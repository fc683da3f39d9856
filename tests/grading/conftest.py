"""Sessions are slow to start (they import torch): tests that only need a clean namespace share one."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def staff_session():
    """A session without a sandbox whose process can import the specs: for implementations that the project wrote."""
    from autograder.sandbox import Limits, LocalSession

    with LocalSession(Limits(wall_seconds=3600), python_path=[str(ROOT / "course"), str(ROOT)]) as session:
        yield session


@pytest.fixture
def define(staff_session):
    """define(exercise, "E.reference") puts an implementation's names into the shared session."""

    def run(exercise, expression):
        source = ("from autograder import exercises\n"
                  f"E = next(e for e in exercises.of_unit({exercise.unit!r}) if e.id == {exercise.id!r})\n"
                  f"globals().update(E.functions({expression}))")
        result = staff_session.execute(source, timeout=30)
        assert result.ok, result.error_text
        return staff_session

    return run

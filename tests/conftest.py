"""Shared fixtures. Every test keeps its progress, predictions and Jupyter files in a folder of its own."""

import os

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """No test sees the developer's own progress, nor leaves any."""
    monkeypatch.setenv("ANATOMY_HOME", str(tmp_path / "anatomy-home"))


@pytest.fixture(scope="module")
def browser():
    """Chromium, through Playwright's synchronous interface.

    One per module, because that interface keeps an event loop running: while it is open, neither a second one
    nor ``asyncio.run`` in another module's tests would start in this process.
    """
    from playwright.sync_api import sync_playwright

    from .widgets.lab import NoChromium, chromium

    try:
        options = chromium()
    except NoChromium as error:
        pytest.fail(str(error), pytrace=False)
    with sync_playwright() as pw:
        running = pw.chromium.launch(**options)
        yield running
        running.close()


def pytest_addoption(parser):
    parser.addoption("--unit", action="append", help="the grade matrix of this unit only, e.g. 06-rope")


def pytest_generate_tests(metafunc):
    """A test with an argument ``exercise`` runs once for each exercise of the course (or of the --unit asked for)."""
    if "exercise" in metafunc.fixturenames:
        from autograder import exercises

        chosen = [e for u in metafunc.config.getoption("unit") or exercises.units() for e in exercises.of_unit(u)]
        metafunc.parametrize("exercise", chosen, ids=lambda e: e.id)

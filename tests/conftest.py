"""Shared fixtures. Every test keeps its progress, predictions and Jupyter files in its own folder."""

import gc
import os
import sys
from pathlib import Path

import pytest

from autograder import exercises

from . import processes, selection

pytest_plugins = ["tests.proofs", "tests.spent"]

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

# Rewriting the assertions of all tests takes longer than importing torch, so keep the bytecode; git ignores it.
sys.dont_write_bytecode = False

WHOLE = pytest.StashKey[list[Path]]()
UNITS = pytest.StashKey[set[str]]()
EVERYTHING = pytest.StashKey[dict[str, list[str]]]()  # {test: its units}, if all tests were collected
_terminal = {}  # filled only in the main process, which writes to the terminal

# Also for the processes that tests start.
LIGHTER = str(Path(__file__).parent / "lighter")
sys.path.insert(0, LIGHTER)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [LIGHTER, os.environ.get("PYTHONPATH")]))


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Keeps tests from reading or changing the developer's own progress."""
    monkeypatch.setenv("ANATOMY_HOME", str(tmp_path / "anatomy-home"))


def every_one(config) -> bool:
    """Whether to test every item instead of a sample: with ``--all``, or for a given unit or exercise."""
    return bool(config.getoption("all") or config.getoption("exercise") or config.getoption("unit"))


@pytest.fixture(scope="module")
def browser():
    """Chromium, through Playwright's synchronous interface.

    One per module, because that interface keeps an event loop running: while it is open, neither a second browser
    nor ``asyncio.run`` in another module's tests could start in this process.
    """
    from .widgets.lab import launched

    with launched() as running:
        yield running


def pytest_addoption(parser):
    parser.addoption("--unit", action="append", help="only the tests of this unit, e.g. 06-rope or 06 (repeatable)")
    parser.addoption("--exercise", action="append", help="of the tests that run for every exercise, only this one's")
    parser.addoption("--all", action="store_true", help="also what was proved before and has not changed (proofs.py)")
    parser.addoption("--whole", action="append", help="with --unit: this file or folder too, all of it (repeatable)")


def pytest_configure(config):
    config.addinivalue_line("markers", "unit(name): belongs to this unit; most tests get it from what they run with")
    try:
        config.stash[UNITS] = {selection.full_name(u) for u in config.getoption("unit") or ()}
    except exercises.UnknownName as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[WHOLE] = [(config.rootpath / p).resolve() for p in config.getoption("whole") or ()]
    processes.guard()
    if not hasattr(config, "workerinput"):
        _terminal["plugins"] = config.pluginmanager  # the reporter itself is registered later


def pytest_ignore_collect(collection_path, config):
    """With --unit, tests of other units are not even imported."""
    units, whole = config.stash[UNITS], config.stash[WHOLE]
    return True if units and not selection.may_hold(collection_path, units, whole) else None


def pytest_generate_tests(metafunc):
    """Runs a test with an argument ``exercise`` once for each exercise of the course (or of the given --unit)."""
    if "exercise" in metafunc.fixturenames:
        config = metafunc.config
        some = config.stash[UNITS] and not any(metafunc.definition.path.is_relative_to(p) for p in config.stash[WHOLE])
        try:
            chosen = [
                e for u in exercises.units() if not some or u in config.stash[UNITS] for e in exercises.of_unit(u)
            ]
        except exercises.SpecError as error:  # one sentence instead of a traceback
            raise pytest.Collector.CollectError(str(error)) from None
        ids = config.getoption("exercise")
        metafunc.parametrize("exercise", [e for e in chosen if not ids or e.id in ids], ids=lambda e: e.id)


def pytest_runtest_setup(item):
    """Reports a forgotten `make record` as one sentence in each test of the exercise."""
    exercise = item.callspec.params.get("exercise") if hasattr(item, "callspec") else None
    if hasattr(exercise, "unit") and (missing := exercises.not_recorded([exercise])):
        pytest.fail(missing[0], pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Turns garbage collection off: imports leave no garbage, and looking for it takes a quarter of the time.

    Later it is looked for more rarely than usual, which saves 4 % of a worker's time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(20_000, 20)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Marks tests with their unit, selects by --unit, and runs long tests first, so that no worker ends with one."""
    selection.mark_units(items)
    units = config.stash[UNITS]
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not units and not config.getoption("exercise"):
        config.stash[EVERYTHING] = {i.nodeid: sorted(m.args[0] for m in i.iter_markers("unit")) for i in items}
    kept = [i for i in items if selection.selected(i, units, config.stash[WHOLE])] if units else items[:]
    if len(kept) < len(items):
        chosen = set(kept)
        config.hook.pytest_deselected(items=[i for i in items if i not in chosen])
        items[:] = kept
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_runtest_logreport(report):
    """Prints each failure at once, so that it is seen even if the run is killed."""
    plugins = _terminal.get("plugins")
    if report.failed and plugins and (terminal := plugins.get_plugin("terminalreporter")):
        terminal.write_line(f"\nFAILED {report.nodeid} ({report.when}, {report.duration:.0f} s)", red=True)

"""Patience is measured in the work that a process can do meanwhile, not in seconds of a busy machine."""

import os
import sys
import threading
import time

import pytest

from . import waiting


@pytest.mark.parametrize("wanting, part", [(0, 1), (1, 1), (7, 1 / 7)])
def test_the_share_of_a_core(wanting, part, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setattr(waiting, "RUNNING", tmp_path / "loadavg")
    assert waiting.share() == 1, "a system that does not say it"
    waiting.RUNNING.write_text(f"9.00 8.00 7.00 {wanting}/312 4711\n")
    assert waiting.share() == pytest.approx(part)


def test_a_busy_machine_is_waited_for_longer(monkeypatch):
    now = 0.0

    def sleep(seconds):
        nonlocal now
        now += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(waiting, "share", lambda: 1 / 7)
    waiting.wait_until(lambda: now > 400)
    with pytest.raises(AssertionError, match="^nothing came$"):
        waiting.wait_until(lambda: False, lambda: "nothing came")
    assert now == pytest.approx(400 + 7 * waiting.PATIENCE, abs=1)


def test_a_limit_on_the_clock_is_longer_where_more_want_to_run(monkeypatch):
    monkeypatch.setattr(waiting, "share", lambda: 1 / 7)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    assert waiting.allow(2.0) == pytest.approx(14.0)
    with waiting.at_most(1.0):
        time.sleep(0.2)
    monkeypatch.setattr(waiting, "share", lambda: 1.0)
    assert waiting.allow(2.0) == 2.0
    with pytest.raises(AssertionError, match="of a core"), waiting.at_most(0.05):
        time.sleep(0.2)


def test_a_call_returns_or_raises_as_ever(monkeypatch):
    assert waiting.patiently(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        waiting.patiently(lambda: 1 / 0)
    monkeypatch.setattr(waiting, "patience", lambda *rest: iter(()))
    ended = threading.Event()
    with pytest.raises(AssertionError, match="no answer came"):
        waiting.patiently(ended.wait)
    ended.set()


def test_a_program_that_does_not_end_is_ended():
    done = waiting.finished([sys.executable, "-S", "-c", "import sys; print(3); sys.exit('four')"], text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, "3\n", "four\n")
    with pytest.raises(AssertionError, match="has not ended"):
        waiting.finished(["sleep", "1000"], seconds=0.1)

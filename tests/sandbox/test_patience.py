"""A time limit counts what code does: a busy machine does not shorten it; sleep and many processes don't extend it."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from autograder import exercises
from autograder.grading.judging import sessions
from autograder.judge.drawing import student_key
from autograder.judge.trusted import judge_exercises
from autograder.sandbox import CELL_TIMEOUT, LocalSession, sandbox_available, usage
from autograder.sandbox.patience import Patience

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="the system does not tell")

COMPUTE = "import time, os\nbegan = time.process_time()\nwhile time.process_time() < began + 0.4: pass\nprint('done')"
LIMIT = 1.0  # seconds of processor time for an answer
CROWD = (
    """
import os, time
for _ in range(6):
    if not os.fork():
        while True: pass
"""
    + COMPUTE
)

LATER = """
import os, time
for _ in range(6):
    if not os.fork():
        began = time.process_time()
        while time.process_time() < began + 0.1: pass
        os._exit(0)
for _ in range(6):
    os.wait()  # however long they take on this machine
time.sleep(8)  # what the others waited is not set off against it
"""


@contextlib.contextmanager
def busy(others=5):
    """Puts this process, its children, and others that spin on one processor."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    # Each in its own session, since some systems divide processor time among sessions first.
    spin = [sys.executable, "-c", "while True: pass"]
    spinning = [subprocess.Popen(spin, start_new_session=True) for _ in range(others)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()
        os.sched_setaffinity(0, before)


@pytest.fixture
def session():
    with busy(), LocalSession(preload=()) as s:
        yield s


def test_waiting_for_a_processor_does_not_count(session):
    result = session.execute(COMPUTE, timeout=0.8)
    assert result.stdout == "done\n" and result.error_name is None
    assert result.seconds > 0.8, "the machine was not busy, so nothing was shown"


@pytest.mark.parametrize("code", ["import time\ntime.sleep(100)", "while True: pass", CROWD, LATER])
def test_sleep_work_and_a_crowd_of_one_s_own_count(session, code):
    assert session.execute(code, timeout=0.8).error_name == CELL_TIMEOUT
    assert session.execute("1", timeout=20).error_name is None


def test_what_a_submission_has_in_all_is_counted_in_the_same_way(session):
    left = session._left
    session.execute(COMPUTE, timeout=5)
    assert 0.2 < left - session._left < 1.5


def test_without_word_from_the_system_all_time_counts(monkeypatch):
    monkeypatch.setattr(usage, "read", lambda path: "")
    with busy():
        patience = Patience(10, [os.getpid()])
        began = time.monotonic()
        while time.process_time() and time.monotonic() < began + 1.2:
            pass
        assert patience.left() <= 8.9


def test_a_processor_s_own_time_counts_whatever_waited():
    pid = os.fork()
    if not pid:
        while True:
            pass
    try:
        patience = Patience(0.3, [pid])
        while patience.left() > 0:
            time.sleep(patience.pause() / 1000)
        assert patience.spent() >= 0.3
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _below(pid):
    """Yields a process and all its descendants."""
    for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            yield from _below(int(child))
    yield pid


SLOW = """
import time
def weighted_average(values, weights):
    until = time.process_time() + 0.03
    while time.process_time() < until: pass
    return weights @ values / weights.sum()
"""


@pytest.mark.skipif(not sandbox_available(), reason="no sandbox here")
def test_beside_eight_busy_programs_points_are_those_of_a_calm_machine():
    """Grades a right answer that takes half of the allowed time, and a mistake."""
    exercise, key = exercises.get("start.weighted_average"), student_key("secret", "ada", "00-start-here")
    everywhere = os.sched_getaffinity(0)
    with sessions.sandboxed() as session, busy(8):
        for pid in _below(session.pid):
            os.sched_setaffinity(pid, os.sched_getaffinity(0))
        os.sched_setaffinity(0, everywhere)  # this process itself is not slowed down
        for source, score, named in ((SLOW, 1, []), (SLOW.replace(" / weights.sum()", ""), 0, ["not_divided"])):
            assert session.execute(source, timeout=5).ok
            begun = time.monotonic()
            verdict = judge_exercises([exercise], session, key, LIMIT)[0]
            assert (verdict.score, [m.name for m in verdict.mistakes]) == (score, named)
            assert time.monotonic() - begun > LIMIT, "the machine was not busy, so nothing was shown"

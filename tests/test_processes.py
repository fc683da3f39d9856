"""Processes that tests start end with the tests, however those end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from autograder import ROOT

from . import processes
from .waiting import wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs Linux")

# Two servers left by a careless test, in separate sessions: one is the child of a shell that has ended, one ignores
# SIGTERM.
CARELESS = """
import os, signal, subprocess, sys, time
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); open({ready!r}, 'w'); time.sleep(600)"

def test_careless():
    subprocess.Popen([sys.executable, "-c", STUBBORN], start_new_session=True)
    subprocess.run(["sh", "-c", "setsid sleep 600 & echo"])
    time.sleep({seconds})
"""


def run(folder, seconds, *options):
    """Starts pytest with this suite's watcher on such a test. Returns (its process, a file that exists once the test
    runs, an environment variable that marks its processes)."""
    ready = folder / "ready"
    (folder / "tests").mkdir()
    (folder / "tests" / "__init__.py").touch()
    (folder / "tests" / "conftest.py").write_text("from . import processes\nprocesses.guard()\n")
    (folder / "tests" / "processes.py").write_text(Path(processes.__file__).read_text(encoding="utf-8"))
    text = CARELESS.replace("{ready!r}", repr(str(ready))).replace("{seconds}", str(seconds))
    (folder / "tests" / "test_careless.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}", *options, "tests"]
    mark = f"RUN_{os.getpid()}_{folder.name}"
    sink = (folder / "log").open("w")
    process = subprocess.Popen(command, cwd=folder, env=os.environ | {mark: "1"}, stdout=sink, stderr=sink)
    return process, ready, mark


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "with a worker"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
def test_nothing_is_left_of_a_run_that_is_ended(how, workers, tmp_path):
    process, ready, mark = run(tmp_path, 600, *workers)
    wait_until(ready.exists, (tmp_path / "log").read_text())
    process.send_signal(how)
    process.wait()
    wait_until(lambda: not set(processes.carrying(mark)), f"left: {set(processes.carrying(mark))}")


def test_nor_of_one_that_ends_by_itself(tmp_path):
    process, ready, mark = run(tmp_path, 0)
    assert process.wait(120) == 0, (tmp_path / "log").read_text()
    wait_until(lambda: not set(processes.carrying(mark)))


def test_these_tests_are_guarded_and_so_is_all_that_they_start():
    tag = next(name for name in os.environ if name.startswith(f"{processes.PREFIX}{os.getpid()}_"))
    child = subprocess.Popen(["sleep", "600"], cwd=ROOT)
    try:
        # The parent continues a moment before the new program's environment can be read.
        wait_until(lambda: child.pid in set(processes.carrying(tag)))
        assert os.getpid() not in set(processes.carrying(tag))
    finally:
        child.kill()
        child.wait()


def test_what_stands_before_a_slow_package_asks_it_when_it_is_needed():
    code = (
        "import sys, rfc3987_syntax as r; assert 'lark' not in sys.modules and 'lighter' in r.__file__; "
        "print(r.is_valid_syntax('iri', 'http://ä.de'), r.is_valid_syntax('iri', 'no address'), 'lark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True False True\n", done.stderr

"""Work in a disposable child process: its limits, what it can't reach, and what it reports to its parent."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.sandbox import disposable
from autograder.sandbox.disposable import FRAME, RESULT, STEP, Budget, ChildEnded, ChildFailed, run
from autograder.sandbox.limits import MIB

from ..waiting import wait_until

pytestmark = [pytest.mark.skipif(not disposable.available(), reason="needs Linux"), pytest.mark.slow]
SMALL = Budget(step_seconds=0.5, cpu_seconds=20, wall_seconds=60, memory_bytes=256 * MIB, reply_bytes=1 * MIB)


def at(name, then):
    """Work that reports step ``name`` and then runs ``then``."""

    def work(line):
        line.step(name)
        return then(line)

    return work


def ended(then, budget=SMALL):
    with pytest.raises(ChildEnded) as caught:
        run(at("here", then), budget)
    assert caught.value.step == "here"
    return caught.value


def loop(line):
    while True:
        pass


def test_what_it_computes_comes_back():
    assert run(lambda line: b"x" * 500_000) == b"x" * 500_000


def test_an_endless_loop_ends_at_its_step():
    end = ended(loop)
    assert "processor time" in str(end)


def test_a_long_computation_inside_the_interpreter_ends_too():
    """Python runs no signal handler during such a computation."""
    assert "processor time" in str(ended(lambda line: str(9**9**9).encode()))


def test_every_step_has_its_own_allowance():
    def work(line):
        for i in range(4):
            line.step(f"step {i}")
            end = time.process_time() + 0.3
            while time.process_time() < end:
                pass
        return b"done"

    assert run(work, SMALL) == b"done"


def test_memory_ends_at_its_limit():
    assert "memory" in str(ended(lambda line: bytes(bytearray(1 << 30))))


def test_waiting_ends_at_the_wall_limit():
    end = ended(lambda line: time.sleep(100) or b"", Budget(wall_seconds=0.5))
    assert str(end) == "the time was used up" and end.seconds >= 0.5


@pytest.mark.parametrize("size", [2 * MIB, 200 * MIB])
def test_a_flood_is_not_read(size):
    assert "too large" in str(ended(lambda line: bytes(size)))


def test_a_flood_in_many_small_parts_is_not_read_either():
    def work(line):
        for _ in range(8):
            line.note(bytes(MIB // 4))
        return b""

    end = ended(work)
    assert "too large" in str(end) and len(end.notes) < 4


def test_a_step_that_arrives_together_with_a_flood_is_heard():
    """The parent may be late and read both at once; the later step still gets the blame."""

    def work(line):
        line._sock.sendall(FRAME.pack(STEP, 4) + b"here" + FRAME.pack(RESULT, 5_000) + bytes(5_000))
        return b""

    with pytest.raises(ChildEnded, match="too large") as caught:
        run(work, replace(SMALL, reply_bytes=1_000))
    assert caught.value.step == "here"


@pytest.mark.parametrize(
    "crash",
    [
        lambda line: ctypes.string_at(0),
        lambda line: os.abort(),
        lambda line: os.kill(os.getpid(), signal.SIGKILL),
        lambda line: os._exit(0),
    ],
    ids=["bad address", "abort", "killed", "exit"],
)
def test_a_crash_is_told(crash):
    assert "process" in str(ended(crash))


def test_what_was_finished_before_the_end_is_kept():
    def work(line):
        line.note(b"one")
        line.note(b"two")
        return loop(line)

    assert ended(work).notes == [b"one", b"two"]


def test_a_mistake_of_ours_is_no_end_but_an_error():
    with pytest.raises(ChildFailed, match="ZeroDivisionError"):
        run(lambda line: bytes([1 // 0]))


def test_it_writes_nothing_and_sees_no_descriptor_of_its_parent(tmp_path):
    ours, theirs = socket.socketpair()
    (tmp_path / "gradebook").write_text("scores")
    with ours, theirs, open(tmp_path / "gradebook", "r+b") as file:

        def work(line):
            found = []
            for tried in (
                lambda: (tmp_path / "new").write_text("x"),
                lambda: (file.write(b"x"), file.flush()),
                lambda: theirs.send(b"x") and ours.getpeername(),
            ):
                try:
                    found.append(str(tried()))
                except OSError:
                    found.append("refused")
            return "|".join(found).encode()

        answers = run(work, SMALL).decode().split("|")
        ours.setblocking(False)
        with pytest.raises(BlockingIOError):
            ours.recv(1)
    assert answers[0] == answers[2] == "refused"
    assert (tmp_path / "gradebook").read_text() == "scores" and not (tmp_path / "new").exists()


def test_it_starts_no_program_and_reaches_no_network(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def work(line):
            found = []
            for name, tried in {
                "program": lambda: subprocess.run(["/bin/true"], check=True),
                "network": lambda: socket.create_connection(("127.0.0.1", port), 1),
                "fork": os.fork,
                "signal": lambda: os.kill(os.getppid(), 0),
                "remove": lambda: os.rmdir(tmp_path),
            }.items():
                try:
                    tried()
                    found.append(name)
                except OSError:
                    pass
            return ",".join(found).encode()

        assert run(work, SMALL) == b""
    assert tmp_path.exists()


def test_it_goes_when_its_parent_goes(tmp_path):
    mark = tmp_path / "pid"
    code = f"""
import os, sys, time
sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})
from autograder.sandbox.disposable import run
def work(line):
    os.write({1}, b"")
    time.sleep(600)
import threading
threading.Thread(target=lambda: run(work), daemon=True).start()
while True:
    children = open(f"/proc/self/task/{{os.getpid()}}/children").read().split()
    tasks = os.listdir("/proc/self/task")
    found = [c for t in tasks for c in open(f"/proc/self/task/{{t}}/children").read().split()]
    if found:
        open({str(mark)!r}, "w").write(found[0])
        break
    time.sleep(0.01)
time.sleep(600)
"""
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        wait_until(lambda: mark.exists() and mark.read_text())
    finally:
        process.kill()
        process.wait()
    wait_until(lambda: not _lives(int(mark.read_text())))


def _lives(pid):
    try:
        return b"State:\tZ" not in Path(f"/proc/{pid}/status").read_bytes()
    except OSError:
        return False


def test_a_fork_beside_busy_threads():
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            sorted(str(i) for i in range(200))

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        assert [run(lambda line, i=i: str(i).encode(), SMALL) for i in range(20)] == [b"%d" % i for i in range(20)]
    finally:
        stop.set()
        for t in threads:
            t.join()


def test_a_child_that_never_begins_is_forked_again(monkeypatch):
    real, tries = disposable._once, []

    def once(work, budget, keep, allow):
        tries.append(1)
        if len(tries) == 1:
            raise ChildEnded("the time was used up", "", [], 30.0)
        return real(work, budget, keep, allow)

    monkeypatch.setattr(disposable, "_once", once)
    assert run(lambda line: b"after all") == b"after all" and len(tries) == 2

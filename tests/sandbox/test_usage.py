"""The watcher: what it counts, when it acts, and that the grader receives its reason."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time

import pytest

from autograder import ROOT
from autograder.sandbox import DeadSession, Limits, cgroups, usage
from tests.waiting import PATIENCE, wait_until

# Storms use every core: two at a time on two cores would delay a watcher, and it would measure both.
pytestmark = pytest.mark.xdist_group("storms")
MIB = 1 << 20
KINDS = ["zygote", "bubblewrap", "local"]
#: A tenth of a processor, which even a busy machine exceeds.
STRICT = Limits(session_cpu_percent=10, session_cpu_burst_seconds=1)


def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def child(work):
    """Forks a process that does the work and exits; returns its id."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return pid


@pytest.fixture
def without_groups(monkeypatch):
    """Behaves like a machine where the grader may not make control groups."""
    monkeypatch.setattr(cgroups, "ENABLED", False)


@pytest.fixture(params=KINDS)
def watched(request, open_sandbox, without_groups):
    return lambda *args, **options: open_sandbox(request.param, *args, **options)


# ---- counting --------------------------------------------------------------------------------------------------------
def test_times_count_children_once_whether_alive_or_waited_for():
    def family():
        for _ in range(3):
            os.waitpid(child(lambda: spin(0.2)), 0)
        spin(0.2)

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    times, seen = usage.Times(), []
    pid = child(family)
    while True:
        seen.append(times.seconds([p for p, _ in usage.tree(pid)]))
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            break
    os.waitpid(pid, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert seen == sorted(seen)
    assert 0.7 <= seen[-1] <= used + 0.1  # the system counts each process in hundredths of a second


def test_times_remember_those_who_have_gone():
    times, pids = usage.Times(), [child(lambda: spin(30)) for _ in range(2)]
    wait_until(lambda: times.seconds(pids) > 0.3)
    before = times.seconds(pids)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert times.seconds([]) >= before


def test_the_clock_counts_children_that_nobody_waits_for():
    clock = usage.clock_or_none()
    if clock is None:  # performance counters are refused here; a skip would look like a missing sandbox
        with pytest.raises(OSError):
            usage.Clock()
        return

    def careless():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for _ in range(20):
            child(lambda: spin(0.02))
        time.sleep(0.5)

    pid = child(careless)
    wait_until(lambda: clock.seconds() > 0.35)
    os.waitpid(pid, 0)
    clock.close()


@contextlib.contextmanager
def forks():
    """family(work, count) -> process ids of ``count`` forks that do the work; they end with the context."""
    pids = []

    def start(work, count):
        pids.extend(child(work) for _ in range(count))
        return pids

    try:
        yield start
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def alone(test):
    """Runs a test in a separate small process, since forks would share this process's memory."""

    def run():
        code = f"from tests.sandbox import test_usage as t\nwith t.forks() as family: t.{test.__name__}.body(family)"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr[-3_000:]

    run.__name__, run.body = test.__name__, test
    return run


def measured(memory, pids):
    memory.measure(pids)
    return memory.used(pids)


@alone
def test_memory_shared_with_the_parent_counts_once(family):
    memory = usage.Memory(os.getpid())
    kept = bytearray(b"1") * (200 * MIB)
    pids = family(lambda: time.sleep(60), 6)
    assert memory.used(pids) > 6 * 200 * MIB  # before measuring, shared memory counts for each fork
    assert measured(memory, pids) < 250 * MIB
    assert memory.used(pids) < 250 * MIB and len(kept)


@alone
def test_memory_of_their_own_counts_for_each(family):
    def fill():
        kept = bytearray(b"1") * (60 * MIB)
        time.sleep(60 + len(kept) % 2)

    memory, pids = usage.Memory(os.getpid()), family(fill, 5)
    wait_until(lambda: measured(memory, pids) > 290 * MIB)
    assert memory.used(pids) < 5 * 80 * MIB
    wait_until(lambda: usage.Memory(os.getpid()).used(pids) > 290 * MIB)  # even before measuring


@alone
def test_what_is_changed_after_a_fork_is_found_by_measuring_again(family):
    kept = bytearray(b"1") * (100 * MIB)

    def change():
        time.sleep(0.5)
        kept[:] = bytes(len(kept))
        time.sleep(60)

    memory = usage.Memory(os.getpid())
    pids = family(change, 3)
    memory.measure(pids)
    wait_until(lambda: memory.measure(memory.oldest(1)) or memory.used(pids) > 290 * MIB)


@alone
def test_another_program_shares_nothing(family):
    cell = "import time; x = bytearray(b'1') * (50 << 20); time.sleep(60)"
    memory = usage.Memory(os.getpid())
    memory.shared = 1 << 40
    pids = family(lambda: os.execv(sys.executable, [sys.executable, "-c", cell]), 2)
    wait_until(lambda: memory.measured.clear() or memory.used(pids) > 100 * MIB)


def test_the_tree_is_found_without_lists_of_children(monkeypatch):
    pid = child(lambda: child(lambda: time.sleep(60)) and time.sleep(60))
    wait_until(lambda: len(usage.tree(pid)) == 2)
    exists = os.path.exists
    monkeypatch.setattr(usage.os.path, "exists", lambda p: not str(p).endswith("/children") and exists(p))
    assert len(usage.tree(pid)) == 2
    usage.kill_tree(pid)
    os.waitpid(pid, 0)


@alone
def test_what_only_seems_to_be_too_much_is_stopped_for_a_moment(family):
    kept = bytearray(b"1") * (100 * MIB)
    pids = family(lambda: time.sleep(60), 4)
    watch = usage.Watch(pids[0], Limits(memory_bytes=MIB, tmpfs_bytes=MIB, session_memory_bytes=300 * MIB), {"memory"})
    watch.memory.stack, watch.root = 0, os.getpid()
    stopped = []
    monitored = watch.memory.measure

    def measure(pids):
        wait_until(lambda: all(usage._stat(p)[0] == "T" for p in pids))
        stopped.extend(pids)
        monitored(pids)

    watch.memory.measure = measure
    assert watch._memory_used(pids) < 250 * MIB
    assert stopped == pids and len(kept)
    wait_until(lambda: all(usage._stat(p)[0] == "S" for p in pids))


# ---- the rule --------------------------------------------------------------------------------------------------------
@pytest.fixture
def watch():
    return usage.Watch(os.getpid(), Limits(), {"cpu"})


def test_one_processor_for_ever_is_no_debt(watch):
    assert not any(watch.account(0.15, 0.15) for _ in range(10_000))


def test_a_burst_is_forgiven_and_paid_back(watch):
    for _ in range(50):
        assert watch.account(8.0, 1.0) == ""
        assert watch.account(0.0, 7.0) == ""


def test_pauses_are_not_banked(watch):
    watch.account(0.0, 1000.0)
    assert watch.account(8.0, 1.0) == "" and "more than one processor's time" in watch.account(8.0, 1.0)


# ---- its effect ------------------------------------------------------------------------------------------------------
def test_too_much_cpu_time_ends_the_session_with_its_reason(watched):
    with watched(STRICT) as s:
        with pytest.raises(DeadSession, match="more than one processor's time .* compute in one process"):
            s.execute("while True: pass", timeout=PATIENCE)
        with pytest.raises(DeadSession, match="more than one processor's time"):
            s.ask("reply = b''")


def test_too_much_memory_ends_the_session_with_its_reason(watched):
    # Each process stays within its own limit.
    one = "if os.fork() == 0:\n        x = bytearray(b'1') * (100 << 20); time.sleep(100)"
    cell = f"import os, time\nfor _ in range(16):\n    {one}\ntime.sleep(100)"
    with watched(Limits(memory_bytes=512 * MIB, session_memory_bytes=900 * MIB, session_cpu_burst_seconds=1000)) as s:
        with pytest.raises(DeadSession, match="more than 900 MiB of memory together: keep smaller tensors"):
            s.execute(cell, timeout=PATIENCE)


def test_honest_work_is_left_alone(watched):
    with watched() as s:
        work = "while time.process_time() < end: np.ones(10**5).sum()"
        begin = "import numpy as np, time\nend = time.process_time() + 1\n"
        assert s.execute(begin + work, timeout=PATIENCE).ok
        assert s.execute("x = bytearray(b'1') * (600 << 20)", timeout=PATIENCE).ok
        assert s.execute("y = bytes(x[: 1 << 20])\nlen(x)", timeout=PATIENCE).stdout == f"{600 * MIB}\n"
        assert s.ask("reply = b'ok'") == b"ok"


def test_what_takes_too_much_is_pinned_to_one_processor(watched):
    cell = """
import os, time
child = os.fork()
while child == 0: pass
before, end = len(os.sched_getaffinity(child)), time.time() + 60
while len(os.sched_getaffinity(child)) > 1 and time.time() < end: time.sleep(0.1)
len(os.sched_getaffinity(child)), before"""
    with watched(Limits(session_cpu_percent=10, session_cpu_burst_seconds=1000)) as s:
        assert s.execute(cell, timeout=PATIENCE).stdout.startswith("(1, ")


@pytest.mark.parametrize("kind", ["zygote", "bubblewrap"])
def test_a_crowd_that_spins_goes_last_and_cannot_go_back(kind, open_sandbox, without_groups):
    cell = """
import os, time
children = []
for _ in range(20):
    children.append(os.fork())
    while children[-1] == 0: pass
end = time.time() + 60
while os.getpriority(0, children[0]) < 19 and time.time() < end: time.sleep(0.1)
try:
    os.setpriority(0, children[0], 0)
except PermissionError:
    print("refused")
os.getpriority(0, children[0])"""
    with open_sandbox(kind, Limits(session_cpu_burst_seconds=1000)) as s:
        assert s.execute(cell, timeout=PATIENCE).stdout == "refused\n19\n"


def test_a_watcher_that_fails_ends_the_session(without_groups, monkeypatch):
    note, pid = usage.Note(), child(lambda: time.sleep(600))
    monkeypatch.setattr(usage.Watch, "look", lambda self: 1 / 0)
    usage.attend(pid, Limits(), {"cpu"}, None, note)  # returns once the process is gone
    assert "could not be watched (ZeroDivisionError)" in note.read()
    note.close()
    assert note.read() == ""


def test_the_note_is_out_of_the_students_reach(open_sandbox, without_groups):
    with open_sandbox("zygote") as s:
        links = """
import os
for folder in ("/proc/1/fd", "/proc/self/fd"):
    for name in os.listdir(folder):
        if os.path.lexists(f"{folder}/{name}"):
            print(os.readlink(f"{folder}/{name}"))"""
        held = s.execute(links, timeout=PATIENCE).stdout
        assert "socket" in held and "perf_event" not in held and "deleted" not in held

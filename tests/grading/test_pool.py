"""Workers that die, hang, stop or fail to start: each costs at most the submission it was grading."""

import contextlib
import os
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from autograder.grading.intake.collect import Submission
from autograder.grading.judging.grade import ungraded
from autograder.grading.workers import jobs, pool
from autograder.sandbox import SandboxUnavailable

from ..waiting import allow, wait_until
from .cheats.base import START

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are ended by what Linux has")


def hand_in(*students):
    return [Submission(s, START, "/nowhere", (s, START)) for s in students]


def make(submission):
    return jobs.make_job(submission, "secret")


@pytest.fixture
def tried(tmp_path, monkeypatch):
    """tried(student) → process ids of the workers that tried; the student's name says what they do."""

    def evaluate(job):
        name = job["student"]
        with open(tmp_path / name, "a") as file:
            file.write(f"{os.getpid()}\n")
        if "dies" in name and ("once" not in name or len((tmp_path / name).read_text().split()) == 1):
            os.kill(os.getpid(), signal.SIGKILL)
        if "hangs" in name:
            sum(iter(lambda: 1, 0))  # inside a C function: Python's signal handlers do not run
        if "stops" in name:
            os.kill(os.getpid(), signal.SIGSTOP)
        if "waits" in name:
            time.sleep(60)
        if "raises" in name:
            raise ValueError("a mistake of ours")
        if "no-sandbox" in name:
            raise SandboxUnavailable("there is none")
        return ungraded(START, name, "submission.empty", "It is empty."), "ab" * 32

    monkeypatch.setattr(jobs, "evaluate", evaluate)
    return lambda name: [int(n) for n in (tmp_path / name).read_text().split()] if (tmp_path / name).exists() else []


def graded(*students, size=2):
    """dict student → outcome, from a new pool."""
    with pool.Pool(size) as workers:
        found = list(workers.results(hand_in(*students), make))
    assert len(found) == len(students), "each has one outcome"
    return {s.student: outcome for s, outcome in found}


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_results_come_back_and_workers_go(tried):
    names = [f"s{i}" for i in range(9)]
    for name, (result, digest) in graded(*names).items():
        assert result.student == name and result.problem[0] == "submission.empty" and digest == "ab" * 32
    pids = {pid for name in names for pid in tried(name)}
    assert os.getpid() not in pids
    wait_until(lambda: not any(map(alive, pids)))


@pytest.mark.parametrize("how", ["dies", "hangs", "stops"])
def test_who_loses_two_workers_is_marked_and_nobody_else(how, tried, monkeypatch):
    monkeypatch.setattr(pool, "WATCHDOG_SECONDS", allow(0.5) if how == "hangs" else 100)
    monkeypatch.setattr(pool, "PATIENCE_SECONDS", allow(0.5) if how == "stops" else 100)
    found = graded("a", how, "b", "c", "d")
    assert isinstance(found.pop(how), jobs.WorkerLost) and len(set(tried(how))) == 2
    assert all(isinstance(outcome, tuple) for outcome in found.values())
    assert all(len(tried(name)) == 1 for name in found)
    wait_until(lambda: not any(map(alive, tried(how))), "a stopped worker stays")


def test_a_worker_lost_once_costs_nothing(tried):
    found = graded("dies-once", "a", "b")
    assert all(isinstance(outcome, tuple) for outcome in found.values()) and len(tried("dies-once")) == 2


def test_everybody_may_lose_a_worker(tried):
    found = graded(*[f"dies-{i}" for i in range(4)], *[f"dies-once-{i}" for i in range(4)])
    assert {name for name, outcome in found.items() if isinstance(outcome, jobs.WorkerLost)} == {
        f"dies-{i}" for i in range(4)
    }


def test_exceptions_are_told_by_name(tried):
    found = graded("raises", "no-sandbox", "a")
    assert "ValueError: a mistake of ours" in str(found["raises"]) and isinstance(found["raises"], jobs.GraderFailed)
    assert isinstance(found["no-sandbox"], SandboxUnavailable) and isinstance(found["a"], tuple)


def test_another_nursery_is_made_where_one_was_ended(tried):
    with pool.Pool(2) as workers:
        results = workers.results(hand_in(*[f"s{i}" for i in range(8)]), make)
        next(results)
        workers.nursery._process.kill()
        assert len(list(results)) == 7


def test_a_unit_is_prepared_once_for_all_workers(tried, tmp_path, monkeypatch):
    def prepare(unit):
        with open(tmp_path / "prepared", "a") as file:
            file.write(f"{unit} {os.getpid()}\n")

    monkeypatch.setattr(pool, "prepare", prepare)
    nursery = pool.Nursery()
    nursery.expect(START)
    with pool.Pool(2, nursery) as workers:
        assert len(list(workers.results(hand_in("a", "b", "c"), make))) == 3
    assert (tmp_path / "prepared").read_text() == f"{START} {nursery._process.pid}\n"
    nursery.expect(START)  # the process is gone: no error


def test_workers_that_end_at_once_end_the_run_with_a_sentence(tried, monkeypatch):
    monkeypatch.setattr(pool, "_work", lambda sock: os._exit(1))
    with pytest.raises(jobs.NoWorkers, match="end as soon as they start"):
        graded("a")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_the_grader(how, tried):
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            graded("waits-1", "waits-2")
        finally:
            os._exit(1)
    wait_until(lambda: tried("waits-1") and tried("waits-2"))
    pids = tried("waits-1") + tried("waits-2")
    parents = {int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in pids}
    os.kill(child, how)
    os.waitpid(child, 0)
    assert len(parents) == 1 and child not in parents, "workers have a parent of their own"
    wait_until(lambda: not any(map(alive, [*pids, *parents])))


def test_workers_hold_no_descriptor_of_the_grader(tried, tmp_path, monkeypatch):
    before = jobs.evaluate

    def evaluate(job):
        links = (os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd"))
        (tmp_path / "seen").write_text("\n".join(links))
        return before(job)

    monkeypatch.setattr(jobs, "evaluate", evaluate)
    with open(tmp_path / "gradebook", "w+b"):
        graded("a", size=1)
    seen = (tmp_path / "seen").read_text()
    assert "socket" in seen and "gradebook" not in seen


def test_a_frame_beyond_its_bound_is_not_read():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(pool.HEADER.pack(pool.MAX_ANSWER + 1))
        with pytest.raises(OSError, match="a frame of"):
            pool.receive(ours, pool.MAX_ANSWER)


def test_a_job_keeps_its_form():
    found = Submission("王", START, "/a\udcff", ("\udce9", START), "00", problem=("slug", "A sentence."))
    job = jobs.make_job(found, "secret", follow=True)
    assert jobs.unpack(jobs.pack(job), b"") == job and b"secret" not in jobs.pack(job)
    job["data"] = b"\x00notebook"
    assert jobs.unpack(jobs.pack(job), job["data"]) == job


@pytest.mark.parametrize(
    "said",
    [b"", b"{", b"[]", b"null", b'{"graded": {}}', b'{"graded": {}, "digest": "zz"}', b"[" * 100_000],
    ids=lambda said: said[:30].decode(),
)
def test_an_answer_that_is_none_is_that_ones_alone(said):
    assert isinstance(jobs.result_of(said), jobs.GraderFailed)


def test_a_runner_replaces_its_worker(tried):
    with contextlib.closing(pool.Nursery()) as nursery:
        runner = pool.Runner(nursery)
        first, lost, after = (runner.run(make(s)) for s in hand_in("a", "dies", "b"))
    assert lost is None and len(tried("dies")) == 2
    assert isinstance(jobs.result_of(first), tuple) and isinstance(jobs.result_of(after), tuple)

"""Grading on many machines: workers of a scheduler that vanish, come back, or die of one submission."""

import contextlib
import os
import signal
import sys
import time

import dask
import pytest
from distributed import LocalCluster

from autograder.grading.intake.collect import Submission
from autograder.grading.judging.grade import ungraded
from autograder.grading.workers import cluster, jobs

from ..waiting import at_most
from .cheats.base import START

pytestmark = [
    pytest.mark.xdist_group("cluster"),
    pytest.mark.skipif(sys.platform != "linux", reason="workers are ended by what Linux has"),
]


@pytest.fixture
def machines(monkeypatch):
    """A scheduler with one worker of one thread, in this process; the student's name says what a job does."""

    def evaluate(job):
        if "dies" in job["student"]:
            os.kill(os.getpid(), signal.SIGKILL)
        if "slow" in job["student"]:
            time.sleep(1)
        return ungraded(START, job["student"], "submission.empty", "It is empty."), "ab" * 32

    monkeypatch.setattr(jobs, "evaluate", evaluate)
    monkeypatch.setattr(cluster, "_nursery", None)
    monkeypatch.setattr(cluster, "_idle", [])
    here = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    quick = dask.config.set({"distributed.comm.timeouts.connect": "2s"})  # at the end, a closed scheduler is awaited
    with quick, LocalCluster(**here, silence_logs=100) as found:
        yield found
        if cluster._nursery is not None:
            cluster._nursery.close()


@pytest.fixture
def hands(machines):
    """(the Cluster, the list of its messages)."""
    said = []
    with cluster.Cluster(machines.scheduler_address, said.append) as found:
        yield found, said


def run(hands, *students):
    submissions = [Submission(s, START, "/nowhere", (s, START)) for s in students]
    return hands.results(submissions, lambda s: jobs.make_job(s, "secret"))


def lose_all(machines):
    machines.scale(0)
    machines.sync(machines._correct_state)


def test_results_come_back(hands):
    found = dict(run(hands[0], *[f"s{i}" for i in range(9)]))
    assert {s.student: outcome[0].student for s, outcome in found.items()} == {f"s{i}": f"s{i}" for i in range(9)}
    assert not hands[1]


def test_what_dies_again_and_again_is_marked_and_nobody_else(hands):
    found = {s.student: outcome for s, outcome in run(hands[0], "a", "dies", "b", "c")}
    assert isinstance(found.pop("dies"), jobs.WorkerLost) and len(found) == 3
    assert all(isinstance(outcome, tuple) for outcome in found.values())


def test_a_run_whose_workers_are_all_lost_says_so_waits_and_ends(machines, hands, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 3.0)
    results = run(hands[0], "a", *[f"slow-{i}" for i in range(9)])
    done = [next(results)]
    lose_all(machines)
    began = time.monotonic()
    with at_most(3 + 15), pytest.raises(jobs.NoWorkers, match="were lost. What is graded is stored"):
        done.extend(results)
    (sentence,) = hands[1]
    assert "Waiting up to 3 s" in sentence and machines.scheduler_address in sentence
    assert 3 <= time.monotonic() - began and 0 < len(done) < 10


def test_it_goes_on_where_a_worker_comes_back(machines, hands):
    with contextlib.closing(run(hands[0], "a", *[f"slow-{i}" for i in range(3)])) as results:
        next(results)
        lose_all(machines)
        hands[0].tell = lambda sentence: (hands[1].append(sentence), machines.scale(1))
        assert len(list(results)) == 3
    assert ["answers any more" in s for s in hands[1]] == [True, False] and "going on" in hands[1][1]


def test_silence_is_loss(machines, hands, monkeypatch):
    """An unplugged machine does not close its connection."""
    monkeypatch.setattr(cluster, "SILENCE_SECONDS", 0.0)
    assert hands[0]._count() == 0
    monkeypatch.setattr(cluster, "SILENCE_SECONDS", 10.0)
    assert hands[0]._count() == 1


def test_a_scheduler_that_is_lost_ends_the_run(machines, hands):
    results = run(hands[0], "a", *[f"slow-{i}" for i in range(9)])
    next(results)
    machines.sync(machines.scheduler.close)
    with pytest.raises(jobs.NoWorkers, match="was lost|were lost"):
        list(results)


def test_an_address_without_a_scheduler_and_one_without_workers(machines, monkeypatch):
    lose_all(machines)
    with pytest.raises(jobs.NoWorkers, match="has no workers"):
        cluster.Cluster(machines.scheduler_address, print)
    monkeypatch.setitem(cluster.SETTINGS, "distributed.comm.timeouts.connect", "1s")
    with pytest.raises(jobs.NoWorkers, match="cannot be reached"):
        cluster.Cluster("tcp://127.0.0.1:1", print)

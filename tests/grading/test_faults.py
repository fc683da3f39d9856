"""The fault suite: whatever dies, fills up or is damaged, each submission ends in one result or in a clear message."""

import contextlib
import dataclasses
import functools
import gc
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import weakref

import psutil
import pytest
import sqlalchemy as sa
from distributed import LocalCluster

from autograder.grading.__main__ import Interrupts
from autograder.grading.book.course import load_course
from autograder.grading.book.database import GradebookError
from autograder.grading.book.gradebook import GradebookWriter
from autograder.grading.intake import collect
from autograder.grading.judging import sessions
from autograder.grading.judging.grade import grade as grade_one
from autograder.grading.judging.submitted import of_bytes
from autograder.grading.workers import engine
from autograder.judge.drawing import student_key

from ..waiting import patiently, wait_until
from .cheats.base import START, released
from .classroom import ANSWERS, command, consistent, course, environment, grade, grades, notebook, submit, times_graded

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


@functools.cache
def example(kind, opener):
    return grade_one(of_bytes(notebook(ANSWERS[kind]), START, "ada", student_key("secret", "ada", START)), opener)


def small_class(root, size):
    for i in range(size):
        submit(root, f"s{i:02}", notebook(ANSWERS[["right", "mutant", "partly"][i % 3]]))
    return root


def scripted(sandbox):
    """Replaces the workers: returns results computed before, so that a test only covers the writing."""
    done = {k: example(k, sandbox) for k in ("right", "mutant", "partly")}

    def results(hands, submissions, make):
        for s in submissions:
            kind = ["right", "mutant", "partly"][int(s.student[1:]) % 3]
            yield s, (dataclasses.replace(done[kind], student=s.student), s.digest)

    return results


def run_here(root, **options):
    """Runs grade_all in this process."""
    place = load_course(root)
    with GradebookWriter(place.db_url, "transformer-anatomy", place.config) as writer:
        return engine.grade_all(
            collect.find(root / "submitted"),
            writer,
            place,
            "secret",
            **{"workers": 1, "zygote": sessions.zygote().folder, **options},
        ), writer.graded()


@linux
@pytest.mark.parametrize("moment", range(10))
def test_killed_while_it_writes_and_resumed(moment, tmp_path, sandbox, monkeypatch):
    """SIGKILL before the n-th statement to the database, for ten values of n; then the same writer is run again."""
    root = small_class(course(tmp_path / "killed"), 6)
    monkeypatch.setattr(engine, "_results", scripted(sandbox))
    monkeypatch.setattr(engine, "_cluster", lambda *a: contextlib.nullcontext())
    child = os.fork()
    if child == 0:
        try:
            counter = iter(range(10_000))

            def maybe_die(*args):
                if next(counter) == 25 + 17 * moment:
                    os.kill(os.getpid(), signal.SIGKILL)

            sa.event.listen(sa.engine.Engine, "before_cursor_execute", maybe_die)
            run_here(root)
        finally:
            os._exit(7)  # the kill did not happen
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    before = consistent(root) if _has_table(root) else 0
    summary, graded = run_here(root)
    assert len(summary.graded) == 6 - before and summary.kept == before and not summary.problems
    assert consistent(root) == len(graded) == 6
    assert set(times_graded(root).values()) == {1}


def _has_table(root):
    if not (root / "gradebook.db").exists():
        return False
    with contextlib.closing(sqlite3.connect(root / "gradebook.db")) as db:
        return bool(db.execute("SELECT name FROM sqlite_master WHERE name = 'anatomy_graded'").fetchall())


@linux
@pytest.mark.slow
def test_the_whole_grader_killed_again_and_again(tmp_path, sandbox):
    """The real command, killed after 0, 4 and 9 results: no process survives, nothing is graded twice."""
    root = small_class(course(tmp_path / "again"), 12)
    stored = lambda: len(times_graded(root)) if _has_table(root) else 0
    for target in (0, 4, 9):
        with subprocess.Popen(
            command("--workers", "2"), cwd=root, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            wait_until(lambda: process.poll() is not None or stored() > target)
            grader = psutil.Process(process.pid)
            family, folders = grader.children(recursive=True), [a for a in grader.cmdline() if "anatomy-zygote" in a]
            assert len(family) >= 4 and folders, "no zygote, nursery and two workers to leave behind"
            process.kill()
        assert _has_table(root) and consistent(root) == stored()
        gone = lambda c: not c.is_running() or c.status() == psutil.STATUS_ZOMBIE
        wait_until(lambda: all(map(gone, family)), "workers or zygotes outlive the grader")
        wait_until(lambda: not any(map(os.path.exists, folders)), "a zygote's folder is left")
    done = grade(root, "--workers", "2")
    assert done.returncode == 0, done.stderr
    assert consistent(root) == 12 and set(times_graded(root).values()) == {1}
    wanted = ["1", "0", "0.666667"]
    assert {r["student"]: r["score"] for r in grades(root)} == {f"s{i:02}": wanted[i % 3] for i in range(12)}


@linux
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupt_keeps_what_is_finished(how, tmp_path, sandbox):
    root = small_class(course(tmp_path / "ended"), 6)
    with subprocess.Popen(
        command("--workers", "1"),
        cwd=root,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_until(lambda: process.poll() is not None or (_has_table(root) and len(times_graded(root))))
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(how)
        _, said = patiently(process.communicate)
    assert process.returncode == 3 and "run the same command again" in said and "Traceback" not in said, said
    assert 0 < consistent(root) < 6
    wait_until(lambda: not any(c.is_running() and c.status() != psutil.STATUS_ZOMBIE for c in family))


def test_an_interrupt_that_python_dropped_comes_after_the_next_result(monkeypatch):
    """Python drops an interrupt that is raised in the callback of a weak reference."""

    class Thing:
        pass

    told, lost, interrupts = [], [], Interrupts()
    monkeypatch.setattr(sys, "unraisablehook", lambda about: lost.append(about.exc_type))
    progress = interrupts.watched(lambda done, total: told.append(done))
    thing = Thing()
    dropped = weakref.ref(thing, lambda _: interrupts(signal.SIGINT, None))
    progress(0, 3)
    del thing
    gc.collect()
    assert dropped() is None and lost == [KeyboardInterrupt]
    with pytest.raises(KeyboardInterrupt):
        progress(1, 3)
    progress(3, 3)  # everything is graded: nothing is left to interrupt
    assert told == [0, 1, 3]


@linux
def test_full_disk(tmp_path, sandbox):
    """On a file system of 600 kB: a clear message; with more space the rest is graded, nothing is lost or half done."""
    root = tmp_path / "full"
    root.mkdir()
    source = small_class(course(tmp_path / "source"), 12)
    run = " ".join(command("--workers", "1"))
    script = f"""
    mount -t tmpfs -o size=600k none {root} || exit 9
    cp -r {source}/. {root}; cd {root}
    {run}; echo first $?
    mount -o remount,size=64m {root}
    {run}; echo second $?
    cp -r {root}/. {tmp_path}/copy"""
    unshare = ["unshare", "--mount", *["--map-root-user"] * (os.geteuid() != 0)]
    done = subprocess.run(
        [*unshare, "sh", "-c", script], env=environment(), capture_output=True, text=True, timeout=300
    )
    if done.returncode == 9 or "unshare failed" in done.stderr:
        pytest.skip(f"no private file systems here: {done.stderr.strip()[:100]}")
    assert "first 3" in done.stdout, done.stdout + done.stderr
    assert "Traceback" not in done.stderr and "ake room and run" in done.stderr
    assert "second 0" in done.stdout, done.stdout + done.stderr
    copy = tmp_path / "copy"
    assert consistent(copy) == 12 and set(times_graded(copy).values()) == {1}
    assert not list(copy.rglob("*tmp"))


def test_a_page_that_cannot_be_written_stops_the_run_and_stores_nothing_of_it(tmp_path, sandbox, monkeypatch):
    root = small_class(course(tmp_path / "page"), 3)
    monkeypatch.setattr(engine, "_results", scripted(sandbox))
    monkeypatch.setattr(engine, "_cluster", lambda *a: contextlib.nullcontext())
    (root / "feedback").mkdir()
    (root / "feedback" / "s01").write_text("a file where a folder should be")
    summary, graded = run_here(root)
    assert "could not be written" in summary.stopped and set(graded) == {("s00", START)}
    (root / "feedback" / "s01").unlink()
    summary, graded = run_here(root)
    assert not summary.stopped and len(graded) == 3 and consistent(root) == 3


@pytest.mark.parametrize("damage", ["garbage", "cut", "empty folder"])
def test_a_damaged_gradebook_is_named_and_left_alone(damage, tmp_path, sandbox, monkeypatch):
    root = small_class(course(tmp_path / damage.split()[0]), 2)
    path = root / "gradebook.db"
    if damage == "garbage":
        path.write_bytes(b"this is not a database" * 100)
    elif damage == "cut":
        monkeypatch.setattr(engine, "_results", scripted(sandbox))
        monkeypatch.setattr(engine, "_cluster", lambda *a: contextlib.nullcontext())
        run_here(root)
        path.write_bytes(path.read_bytes()[:40_000])
    else:
        path.mkdir()
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(GradebookError) as caught:
        run_here(root, force=True)
    assert "gradebook.db" in str(caught.value) and "\n" not in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_gradebook_that_somebody_holds_is_waited_for(tmp_path, sandbox, monkeypatch):
    root = small_class(course(tmp_path / "held"), 2)
    monkeypatch.setattr(engine, "_results", scripted(sandbox))
    monkeypatch.setattr(engine, "_cluster", lambda *a: contextlib.nullcontext())
    run_here(root)
    db = sqlite3.connect(root / "gradebook.db", isolation_level=None, check_same_thread=False)
    db.execute("BEGIN EXCLUSIVE")
    threading.Timer(7.0, lambda: db.execute("COMMIT")).start()
    summary, _ = run_here(root, force=True)
    assert len(summary.graded) == 2 and not summary.stopped
    assert set(times_graded(root).values()) == {2}


def test_fifty_megabytes_of_output(sandbox):
    book = released()
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["x" * 999 + "\n"] * 5_000}]
    next(c for c in book["cells"] if c["metadata"].get("nbgrader", {}).get("solution"))["source"] = ANSWERS["right"]
    data = json.dumps(book).encode()
    assert len(data) > 50e6
    graded = grade_one(of_bytes(data, START, "ada", b"key"), sandbox)
    assert graded.score == 1 and len(json.dumps(graded.notebook)) < 200_000


@pytest.mark.slow
def test_workers_behind_a_schedulers_address(tmp_path, sandbox):
    root = small_class(course(tmp_path / "far"), 3)
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        summary, graded = run_here(root, workers=0, scheduler=cluster.scheduler_address)
    assert len(graded) == 3 and not summary.problems and consistent(root) == 3


def test_an_answer_about_another_submission_is_stored_for_nobody(tmp_path, sandbox, monkeypatch):
    root = small_class(course(tmp_path / "other"), 3)

    def results(hands, submissions, make):
        for s, (graded, digest) in scripted(sandbox)(hands, submissions, make):
            yield s, (dataclasses.replace(graded, student="s00") if s.student == "s01" else graded, digest)

    monkeypatch.setattr(engine, "_results", results)
    monkeypatch.setattr(engine, "_cluster", lambda *a: contextlib.nullcontext())
    summary, graded = run_here(root)
    assert set(graded) == {("s00", START), ("s02", START)} and summary.problems[0][0] == "s01"
    assert set(times_graded(root).values()) == {1}


def test_an_address_that_is_none_is_named():
    with pytest.raises(GradebookError, match="CourseDirectory.db_url in nbgrader_config.py is not the address"):
        GradebookWriter("gradebook", "transformer-anatomy")

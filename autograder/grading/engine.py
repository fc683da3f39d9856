"""Grades many submissions: workers evaluate, this process alone writes.

The workers are processes of a ``dask.distributed`` cluster, on this machine or behind a scheduler's address. A worker
returns plain data about one submission; what a worker was busy with when it was lost is given to another one.
"""

import errno
import hashlib
import itertools
import logging
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypedDict

import dask
import sqlalchemy as sa
from distributed import Client, Future, LocalCluster, as_completed
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker
from distributed.security import Security

from autograder.judge.drawing import student_key
from autograder.sandbox import SandboxUnavailable

from .collect import Submission
from .contained import grade_bytes
from .course import Course
from .database import GradebookError
from .grade import GradedNotebook, ungraded
from .gradebook import GradebookWriter
from .masters import master
from .names import shown
from .opening import BadSubmission, Problem, read_below
from .rebuild import Note
from .sessions import LIMITS, factory, warm_workers
from .stamps import parse_stamp

# A worker that is still at one submission after this has met a bug of ours: it ends itself, the others go on.
WATCHDOG_SECONDS = LIMITS.wall_seconds + 180
SETTINGS = {
    "distributed.scheduler.allowed-failures": 1,
    "distributed.comm.timeouts.connect": "30s",
    "distributed.worker.memory.terminate": 0.98,
    "distributed.worker.multiprocessing-method": "forkserver",
}


class Job(TypedDict):
    """What a worker is told. data: the notebook's bytes where the worker is on another machine, else it reads ``parts``
    below ``root``. key: the student's for this unit. zygote: folder of a shared one, or ""."""

    student: str
    unit: str
    root: str
    parts: tuple[str, ...]
    digest: str
    data: bytes | None
    problem: Problem | None
    key: bytes
    sandbox: bool
    zygote: str


Graded = tuple[GradedNotebook, str]  # with the digest of the bytes that were graded


class ClusterError(RuntimeError):
    """The cluster asked for cannot be used; the message is one sentence."""


@dataclass
class Summary:
    """graded: (student, unit) stored in this run. kept: how many were up to date. problems: (student, unit, slug,
    sentence) of what has no result in the gradebook. zeros: the same of what stands there with zero points because
    nothing in it can be graded, whichever run found that. stopped: a sentence if the run ended early."""

    graded: list[tuple[str, str]] = field(default_factory=list)
    kept: int = 0
    problems: list[tuple[str, str, str, str]] = field(default_factory=list)
    zeros: list[tuple[str, str, str, str]] = field(default_factory=list)
    stopped: str = ""


def grade_all(
    submissions: Iterable[Submission],
    writer: GradebookWriter,
    course: Course,
    secret: str,
    *,
    workers: int,
    sandbox: bool = True,
    scheduler: str | None = None,
    force: bool = False,
    zygote: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> Summary:
    """Grades what is new or changed and stores it. Returns a Summary; never raises on account of a submission.

    What goes wrong with one submission, a mistake of the grader's included, is a problem of that one alone; the run
    stops where nothing more can be stored: the gradebook, the disk or the sandbox is not there.

    Args:
        submissions: from ``collect.find``.
        writer: GradebookWriter.
        course: where the notebooks and feedback pages go.
        secret: the course secret; workers only get keys made from it.
        workers: processes on this machine. scheduler: address of a running one instead.
        sandbox: False runs the students' code unprotected.
        force: also what is up to date.
        zygote: folder of a zygote that workers on this machine share; without it each starts its own.
        progress: called as ``progress(done, total)``.
    """
    summary = Summary()
    jobs = _to_grade(submissions, {} if force else writer.graded(), summary)
    store = _Store(writer, course, summary, {(s.student, s.unit): s for s in jobs})
    try:
        for s in jobs:
            if s.problem:
                store(s, ungraded(s.unit, s.student, *s.problem), s.digest)
        rest = [s for s in jobs if not s.problem]
        total = len(jobs)
        if progress and total:
            progress(total - len(rest), total)
        if rest:
            workers = min(workers, len(rest))
            with _cluster(workers, scheduler) as client:
                ahead = 3 * max(1, workers if scheduler is None else len(client.scheduler_info()["workers"]))
                make = lambda s: _job(s, secret, sandbox, zygote, remote=scheduler is not None)
                count = total - len(rest)
                for submission, outcome in _twice(client, rest, make, ahead):
                    if isinstance(outcome, SandboxUnavailable):
                        raise outcome
                    if isinstance(outcome, Exception):
                        summary.problems.append((submission.student, submission.unit, "grader.failed", _blame(outcome)))
                    else:
                        store(submission, *outcome)
                    count += 1
                    if progress:
                        progress(count, total)
    except KeyboardInterrupt:
        summary.stopped = "Interrupted. What is graded is stored; run the same command again for the rest."
    except (GradebookError, SandboxUnavailable) as error:
        summary.stopped = str(error)
    except CommClosedError:
        summary.stopped = "The scheduler was lost. What is graded is stored; run the same command again for the rest."
    except ClusterError as error:
        summary.stopped = str(error)
    except OSError as error:
        summary.stopped = (
            f"Results could not be written ({error.strerror or error}). What is graded so far is "
            "stored; make room and run the same command again."
        )
    return summary


def _to_grade(
    submissions: Iterable[Submission], done: Mapping[tuple[str, str], tuple[str, str]], summary: Summary
) -> list[Submission]:
    """Those of ``submissions`` that are neither up to date nor impossible to store; the others go to the summary."""
    jobs = []
    for s in submissions:
        if s.problem and not s.known:
            summary.problems.append((s.student, s.unit, *s.problem))
        elif done.get((s.student, s.unit)) == (s.digest, master(s.unit).version):
            summary.kept += 1
        else:
            jobs.append(s)
    return jobs


class _Store:
    """The single writer: one transaction and two files for each result."""

    def __init__(
        self,
        writer: GradebookWriter,
        course: Course,
        summary: Summary,
        submissions: Mapping[tuple[str, str], Submission],
    ):
        self.writer, self.course, self.summary, self.submissions = writer, course, summary, submissions

    def __call__(self, submission: Submission, graded: GradedNotebook, digest: str) -> None:
        """Stores a result. Raises GradebookError and OSError where no other could be stored either."""
        try:
            self._write(submission, graded, digest)
        except Exception as error:
            if not _of_this_one(error):
                raise
            self.summary.problems.append((submission.student, submission.unit, "grader.failed", _blame(error)))

    def _write(self, submission: Submission, graded: GradedNotebook, digest: str) -> None:
        graded.notes = [*(Note(*n) for n in submission.notes), *graded.notes]
        stamp = submission.timestamp
        self.writer.write(
            graded,
            digest,
            master(graded.unit).version,
            parse_stamp(stamp) if stamp else None,
            lambda *remarks: self.course.publish(graded, stamp, *remarks),
        )
        self.summary.graded.append((graded.student, graded.unit))


def _of_this_one(error: Exception) -> bool:
    """Is it about the submission that was to be stored, rather than about the gradebook or the disk?"""
    if isinstance(error, GradebookError):
        cause = error.__cause__
        return isinstance(cause, sa.exc.DataError) or type(cause) is sa.exc.StatementError
    if isinstance(error, OSError):
        return error.errno in (errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL)
    return True


def _job(submission: Submission, secret: str, sandbox: bool, zygote: str, remote: bool) -> Job:
    # A key for this student and unit, never the secret: workers may be other people's machines.
    job: Job = {
        "student": submission.student,
        "unit": submission.unit,
        "sandbox": sandbox,
        "root": submission.root,
        "parts": submission.parts,
        "key": student_key(secret, submission.student, submission.unit),
        "data": None,
        "problem": None,
        "digest": submission.digest,
        "zygote": "" if remote else zygote,
    }
    if remote:
        try:
            job["data"] = read_below(submission.root, submission.parts)
        except BadSubmission as error:  # it was there when the run began
            job["problem"] = (error.name, str(error))
    return job


def evaluate(job: Job) -> Graded:
    """Runs in a worker: (GradedNotebook, digest of the bytes that were graded)."""
    timer = threading.Timer(WATCHDOG_SECONDS, os._exit, (70,))
    timer.daemon = True
    timer.start()
    try:
        try:
            if job["problem"]:
                raise BadSubmission(*job["problem"])
            data = job["data"] if job["data"] is not None else read_below(job["root"], job["parts"])
        except BadSubmission as error:  # it was there when the run began
            return ungraded(job["unit"], job["student"], error.name, str(error)), _changed(job["digest"])
        graded = grade_bytes(data, job["unit"], job["student"], job["key"], factory(job["sandbox"], job["zygote"]))
        return graded, hashlib.sha256(data).hexdigest()
    finally:
        timer.cancel()


def _changed(digest: str) -> str:
    """Another digest, so that the next run looks at the file again."""
    return hashlib.sha256(f"not {digest}".encode()).hexdigest()


def _twice(
    client: Client, submissions: Iterable[Submission], make: Callable[[Submission], Job], ahead: int
) -> Iterator[tuple[Submission, Graded | Exception]]:
    """``_results``, with those whose workers were lost once more, one at a time: Dask blames everything that a lost
    worker held, and most of it was only waiting there."""
    suspects = []
    for submission, outcome in _results(client, submissions, make, ahead):
        if isinstance(outcome, KilledWorker):
            suspects.append(submission)
        else:
            yield submission, outcome
    yield from _results(client, suspects, make, 1)


def _results(
    client: Client, submissions: Iterable[Submission], make: Callable[[Submission], Job], ahead: int
) -> Iterator[tuple[Submission, Graded | Exception]]:
    """Yields (submission, (graded, digest) or an exception) in the order in which they end; ``ahead`` at a time."""
    waiting = iter(submissions)
    of: dict[str, Submission] = {}

    def submit(s: Submission) -> Future:
        future = client.submit(evaluate, make(s), key=f"{s.student}/{s.unit}/{uuid.uuid4().hex}", pure=False)
        of[future.key] = s
        return future

    running = as_completed([submit(s) for s in itertools.islice(waiting, ahead)])
    for future in running:
        submission = of.pop(future.key)
        for s in itertools.islice(waiting, 1):
            running.add(submit(s))
        yield submission, _outcome(future)


def _outcome(future: Future) -> Graded | Exception:
    try:
        error = future.exception() if future.status != "finished" else None
        return error if error is not None else future.result()
    except (CommClosedError, OSError):
        raise
    except Exception as error:  # a result that does not arrive whole
        return error
    finally:
        future.release()


@contextmanager
def _cluster(workers: int, scheduler: str | None) -> Iterator[Client]:
    with dask.config.set(SETTINGS):
        if scheduler is not None:
            try:
                client = Client(scheduler)
            except (OSError, ValueError) as error:
                raise ClusterError(f"The scheduler {scheduler} cannot be reached ({error}).") from None
            with client:
                if not client.scheduler_info()["workers"]:
                    raise ClusterError(f"The scheduler {scheduler} has no workers.")
                yield client
            return
        # TLS even on this machine: a port of Dask's is a way to run code as the instructor for all who reach it.
        security = Security.temporary()
        warm_workers()
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                dashboard_address=None,
                host="127.0.0.1",
                security=security,
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster, security=security) as client,
        ):
            yield client


def _blame(error: Exception) -> str:
    if isinstance(error, KilledWorker):
        return "The workers that graded it were lost again and again; it was not graded. Run again to retry."
    return f"The grader failed on it ({type(error).__name__}: {shown(str(error), 200)}); it was not graded."

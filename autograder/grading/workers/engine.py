"""Grades many submissions: workers evaluate them, and only this process writes.

The workers are forks of one process on this machine (``pool.py``), or those of a Dask scheduler for many machines
(``cluster.py``). They return plain data about one submission; a submission whose worker died is retried once.
"""

import errno
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

import sqlalchemy as sa

from autograder.sandbox import SandboxUnavailable

from ..base.masters import master
from ..base.names import shown
from ..base.notes import Note
from ..book.course import Course
from ..book.database import GradebookError
from ..book.gradebook import GradebookWriter
from ..book.handed_out import ExercisesGone
from ..intake.collect import Submission
from ..intake.stamps import parse_stamp
from ..judging.grade import ungraded
from ..judging.results import GradedNotebook
from ..pages.shelf import Shelf
from .jobs import Graded, GraderFailed, Job, NoWorkers, WorkerLost, make_job
from .pool import Nursery, Pool
from .todo import Summary, to_grade

# With at least this many submissions, a unit is prepared once for all workers.
MANY = 4
INTERRUPTED = "Interrupted. What is graded is stored; run the same command again for the rest."
_LOST = (
    "The process that graded it ended twice before it had a result (it was ended from outside, took more memory than "
    "there is, or met a mistake of the grader's); it was not graded. Run again to retry."
)


class Hands(Protocol):
    """Interface of the workers: ``pool.Pool`` or ``cluster.Cluster``."""

    def results(
        self, submissions: Iterable[Submission], make: Callable[[Submission], Job]
    ) -> Iterator[tuple[Submission, Graded | Exception]]:
        """Yields (submission, outcome) in the order in which they finish. Raises NoWorkers."""
        ...


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
    nursery: Nursery | None = None,
    progress: Callable[[int, int], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Summary:
    """Grades and stores new and changed submissions. Returns a Summary; never raises because of a submission.

    Any failure at one submission, including a bug of the grader, affects only that submission. The run stops if nothing
    more can be stored: if the gradebook, the disk or the sandbox fails.

    Args:
        submissions: from ``collect.find``.
        writer: GradebookWriter.
        course: where the notebooks and feedback pages go.
        secret: the course secret; workers get only keys made from it.
        workers: number of processes on this machine.
        scheduler: address of a running Dask scheduler, to use its workers instead.
        sandbox: False runs the students' code unprotected.
        force: also grade submissions that are up to date.
        zygote: folder of a zygote that workers on this machine share; without it each starts its own.
        nursery: forks the workers on this machine; without it, a new one is made.
        progress: called as ``progress(done, total)``.
        tell: called with sentences about the workers during the run.
    """
    summary = Summary()
    jobs = to_grade(submissions, {} if force else writer.graded(), summary)
    store = _Store(writer, course, summary, {(s.student, s.unit): s for s in jobs})
    try:
        jobs = _storable(jobs, writer)
        for s in jobs:
            if s.problem:
                store(s, ungraded(s.unit, s.student, *s.problem), s.digest)
        rest = [s for s in jobs if not s.problem]
        total = len(jobs)
        if progress and total:
            progress(total - len(rest), total)
        if rest:
            follow, language, remote = course.settings.follow_through, course.language, scheduler is not None
            make = lambda s: make_job(
                s, secret, sandbox=sandbox, zygote=zygote, remote=remote, follow=follow, language=language
            )
            count = total - len(rest)
            units = Counter(s.unit for s in rest)
            with _cluster(min(workers, len(rest)), scheduler, nursery, tell or _to_stderr, units) as hands:
                for submission, outcome in _results(hands, rest, make):
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
        summary.stopped = INTERRUPTED
    except (GradebookError, SandboxUnavailable, NoWorkers) as error:
        summary.stopped = str(error)
    except OSError as error:
        summary.stopped = (
            f"Results could not be written ({error.strerror or error}). What is graded so far is "
            "stored; make room and run the same command again."
        )
    return summary


def _storable(jobs: list[Submission], writer: GradebookWriter) -> list[Submission]:
    """The submissions of units that the gradebook takes results of. ``publish`` says why it takes none of another."""
    refused = set()
    for unit in sorted({s.unit for s in jobs}):
        try:
            writer.handed_out(unit)
        except ExercisesGone:
            refused.add(unit)
    return [s for s in jobs if s.unit not in refused]


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
        """Stores a result. Raises GradebookError and OSError only if no other result could be stored either."""
        try:
            self._write(submission, graded, digest)
        except Exception as error:
            if not _of_this_one(error):
                raise
            self.summary.problems.append((submission.student, submission.unit, "grader.failed", _blame(error)))

    def _write(self, submission: Submission, graded: GradedNotebook, digest: str) -> None:
        if (graded.student, graded.unit) != (submission.student, submission.unit):
            raise ValueError("an answer about another submission")
        graded.notes = [*(Note(*n) for n in submission.notes), *graded.notes]
        stamp = submission.timestamp
        shelf = Shelf(self.course, graded.student, graded.unit, stamp, submission.secret)
        moment = parse_stamp(stamp) if stamp else None
        for sentence in self.writer.write(graded, digest, master(graded.unit).version, moment, shelf):
            self.summary.said.append((graded.student, graded.unit, sentence))
        self.summary.graded.append((graded.student, graded.unit))


def _of_this_one(error: Exception) -> bool:
    """True if the error concerns only this submission, and not the gradebook or the disk in general."""
    if isinstance(error, GradebookError):
        cause = error.__cause__
        return isinstance(cause, sa.exc.DataError) or type(cause) is sa.exc.StatementError
    if isinstance(error, OSError):
        return error.errno in (errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL)
    return True


def _results(
    hands: Hands, submissions: Iterable[Submission], make: Callable[[Submission], Job]
) -> Iterator[tuple[Submission, Graded | Exception]]:
    return hands.results(submissions, make)


def _cluster(
    workers: int,
    scheduler: str | None,
    nursery: Nursery | None,
    tell: Callable[[str], None],
    units: Mapping[str, int],
) -> AbstractContextManager[Hands]:
    """The workers to use. units: unit → number of its submissions. Raises NoWorkers."""
    if scheduler is None:
        nursery = nursery or Nursery()
        for unit, count in units.items():
            if count >= MANY:
                nursery.expect(unit)
        return Pool(workers, nursery)
    from .cluster import Cluster  # Dask takes a while to import

    return Cluster(scheduler, tell)


def _to_stderr(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _blame(error: Exception) -> str:
    if isinstance(error, WorkerLost):
        return _LOST
    what = str(error) if isinstance(error, GraderFailed) else f"{type(error).__name__}: {error}"
    return f"The grader failed on it ({shown(what, 200)}); it was not graded."

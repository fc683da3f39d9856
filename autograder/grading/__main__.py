"""``python -m autograder.grading SUBMITTED``: grades a folder laid out ``student/unit/unit.ipynb`` (make grade).

Writes the gradebook and, next to it, grades.csv. The students' notebooks and feedback pages go to nbgrader's folders
(autograded/ and feedback/). A run can be killed and restarted at any moment: nothing is graded twice.
"""

import argparse
import contextlib
import gc
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, TypeVar

from anatomy.system.translation import speaking

from autograder import ROOT
from autograder.sandbox import SandboxUnavailable, Zygote, launch

from .base.names import NoName, identifier, is_junk, never_fails, shown
from .base.words import amount
from .judging import sessions

if TYPE_CHECKING:  # slow imports: see _grade
    from .book.course import Course
    from .book.gradebook import GradebookWriter
    from .intake.collect import Submission
    from .workers.todo import Summary

T = TypeVar("T")
MAX_LINES = 100  # printed about submissions without a result; grades.csv has all of them


def start(argv: Sequence[str] | None = None) -> int:
    """Runs ``main``, if possible in a process that imports torch once for the grader and the sandboxes."""
    argv = sys.argv[1:] if argv is None else list(argv)
    never_fails(sys.stdout, sys.stderr)
    options = _parser().parse_args(argv)
    if not options.force and _seems_done(options.submitted):
        status = _if_done(argv)
        if status is not None:
            return status
    here = options.scheduler is None and not options.no_sandbox
    if here and launch.available() and os.path.isdir(options.submitted):
        modules = sessions.warm(options.unit or _folders(options.submitted))
        launch.restart("autograder.grading.__main__", argv, modules, [str(sessions.COURSE)])
    return main(argv)


def _folders(submitted: str) -> set[str]:
    """Names of all that lies in students' folders: units, and whatever else was handed in."""
    found = set[str]()
    with contextlib.suppress(OSError):  # reported where submissions are collected
        for student in os.scandir(submitted):
            if student.is_dir():
                found.update(os.listdir(student))
    return found


def _seems_done(folder: str) -> bool:
    """True if nothing below the folder has changed since grades.csv was written: then there may be nothing to grade.

    Only a guess, so that torch need not be imported to find out. The gradebook and the files' hashes decide.
    """
    try:
        written = os.stat("grades.csv" if os.path.exists("nbgrader_config.py") else ROOT / "grades.csv").st_mtime
        return all(
            os.lstat(place).st_ctime < written
            for top, _, names in os.walk(folder)
            for place in (top, *(os.path.join(top, name) for name in names))
        )
    except OSError:
        return False


def main(argv: Sequence[str] | None = None, zygote: Zygote | None = None) -> int:
    """Command line; returns an exit status: 0 all graded, 1 some without a result, 2 refused, 3 stopped early.

    zygote: the Zygote that was started for this run, if any.
    """
    return _politely(argv, lambda options, interrupts: _grade(options, zygote, interrupts))


def _if_done(argv: Sequence[str]) -> int | None:
    """The same where nothing is to be graded; None, with nothing written, if something is."""
    return _politely(argv, lambda options, interrupts: _look(options))


def _politely(argv: Sequence[str] | None, work: "Callable[[argparse.Namespace, Interrupts], T]") -> T | int:
    """Does the work for these arguments; what stops it is a sentence and an exit status."""
    never_fails(sys.stdout, sys.stderr)
    options = _parser().parse_args(argv)
    # One thread for each worker: more would compete for the cores. Has to be set before torch is imported.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    warnings.filterwarnings("ignore", category=SyntaxWarning)  # of students' code that is only read
    with _uncollected():
        from .book.database import GradebookError

    try:
        with _ended_politely() as interrupts:
            return work(options, interrupts)
    except KeyboardInterrupt:
        return _refuse("Interrupted. What is graded is stored; run the same command again for the rest.", 3)
    except (Refused, SandboxUnavailable, GradebookError, ValueError) as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"{shown(str(error.filename or 'A file'), 500)} could not be written: {error.strerror}.", 3)


class Refused(ValueError):
    """What was asked for cannot be graded; the message says why."""


def _look(options: argparse.Namespace) -> int | None:
    with _uncollected():
        from .book.secret import course_secret
        from .workers.todo import Summary, to_grade

    course, submissions = _asked(options)
    with _opened(course, course_secret(course.root)) as writer:
        removed, summary = writer.removed(), Summary()
        if to_grade(submissions, writer.graded(), summary):
            return None
        return _finish(course, writer, submissions, summary, removed)


def _grade(options: argparse.Namespace, zygote: Zygote | None, interrupts: "Interrupts") -> int:
    # The slow imports run while the zygote does its own.
    with _uncollected():
        from .base.outlines import outline
        from .book.secret import course_secret
        from .workers.engine import grade_all
        from .workers.pool import Nursery

    course, submissions = _asked(options)
    if options.no_sandbox:
        print(sessions.NO_SANDBOX, file=sys.stderr)
    nursery = None
    if options.scheduler is None:  # fork before this process holds a secret or a gradebook
        units = sorted({s.unit for s in submissions if not s.problem})
        for unit in units:
            _ = outline(unit).version  # read while the zygote is still on its way
        nursery = Nursery(units)
    folder = "" if options.no_sandbox or options.scheduler else sessions.ready(zygote)
    secret = course_secret(course.root)
    with _opened(course, secret) as writer:
        removed = writer.removed()
        summary = grade_all(
            submissions,
            writer,
            course,
            secret,
            workers=options.workers,
            sandbox=not options.no_sandbox,
            scheduler=options.scheduler,
            force=options.force,
            zygote=folder,
            nursery=nursery,
            progress=interrupts.watched(Progress()),
        )
        return _finish(course, writer, submissions, summary, removed)


def _asked(options: argparse.Namespace) -> "tuple[Course, list[Submission]]":
    """The course, and the submissions that the options name. Raises Refused, GradebookError."""
    from .base.masters import gradable_units
    from .book.course import load_course
    from .book.secret import require_private
    from .intake import collect

    unknown = sorted(set(options.unit or ()) - set(gradable_units()))
    if unknown:
        raise Refused(f"There is no unit {', '.join(unknown)}. Units: {', '.join(gradable_units())}.")
    where = shown(options.submitted, 500)
    try:
        if _holds_units(options.submitted, gradable_units()):
            raise Refused(f"{where}: these are units, not students; give the folder above it.")
        course = load_course()
        with speaking(course.language):
            submissions = collect.find(options.submitted, options.unit)
    except OSError as error:
        raise Refused(f"{where} cannot be read: {shown(error.strerror or str(error), 200)}.") from None
    if not submissions:
        raise Refused(f"There is nothing to grade in {where}: the layout is student/unit/unit.ipynb.")
    wanted = {_spelled(name) for name in options.student or ()}
    if missing := sorted(wanted - {s.student for s in submissions}):
        raise Refused(f"There is nothing of {shown(', '.join(missing), 500)} in {where}.")
    require_private(course.root)  # before the slow steps
    # Every run reports entries that belong to no unit, whichever students were asked for: see ``collect.find``.
    return course, [s for s in submissions if not wanted or s.student in wanted or not s.known]


@contextmanager
def _opened(course: "Course", secret: str) -> "Iterator[GradebookWriter]":
    """The gradebook, whose points were computed with this secret. Raises GradebookError, BadSecret."""
    from .book.gradebook import GradebookWriter
    from .book.one_secret import require_same

    with GradebookWriter(course.db_url, course.course_id, course.config) as writer:
        require_same(writer.gradebook.engine, course.course_id, secret)
        yield writer


def _finish(
    course: "Course",
    writer: "GradebookWriter",
    submissions: "Sequence[Submission]",
    summary: "Summary",
    removed: list[tuple[str, str]],
) -> int:
    """Publishes what has changed and reports; returns the exit status. removed: before anything was graded."""
    from .book.tables import write_grades
    from .book.unstored import remember
    from .pages.publishing import about, publish

    summary.said += _untimed(submissions)
    remarks = list[str]()
    if not summary.stopped:
        published = publish(course, writer)  # includes what instructors wrote since the last run
        published.removed = removed
        remarks = about(writer, published)
        remember(writer, summary.problems)
        summary.zeros = write_grades(course.root / "grades.csv", writer, summary.problems)
    return _report(summary, course, len(submissions), remarks)


def _holds_units(folder: str, units: Sequence[str]) -> bool:
    """True if this is one student's folder, given by mistake instead of the class folder. Raises OSError."""
    with os.scandir(folder) as entries:
        names = {e.name for e in entries if not is_junk(e.name) and e.is_dir(follow_symlinks=False)}
    return bool(names) and names <= set(units)


def _untimed(submissions: "Sequence[Submission]") -> list[tuple[str, str, str]]:
    """Remarks about submissions with an unreadable time stamp; on the student's page alone they would come too late."""
    from .intake.stamps import UNTIMED  # with all of nbgrader

    return [(s.student, s.unit, said) for s in submissions if not s.problem for n, said in s.notes if n == UNTIMED]


class Interrupts:
    """A signal handler that raises KeyboardInterrupt, and raises it again if Python dropped the first one.

    Python drops an exception that is raised in a callback of a weak reference or of the garbage collector, and prints
    a traceback that would not help an instructor.
    """

    def __init__(self) -> None:
        self.came = False

    def __call__(self, number: int, frame: object) -> None:
        self.came = True
        raise KeyboardInterrupt

    def watched(self, progress: Callable[[int, int], None]) -> Callable[[int, int], None]:
        """A function that calls ``progress(done, total)`` and then raises an interrupt that was lost."""

        def shown(done: int, total: int) -> None:
            progress(done, total)
            if self.came and done < total:
                raise KeyboardInterrupt

        return shown


@contextmanager
def _ended_politely() -> Iterator[Interrupts]:
    """Handles SIGTERM like Ctrl-C: the run stores what is finished, prints a message and ends."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    ours = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # otherwise the caller chose another handler
        ours.append(signal.SIGINT)
    before = {number: signal.signal(number, interrupts) for number in ours}
    hook = sys.unraisablehook
    sys.unraisablehook = lambda lost: None if lost.exc_type is KeyboardInterrupt else hook(lost)
    try:
        yield interrupts
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Turns off garbage collection during imports: they leave no garbage, and looking for it takes 10% of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _spelled(name: str) -> str:
    """A student's name from the command line, in the spelling that ``collect`` uses."""
    try:
        return identifier(name)
    except NoName:
        return shown(name)


class Progress:
    """A line with a progress bar and the time left; redrawn in a terminal, printed every 10 s elsewhere."""

    def __init__(self, out: TextIO = sys.stderr):
        self.out, self.began, self.shown = out, time.monotonic(), 0.0
        self.first: int | None = None
        self.block = "█" if (getattr(out, "encoding", "") or "").lower().startswith("utf") else "#"

    def __call__(self, done: int, total: int) -> None:
        """Shows that ``done`` of ``total`` are finished."""
        now = time.monotonic()
        if self.first is None:
            self.first = done
        fresh, spent = done - self.first, now - self.began
        if done < total and now - self.shown < (0.2 if self.out.isatty() else 10.0):
            return
        self.shown = now
        left = f", about {_duration(spent / fresh * (total - done))} left" if fresh and done < total else ""
        speed = f", {60 * fresh / spent:.0f} a minute" if fresh and spent > 1 else ""
        bar = self.block * round(20 * done / max(total, 1))
        line = f"graded {done} of {total} |{bar:<20}|{speed}{left}"
        print(
            f"\r{line:<78}" if self.out.isatty() else line,
            end="" if self.out.isatty() and done < total else "\n",
            file=self.out,
            flush=True,
        )


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _report(summary: "Summary", course: "Course", total: int, remarks: Sequence[str]) -> int:
    for what, found in (("zero points", summary.zeros), ("no result", summary.problems)):
        for student, unit, name, sentence in found[:MAX_LINES]:
            line = f"{what}: {shown(student)}/{shown(unit) or '?'} [{name}] {shown(sentence, 1_000)}"
            print(line, file=sys.stderr)
        if len(found) > MAX_LINES:
            print(f"{what}: {len(found) - MAX_LINES} more, see grades.csv.", file=sys.stderr)
    for student, unit, sentence in summary.said[:MAX_LINES]:
        print(f"{shown(student)}/{shown(unit)}: {shown(sentence, 1_000)}", file=sys.stderr)
    if len(summary.said) > MAX_LINES:
        print(f"{len(summary.said) - MAX_LINES} more remarks: see the report.", file=sys.stderr)
    for remark in remarks:
        print(remark, file=sys.stderr)
    print(
        f"{amount(total, 'submission')}: {len(summary.graded)} graded now, {summary.kept} were up to date, "
        f"{len(summary.problems)} without a result."
    )
    if summary.stopped:
        print(summary.stopped, file=sys.stderr)
        return 3
    folders = [getattr(course.directory, f"{d}_directory") for d in ("feedback", "autograded")]
    print(f"In {course.root}: grades.csv, {folders[0]}/, {folders[1]}/ and the gradebook.")
    return 1 if summary.problems else 0


def _refuse(sentence: str, status: int = 2) -> int:
    print(sentence, file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m autograder.grading", description=__doc__.split("\n")[0])
    parser.add_argument("submitted", help="folder laid out student/unit/unit.ipynb")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)")
    parser.add_argument("--no-sandbox", action="store_true", help="run the students' code unprotected")
    parser.add_argument("--scheduler", help="address of a running Dask scheduler, for many machines")
    parser.add_argument("--force", action="store_true", help="grade again what is up to date")
    parser.add_argument("--unit", action="append", help="only this unit (may be repeated)")
    parser.add_argument("--student", action="append", help="only this student (may be repeated)")
    return parser


if __name__ == "__main__":
    sys.exit(start())

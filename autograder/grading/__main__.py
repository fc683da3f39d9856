"""``python -m autograder.grading SUBMITTED``: grades a folder laid out ``student/unit/unit.ipynb`` (make grade).

Writes the gradebook and, next to it, grades.csv. The students' notebooks and feedback pages go to nbgrader's folders
(autograded/ and feedback/). A run can be killed and restarted at any moment: nothing is graded twice.
"""

import argparse
import gc
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from autograder.sandbox import SandboxUnavailable, Zygote, launch

from .base.names import NoName, identifier, is_junk, never_fails, shown
from .base.words import amount
from .judging import sessions

if TYPE_CHECKING:  # slow imports: see _run
    from .book.course import Course
    from .intake.collect import Submission
    from .workers.engine import Summary

MAX_LINES = 100  # printed about submissions without a result; grades.csv has all of them


def start(argv: Sequence[str] | None = None) -> int:
    """Runs ``main``, if possible in a process that imports torch once for the grader and the sandboxes."""
    argv = sys.argv[1:] if argv is None else list(argv)
    never_fails(sys.stdout, sys.stderr)
    options = _parser().parse_args(argv)
    here = options.scheduler is None and not options.no_sandbox
    if here and launch.available() and os.path.isdir(options.submitted):
        launch.restart("autograder.grading.__main__", argv, sessions.WARM, [str(sessions.COURSE)])
    return main(argv)


def main(argv: Sequence[str] | None = None, zygote: Zygote | None = None) -> int:
    """Command line; returns an exit status: 0 all graded, 1 some without a result, 2 refused, 3 stopped early.

    zygote: the Zygote that was started for this run, if any.
    """
    never_fails(sys.stdout, sys.stderr)
    options = _parser().parse_args(argv)
    # One thread for each worker: more would compete for the cores. Has to be set before torch is imported.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    warnings.filterwarnings("ignore", category=SyntaxWarning)  # of students' code that is only read
    try:
        with _ended_politely() as interrupts:
            return _run(options, zygote, interrupts)
    except KeyboardInterrupt:
        return _refuse("Interrupted. What is graded is stored; run the same command again for the rest.", 3)


def _run(options: argparse.Namespace, zygote: Zygote | None, interrupts: "Interrupts") -> int:
    # The slow imports run while the zygote does its own.
    with _uncollected():
        from .base.masters import gradable_units, master
        from .book.course import load_course
        from .book.database import GradebookError
        from .book.gradebook import GradebookWriter
        from .book.one_secret import require_same
        from .book.secret import course_secret, require_private
        from .book.tables import write_grades
        from .book.unstored import remember
        from .intake import collect
        from .pages.publishing import about, publish
        from .workers.engine import grade_all
        from .workers.pool import Nursery

    unknown = sorted(set(options.unit or ()) - set(gradable_units()))
    if unknown:
        return _refuse(f"There is no unit {', '.join(unknown)}. Units: {', '.join(gradable_units())}.")
    try:
        if _holds_units(options.submitted, gradable_units()):
            return _refuse(f"{shown(options.submitted, 500)}: these are units, not students; give the folder above it.")
        submissions = collect.find(options.submitted, options.unit)
    except OSError as error:
        return _refuse(f"{shown(options.submitted, 500)} cannot be read: {shown(error.strerror or str(error), 200)}.")
    if not submissions:
        return _refuse(
            f"There is nothing to grade in {shown(options.submitted, 500)}: the layout is student/unit/unit.ipynb."
        )
    wanted = {_spelled(name) for name in options.student or ()}
    if missing := sorted(wanted - {s.student for s in submissions}):
        return _refuse(f"There is nothing of {shown(', '.join(missing), 500)} in {shown(options.submitted, 500)}.")
    # Every run reports entries that belong to no unit, whichever students were asked for: see ``collect.find``.
    submissions = [s for s in submissions if not wanted or s.student in wanted or not s.known]
    if options.no_sandbox:
        print(sessions.NO_SANDBOX, file=sys.stderr)
    try:
        course = load_course()
        require_private(course.root)  # first, so that it fails before the slow steps
        nursery = None
        if options.scheduler is None:  # fork before this process holds a secret or a gradebook
            units = sorted({s.unit for s in submissions if not s.problem})
            for unit in units:
                _ = master(unit).version  # read while the zygote is still on its way
            nursery = Nursery(units)
        folder = "" if options.no_sandbox or options.scheduler else sessions.ready(zygote)
        secret = course_secret(course.root)
        with GradebookWriter(course.db_url, course.course_id, course.config) as writer:
            require_same(writer.gradebook.engine, course.course_id, secret)
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
            summary.said += _untimed(submissions)
            remarks = list[str]()
            if not summary.stopped:
                published = publish(course, writer)  # includes what instructors wrote since the last run
                remarks = about(writer, published)
                remember(writer, summary.problems)
                summary.zeros = write_grades(course.root / "grades.csv", writer, summary.problems)
    except (SandboxUnavailable, GradebookError, ValueError) as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"{shown(str(error.filename or 'A file'), 500)} could not be written: {error.strerror}.", 3)
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

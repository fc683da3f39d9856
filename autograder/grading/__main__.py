"""``python -m autograder.grading SUBMITTED``: grades a folder laid out ``student/unit/unit.ipynb`` (make grade).

Writes the gradebook and, beside it, grades.csv; the notebooks and pages for the students go to nbgrader's folders
(autograded/ and feedback/). Can be killed and started again at any moment: what is graded is not graded twice.
"""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from autograder.sandbox import SandboxUnavailable

from . import sessions
from .names import never_fails, shown

if TYPE_CHECKING:  # slow imports: see main
    from .course import Course
    from .engine import Summary
    from .gradebook import GradebookWriter

MAX_LINES = 100  # about submissions without a result; the others stand in grades.csv
HEADER = ("student", "unit", "exercise", "score", "max_score", "max_extra", "mistake")


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status: 0 all graded, 1 some without a result, 2 refused, 3 stopped early."""
    never_fails(sys.stdout, sys.stderr)
    options = _parser().parse_args(argv)
    # One thread for each worker: more would only wait for each other. Set before torch is imported.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    early = None
    if options.scheduler is None and os.path.isdir(options.submitted):
        sessions.warm_workers()
        early = None if options.no_sandbox else sessions.EarlyStart()
    # The slow imports, while those processes do theirs.
    from . import collect
    from .course import load_course
    from .database import GradebookError
    from .engine import grade_all
    from .gradebook import GradebookWriter
    from .masters import gradable_units
    from .secret import course_secret

    warnings.filterwarnings("ignore", category=SyntaxWarning)  # of students' code that is only read
    unknown = sorted(set(options.unit or ()) - set(gradable_units()))
    if unknown:
        return _refuse(f"There is no unit {', '.join(unknown)}. Units: {', '.join(gradable_units())}.")
    try:
        submissions = collect.find(options.submitted, options.unit)
    except OSError as error:
        return _refuse(f"{shown(options.submitted, 500)} cannot be read: {shown(error.strerror or str(error), 200)}.")
    if not submissions:
        return _refuse(
            f"There is nothing to grade in {shown(options.submitted, 500)}: the layout is student/unit/unit.ipynb."
        )
    if options.no_sandbox:
        print(sessions.NO_SANDBOX, file=sys.stderr)
    try:
        folder = early.folder() if early else ""
        course = load_course()
        secret = course_secret(course.root)
        with GradebookWriter(course.db_url, course.directory.course_id or "default_course", course.config) as writer:
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
                progress=Progress(),
            )
            if not summary.stopped:
                write_grades(course.root / "grades.csv", writer, summary)
    except (SandboxUnavailable, GradebookError, ValueError, PermissionError) as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"{shown(str(error.filename or 'A file'), 500)} could not be written: {error.strerror}.", 3)
    return _report(summary, course, len(submissions))


def write_grades(path: Path, writer: "GradebookWriter", summary: "Summary") -> None:
    """grades.csv: one row per exercise of every stored submission, and one for each that could not be stored; what is
    stored but could not be graded goes into the summary as well.

    ``score`` is what nbgrader counts, ``max_score`` the row's part of the maximum: 0 for an extension, whose points
    (at most ``max_extra``) come on top.
    """
    from .course import write_table

    rows = []
    for result in writer.results():
        if result["problem"]:
            summary.zeros.append((result["student"], result["unit"], *result["problem"]))
        for v in result["verdicts"]:
            mistake = "" if v.passed else (v.mistakes[0].name if v.mistakes else "")
            score, most = result["scores"][v.exercise], result["most"][v.exercise]
            rows.append(
                (
                    result["student"],
                    result["unit"],
                    v.exercise,
                    f"{score:g}",
                    f"{most:g}",
                    "0" if most else f"{v.max_score:g}",
                    mistake,
                )
            )
    rows += [(student, unit, "", "0", "0", "0", name) for student, unit, name, _ in summary.problems]
    write_table(path, HEADER, rows)


class Progress:
    """A line with a bar and the time left, redrawn in a terminal, printed now and then elsewhere."""

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


def _report(summary: "Summary", course: "Course", total: int) -> int:
    for what, found in (("zero points", summary.zeros), ("no result", summary.problems)):
        for student, unit, name, sentence in found[:MAX_LINES]:
            line = f"{what}: {shown(student)}/{shown(unit) or '?'} [{name}] {shown(sentence, 1_000)}"
            print(line, file=sys.stderr)
        if len(found) > MAX_LINES:
            print(f"{what}: {len(found) - MAX_LINES} more, see grades.csv.", file=sys.stderr)
    print(
        f"{total} submissions: {len(summary.graded)} graded now, {summary.kept} were up to date, "
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
    return parser


if __name__ == "__main__":
    sys.exit(main())

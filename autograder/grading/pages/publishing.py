"""``make publish``: updates tables and pages from the gradebook.

Run it after an instructor gave points, wrote comments, moved a due date or changed a setting. It recomputes late
penalties and runs no students' code. It prints what changed, what is stale and what waits for a person.
"""

import argparse
import hashlib
import math
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from anatomy.system.translation import speaking

from autograder import exercises

from ..base.masters import UnknownUnit
from ..base.names import never_fails, shown
from ..base.words import amount, number
from ..book.course import Course, load_course
from ..book.database import GradebookError
from ..book.gradebook import GradebookWriter
from ..book.handed_out import ExercisesGone
from ..book.stored import Result, mark
from ..book.tables import STALE, missing, status, write_grades
from ..book.unstored import remembered
from ..intake import collect
from ..intake.stamps import parse_stamp
from .shelf import Shelf

GONE = (
    "{unit} is no longer a unit of the course. Its grades stay in the gradebook and in the tables as they are, and "
    "its submissions are graded again if the unit comes back."
)
DROP = "set the scores aside of an exercise that its unit no longer has (may be repeated)"
MAX_LINES = 100
MAX_NAMES = 8  # of students in one line


@dataclass
class Published:
    """The result of publishing.

    changed: one sentence for each new page. kept: number of pages that were up to date. stale: (student, unit) of
    submissions to grade again. waiting: (student, unit, number of cells) of submissions that wait for a person.
    blocked: one sentence for each unit that cannot be published. settings: one for each setting that has changed.
    removed: (student, unit) of submissions whose rows were removed from nbgrader's tables.
    """

    changed: list[str] = field(default_factory=list)
    kept: int = 0
    stale: list[tuple[str, str]] = field(default_factory=list)
    waiting: list[tuple[str, str, int]] = field(default_factory=list)
    blocked: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    removed: list[tuple[str, str]] = field(default_factory=list)


def publish(
    course: Course,
    writer: GradebookWriter,
    students: Collection[str] | None = None,
    units: Collection[str] | None = None,
) -> Published:
    """Updates every page from the gradebook, or only those of the given students or units.

    Raises GradebookError, and OSError if a page cannot be written.
    """
    done = Published(removed=writer.removed(), settings=writer.changed_settings())
    writer.forget_removed()
    before, blocked = writer.published(), set[str]()
    for unit in sorted({unit for _, unit in writer.graded()}):
        try:
            writer.handed_out(unit)  # applies the current setting of points for written answers
        except ExercisesGone as error:
            blocked.add(unit)
            done.blocked.append(str(error))
        except UnknownUnit as error:
            blocked.add(unit)
            done.blocked.append(str(error) if unit in exercises.units() else GONE.format(unit=unit))
    files = {(s.student, s.unit): s for s in handed_in(course) if s.known}
    for result in writer.results():
        key = result["student"], result["unit"]
        if (students and key[0] not in students) or (units and key[1] not in units) or key[1] in blocked:
            continue
        shelf, last = Shelf(course, *key), before.get(key)
        good = last is not None and _hash(shelf.page) == last[3]
        times = _new_times(result, files.get(key))
        if not (good and last and mark_of(result) == last[2]) or times or _open_to_change(result, writer):
            writer.recount(*key, shelf, times)
            result = next(writer.results(student=key[0], unit=key[1]))
        if not (good and last and mark_of(result) == last[2]):
            done.changed.append(_change(result, last))
        else:
            done.kept += 1
        if result["standing"].waiting:
            done.waiting.append((*key, len(result["standing"].waiting)))
        if status(result) == STALE or (key in files and files[key].digest != result["digest"]):
            done.stale.append(key)
    return done


def _new_times(result: Result, file: collect.Submission | None) -> dict[str, datetime]:
    """{digest: time of submission} if the file's time stamp differs from the time stored for its attempt; else {}."""
    when = parse_stamp(file.timestamp) if file is not None and file.timestamp else None
    if file is None or when is None:
        return {}
    return {a.digest: when for a in result["attempts"] if a.digest == file.digest and a.submitted_at != when}


def mark_of(result: Result) -> str:
    """The ``mark`` of a stored submission."""
    return mark(result["standing"], result["attempts"])


def _open_to_change(result: Result, writer: GradebookWriter) -> bool:
    """True if the late penalty or the choice between attempts may have changed since the last time."""
    standing, tried = result["standing"], result["attempts"]
    if len(tried) > 1 and (writer.settings.attempts == "best" or not max(tried, key=lambda a: a.graded_at).counts):
        return True
    due = writer.penalty(result["student"], sum(standing.points.values()), standing.late)
    return not math.isclose(due, standing.penalty, abs_tol=1e-9)


def _hash(page: Path) -> str:
    try:
        return hashlib.sha256(page.read_bytes()).hexdigest()
    except OSError:
        return ""


def _change(result: Result, shown_last: tuple[float, float, str, str] | None) -> str:
    standing = result["standing"]
    was, old_penalty = shown_last[:2] if shown_last else (None, 0.0)
    off = f", {number(standing.penalty)} off for lateness" if standing.penalty else ""
    off = ", nothing off for lateness any more" if old_penalty and not standing.penalty else off
    points = f"{number(standing.score)} of {amount(standing.max_score, 'point')}"
    name = f"{shown(result['student'], 80)}, {result['unit']}"
    if was is None or round(was, 6) == round(standing.score, 6):
        return f"{name}: {points}{off}; the page is new."
    return f"{name}: {number(was)} → {points}{off}."


def handed_in(course: Course) -> list[collect.Submission]:
    """The submissions that are now in the course's folder; empty if there is no such folder."""
    try:
        with speaking(course.language):  # as when they were graded: the digest of an unreadable one hangs on the words
            return collect.find(Path(course.directory.root) / course.directory.submitted_directory)
    except OSError:
        return []


def absent(writer: GradebookWriter) -> list[str]:
    """Lines for the console: the students without a submission, by unit."""
    return [
        f"no submission: {unit}: {len(names)} of the gradebook's students ({_few(names)})."
        for unit, names in missing(list(writer.results()), writer.students()).items()
    ]


def about(writer: GradebookWriter, done: Published) -> list[str]:
    """Lines for the console: missing, waiting and stale submissions."""
    lines = [*_first(done), *absent(writer)]
    if done.waiting:
        some = _few([f"{student}/{unit}" for student, unit, __ in done.waiting])
        lines.append(f"waiting: {_who(done.waiting)} for points in the formgrader ({some}).")
    if done.stale:
        some = _few([f"{student}/{unit}" for student, unit in done.stale])
        lines.append(
            f"stale: {amount(len(done.stale), 'submission')}, where the file or the exercises changed since ({some})."
        )
    return lines


def about_removed(removed: Sequence[tuple[str, str]]) -> list[str]:
    """A line about submissions that were removed with nbgrader's own commands, if there are any."""
    if not removed:
        return []
    some = _few([f"{student}/{unit}" for student, unit in removed])
    count = len(removed)
    are, what = ("is", "its") if count == 1 else ("are", "their")
    return [
        f"removed: {amount(count, 'submission')} {are} no longer in nbgrader's gradebook ({some}), nor are points and "
        f"comments given by hand for {'it' if count == 1 else 'them'}. `make grade` grades {what} files again, if they "
        "are still there; what was given by hand is in your backups."
    ]


def _first(done: Published) -> list[str]:
    rest = [f"settings: {s}" for s in done.settings] + [f"not published: {s}" for s in done.blocked]
    return about_removed(done.removed) + rest


def _who(waiting: Sequence[object]) -> str:
    return "1 submission waits" if len(waiting) == 1 else f"{len(waiting)} submissions wait"


def _few(names: Sequence[str]) -> str:
    return ", ".join(shown(n, 80) for n in names[:MAX_NAMES]) + (", …" if len(names) > MAX_NAMES else "")


def report(done: Published, lines: Sequence[str]) -> None:
    """Prints what was done, at most MAX_LINES lines of each kind, and ``lines``."""
    for line in _first(done):
        print(line)
    for line in done.changed[:MAX_LINES]:
        print(line)
    if len(done.changed) > MAX_LINES:
        print(f"… and {len(done.changed) - MAX_LINES} more.")
    for student, unit, count in done.waiting[:MAX_LINES]:
        what = "1 answer waits" if count == 1 else f"{count} answers wait"
        print(f"waiting: {shown(student, 80)}/{unit}: {what} for points in the formgrader.")
    for student, unit in done.stale[:MAX_LINES]:
        print(f"stale: {shown(student, 80)}/{unit}: the file or the exercises changed; `make grade` grades it again.")
    for line in lines:
        print(line)
    print(
        f"{amount(len(done.changed), 'page')} written, {done.kept} as they should be; {_who(done.waiting)} for a "
        f"person; stale: {len(done.stale)}. grades.csv is new."
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status: 0 done, 2 refused, 130 stopped with Ctrl-C."""
    never_fails(sys.stdout, sys.stderr)
    summary = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m autograder.grading.pages.publishing", description=summary)
    parser.add_argument("--student", action="append", help="only this student (may be repeated)")
    parser.add_argument("--unit", action="append", help="only this unit (may be repeated)")
    parser.add_argument("--drop", action="append", default=[], metavar="EXERCISE", help=DROP)
    options = parser.parse_args(argv)
    try:
        course = load_course()
        with GradebookWriter(course.db_url, course.course_id, course.config) as writer:
            known = {(r["student"], r["unit"]) for r in writer.results()}
            if not known:
                raise GradebookError("Nothing is graded yet: run `make grade SUBMITTED=dir` first.")
            for exercise in options.drop:
                for unit, count in writer.set_aside(exercise):
                    print(f"{unit}: {amount(count, 'score')} for {shown(exercise, 80)} set aside.")
            for wanted, have, what in ((options.student, 0, "student"), (options.unit, 1, "unit")):
                if unknown := sorted(set(wanted or ()) - {key[have] for key in known}):
                    raise GradebookError(f"Nothing is graded of the {what} {shown(', '.join(unknown), 200)}.")
            done = publish(course, writer, options.student, options.unit)
            write_grades(course.root / "grades.csv", writer, remembered(writer))
            lines = absent(writer)
    except GradebookError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{shown(str(error.filename or 'A file'), 500)} could not be written: {error.strerror}.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped. What was written is whole; run the same command again.", file=sys.stderr)
        return 130
    report(done, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())

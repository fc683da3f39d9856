"""``make held``: lists the held points of the class, and lets a person give them.

``… release STUDENT EXERCISE`` gives them, ``… release STUDENT EXERCISE --points 0`` refuses them for good. The decision
is stored as nbgrader's manual score, which is kept when the submission is graded again.
"""

import argparse
import math
import sys
from collections.abc import Iterable, Sequence

from ..base.names import never_fails, shown
from ..base.words import amount
from ..book.course import Course, load_course
from ..book.database import GradebookError
from ..book.due import student_meant
from ..book.gradebook import GradebookWriter
from ..judging.results import Held
from .shelf import Shelf


def waiting(writer: GradebookWriter) -> list[tuple[str, str, Held]]:
    """(student, unit, Held) of all points that are still undecided."""
    return [
        (result["student"], result["unit"], h)
        for result in writer.results()
        for h in result["held"]
        if h.exercise not in result["decided"]
    ]


def _lines(rows: Iterable[tuple[str, str, Held]]) -> str:
    return "\n".join(
        f"{shown(student, 80)}  {h.exercise}  {amount(h.points, 'point')}  {h.where}: {shown(h.name, 60)}\n"
        f"    {shown(h.evidence, 160)}"
        for student, _, h in rows
    )


def _release(course: Course, writer: GradebookWriter, student: str, exercise: str, points: float | None) -> str:
    student = student_meant(student, writer.students())
    held = [
        (unit, h)
        for result in writer.results()
        for unit, h in ((result["unit"], h) for h in result["held"])
        if result["student"] == student and h.exercise == exercise
    ]
    if not held:
        raise GradebookError(
            f"No points of {shown(student, 80)} in {shown(exercise, 80)} are held: "
            "`python -m autograder.grading.pages.waiting` lists those that are."
        )
    unit, one = held[0]
    given = one.points if points is None else points
    writer.decide(student, unit, exercise, given)
    writer.recount(student, unit, Shelf(course, student, unit))
    return (
        f"{shown(student, 80)} has {amount(given, 'point')} for {exercise}, on the page too; `make publish` brings "
        "them into grades.csv."
    )


def _points(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number of points")
    return value


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status: 0 done, 2 refused."""
    never_fails(sys.stdout, sys.stderr)
    parser = argparse.ArgumentParser(
        prog="python -m autograder.grading.pages.waiting", description=(__doc__ or "").split("\n")[0]
    )
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("list", help="what waits for a look (this is what happens without a command)")
    release = commands.add_parser("release", help="give held points")
    release.add_argument("student")
    release.add_argument("exercise", help="e.g. attention.softmax")
    release.add_argument("--points", type=_points, help="as many as these instead (0: none)")
    options = parser.parse_args(argv)
    try:
        course = load_course()
        with GradebookWriter(course.db_url, course.course_id, course.config) as writer:
            if options.command == "release":
                print(_release(course, writer, options.student, options.exercise, options.points))
            else:
                print(_lines(waiting(writer)) or "No points are held.")
    except GradebookError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:  # from writing the student's page
        print(f"{shown(str(error.filename or 'A file'), 500)} could not be written: {error.strerror}.", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

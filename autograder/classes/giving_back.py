"""``python -m autograder.classes.giving_back ZIP``: packs the students' pages for Moodle or Canvas (make feedback).

ZIP is the download that was collected; each page gets the name by which that platform finds its student.

Moodle takes the zip under *Upload multiple feedback files in a zip*. It finds the student by the number in a name like
its download's, ``Full Name_1234567_assignsubmission_file_/page.html``, and stores what follows as a feedback file
(mod/assign/feedback/file/importziplib.php: ``is_valid_filename_for_import``).

Canvas takes it under *Re-Upload Submissions*, as an attachment to a comment. It finds the student and the upload by the
first two numbers in the name, and shows the file under the name of that upload, whatever it is (abstract_assignment.rb:
``infer_comment_context_from_filename``). A page that is called 06-rope.ipynb would not open, so there the page is the
output of a notebook, or in a zip if a zip was handed in.
"""

import argparse
import io
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from anatomy.system import files

from autograder.grading.base.masters import gradable_units
from autograder.grading.base.names import never_fails, shown
from autograder.grading.base.words import amount
from autograder.grading.book.course import Course, load_course
from autograder.grading.book.database import GradebookError

from . import archive, layouts
from .books import GIVEN_BACK, Book, contents
from .collect import Refused
from .collecting import Line, Owned, by_student
from .csvfile import UnreadableTable
from .lists import read_lists
from .people import roster_of
from .stopping import politely

TO = {
    "Moodle": "In Moodle, where the assignment's submissions are listed: Actions (or Grading action), Upload multiple "
    "feedback files in a zip. The assignment needs the feedback type Feedback files.",
    "Canvas": "In Canvas: Grades, the menu of the assignment's column, Re-Upload Submissions. Canvas gives each page "
    "the name of the notebook that was handed in, so the page is the output of a notebook with that name.",
}
NO_PAGE = "there is no page: collect, grade and publish first"
NO_PLACE = "there is a page, but no notebook in this download that it could answer"


@dataclass
class Packed:
    """The zip to upload. made_by: the platform. pages: name in the zip → its bytes. lines: who gets no page, and why.
    units: those of the pages. elsewhere: students with such a page who are not in the download."""

    made_by: str
    pages: dict[str, bytes] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    units: set[str] = field(default_factory=set)
    elsewhere: list[str] = field(default_factory=list)


def pack(path: Path, course: Course, unit: str = "", worksheet: Path | None = None) -> Packed:
    """Packs the pages of those who are in a download. unit: the only one; "" for what each student handed in.

    Raises Refused, BadArchive, UnreadableTable, GradebookError, or OSError if a page can't be read.
    """
    units = gradable_units()
    if unit and unit not in units:
        raise Refused(f"There is no unit {shown(unit)}. Units: {', '.join(units)}.")
    lists, roster = read_lists(worksheet), roster_of(course)
    with archive.opened(path) as entries:
        made_by, handed, _ = layouts.recognize(entries, units, roster, lists)
        if made_by not in TO or not handed:
            raise Refused(
                f"{shown(str(path), 300)} is no download of Moodle or Canvas, which alone take feedback back in a zip. "
                "In nbgrader's exchange, `nbgrader release_feedback` gives it."
            )
        packed = Packed(made_by)
        owned, packed.lines = by_student(handed, roster)
        for one in owned:
            _add(one, course, unit, packed)
    there = {one.student for one in owned}
    packed.elsewhere = [s for s in sorted(roster.people) if s not in there and _has_page(course, s, packed.units)]
    return packed


def _add(one: Owned, course: Course, unit: str, packed: Packed) -> None:
    """Adds a student's pages, or a line that says why there is none."""
    books = [b for b in contents(one.handed).books if b.handed.back]
    units = {unit} if unit else {b.unit for b in books if b.unit}
    pages = {name: page for name in sorted(units) if (page := _page(course, one.student, name)).is_file()}
    places = {name: place for name in pages if (place := _place(one, name, books, packed.made_by))}
    for name, place in places.items():
        packed.pages[place] = _fitting(place, pages[name], name)
        packed.units.add(name)
    if not places:
        packed.lines.append(Line("left out", one.student, unit, NO_PLACE if pages else NO_PAGE))


def _page(course: Course, student: str, unit: str) -> Path:
    return course.folder("feedback_directory", student, unit) / f"{unit}.html"


def _has_page(course: Course, student: str, units: set[str]) -> bool:
    return any(_page(course, student, u).is_file() for u in units)


def _place(one: Owned, unit: str, books: Sequence[Book], made_by: str) -> str:
    """The name of a page in the zip; "" if the platform would not find its student by any."""
    if made_by == "Moodle":
        return f"{one.handed[0].back}{unit}.html"
    fitting = [b for b in books if b.unit == unit] or list(books)
    return max(fitting, key=lambda b: b.handed.rank).handed.back if fitting else ""


def _fitting(place: str, page: Path, unit: str) -> bytes:
    """The page, as a file of the kind that its name says."""
    text = page.read_text(encoding="utf-8")
    if place.lower().endswith(".html"):
        return text.encode()
    if place.lower().endswith(".zip"):
        return _zip({f"{unit}.html": text.encode()})
    return _as_notebook(text).encode()


def _as_notebook(page: str) -> str:
    """A notebook with the page as its only output, without the style, which would apply to all of JupyterLab. A mark
    says what it is: it has the name of the student's own notebook, and may be handed in in its place."""
    start, end = page.find("<main"), page.rfind("</main>")
    output = nbformat.v4.new_output("display_data", {"text/html": page[start : end + len("</main>")]})
    cell = nbformat.v4.new_code_cell("", outputs=[output], id="feedback", metadata={"jupyter": {"source_hidden": True}})
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel, GIVEN_BACK: True})
    return nbformat.writes(made) + "\n"


def _zip(pages: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in pages.items():
            target.writestr(name, data)
    return made.getvalue()


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status: 0 if everybody in the download has a page, 1 if not, 2 if refused."""
    never_fails(sys.stdout, sys.stderr)
    parser = argparse.ArgumentParser(
        prog="python -m autograder.classes.giving_back", description=__doc__.split("\n")[0]
    )
    parser.add_argument("path", type=Path, help="the download that was collected, zip or folder")
    parser.add_argument("--unit", default="", help="only pages of this unit")
    parser.add_argument("--worksheet", type=Path, help="Moodle's grading worksheet, which says whose numbers those are")
    parser.add_argument("--to", type=Path, help="file to write (default: feedback-PLATFORM.zip beside the gradebook)")
    options = parser.parse_args(argv)
    return politely(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    try:
        course = load_course()
        packed = pack(options.path, course, options.unit, options.worksheet)
        if not packed.pages:
            raise Refused("None of those in the download has a page: collect, grade and publish first.")
        path = options.to or course.root / f"feedback-{packed.made_by.lower()}.zip"
        files.replace(path, _zip(packed.pages))
    except (Refused, archive.BadArchive, UnreadableTable, GradebookError) as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{shown(str(error.filename or 'A file'), 300)} failed: {error.strerror}.", file=sys.stderr)
        return 2
    for line in packed.lines:
        print(line, file=sys.stderr)
    print("\n".join(_about(packed)))
    print(f"{path}: {amount(len(packed.pages), 'page')}, {', '.join(sorted(packed.units))}.")
    return 1 if packed.lines else 0


def _about(packed: Packed) -> Iterator[str]:
    yield TO[packed.made_by]
    if packed.elsewhere:
        yield f"They have a page and are not in this download: {', '.join(map(shown, packed.elsewhere))}."


if __name__ == "__main__":
    sys.exit(main())

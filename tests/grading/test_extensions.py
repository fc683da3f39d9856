"""Extensions count extra in the gradebook, tables, pages and report, and leave an instructor's own points intact."""

import copy
import dataclasses
import itertools
import json
import types

import pytest
from anatomy.judge.verdict import Verdict
from anatomy.program.units import grade_id

from autograder.grading.base import masters
from autograder.grading.book import gradebook, tables
from autograder.grading.book.extra import settle
from autograder.grading.book.gradebook import GradebookWriter
from autograder.grading.book.tables import write_grades
from autograder.grading.intake.rebuild import rebuild
from autograder.grading.judging import grade as grading
from autograder.grading.judging import results
from autograder.grading.judging.grade import score_outputs
from autograder.grading.judging.results import GradedNotebook
from autograder.grading.pages import feedback, report

from .cheats.base import ATTENTION, find, released
from .classroom import grade, grades, query
from .term import copy as copy_of
from .term import nbgrader

FILES = itertools.count()

SPECS = masters.master(ATTENTION).exercises
CORE, BEYOND = SPECS[0], SPECS[1]
OTHERS = sum(e.points for e in SPECS if e is not BEYOND)


@pytest.fixture
def extension(monkeypatch):
    """extension(True) makes the second exercise of unit 01 an extension for the grader; the others remain its core."""

    def choose(beyond):
        plain = masters.master(ATTENTION)
        specs = tuple(dataclasses.replace(e, extension=beyond and e is BEYOND) for e in SPECS)
        book = copy.deepcopy(plain.notebook)
        for e in specs:
            cell = find(book, grade_id(e.id))
            cell["metadata"]["nbgrader"]["points"] = 0 if e.extension else e.points
        made = dataclasses.replace(plain, notebook=book, exercises=specs, checks={grade_id(e.id): e for e in specs})
        for module in (grading, gradebook, feedback, report, results, tables):
            for name in {"master", "outline"} & vars(module).keys():
                monkeypatch.setattr(module, name, lambda unit: made)

    choose(True)
    return choose


@pytest.fixture
def open_book(tmp_path):
    """open_book() opens the writer anew, as each run of the grader does."""
    return lambda: GradebookWriter(f"sqlite:///{tmp_path}/gradebook.db", "transformer-anatomy")


def graded(student="ada", share=1.0):
    """A submission in which all is right except the second exercise, which got that share of its points."""
    points = {e.id: e.points * (share if e is BEYOND else 1.0) for e in SPECS}
    return GradedNotebook(
        student, ATTENTION, [Verdict(e.id, points[e.id] == e.points, points[e.id], e.points) for e in SPECS]
    )


class Pages(dict):
    """student → page shown by the writer; keeps no attempts."""

    def keep(self, digest, notebook):
        """Keeps no file."""

    def kept(self, digest):
        """Returns no file."""

    def show(self, graded, standing, attempts):
        self[graded.student] = feedback.page(graded, standing, attempts)
        return ""


def store(open_book, *submissions, shelf=None):
    """Stores each submission as a new file."""
    with open_book() as writer:
        for submission in submissions:
            writer.write(submission, f"{next(FILES):064x}", "v", shelf=shelf)


def stands(open_book, student="ada"):
    """(score, maximum) of the submission, (auto score, extra credit, needs manual grade) of the second exercise."""
    with open_book() as writer:
        whole = writer.gradebook.find_submission(ATTENTION, student)
        cell = writer.gradebook.find_grade(grade_id(BEYOND.id), ATTENTION, ATTENTION, student)
        return (whole.score, whole.max_score), (cell.auto_score, cell.extra_credit, cell.needs_manual_grade)


def instruct(open_book, student="ada", exercise=BEYOND, **what):
    """Writes values as an instructor does in the formgrader."""
    with open_book() as writer:
        cell = writer.gradebook.find_grade(grade_id(exercise.id), ATTENTION, ATTENTION, student)
        for name, value in what.items():
            setattr(cell, name, value)
        writer.gradebook.db.commit()


# ---- the rule --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "extra, manual, earned, before, want, remembered, look",
    [
        (None, None, 2.0, None, 2.0, [2.0, 0.0], False),  # graded for the first time
        (2.0, None, 0.5, [2.0, 0.0], 0.5, [0.5, 0.0], False),  # graded again: no one has changed it
        (0.25, None, 2.0, None, 2.25, [2.25, 0.25], False),  # was core, with an instructor's extra credit
        (2.25, None, 1.0, [2.25, 0.25], 1.25, [1.25, 0.25], False),  # which stays on top
        (1.0, None, 2.0, [2.0, 0.0], 1.0, [2.0, 0.0], True),  # an instructor's number
        (0.0, None, 2.0, [2.0, 0.0], 0.0, [2.0, 0.0], True),  # even if it is zero
        (None, None, 2.0, [1.0, 0.25], 2.0, [2.0, 0.0], False),  # the box was emptied
        (2.0, 0.0, 0.5, [2.0, 0.0], 2.0, [2.0, 0.0], True),  # a manual score
        (None, 1.5, 2.0, None, None, None, True),  # a manual score from when it was core: not counted twice
        (0.5, None, None, None, 0.5, None, False),  # still core
        (2.0, None, None, [2.0, 0.0], None, None, False),  # core again
        (2.25, None, None, [2.25, 0.25], 0.25, None, False),
        (1.0, None, None, [2.0, 0.0], 1.0, None, True),
    ],
)
def test_who_wrote_the_extra_credit_decides(extra, manual, earned, before, want, remembered, look):
    row = types.SimpleNamespace(extra_credit=extra, manual_score=manual, needs_manual_grade=manual is not None)
    assert settle(row, earned, before) == remembered
    assert (row.extra_credit, row.needs_manual_grade) == (want, look)


# ---- the gradebook ---------------------------------------------------------------------------------------------


def test_the_maximum_is_the_cores_and_extensions_come_on_top(extension, open_book):
    assert graded().max_score == OTHERS and graded().score == OTHERS + BEYOND.points
    store(open_book, graded(), graded("bob", 0.5))
    assert stands(open_book) == ((OTHERS + BEYOND.points, OTHERS), (0, BEYOND.points, False))
    assert stands(open_book, "bob")[0] == (OTHERS + BEYOND.points / 2, OTHERS)
    store(open_book, graded(share=0.0))
    assert stands(open_book) == ((OTHERS, OTHERS), (0, 0, False))


def test_an_instructors_extra_credit_stays_and_an_empty_box_gives_it_back(extension, open_book):
    store(open_book, graded())
    instruct(open_book, extra_credit=0.75)
    for share in (0.5, 0.0):
        store(open_book, graded(share=share))
        assert stands(open_book) == ((OTHERS + 0.75, OTHERS), (0, 0.75, True))
    instruct(open_book, extra_credit=None)
    store(open_book, graded(share=0.5))
    assert stands(open_book) == ((OTHERS + BEYOND.points / 2, OTHERS), (0, BEYOND.points / 2, False))


def test_no_credit_in_the_formgrader_stays_no_credit(extension, open_book):
    store(open_book, graded())
    instruct(open_book, manual_score=0, extra_credit=0)
    store(open_book, graded())
    assert stands(open_book) == ((OTHERS, OTHERS), (0, 0, True))


def test_an_exercise_becomes_an_extension_when_submissions_are_there(extension, open_book):
    extension(False)
    store(open_book, graded(), graded("bob", 0.5), graded("eve"))
    full = OTHERS + BEYOND.points
    assert stands(open_book) == ((full, full), (BEYOND.points, None, False))
    instruct(open_book, "bob", extra_credit=0.25)
    instruct(open_book, "eve", manual_score=0.5)
    extension(True)
    store(open_book, graded())
    assert stands(open_book) == ((full, OTHERS), (0, BEYOND.points, False))
    # Not graded again yet: the total is unchanged, and the tables agree with the gradebook.
    assert stands(open_book, "bob")[0] == (OTHERS + BEYOND.points / 2 + 0.25, OTHERS)
    with open_book() as writer:
        for result in writer.results():
            assert sum(result["most"].values()) == OTHERS
            assert sum(result["scores"].values()) == stands(open_book, result["student"])[0][0]
    for _ in range(2):
        store(open_book, graded("bob", 0.5), graded("eve"))
        assert stands(open_book, "bob") == (
            (OTHERS + BEYOND.points / 2 + 0.25, OTHERS),
            (0, BEYOND.points / 2 + 0.25, False),
        )
        assert stands(open_book, "eve")[0] == (OTHERS + 0.5, OTHERS)
    extension(False)
    store(open_book, graded(), graded("bob", 0.5), graded("eve"))
    assert stands(open_book) == ((full, full), (BEYOND.points, None, False))
    assert stands(open_book, "bob") == ((OTHERS + BEYOND.points / 2 + 0.25, full), (BEYOND.points / 2, 0.25, False))
    assert stands(open_book, "eve")[0] == (OTHERS + 0.5, full)


def test_table_page_and_report_agree_with_the_gradebook(extension, open_book, tmp_path):
    pages = Pages()
    store(open_book, graded(), graded("bob", 0.0), shelf=pages)
    instruct(open_book, "bob", exercise=CORE, extra_credit=0.5)
    store(open_book, graded("bob", 0.0), shelf=pages)
    full, points = OTHERS + BEYOND.points, f"{BEYOND.points:g}"
    with open_book() as writer:
        write_grades(tmp_path / "grades.csv", writer)
        rows, results = report.summarize(writer.results())
    table = grades(tmp_path)
    total = lambda student, column: sum(float(r[column]) for r in table if r["student"] == student)
    assert {s: (total(s, "score"), total(s, "max_score")) for s in ("ada", "bob")} == {
        "ada": (full, OTHERS),
        "bob": (OTHERS + 0.5, OTHERS),
    }
    row = next(r for r in table if r["exercise"] == BEYOND.id and r["student"] == "ada")
    assert (row["score"], row["max_score"], row["max_extra"]) == (points, "0", points)
    assert {r["max_extra"] for r in table if r["exercise"] != BEYOND.id} == {"0"}
    assert f"{OTHERS:g} of {OTHERS:g} points, and {points} extra</h1>" in pages["ada"]
    assert f"<p>For extensions: {points} extra points, {full:g} in all.</p>" in pages["ada"]
    assert f"{points} of {points} extra points</h2>" in pages["ada"]
    assert f"{OTHERS + 0.5:g} of {OTHERS:g} points</h1>" in pages["bob"] and "For extensions" not in pages["bob"]
    assert f"Your instructor gave {CORE.points + 0.5:g} points" in pages["bob"]
    page = report.page(rows, results)
    mean = f"{OTHERS + 0.25:g}"  # bob's half a point is for the core path
    assert f"mean {mean} of {OTHERS:g}, median {mean}, and {BEYOND.points / 2:g} extra</h2>" in page
    assert f"{BEYOND.points / 2:.2f} of {points} extra</td>" in page and page.count("extra</td>") == 1


def test_what_nbgrader_reads_of_an_extension_is_never_above_its_maximum(extension):
    verdict = Verdict(BEYOND.id, True, BEYOND.points, BEYOND.points)
    shown, result = score_outputs(verdict, extension=True)
    assert result["data"]["text/plain"] == "0"
    assert f"{BEYOND.points:g} of {BEYOND.points:g} points, as extra credit" in shown["data"]["text/plain"]


@pytest.mark.parametrize("points, odd", [(BEYOND.points, False), (0, False), (50, True)])
def test_points_of_an_older_notebook_are_no_forgery(points, odd):
    book = released(ATTENTION)
    find(book, grade_id(BEYOND.id))["metadata"]["nbgrader"]["points"] = points
    notes = rebuild(json.dumps(book).encode(), ATTENTION).notes
    assert [n.name for n in notes] == ["submission.marks_altered"] * odd


# ---- both ways to grade ----------------------------------------------------------------------------------------


STORED = """SELECT sum(g.auto_score), sum(g.extra_credit), sum(g.needs_manual_grade) FROM grade g
            JOIN submitted_notebook n ON g.notebook_id = n.id JOIN submitted_assignment s ON n.assignment_id = s.id
            JOIN assignment a ON s.assignment_id = a.id WHERE a.name = ? AND s.student_id = ?"""


def test_make_grade_and_stock_nbgrader_agree_on_a_unit_with_extensions(term, tmp_path):
    trusted = masters.master(ATTENTION)
    extra = sum(e.points for e in trusted.exercises) - trusted.points
    assert extra
    for graded_by, student in ((term.made, "two-units"), (term.nbgraders, "right")):
        root = copy_of(graded_by, tmp_path)
        again = grade(root, "--workers", "1")
        assert " 0 graded now" in again.stdout, again.stderr
        nbgrader(root, "export")
        (row,) = (
            r for r in grades(root, "gradebook.csv") if (r["assignment"], r["student_id"]) == (ATTENTION, student)
        )
        exported = float(row["score"]), float(row["max_score"])
        mine = [r for r in grades(root) if (r["unit"], r["student"]) == (ATTENTION, student)]
        shown = tuple(sum(float(r[column]) for r in mine) for column in ("score", "max_score"))
        assert exported == shown == (trusted.points + extra, trusted.points)
        assert query(root, STORED, ATTENTION, student) == [(trusted.points, extra, 0)]
        page = (root / "feedback" / student / ATTENTION / f"{ATTENTION}.html").read_text()
        assert f"{trusted.points:g} of {trusted.points:g} points, and {extra:g} extra</h1>" in page

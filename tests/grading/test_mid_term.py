"""What happens to grades already given if the course changes in the middle of a term: an exercise comes or goes, rows
are removed from nbgrader's tables, a release overwrites the settings. Nothing is lost, and each change is said."""

import dataclasses
import subprocess
import sys

import pytest
import sqlalchemy as sa
from anatomy.judge.verdict import Verdict
from anatomy.program.units import grade_id
from traitlets.config import Config

from autograder.grading.base import masters
from autograder.grading.book import asking, gradebook, set_aside, stored
from autograder.grading.book.backup import FILES
from autograder.grading.book.course import load_course
from autograder.grading.book.database import GradebookError
from autograder.grading.book.gradebook import GradebookWriter
from autograder.grading.book.handed_out import ExercisesGone
from autograder.grading.judging import results
from autograder.grading.judging.results import GradedNotebook

from .cheats.base import ATTENTION
from .classroom import course

WHOLE = masters.master(ATTENTION)
FIRST, LAST = WHOLE.exercises[0].id, WHOLE.exercises[-1].id


def without(*ids):
    """The unit as a release without these exercises has it."""
    specs = tuple(e for e in WHOLE.exercises if e.id not in ids)
    book = dataclasses.replace(WHOLE).notebook.copy()
    gone = {grade_id(name, kind) for name in ids for kind in ("check", "solve")}
    book["cells"] = [c for c in book.cells if c.metadata.get("nbgrader", {}).get("grade_id") not in gone]
    checks, answers = ({grade_id(e.id, kind): e for e in specs} for kind in ("check", "solve"))
    return dataclasses.replace(WHOLE, notebook=book, exercises=specs, checks=checks, answers=answers)


@pytest.fixture
def release(monkeypatch):
    """release(*ids) makes the grader see a unit without these exercises."""

    def choose(*ids):
        made = without(*ids)
        for module in (gradebook, asking, results, set_aside):
            monkeypatch.setattr(module, "outline", lambda unit: made)
        return made

    return choose


@pytest.fixture
def open_book(tmp_path):
    return lambda config=None: GradebookWriter(f"sqlite:///{tmp_path}/gradebook.db", "term", config)


def grade(writer, unit, student="ada", digest="1" * 64):
    """Stores a submission in which everything is right."""
    verdicts = [Verdict(e.id, True, float(e.points), float(e.points)) for e in unit.exercises]
    writer.write(GradedNotebook(student, ATTENTION, verdicts), digest, "v")


def standing(writer):
    return next(writer.results(ATTENTION, "ada"))["standing"]


@pytest.mark.parametrize("digest", ["1" * 64, "2" * 64])
def test_an_exercise_that_is_added_leaves_nothing_waiting(release, open_book, digest):
    """Whether the same file is graded again or a new one."""
    with open_book() as writer:
        grade(writer, release(LAST))
    unit = release()
    with open_book() as writer:
        writer.handed_out(ATTENTION)
        assert not standing(writer).waiting, "before it is graded again, nothing waits for a person either"
        grade(writer, unit, digest=digest)
        assert not standing(writer).waiting and grade_id(LAST) in standing(writer).points
        assert standing(writer).score == sum(e.points for e in unit.exercises)


@pytest.mark.parametrize("what", ["assignment", "student"])
def test_rows_removed_by_nbgrader_s_own_command_come_back_without_waiting(release, open_book, what):
    unit = release()
    with open_book() as writer:
        grade(writer, unit)
        book = writer.gradebook
        book.remove_assignment(ATTENTION) if what == "assignment" else book.remove_student("ada")
    with open_book() as writer:
        grade(writer, unit)
        assert not standing(writer).waiting and standing(writer).score == sum(e.points for e in unit.exercises)


def test_what_a_person_asked_to_see_again_still_waits(release, open_book):
    unit = release()
    with open_book() as writer:
        grade(writer, unit)
        writer.gradebook.find_grade(grade_id(FIRST), ATTENTION, ATTENTION, "ada").needs_manual_grade = True
        writer.gradebook.db.commit()
        grade(writer, unit)
        assert standing(writer).waiting == {grade_id(FIRST)}


DECISIONS = {
    "nothing": ({}, lambda e: e.points),
    "a score": ({"manual_score": 0.5, "extra_credit": None}, lambda e: 0.5),
    "extra credit": ({"extra_credit": 0.25}, lambda e: 0.25 if e.extension else e.points + 0.25),
}


@pytest.mark.parametrize("one", [WHOLE.exercises[0], WHOLE.exercises[-1]], ids=lambda e: e.id)
@pytest.mark.parametrize("decided", DECISIONS)
def test_an_exercise_that_is_removed_says_so_and_its_points_come_back_with_it(release, open_book, one, decided):
    values, worth = DECISIONS[decided]
    check, answer = grade_id(one.id), grade_id(one.id, "solve")
    with open_book() as writer:
        grade(writer, release())
        book = writer.gradebook
        for name, value in values.items():
            setattr(book.find_grade(check, ATTENTION, ATTENTION, "ada"), name, value)
        book.find_comment(answer, ATTENTION, ATTENTION, "ada").manual_comment = "Nearly."
        book.db.commit()
    shorter = release(one.id)
    with open_book() as writer:
        with pytest.raises(ExercisesGone) as refused:
            writer.handed_out(ATTENTION)
        said = str(refused.value)
        assert one.id in said and f"--drop {one.id}" in said
        assert ("Given by hand: 1." in said) == (decided != "nothing")
        assert writer.set_aside(one.id) == [(ATTENTION, 1)]
        grade(writer, shorter)
        assert check not in standing(writer).points and not standing(writer).waiting
    unit = release()
    for _ in range(2):
        with open_book() as writer:
            grade(writer, unit)
            assert standing(writer).points[check] == worth(one)
            assert standing(writer).comments[answer] == "Nearly."


def test_what_is_set_aside_of_a_removed_student_is_gone_too(release, open_book):
    with open_book() as writer:
        grade(writer, release())
    release(LAST)
    with open_book() as writer:
        writer.set_aside(LAST)
        writer.gradebook.remove_student("ada")
        writer.forget_removed()
        assert not writer.gradebook.db.execute(sa.select(stored.SET_ASIDE)).all()


def test_only_what_is_gone_is_set_aside(release, open_book):
    with open_book() as writer:
        grade(writer, release())
        with pytest.raises(GradebookError, match="still has"):
            writer.set_aside(FIRST)
        with pytest.raises(GradebookError, match="no scores for an exercise rope.nothing"):
            writer.set_aside("rope.nothing")


def test_a_change_of_settings_is_said_once(open_book):
    late = Config({"AssignLatePenalties": {"plugin_class": "autograder.grading.book.late.PerDay"}})
    late.PerDay.percent = 5.0
    with open_book(late) as writer:
        assert writer.changed_settings() == [] and writer.changed_settings() == []
    with open_book() as writer:
        said = " ".join(writer.changed_settings())
        assert "plugin_class was 'autograder.grading.book.late.PerDay'" in said and "is 'none' now" in said
        assert "c.PerDay.percent was 5.0" in said and "class_settings.py" in said
        assert writer.changed_settings() == []


def test_settings_of_the_class_survive_a_release(tmp_path):
    root = course(tmp_path)
    (root / "class_settings.py").write_text('c = get_config()\nc.Grading.attempts = "best"\n')
    assert load_course(root).settings.attempts == "best"
    (root / "class_settings.py").write_text('c = get_config()\nc.Grading.attempts = "all"\n')
    with pytest.raises(GradebookError, match="c.Grading.attempts is 'all'"):
        load_course(root)
    assert "class_settings.py" in FILES, "it is in the backup"


TOGETHER = """
import sys, time
from pathlib import Path
from anatomy.judge.verdict import Verdict
from autograder.grading.base.masters import gradable_units, master
from autograder.grading.book.gradebook import GradebookWriter
from autograder.grading.judging.results import GradedNotebook
folder, mine = Path(sys.argv[1]), sys.argv[2]
units = [master(unit) for unit in gradable_units()[:4]]
(folder / mine).touch()
while len(list(folder.glob("ready-*"))) < 3:
    time.sleep(0.005)
with GradebookWriter(f"sqlite:///{folder}/gradebook.db", "together") as writer:
    for unit in units:
        for student in ("ada", "bob"):
            verdicts = [Verdict(e.id, True, float(e.points), float(e.points)) for e in unit.exercises]
            writer.write(GradedNotebook(student, unit.unit, verdicts), mine, "v")
"""


def test_three_graders_at_once_make_each_row_once_and_print_nothing(tmp_path):
    started = [
        subprocess.Popen([sys.executable, "-c", TOGETHER, tmp_path, f"ready-{n}"], stderr=subprocess.PIPE, text=True)
        for n in range(3)
    ]
    told = [process.communicate(timeout=300)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], told
    assert told == ["", "", ""]
    with GradebookWriter(f"sqlite:///{tmp_path}/gradebook.db", "together") as writer:
        found = [(r["student"], r["unit"], len(r["attempts"])) for r in writer.results()]
    assert len(found) == 8 and {tried for *_, tried in found} == {3}

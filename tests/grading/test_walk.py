"""Every kind of change in the middle of a term, over one graded class: what is said of grades already given, and that
none is lost. ``test_mid_term.py`` has the single cases of each kind."""

import copy
import dataclasses
import shutil
from datetime import datetime

import nbformat
import pytest
from anatomy.program.units import grade_id

from autograder import exercises
from autograder.classes import export
from autograder.grading.base import masters, outlines
from autograder.grading.book.course import load_course
from autograder.grading.book.gradebook import GradebookWriter
from autograder.grading.pages import publishing

from .cheats.base import ATTENTION, START
from .classroom import ANSWERS, called, course, grade, grades, notebook, query, submit
from .term import solved

pytestmark = pytest.mark.xdist_group("walk")  # the class is graded once
IDS = [e.id for e in exercises.of_unit(ATTENTION)]
FIRST, LAST = IDS[0], IDS[-1]
LATE = 'c.AssignLatePenalties.plugin_class = "autograder.grading.book.late.PerDay"\nc.PerDay.percent = 10\n'
CONFIG = "nbgrader_config.py"
SCORES = """SELECT s.student_id, a.name, c.name, g.auto_score, g.manual_score, g.extra_credit FROM grade g
    JOIN submitted_notebook n ON g.notebook_id = n.id JOIN submitted_assignment s ON n.assignment_id = s.id
    JOIN assignment a ON s.assignment_id = a.id JOIN base_cell c ON g.cell_id = c.id WHERE g.auto_score IS NOT NULL"""
ASIDE = """SELECT student_id, unit, cell, auto_score, manual_score, extra_credit FROM anatomy_set_aside
    WHERE cell LIKE 'check-%'"""
REMARKS = "SELECT manual_comment FROM comment UNION SELECT manual_comment FROM anatomy_set_aside"


class Class:
    """A graded class, and the course that its instructor has: ``units`` and ``edit`` change it."""

    def __init__(self, root, patch):
        self.root, self.patch = root, patch

    def writer(self):
        place = load_course(self.root)
        return GradebookWriter(place.db_url, place.course_id, place.config)

    def publish(self, *options):
        """What `make publish` says."""
        self.forget()
        done = called(self.root, publishing.main, *options)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def grade(self):
        """What `make grade` says."""
        self.forget()
        done = grade(self.root, "--workers", "1")
        assert done.returncode in (0, 1), done.stderr
        return done.stdout + done.stderr

    def scores(self):
        """(student, unit, cell) → (computed, by hand, extra), of what counts and of what is set aside."""
        return {tuple(row[:3]): tuple(row[3:]) for row in (*query(self.root, ASIDE), *query(self.root, SCORES))}

    def remarks(self):
        return {text for (text,) in query(self.root, REMARKS) if text}

    def status(self):
        return {(r["student"], r["unit"]): r["status"] for r in grades(self.root)}

    def page(self, unit):
        return (self.root / "feedback" / "ada" / unit / f"{unit}.html").read_text()

    def forget(self):
        """As a new process."""
        masters._master.cache_clear()
        outlines._outline.cache_clear()

    def units(self, *names):
        self.patch.setattr(exercises, "units", lambda: list(names))

    def edit(self, specs=lambda specs: specs, cells=lambda cells: cells):
        """Another unit 01: its specs and the cells of its source notebook."""
        really, where = exercises.of_unit, masters.source_notebook_path
        path = self.root / f"{ATTENTION}.ipynb"
        book = nbformat.read(where(ATTENTION), as_version=4)
        book.cells = cells(book.cells)
        nbformat.write(book, path)
        made = specs([copy.copy(e) for e in really(ATTENTION)])
        self.patch.setattr(exercises, "of_unit", lambda unit: made if unit == ATTENTION else really(unit))
        for module in (masters, outlines):
            self.patch.setattr(module, "source_notebook_path", lambda unit: path if unit == ATTENTION else where(unit))


@pytest.fixture(scope="module")
def graded(tmp_path_factory, sandbox):
    """Two students and two units; one is late. An instructor gave half a point, an extra one, and a remark."""
    root = course(tmp_path_factory.mktemp("walk") / "class")
    (root / "class_settings.py").write_text("c = get_config()\n" + LATE)
    submit(root, "ada", notebook(ANSWERS["right"]), timestamp="2030-01-02 12:00:00 UTC")
    submit(root, "bob", notebook(ANSWERS["partly"]))
    submit(root, "ada", solved(ATTENTION), unit=ATTENTION)
    one = Class(root, None)
    one.grade()
    with one.writer() as writer:
        book = writer.gradebook
        book.update_or_create_assignment(START, duedate=datetime(2030, 1, 1, 12))
        book.find_grade(grade_id(FIRST), ATTENTION, ATTENTION, "ada").manual_score = 0.5
        book.find_grade(grade_id(LAST), ATTENTION, ATTENTION, "ada").extra_credit = 0.25
        book.find_comment(grade_id(LAST, "solve"), ATTENTION, ATTENTION, "ada").manual_comment = "Nearly."
        book.db.commit()
    told = one.publish()
    assert "0.1 off for lateness" in told
    return root


@pytest.fixture
def room(graded, tmp_path, monkeypatch):
    """A copy of the graded class, as it is before something changes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    one = Class(shutil.copytree(graded, tmp_path / "class"), monkeypatch)
    yield one
    monkeypatch.undo()
    one.forget()


def named(*ids):
    """Whether a cell belongs to one of these exercises."""
    names = {grade_id(i, kind) for i in ids for kind in ("check", "solve")}
    return lambda cell: cell.metadata.get("nbgrader", {}).get("grade_id") in names


def without(*ids):
    return {
        "specs": lambda specs: [e for e in specs if e.id not in ids],
        "cells": lambda cells: [c for c in cells if not named(*ids)(c)],
    }


def renamed(old, new, also=False):
    """Exercise ``old`` under another id, alone or (``also``) beside itself."""

    def specs(found):
        return [*(found if also else [e for e in found if e.id != old]), other(next(e for e in found if e.id == old))]

    def other(spec):
        return dataclasses.replace(spec, id=new)

    def cells(found):
        made = copy.deepcopy([c for c in found if named(old)(c)])
        for cell in made:
            kind = cell.metadata.nbgrader.grade_id.partition("-")[0]
            cell.metadata.nbgrader.grade_id = cell["id"] = grade_id(new, kind)
            if "exercise" in cell.metadata.get("anatomy", {}):
                cell.metadata.anatomy.exercise = new
        return [*(found if also else without(old)["cells"](found)), *made]

    return {"specs": specs, "cells": cells}


def worth(points, name):
    def cells(found):
        for cell in filter(named(name), found):
            if cell.metadata.nbgrader.grade:
                cell.metadata.nbgrader.points = points
        return found

    return {
        "specs": lambda specs: [dataclasses.replace(e, points=points) if e.id == name else e for e in specs],
        "cells": cells,
    }


def another_text(cells):
    cells[0].source += "\n\nAnother sentence."
    return cells


STALE = f"stale: ada/{ATTENTION}: the file or the exercises changed; `make grade` grades it again."


def test_a_notebook_that_is_released_again_changes_no_grade(room):
    """A text, a rubric or the judge: everything that makes another version."""
    before = room.scores()
    room.edit(cells=another_text)
    assert STALE in room.publish() and room.status()["ada", ATTENTION] == "stale"
    assert room.scores() == before
    assert "1 graded now, 2 were up to date" in room.grade()
    assert room.scores() == before and room.status()["ada", ATTENTION] == "graded"
    assert "0 pages written, 3 as they should be" in room.publish()


def test_a_new_judge_changes_no_grade_until_it_has_graded(room):
    before, really = room.scores(), masters.version_of
    for module in (masters, outlines):
        room.patch.setattr(module, "version_of", lambda *what: really(*what)[::-1])
    told = room.publish()
    assert STALE in told and "stale: 3" in told and set(room.status().values()) == {"stale", "missing"}
    assert room.scores() == before


def test_an_exercise_that_is_added_leaves_all_grades_and_waits_for_nobody(room):
    before = room.scores()
    room.edit(**renamed(LAST, "attention.more", also=True))
    assert STALE in room.publish()
    assert room.scores() == before
    assert "waiting" not in room.grade()
    after = room.scores()
    assert {key: after[key] for key in before} == before
    assert set(after) - set(before) == {("ada", ATTENTION, grade_id("attention.more"))}


@pytest.mark.parametrize("gone", [FIRST, LAST], ids=["the first", "the last"])
def test_an_exercise_that_is_removed_holds_its_unit_back_and_its_scores_are_set_aside(room, gone):
    before, remarks = room.scores(), room.remarks()
    room.edit(**without(gone))
    told = room.publish()
    assert f"not published: {ATTENTION}: the gradebook has scores for {gone}" in told
    assert "Given by hand: 1." in told and f'`make publish ARGS="--drop {gone}"`' in told
    assert room.scores() == before
    assert f"{ATTENTION}: 1 score for {gone} set aside." in room.publish("--drop", gone)
    assert room.scores() == before and room.remarks() == remarks
    assert gone not in {r["exercise"] for r in grades(room.root)} and grade_id(gone) not in room.page(ATTENTION)
    room.grade()
    assert room.scores() == before and room.remarks() == remarks


def test_an_exercise_with_another_id_is_one_gone_and_one_new(room):
    before, new = room.scores(), "attention.named_anew"
    room.edit(**renamed(FIRST, new))
    assert f"scores for {FIRST}, which the unit no longer has. Given by hand: 1." in room.publish()
    room.publish("--drop", FIRST)
    room.grade()
    after = room.scores()
    assert {key: after[key] for key in before} == before
    assert set(after) - set(before) == {("ada", ATTENTION, grade_id(new))}


def test_other_points_change_what_is_computed_and_nothing_given_by_hand(room):
    before, most = room.scores(), exercises.of_unit(ATTENTION)[1].points
    room.edit(**worth(2 * most, IDS[1]))
    assert STALE in room.publish()
    assert room.scores() == before
    room.grade()
    changed = {key: value for key, value in room.scores().items() if before[key] != value}
    assert changed == {("ada", ATTENTION, grade_id(IDS[1])): (2 * most, None, None)}
    assert room.remarks() == {"Nearly."}


def test_a_unit_that_is_dropped_keeps_its_grades(room):
    before = room.scores()
    room.units(*(u for u in exercises.units() if u != ATTENTION))
    told = room.publish()
    assert f"not published: {ATTENTION} is no longer a unit of the course" in told
    assert room.scores() == before and room.status()["ada", ATTENTION] == "stale"
    assert "There is no unit '01-attention'" in room.grade()
    assert room.scores() == before
    assert called(room.root, export.main, "wide").returncode == 0


@pytest.mark.parametrize("what", ["assignment", "student"])
def test_rows_removed_with_nbgrader_are_said(room, what):
    before = room.scores()
    with room.writer() as writer:
        book = writer.gradebook
        book.remove_assignment(ATTENTION) if what == "assignment" else book.remove_student("ada")
    gone = {key for key in before if key[1 if what == "assignment" else 0] in (ATTENTION, "ada")}
    told = room.publish()
    count = "1 submission is" if what == "assignment" else "2 submissions are"
    assert f"removed: {count}" in told and "no longer in nbgrader's gradebook" in told and f"ada/{ATTENTION}" in told
    assert room.scores() == {key: value for key, value in before.items() if key not in gone}
    assert "removed" not in room.publish(), "once"
    room.grade()
    assert {key: value[0] for key, value in room.scores().items()} == {key: value[0] for key, value in before.items()}


def test_a_due_date_that_moves_gives_back_what_lateness_took(room):
    before = room.scores()
    with room.writer() as writer:
        writer.gradebook.update_or_create_assignment(START, duedate=datetime(2030, 2, 1))
    assert f"ada, {START}: 0.9 → 1 of 1 point, nothing off for lateness any more." in room.publish()
    assert room.scores() == before


def test_a_release_over_the_folder_changes_no_setting(room):
    before = room.scores()
    shutil.copy(masters.ROOT / CONFIG, room.root)
    told = room.publish()
    assert "settings:" not in told and "0 pages written, 3 as they should be" in told and room.scores() == before


def test_settings_that_a_release_overwrites_are_said(room):
    """Those that an instructor wrote into the file that a release brings."""
    before = room.scores()
    (room.root / "class_settings.py").unlink()
    told = room.publish()
    assert "settings: c.AssignLatePenalties.plugin_class was 'autograder.grading.book.late.PerDay'" in told
    assert f"ada, {START}: 0.9 → 1 of 1 point, nothing off for lateness any more." in told
    assert room.scores() == before

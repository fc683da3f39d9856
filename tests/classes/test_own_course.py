"""An instructor's own course: what students receive, what their progress counts, and what points are given for it."""

import csv
import json
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from anatomy.app.build_stamp import file_is_as_built
from anatomy.app.carry_over import checksum
from traitlets.config import Config

from autograder.build import package
from autograder.classes import export
from autograder.classes.scores import by_setting
from autograder.grading.base.masters import master
from autograder.grading.book import settings_seen
from autograder.grading.book.course import load_course
from autograder.grading.book.database import GradebookError
from autograder.grading.book.standing import Standing
from autograder.grading.book.tables import Total, _total
from autograder.languages import notebooks
from autograder.notebooks import own_course
from autograder.notebooks.own_course import BadSelection, OwnCourse

START, UNIT, ROPE = "00-start-here", "01-attention", "06-rope"
POINTS = {"attention.softmax": 5.0, "attention.padding_mask": 0.0, "attention.cost": 1.0}
OWN = OwnCourse((START, ROPE, UNIT), POINTS)
NAMES = f"course/{UNIT}/{UNIT}.ipynb", f"assets/units/{UNIT}.json", f"assets/recordings/{UNIT}.json"


@pytest.fixture
def chosen():
    """Makes OWN the selection of this process for one test."""
    own_course.use(OWN)
    yield OWN
    own_course.use(OwnCourse())


def heads(book):
    """dict exercise → the last piece of the line below its heading."""
    lines = ["".join(c["source"]).split("\n")[1] for c in book["cells"] if c.get("id", "").startswith("say-att")]
    return {re.match("`(.*?)`", line)[1]: line.rpartition(" · ")[2] for line in lines}


@pytest.fixture(scope="module")
def files():
    """dict name → bytes of the files that differ: a small package, which is put together like the whole one."""
    return package.selected(
        {n: c for n, c in package.contents().items() if n.startswith(("course/0", "assets/u"))}, OWN
    )


def test_the_package_has_the_units_in_their_order_and_no_others(files):
    there = {name.split("/")[1] for name in files if name.endswith(".ipynb")}
    assert there == {*OWN.units} and f"assets/units/{UNIT}.json" in files
    assert json.loads(files["assets/course.json"])["units"] == [*OWN.units]
    assert not [name for name in files if "07-masks" in name]
    assert OWN.remarks() == [f"{ROPE} builds on 05-position-encodings, which your course leaves out."]


def test_the_notebook_says_the_points_and_counts_as_built(files, tmp_path):
    path = tmp_path / "book.ipynb"
    path.write_bytes(files[NAMES[0]])
    book = json.loads(path.read_text(encoding="utf-8"))
    assert file_is_as_built(path), "an update would take it for a student's"
    found = heads(book)
    assert found["attention.softmax"] == "5 points" and found["attention.cost"] == "1 extra point"
    assert found["attention.padding_mask"] == "0 points, not asked for in your course"
    assert found["attention.split_heads"] == "2 points"
    checks = {c["id"]: c for c in book["cells"] if c["id"].startswith("check-")}
    assert checks["check-attention-softmax"]["metadata"]["nbgrader"]["points"] == 5
    assert all(c["metadata"]["nbgrader"]["checksum"] == checksum(c) for c in checks.values())


def test_a_translated_notebook_says_them_too():
    (content,) = notebooks.outputs("zh_CN", [UNIT], OWN.config()).values()
    found = heads(json.loads(content))
    assert found["attention.softmax"] == "5 分" and found["attention.cost"] == "附加 1 分"
    assert found["attention.padding_mask"] == "0 分，本课程不要求"


def test_progress_and_checks_of_the_package_follow(tmp_path):
    everything = package.selected(package.contents(), OWN)
    for name in (n for n in everything if n.startswith(("course/", "assets/"))):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(everything[name])
    code = """
from anatomy import evaluate, progress
print(progress())
print(progress("01-attention").units[0].points, evaluate("attention.softmax", lambda x, dim=-1: x).max_score)
from anatomy import parts
print(repr(parts.show("norm.rms_norm")))
"""
    env = {"PYTHONPATH": str(tmp_path / "course"), "ANATOMY_HOME": str(tmp_path / "home"), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    titles = [line.split("  ")[0] for line in lines[2:6]]
    assert titles[1].startswith("RoPE") or titles[1].startswith("Rotary"), titles
    assert re.search(r"^\(0[.0]*, 16.0\) 5.0$", done.stdout, re.M) and lines[5].startswith("Total")
    assert "your course leaves it out" in done.stdout, "a later unit that asks for it says why it is not there"


def test_points_are_given_as_the_selection_says(chosen):
    trusted = master(UNIT)
    assert trusted.points == 16 and "attention.padding_mask" in trusted.extensions
    worth = {e.id: e.points for e in trusted.exercises}
    assert worth["attention.softmax"] == 5 and worth["attention.cost"] == 1 and worth["attention.padding_mask"] == 0
    version, other = trusted.version, master(ROPE).version
    own_course.use(OwnCourse())
    assert master(UNIT).points == 14 and master(UNIT).version != version, "what was graded is stale, and graded again"
    assert master(ROPE).version == other, "a unit whose points are the same is not"


@pytest.mark.parametrize(
    "given, said",
    [
        ({"units": [START, "99-none"]}, "c.Course.units names '99-none'. The units are 00-start-here, 01"),
        ({"units": [UNIT]}, "c.Course.units lacks 00-start-here, by which students' commands find the course. Add it."),
        ({"units": [START, START]}, "c.Course.units names 00-start-here twice."),
        ({"points": {"attention.sofmax": 1}}, "c.Course.points names 'attention.sofmax', which is no exercise."),
        ({"points": {"attention.softmax": -1}}, "c.Course.points gives attention.softmax -1; write a number from 0"),
        ({"points": {"attention.softmax": True}}, "c.Course.points gives attention.softmax True; write a number"),
    ],
)
def test_a_selection_that_cannot_be_is_refused_in_a_sentence(given, said, tmp_path):
    with pytest.raises(BadSelection) as told:
        own_course.of(Config(Course=given))
    assert said in str(told.value) and "\n" not in str(told.value)
    (tmp_path / "nbgrader_config.py").write_text(
        "c = get_config()\n" + "".join(f"c.Course.{k} = {v!r}\n" for k, v in given.items())
    )
    with pytest.raises(GradebookError, match="class_settings.py"):
        load_course(tmp_path)


def test_make_release_follows_the_settings_file_and_says_so(tmp_path, monkeypatch, capsys):
    lines = "c = get_config()\nload_subconfig('class_settings.py')\n"
    (tmp_path / "nbgrader_config.py").write_text(lines)
    own = f"c = get_config()\nc.Course.units = {[START, ROPE]}\nc.Course.points = {{'rope.stretch': 0}}\n"
    (tmp_path / "class_settings.py").write_text(own)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(package, "unfit", lambda root: [])
    made = {}
    monkeypatch.setattr(package, "archive", lambda contained: made.update(contained) or b"")
    try:
        assert package.main(["--out", str(tmp_path)]) == 0
    finally:
        own_course.use(OwnCourse())
    said = capsys.readouterr().out.splitlines()
    assert f"{ROPE} builds on {UNIT}, 05-position-encodings, which your course leaves out." in said
    assert "Your own course (c.Course): 2 units; own points for rope.stretch." in said
    assert f"course/{UNIT}/{UNIT}.ipynb" not in made
    stretch = next(e for e in json.loads(made[f"assets/units/{ROPE}.json"])["exercises"] if e["id"] == "rope.stretch")
    assert stretch["points"] == 0 and stretch["extension"]


def test_a_change_of_points_is_said_before_grades_are_published():
    with sa.create_engine("sqlite://").begin() as connection:
        old, new = Config(), Config({"Course": {"points": {"rope.stretch": 0}}, "Grading": {"extensions": "capped"}})
        assert settings_seen.changes(connection, "c", old) == []
        (said,) = settings_seen.changes(connection, "c", new)
    assert said.startswith(
        "c.Course.points was '{}' when grades were last published and is \"{'rope.stretch': 0}\" now"
    )


@pytest.mark.parametrize("penalty, score, extra", [(0, 9, 4), (3, 6, 4), (7, 2, 2)])
def test_lateness_is_taken_from_the_core_path_first(penalty, score, extra):
    standing = Standing({"check-a": 5.0, "check-b": 4.0}, {"check-a": 6.0, "check-b": 0.0}, penalty=penalty)
    made = _total({"standing": standing, "problem": "", "version": "", "unit": "none"}, "ada", "none")
    assert (made.score, made.extra) == (score, extra)


def test_points_of_extensions_are_extra_capped_or_separate():
    some = [
        Total("ada", UNIT, "graded", 20.0, 15.0, 0.0, 0.0, 6.0),
        Total("bob", UNIT, "graded", 9.0, 15.0, 0.0, 0.0, 2.0),
    ]
    points = SimpleNamespace(of=lambda setting: [(t.unit, t.score, t.max_score) for t in by_setting(some, setting)])
    assert points.of("extra") == [(UNIT, 20, 15), (UNIT, 9, 15)]
    assert points.of("capped") == [(UNIT, 15, 15), (UNIT, 9, 15)]
    beside = f"{UNIT} extensions"
    assert points.of("separate") == [(UNIT, 14, 15), (UNIT, 7, 15), (beside, 6, 0), (beside, 2, 0)]
    assert points.of("core") == [(UNIT, 14, 15), (UNIT, 7, 15)]


@pytest.mark.parametrize("flags, score", [([], "20"), (["--core"], "14")])
def test_one_export_of_the_core_path_needs_no_setting(flags, score, tmp_path, monkeypatch):
    class Writer:
        gradebook = None

        def __init__(self, *about):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *about):
            pass

    settings = SimpleNamespace(extensions="extra")
    course = SimpleNamespace(db_url="", course_id="", config=None, settings=settings, root=tmp_path)
    monkeypatch.setattr(export, "load_course", lambda: course)
    monkeypatch.setattr(export, "GradebookWriter", Writer)
    monkeypatch.setattr(export.tables, "totals", lambda _: [Total("ada", UNIT, "graded", 20.0, 15.0, 0.0, 0.0, 6.0)])
    monkeypatch.setattr(export, "students", lambda _: [])
    assert export.main(["wide", *flags]) == 0
    with open(tmp_path / "export-wide.csv", newline="", encoding="utf-8") as file:
        assert [row[UNIT] for row in csv.DictReader(file)] == [score]

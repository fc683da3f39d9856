"""Copies are listed despite any disguise, honest work is not, and nothing that a student writes does harm."""

import json
import random
import time

import pytest

from autograder.grading.base.masters import master
from autograder.grading.book.course import load_course
from autograder.grading.pages import similar
from autograder.notebooks import answers as whole
from benchmarks.similar_answers import copied, drawn
from tests.grading import classroom

UNIT = "06-rope"


@pytest.fixture(scope="module")
def stubs():
    return similar.stubs(UNIT)


@pytest.fixture(scope="module")
def honest():
    """Thirteen students, with answers by three people who worked independently."""
    students = drawn(UNIT, random.Random(5), 12)
    return {s: own for s, own in students.items() if not s.startswith("first") or s == "first 0"}


def listed(students, stubs):
    return {p.students: p for p in similar.pairs(students, stubs)}


def test_answers_of_different_people_are_not_listed(honest, stubs):
    assert not [pair for pair in listed(honest, stubs) if pair[0].split()[0] != pair[1].split()[0]]


def test_a_disguised_copy_is_listed_and_says_why(honest, stubs):
    rng = random.Random(1)
    copy = copied(honest["first 0"], honest["second 0"], 1.0, rng)
    exercise = next(e for e, s in copy.items() if len(s) > 300)
    mine = {**honest["first 0"], exercise: honest["first 0"][exercise] + "\n# my grandmother's trick\n"}
    students = {**honest, "first 0": mine, "zed": {**copy, exercise: copy[exercise] + "\n#  My grandmother's TRICK\n"}}
    found = listed(students, stubs)
    assert set(found) == {("first 0", "zed")}
    pair = found["first 0", "zed"]
    assert exercise in pair.alike and len(pair.alike) <= pair.compared <= len(stubs) and pair.share > 0.9
    assert "my grandmother's trick" in pair.shared


def test_three_quarters_of_a_copy_are_listed_and_a_few_answers_are_not(honest, stubs):
    for part, expected in ((0.75, True), (0.15, False)):
        students = {**honest, "zed": copied(honest["first 0"], honest["second 0"], part, random.Random(2))}
        assert (("first 0", "zed") in listed(students, stubs)) is expected


def test_answers_that_a_package_shows_say_nothing_of_a_pair(honest, stubs):
    """Two who looked everything up, and changed names and comments: listed, unless the course itself showed it."""
    shown = {e: s for e, s in whole.read().items() if e in stubs}
    again = copied(shown, shown, 1.0, random.Random(3))
    students = {**honest, "yve": shown, "zed": again}
    assert ("yve", "zed") in listed(students, stubs)
    assert ("yve", "zed") not in {p.students for p in similar.pairs(students, stubs, shown)}
    copy = copied(honest["first 0"], honest["second 0"], 1.0, random.Random(1))
    found = {p.students for p in similar.pairs({**students, "zed": copy}, stubs, shown)}
    assert found == {("first 0", "zed")}, "a copy of another student's is still found"


def test_what_everybody_writes_is_no_hint(honest, stubs):
    """The whole class has one source: the text's own hint, or an answer that was passed around."""
    assert not listed({f"s{n}": honest["first 0"] for n in range(12)}, stubs)


def test_stubs_short_answers_and_single_exercises_are_no_hint(stubs):
    assert not listed({f"s{n}": stubs for n in range(3)}, stubs)
    short = {e: "def f(x):\n    return x + 1\n" for e in stubs}
    assert not listed({"a": short, "b": short}, stubs)
    long = {"rope.apply": "\n".join(f"a{n} = f(b, {n}) * c" for n in range(30))}
    assert not listed({"a": long, "b": long}, stubs)


def test_a_class_of_three_hundred_takes_seconds(honest, stubs):
    rng, own = random.Random(3), list(honest.values())
    students = {
        f"s{n}": {e: rng.choice(own).get(e, "") + f"\nz = z + {n}.{rng.random()}" for e in stubs} for n in range(300)
    }
    began = time.perf_counter()
    similar.pairs(students, stubs)
    assert time.perf_counter() - began < 10


ODD = {
    "quotes": '"' * 20_000,
    "mixed quotes": "'\"" * 10_000,
    "unclosed": "'''" * 7_000 + "x",
    "brackets": "(" * 20_000,
    "no characters": "\0\ud800 \n" * 5_000,
    "nothing": "",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_texts_take_no_time_and_stop_nothing(text, stubs):
    began = time.perf_counter()
    students = {s: dict.fromkeys(stubs, text * 50) for s in ("a", "b")}
    similar.section({UNIT: similar.pairs(students, stubs)})
    assert time.perf_counter() - began < 5


def test_the_report_escapes_what_students_wrote():
    pair = similar.Pair(("<b>ada</b>", "bob"), ("rope.apply",), 3, 0.5, 9.0, ("<script>",))
    page = "".join(similar.section({UNIT: [pair], "07": []}))
    assert "<script>" not in page and "<b>ada" not in page and "1 of 3" in page and "50%" in page
    assert "(1 pairs)" not in page and "(1 pair)" in page
    assert similar.section({UNIT: []}) == []
    named = "".join(similar.section({UNIT: [pair]}, lambda student, unit: f"<a href='{unit}'>x</a>"))
    assert named.count(f"<a href='{UNIT}'>x</a>") == 2


def test_groups_are_named_and_the_table_is_bounded():
    crowd = [similar.Pair((f"s{a:02}", f"s{b:02}"), ("e",), 1, 1.0, 9.0) for b in range(12) for a in range(b)]
    page = "".join(similar.section({UNIT: crowd}))
    assert "12 students resemble each other: s00, s01" in page and "16 more pairs" in page


def test_sources_come_from_the_notebook_that_the_grader_wrote(tmp_path, stubs):
    book = json.loads(json.dumps(master(UNIT).notebook))
    path = tmp_path / "book.ipynb"
    path.write_text(json.dumps(book))
    assert similar.read_sources(path, UNIT) == stubs
    for odd in ("", "[]", '{"cells": [1]}', '{"cells": [{"metadata": []}]}', "[" * 100_000):
        path.write_text(odd)
        assert similar.read_sources(path, UNIT) == {}
    assert similar.read_sources(tmp_path / "none.ipynb", UNIT) == {}


def test_what_is_graded_is_found(tmp_path, honest, stubs, monkeypatch):
    course = load_course(classroom.course(tmp_path))
    students = {"ada": honest["first 0"], "bob": honest["second 0"], "eve": honest["first 0"]}
    for student, own in students.items():
        book = json.loads(json.dumps(master(UNIT).notebook))
        for cell in book["cells"]:
            name = cell["metadata"].get("nbgrader", {}).get("grade_id")
            if exercise := master(UNIT).answers.get(name):
                cell["source"] = own.get(exercise.id, "").splitlines(keepends=True)
        folder = course.folder("autograded_directory", student, UNIT)
        folder.mkdir(parents=True)
        (folder / f"{UNIT}.ipynb").write_text(json.dumps(book))
    found = similar.find(course, [(s, UNIT) for s in (*students, "absent")] + [("ada", "99-gone")])
    assert [p.students for p in found[UNIT]] == [("ada", "eve")]
    assert set(found) == {UNIT}
    monkeypatch.setattr(whole, "read", lambda: honest["first 0"])
    for setting, listed in (("wheel", 1), ("all", 0)):
        course.config.Release.answers = setting
        assert len(similar.find(course, [(s, UNIT) for s in students])[UNIT]) == listed

"""What is kept of a unit is as its specs say it, is made anew when anything of it changes, and needs no torch."""

import json
import subprocess
import sys

import pytest

from autograder.exercises import spec_files, unit_module
from autograder.grading import __main__ as command
from autograder.grading.base import lean, masters, outlines
from autograder.grading.base.masters import gradable_units, master, source_notebook_path
from autograder.notebooks import own_course
from autograder.notebooks.source import source_path

from .cheats.base import START


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """The folder of caches, empty; ``outline`` forgets what it made before."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    outlines._outline.cache_clear()
    yield tmp_path / "cache"
    outlines._outline.cache_clear()


def again(unit=START):
    """The outline as the next process sees it."""
    outlines._outline.cache_clear()
    return outlines.outline(unit)


def kept(cache):
    (path,) = cache.rglob("*.json")
    return path


@pytest.fixture
def made(monkeypatch):
    """The units whose outlines were made from their specs."""
    units, really = [], outlines._made
    monkeypatch.setattr(outlines, "_made", lambda unit: (units.append(unit), really(unit))[1])
    return units


def test_it_is_what_the_specs_say(made):
    for unit in gradable_units()[:3]:
        for _ in range(2):  # made, and read
            one, whole = again(unit), master(unit)
            fields = "id title points extension".split()
            assert [[getattr(e, f) for f in fields] for e in one.exercises] == [
                [getattr(e, f) for f in fields] for e in whole.exercises
            ]
            assert (one.version, one.points, one.counted, one.extensions, one.written) == (
                whole.version,
                whole.points,
                whole.counted,
                whole.extensions,
                whole.written,
            )
            stubs = {c.metadata.nbgrader.grade_id: c.source for c in whole.notebook.cells if "nbgrader" in c.metadata}
            assert {name: e.stub for name, e in one.answers.items()} == {n: stubs[n] for n in whole.answers}
    assert made == gradable_units()[:3]


def test_own_points_are_those_of_the_outline_too():
    as_released = again()
    (exercise,) = as_released.exercises
    own_course.use(own_course.OwnCourse(points={exercise.id: 5.0}))
    try:
        mine, whole = again(), master(START)
    finally:
        own_course.use(own_course.OwnCourse())
    assert mine.points == whole.points == 5 and mine.version == whole.version != as_released.version
    assert again() == as_released


def changed(monkeypatch, path, data):
    """The course with other bytes in one file."""
    read = type(path).read_bytes
    monkeypatch.setattr(type(path), "read_bytes", lambda self: data if self == path else read(self))


CHANGES = {
    "the spec": (lambda: spec_files(unit_module(START))[-1], lambda data: data + b"# another\n"),
    "the notebook": (lambda: source_notebook_path(START), lambda data: data.replace(b"weighted", b"waited", 1)),
    "points of the written answer": (lambda: source_notebook_path(START), None),
    "the order of its text": (lambda: source_path(START), lambda data: data + b"\n"),
    "what makes an outline": (lambda: masters.Path(outlines.__file__), lambda data: data + b"# another\n"),
    "the judge": (lambda: masters.ROOT / "autograder/judge/trusted.py", lambda data: data + b"# another\n"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_seen_at_once(what, monkeypatch, made):
    where, edit = CHANGES[what]
    before, path = again(), where()
    data = path.read_bytes()
    if edit is None:
        book = json.loads(data)
        (cell,) = [c for c in book["cells"] if masters.written.is_written(c)]
        cell["metadata"]["nbgrader"]["points"] += 1
        new = json.dumps(book).encode()
    else:
        new = edit(data)
    assert new != data
    with monkeypatch.context() as other:
        changed(other, path, new)
        after = again()
        assert made == [START, START]
        if what in ("the spec", "the notebook", "the judge"):
            assert after.version != before.version, "submissions are graded again"
    assert again() == before and made == [START] * 3
    assert again() == before and made == [START] * 3


DAMAGE = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "another points value": lambda data: data.replace(b'"points": 1.0', b'"points": 9.0'),
    "no dictionary": lambda data: b"[1]",
    "nothing in it": lambda data: b"{}",
    "deep": lambda data: b"[" * 100_000,
    "not UTF-8": lambda data: b"\xff\xfe" + data,
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_file_is_made_anew(how, cache, made):
    before = again()
    whole = kept(cache).read_bytes()
    assert DAMAGE[how](whole) != whole
    kept(cache).write_bytes(DAMAGE[how](whole))
    assert again() == before and made == [START, START]
    assert kept(cache).read_bytes() == whole


def test_without_a_place_for_it_nothing_is_kept(cache, made, monkeypatch):
    cache.write_text("a file, not a folder")
    assert again() == again() and made == [START, START]
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(outlines.Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert again().points == master(START).points


COMMANDS = """
autograder.grading.workers.todo autograder.grading.pages.publishing autograder.grading.pages.report
autograder.grading.pages.waiting autograder.grading.book.due autograder.grading.book.backup autograder.classes.roster
autograder.classes.collect autograder.classes.export autograder.grading.__main__
""".split()
ASKED = """
import sys
import importlib
for name in sys.argv[1:]:
    importlib.import_module(name)
from autograder.grading.base.outlines import outline
outline("00-start-here")
print([name for name in ("torch", "nbgrader.apps.baseapp", "dask") if name in sys.modules])
"""


def test_commands_that_grade_nothing_import_no_torch():
    again()
    found = subprocess.run([sys.executable, "-c", ASKED, *COMMANDS], capture_output=True, text=True, check=True)
    assert "torch" not in found.stdout, found.stdout


SERVER = f"""
import autograder.grading, sys, nbgrader
assert not any(name in sys.modules for name in {lean.LATER!r})
class App:
    log = type("Log", (), {{"info": print}})()
try:
    nbgrader.load_formgrader(App())
except AttributeError as error:
    print(error)
import nbgrader.server_extensions.formgrader.formgrader
import nbgrader.server_extensions.assignment_list.handlers
assert nbgrader.__loader__ is nbgrader.__spec__.loader and nbgrader.__version__
"""


def test_a_server_gets_nbgrader_s_extensions_after_a_lean_import():
    done = subprocess.run([sys.executable, "-c", SERVER], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_was_written_since_the_last_grading_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nbgrader_config.py").touch()
    book = tmp_path / "submitted" / "ada" / START / f"{START}.ipynb"
    book.parent.mkdir(parents=True)
    book.touch()
    assert not command._seems_done("submitted"), "nothing was ever graded"
    table = tmp_path / "grades.csv"
    table.touch()
    later = table.stat().st_mtime + 5
    command.os.utime(table, (later, later))
    assert command._seems_done("submitted")
    command.os.utime(table, (later - 3600, later - 3600))
    assert not command._seems_done("submitted")

"""A command killed at any moment loses no answer, leaves no half-written notebook, and only needs to be run again.

Each command runs in a forked process that exits, without any cleanup, at its n-th step that touches a file (an audit
event, or a sync of written bytes), for every n until the command finishes. A few more are killed after a time.
"""

import functools
import io
import os
import signal
import subprocess
import sys
import time
import zipfile

import pytest
from anatomy.app import workspace
from anatomy.app.build_stamp import to_bytes
from anatomy.system.installation import Place
from anatomy.system.installation import place_in as at

from autograder.build import __main__ as build
from autograder.build import package

from .toy import ANSWER, FIRST, GONE, OTHER, OWN, SECOND, UNIT, course, other, texts, write_answers, zipped

pytestmark = pytest.mark.slow  # forks
STEPS = ("open", "os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate")
KILLED = 77
MINE = {ANSWER, OWN, GONE}


def run(command, step=None, root=None):
    """Runs ``command()`` in a forked process that dies at its step number ``step``; returns its exit status."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 70
    try:
        with open(os.devnull, "w") as null:
            os.dup2(null.fileno(), 1), os.dup2(null.fileno(), 2)
        if step is not None:
            die_at(step, str(root))
        status = command()
    finally:
        os._exit(status)


def die_at(step, root):
    count = 0

    def touch(path=None):
        nonlocal count
        if path is None or str(path).startswith(root):
            count += 1
            if count >= step:
                os._exit(KILLED)

    sys.addaudithook(lambda event, given: touch(given[0]) if event in STEPS else None)
    os.fsync = lambda descriptor: (touch(), touch())


def every_moment(make, command, check, stride=1):
    """Kills ``command(root)`` at each of its steps (or each ``stride``-th) and runs it again, each time in a fresh
    folder ``make()``. Returns how often it was killed."""
    for step in range(1, 2000, stride):
        root = make()
        status = run(lambda root=root: command(root), step, root)
        check(root)
        if status != KILLED:
            return step // stride
        assert run(lambda root=root: command(root)) == 0, f"again, after step {step}"
        check(root, finished=True)
    raise AssertionError("it never gets through")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Turns fsync off: only a power failure needs it, not a killed process, and hundreds of calls take a minute."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def fresh(tmp_path):
    """fresh(fill) → a new folder filled by ``fill``; removes the previous one."""
    import shutil

    def make(fill):
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        (tmp_path / "run").mkdir()
        return fill(tmp_path / "run" / "anatomy")

    return make


def all_books(root):
    return {p: texts(p) for p in root.rglob("*.ipynb")}  # texts() fails for an incomplete notebook


def nothing_lost(root, mine=MINE):
    books = all_books(root)
    assert any(mine <= set(found) for found in books.values()), "an answer is gone"
    return books


def learner(root):
    """A folder with answers in the working copy of one unit and in the released notebook of the other."""
    course(root)
    assert workspace.start(at(root), lambda line: None) == 0
    write_answers(workspace.working(at(root), UNIT))
    (workspace.working(at(root), OTHER)).unlink()
    edited = write_answers(workspace.released(at(root), OTHER))
    assert MINE <= set(texts(edited))
    return root


def both_there(root, finished=False):
    books = nothing_lost(root)
    for unit in (UNIT, OTHER):
        assert any(MINE <= set(found) for p, found in books.items() if p.stem.split(".")[0] == unit), unit
        assert not finished or MINE <= set(texts(workspace.working(at(root), unit)))


def test_make_lab(fresh):
    """Tests what `make lab` does before it starts JupyterLab."""
    moments = every_moment(lambda: fresh(learner), lambda root: workspace.start(at(root)), both_there)
    assert moments >= 20, moments


def test_make_update(fresh):
    def newer_release(root):
        learner(root)
        path = workspace.released(at(root), UNIT)
        path.write_bytes(to_bytes(SECOND))
        return root

    moments = every_moment(lambda: fresh(newer_release), lambda root: workspace.update(at(root)), both_there)
    assert moments >= 20, moments


def test_make_update_from_a_package(fresh, tmp_path):
    new = course(tmp_path / "new" / "transformer-anatomy", SECOND)
    source = zipped(new, tmp_path)

    def check(root, finished=False):
        both_there(root, finished)
        if finished:
            for unit in (UNIT, OTHER):
                assert texts(workspace.released(at(root), unit)) == texts(workspace.released(at(new), unit))
                assert "text intro2" in texts(workspace.working(at(root), unit))
            assert (root / "Makefile").read_text() == (new / "Makefile").read_text()

    moments = every_moment(lambda: fresh(learner), lambda root: workspace.update(at(root), source), check, 2)
    assert moments >= 40, moments


def installed(root):
    """A wheel's notebooks of the second release, and a learner's folder with answers to the first."""
    course(root)
    where = Place(root / "course", root / "mine", None)
    assert workspace.start(where, lambda line: None) == 0
    write_answers(workspace.working(where, UNIT))
    course(root, SECOND)  # as pip does: new notebooks in its own folder
    return root


def test_anatomy_update_of_an_installed_course(fresh):
    def check(root, finished=False):
        nothing_lost(root)
        now = texts(root / "mine" / UNIT / f"{UNIT}.ipynb")
        assert MINE <= set(now) and (not finished or "text intro2" in now)
        assert not finished or "text intro2" in texts(root / "mine" / OTHER / f"{OTHER}.ipynb")

    command = lambda root: workspace.update(Place(root / "course", root / "mine", None))
    moments = every_moment(lambda: fresh(installed), command, check)
    assert moments >= 20, moments


def test_anatomy_lab_of_an_installed_course(fresh):
    def half(root):
        installed(root)
        (root / "mine" / OTHER / f"{OTHER}.ipynb").unlink()
        return root

    def check(root, finished=False):
        nothing_lost(root)
        assert not finished or (root / "mine" / OTHER / f"{OTHER}.ipynb").is_file()

    command = lambda root: workspace.start(Place(root / "course", root / "mine", None))
    assert every_moment(lambda: fresh(half), command, check) >= 5


def repository(root):
    """A checkout whose course/ holds one notebook with answers and one unchanged, both of an earlier release."""
    course(root)
    write_answers(workspace.released(at(root), UNIT))
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)
    return root


def made_by_build(root):
    released = functools.partial(workspace.released, at(root))
    return {released(UNIT): to_bytes(SECOND), released(OTHER): to_bytes(other(SECOND))}


@pytest.fixture
def building(monkeypatch):
    """building(root) makes build and release work on the checkout ``root``."""

    def point(root):
        for module in (build, package):
            monkeypatch.setattr(module, "ROOT", root)
        monkeypatch.setattr(build, "all_outputs", lambda: made_by_build(root))
        return root

    return point


def test_make_build_over_answers_writes_nothing(fresh, building, capsys):
    root = building(fresh(repository))
    before = all_books(root)
    assert build.main([]) == 1 and all_books(root) == before
    said = capsys.readouterr().err
    assert f"course/{UNIT}/{UNIT}.ipynb" in said and OTHER not in said and "make build ARGS=--replace" in said


def test_make_build_that_is_told_to_replace_keeps_a_copy(fresh, building):
    def check(root, finished=False):
        nothing_lost(root)
        assert not finished or all(p.read_bytes() == b for p, b in made_by_build(root).items())

    moments = every_moment(lambda: building(fresh(repository)), lambda root: build.main(["--replace"]), check)
    assert moments >= 15, moments


def test_make_release_over_answers_makes_no_package(fresh, building, capsys):
    root = building(fresh(repository))
    before = all_books(root)
    assert package.main(["--out", str(root / "dist")]) == 1
    said = capsys.readouterr().err
    assert f"course/{UNIT}/{UNIT}.ipynb holds something that no build wrote" in said
    assert f"course/{OTHER}/{OTHER}.ipynb is stale" in said and "No package was made." in said
    assert all_books(root) == before and not (root / "dist").exists()


def test_make_release_never_leaves_half_a_package(fresh, building):
    def ready(root):
        """A built checkout with the previous release's package, and a learner's answers in work/."""
        repository(root)
        for path, content in made_by_build(root).items():
            path.write_bytes(content)
        path = workspace.working(at(root), UNIT)
        path.parent.mkdir(parents=True)
        path.write_bytes(to_bytes(FIRST))
        write_answers(path)
        (root / "dist").mkdir()
        (root / "dist" / f"{package.NAME}-student.zip").write_bytes(packed({"old": b"old"}))
        return root

    def check(root, finished=False):
        nothing_lost(root)
        with zipfile.ZipFile(root / "dist" / f"{package.NAME}-student.zip") as found:
            assert found.testzip() is None
            text = b"".join(found.read(n) for n in found.namelist()).decode()
            assert ANSWER not in text.replace("\\n", "\n") and (not finished or "text intro2" in text)

    def release(root):
        return package.main(["--out", str(root / "dist")])

    moments = every_moment(lambda: building(fresh(ready)), release, check)
    assert moments >= 10, moments


def packed(names):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as target:
        for name, content in names.items():
            target.writestr(name, content)
    return made.getvalue()


@pytest.mark.parametrize("milliseconds", [0, 1, 2, 4, 7, 11, 16, 25])
def test_killed_by_the_clock(milliseconds, fresh, tmp_path):
    source = zipped(course(tmp_path / "new" / "transformer-anatomy", SECOND), tmp_path)
    root = fresh(learner)
    child = os.fork()
    if not child:
        try:
            workspace.update(at(root), source, lambda line: None)
        finally:
            os._exit(0)
    time.sleep(milliseconds / 1000)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    both_there(root)
    assert run(lambda: workspace.update(at(root), source)) == 0
    both_there(root, finished=True)

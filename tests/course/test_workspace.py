"""A learner's folder: made once, never overwritten, updated to a new release with everything in it."""

import errno
import io
import json
import os
import shutil
import subprocess
import zipfile

import pytest
from anatomy.app import releases, workspace
from anatomy.app.build_stamp import parse, plain, to_bytes
from anatomy.system import files, installation
from anatomy.system.installation import place_in as at

from .toy import (
    ANSWER,
    FIRST,
    GONE,
    OTHER,
    OWN,
    SECOND,
    UNIT,
    book,
    course,
    edit,
    exercise,
    sources,
    text,
    texts,
    write_answers,
    zipped,
)


@pytest.fixture
def root(tmp_path):
    return course(tmp_path / "anatomy")


@pytest.fixture
def said():
    return []


def work(root, unit=UNIT):
    return root / "work" / unit / f"{unit}.ipynb"


def release(root, unit=UNIT):
    return root / "course" / unit / f"{unit}.ipynb"


def kept(root, unit=UNIT):
    return sorted((root / "work" / "kept" / unit).glob("*"))


def snapshot(root):
    return {p: p.read_bytes() for p in root.rglob("*") if p.is_file() and p.name != ".lock"}


def test_start_copies_the_release_and_a_second_start_touches_nothing(root, said):
    assert workspace.start(at(root), said.append) == 0
    assert {u: work(root, u).read_bytes() for u in (UNIT, OTHER)} == {
        u: release(root, u).read_bytes() for u in (UNIT, OTHER)
    }
    assert said == [f"Your own copies of the notebooks are in {root / 'work'}."]
    write_answers(work(root))
    before = snapshot(root)
    assert workspace.start(at(root), said.append) == 0 and snapshot(root) == before and len(said) == 1


def test_start_says_that_a_newer_release_is_there_and_leaves_the_copy(root, said):
    workspace.start(at(root), said.append)
    write_answers(work(root))
    before = work(root).read_bytes()
    course(root, SECOND)
    said.clear()
    assert workspace.start(at(root), said.append) == 0 and work(root).read_bytes() == before
    assert said == [f"A newer release of {UNIT}, {OTHER} is here: `make update` brings it and keeps your answers."]


def test_answers_in_the_released_notebook_become_the_working_copy(root, said):
    """The accident that this module exists for: a learner wrote answers in course/, then ran make lab again."""
    edited = write_answers(release(root)).read_bytes()
    assert workspace.start(at(root), said.append) == 0
    assert work(root).read_bytes() == edited == release(root).read_bytes()
    assert "holds changes of yours" in said[0] and f"work/{UNIT}/{UNIT}.ipynb" in said[0]
    count = len(said)
    edit_work = parse(work(root).read_bytes())
    edit(edit_work, "solve-x-2", "later")
    work(root).write_bytes(to_bytes(edit_work))
    assert workspace.start(at(root), said.append) == 0 and len(said) == count, "said once"


def test_answers_in_the_released_notebook_beside_a_working_copy_are_kept(root, said):
    workspace.start(at(root), said.append)
    mine = work(root).read_bytes()
    edited = write_answers(release(root)).read_bytes()
    for _ in range(2):
        workspace.start(at(root), said.append)
    assert work(root).read_bytes() == mine
    assert [p.read_bytes() for p in kept(root)] == [edited]
    assert len(said) == 2 and f"work/kept/{UNIT}/{UNIT}.from-course." in said[1]


def test_update_brings_the_release_and_keeps_the_answers(root, said):
    workspace.start(at(root), said.append)
    old = write_answers(work(root)).read_bytes()
    course(root, SECOND)
    said.clear()
    assert workspace.update(at(root), say=said.append) == 0
    now = texts(work(root))
    assert {ANSWER, OWN, "text intro2", "Write it anew."} <= set(now) and now[-1] == GONE
    assert [p.read_bytes() for p in kept(root)] == [old]
    line = next(line for line in said if line.startswith(UNIT))
    assert "new release with 1 answer, 1 cell of yours, 1 kept at the end" in line
    assert f"work/kept/{UNIT}/{UNIT}.2" in line and "you had written nothing" in "".join(said)
    assert said[-1] == "Notebooks that are open need File → Reload Notebook from Disk."
    before = snapshot(root)
    assert workspace.update(at(root), say=said.append) == 0
    assert snapshot(root) == before and said[-1] == (
        "Your notebooks are those of the release that is here. To take a newer one: make update FROM=path-to-the-zip"
    )


@pytest.mark.parametrize("packed", [True, False], ids=["zip", "folder"])
def test_update_from_a_newer_package(packed, root, tmp_path, said):
    workspace.start(at(root), said.append)
    write_answers(work(root))
    edited = write_answers(release(root, OTHER)).read_bytes()  # next to an unchanged working copy
    new = course(tmp_path / "new" / "transformer-anatomy", SECOND)
    (new / "course" / "02-added").mkdir()
    (new / "course" / "02-added" / "02-added.ipynb").write_bytes(to_bytes(book(text("x"), unit="02-added")))
    for stray in ("work/00-start-here/00-start-here.ipynb", "notes.txt", "course/__pycache__/x.pyc", ".venv/x"):
        (new / stray).parent.mkdir(parents=True, exist_ok=True)
        (new / stray).write_text("stray")
    (root / "notes.txt").write_text("mine")
    assert workspace.update(at(root), zipped(new, tmp_path) if packed else new, said.append) == 0, said
    assert {ANSWER, OWN, GONE, "text intro2"} <= set(texts(work(root)))
    assert edited in [p.read_bytes() for p in kept(root, OTHER)]
    assert texts(release(root)) == sources(SECOND) and texts(work(root, "02-added")) == ["text x"]
    assert (
        (root / "course/anatomy/__init__.py").read_text()
        == (root / "Makefile").read_text()
        == f"# {len(SECOND['cells'])} cells\n"
    )
    assert (root / "notes.txt").read_text() == "mine" and not (root / ".venv").exists()
    assert not list((root / "course").rglob("*.pyc"))
    before = snapshot(root)
    assert workspace.update(at(root), new, said.append) == 0 and snapshot(root) == before
    assert "That release is here already." in said


def archive(path, names):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as target:
        for name, content in names.items():
            target.writestr(name, content)
    path.write_bytes(made.getvalue())
    return path


GOOD = {"t/course/anatomy/__init__.py": b"", f"t/course/{UNIT}/{UNIT}.ipynb": to_bytes(SECOND)}


@pytest.mark.parametrize(
    "names, says",
    [
        ({"t/../../x": b""}, "written elsewhere"),
        ({"/etc/x": b""}, "written elsewhere"),
        ({"t/course\\..\\x": b""}, "written elsewhere"),
        ({"C:/x": b""}, "written elsewhere"),
        ({"other/course/x": b""}, "more than one folder"),
        ({"loose.txt": b""}, "more than one folder"),
    ],
)
def test_a_zip_that_would_write_elsewhere_is_refused_whole(names, says, root, tmp_path, said):
    before = snapshot(root)
    source = archive(tmp_path / "bad.zip", GOOD | names)
    assert workspace.update(at(root), source, said.append) == 2
    assert says in said[-1] and snapshot(root) == before and not (tmp_path / "x").exists()


def test_a_release_that_is_cut_short_has_no_notebook_before_its_package(tmp_path, monkeypatch):
    names = [
        "course/01-attention/01-attention.ipynb",
        "requirements.lock",
        "course/pyproject.toml",
        "course/anatomy/z.py",
    ]
    written = []
    monkeypatch.setattr(releases, "_is_release", lambda content: True)
    monkeypatch.setattr(releases.files, "replace", lambda path, content: written.append(path.name))
    releases._install(tmp_path, dict.fromkeys(names, b"new"), print, lambda path: True)
    assert written == ["z.py", "pyproject.toml", "requirements.lock", "01-attention.ipynb"]


def test_what_is_no_package_is_one_sentence(root, tmp_path, said):
    (tmp_path / "empty").mkdir()
    whole = archive(tmp_path / "whole.zip", GOOD | {"t/assets/x": os.urandom(5000)}).read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[:-300])
    (tmp_path / "flipped.zip").write_bytes(whole.replace(to_bytes(SECOND)[:40], b"x" * 40))
    archive(tmp_path / "foreign.zip", {"t/readme": b""})
    before = snapshot(root)
    for name, says in (
        ("nothing", "there is no"),
        ("empty", "no student package"),
        ("cut.zip", "as a zip"),
        ("flipped.zip", "as a zip"),
        ("foreign.zip", "no student package"),
        ("anatomy", "this very"),
    ):
        assert workspace.update(at(root), tmp_path / name, said.append) == 2
        assert says in said[-1] and "\n" not in said[-1], said[-1]
    (root / "autograder").mkdir()
    assert workspace.update(at(root), tmp_path / "whole.zip", said.append) == 2 and "without FROM" in said[-1]
    assert snapshot(root) == before


def test_a_notebook_with_answers_in_from_is_no_release(root, tmp_path, said):
    new = course(tmp_path / "new", SECOND)
    made = parse(release(new).read_bytes())
    edit(made, "solve-x-1", ANSWER)
    release(new).write_bytes(to_bytes(made))
    assert workspace.update(at(root), new, said.append) == 1
    assert texts(release(root)) == sources(FIRST) and texts(release(root, OTHER)) == sources(SECOND)
    assert "was changed by hand or is damaged" in "".join(said)


def git(folder, *words):
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", *words],
        cwd=folder,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def clone(root, tmp_path):
    """A learner's clone that is one release behind."""
    (root / ".gitignore").write_text("/work/\n")
    for words in (["init"], ["add", "."], ["commit", "-m", "first"], ["clone", ".", str(tmp_path / "clone")]):
        git(root, *words)
    course(root, SECOND)
    git(root, "commit", "-am", "second")
    return tmp_path / "clone"


def test_update_in_a_clone_pulls(clone, said):
    workspace.start(at(clone), said.append)
    write_answers(work(clone))
    assert workspace.update(at(clone), say=said.append) == 0
    assert "A newer release was fetched." in said and {ANSWER, "text intro2"} <= set(texts(work(clone)))
    assert workspace.update(at(clone), say=said.append) == 0 and "The release is up to date." in said


def test_update_offline_goes_on_with_what_is_here(clone, root, said):
    workspace.start(at(clone), said.append)
    write_answers(work(clone))
    git(clone, "pull")
    shutil.rmtree(root)
    assert workspace.update(at(clone), say=said.append) == 1
    line = next(line for line in said if line.startswith("No newer release was fetched"))
    assert "does not exist" in line or "not appear to be" in line
    assert {ANSWER, "text intro2"} <= set(texts(work(clone)))


def test_update_over_answers_in_the_clones_released_notebook(clone, said):
    edited = write_answers(release(clone)).read_bytes()
    assert workspace.update(at(clone), say=said.append) == 1
    assert release(clone).read_bytes() == work(clone).read_bytes() == edited
    assert "`git checkout`" in "".join(said)
    git(clone, "checkout", ".")
    assert workspace.update(at(clone), say=said.append) == 0
    assert {ANSWER, OWN, GONE, "text intro2"} <= set(texts(work(clone)))


def test_odd_files_are_left_alone_and_stop_nothing(root, said, tmp_path):
    third, fourth, fifth = "02-c", "03-d", "04-e"
    for unit in (third, fourth, fifth):
        path = release(root, unit)
        path.parent.mkdir()
        path.write_bytes(to_bytes(book(*FIRST["cells"], unit=unit)))
    workspace.start(at(root), said.append)
    work(root).write_bytes(b'{"cells": [')
    shutil.copy(work(root, OTHER), tmp_path / "elsewhere.ipynb")
    work(root, OTHER).unlink()
    work(root, OTHER).symlink_to(tmp_path / "elsewhere.ipynb")
    work(root, third).unlink()
    work(root, third).mkdir()
    work(root, fourth).write_bytes(work(root, fifth).read_bytes())
    write_answers(work(root, fifth))
    for unit in (UNIT, OTHER, third, fourth, fifth):
        release(root, unit).write_bytes(to_bytes(book(*SECOND["cells"], unit=unit)))
    said.clear()
    assert workspace.update(at(root), say=said.append) == 1
    said = "\n".join(said)
    assert f"work/{UNIT}/{UNIT}.ipynb is damaged (it cannot be read as JSON)" in said
    assert "is a link to another file" in said and "is a folder" in said and f"holds the notebook of {fifth}" in said
    assert work(root).read_bytes() == b'{"cells": [' and work(root, OTHER).is_symlink()
    assert texts(tmp_path / "elsewhere.ipynb") == sources(FIRST)
    assert {ANSWER, "text intro2"} <= set(texts(work(root, fifth)))


def test_a_damaged_release_is_named_and_stops_nothing(root, said):
    release(root).write_bytes(b"{")
    assert workspace.start(at(root), said.append) == 1
    assert "is damaged, so there is no working copy" in "\n".join(said) and work(root, OTHER).exists()
    assert [p.suffix for p in kept(root)] == [".damaged"] and not work(root).exists()


@pytest.mark.parametrize("number, says", [(errno.ENOSPC, "No space left"), (errno.EROFS, "Read-only")])
def test_a_disk_that_takes_nothing_is_one_sentence(number, says, root, said, monkeypatch):
    workspace.start(at(root), said.append)
    write_answers(work(root))
    course(root, SECOND)
    before = snapshot(root)
    said.clear()

    def full(descriptor):
        raise OSError(number, os.strerror(number), "work/x")

    monkeypatch.setattr(os, "fsync", full)
    assert workspace.update(at(root), say=said.append) == 1
    monkeypatch.undo()
    assert snapshot(root) == before and [says in line and "Nothing of yours" in line for line in said if UNIT in line]
    assert workspace.update(at(root), say=said.append) == 0 and ANSWER in texts(work(root))


def test_an_answer_saved_during_the_update_is_in_the_result(root, said, monkeypatch):
    workspace.start(at(root), said.append)
    course(root, SECOND)
    merge, saved = workspace.carry_over.merge, []

    def slow(*books):
        made = merge(*books)
        if not saved:
            saved.append(write_answers(work(root)))
        return made

    monkeypatch.setattr(workspace.carry_over, "merge", slow)
    assert workspace.update(at(root), say=said.append) == 0
    assert {ANSWER, OWN, GONE, "text intro2"} <= set(texts(work(root)))


def test_two_at_once_wait_for_each_other(root, said, monkeypatch):
    workspace.start(at(root), said.append)
    monkeypatch.setattr(workspace, "PATIENCE", 0.05)
    with workspace.filelock.FileLock(str(root / "work" / ".lock")):
        assert workspace.update(at(root), say=said.append) == 1
    assert "is at work in" in said[-1]


def test_leftovers_of_a_killed_run_are_cleared_away(root, said):
    workspace.start(at(root), said.append)
    left = [root / "work" / UNIT / f".x.1{files.LEFTOVER}", root / "course" / f".y.2{files.LEFTOVER}"]
    for path in left:
        path.write_text("{")
    assert workspace.update(at(root), course(root.parent / "new", SECOND), said.append) == 0
    assert not any(p.exists() for p in left)


def test_only_ordinary_files_of_a_bounded_size_are_read(tmp_path):
    path, pipe = tmp_path / "file", tmp_path / "pipe"
    path.write_bytes(b"abc")
    os.mkfifo(pipe)
    assert files.read(path) == b"abc" == files.read(path, 3)
    for odd, most, why in ((path, 2, errno.EFBIG), (pipe, 9, errno.EINVAL), (tmp_path, 9, errno.EINVAL)):
        with pytest.raises(OSError) as refused:
            files.read(odd, most)
        assert refused.value.errno == why and refused.value.filename == str(odd)


def test_no_hard_links_no_loss(root, said, monkeypatch):
    def no(*paths):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no)
    assert workspace.start(at(root), said.append) == 0 and texts(work(root)) == sources(FIRST)
    assert not files.write_new(work(root), b"x") and texts(work(root)) == sources(FIRST)


def test_the_command_line(root, monkeypatch, capsys):
    monkeypatch.chdir(root)
    assert workspace.main(["start"]) == 0 and workspace.main(["update"]) == 0
    assert "make update FROM=" in capsys.readouterr().out
    monkeypatch.chdir("/")
    assert (installation.course_root() / "course" / "anatomy").is_dir()
    assert releases.WANTED.startswith("FROM must be")


def test_exercises_added_later_are_stubs_in_the_learners_copy(root, said):
    workspace.start(at(root), said.append)
    write_answers(work(root))
    course(root, book(*FIRST["cells"], *exercise(7)))
    assert workspace.update(at(root), say=said.append) == 0
    now = parse(work(root).read_bytes())
    assert [c["id"] for c in now["cells"]][-3:] == ["say-x-7", "solve-x-7", "check-x-7"]
    assert json.loads(to_bytes(now)) and plain(now)["cells"][-2]["source"].startswith("def f7")

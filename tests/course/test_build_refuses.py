"""make build doesn't overwrite edits, make preview leaves them alone, and make release refuses to ship them."""

import json

import pytest
from anatomy.app.build_stamp import is_as_built, parse, sign, to_bytes

from autograder import exercises
from autograder.build import __main__ as build
from autograder.build import package, preview
from autograder.notebooks import generated
from autograder.notebooks.source import SourceError

from .toy import FIRST, SECOND, UNIT, book, cell, course, edit, text


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A checkout in which one unit was built, but whose source is newer."""
    course(tmp_path)
    notes = tmp_path / "assets" / "units" / "00.json"
    made = {release(tmp_path): to_bytes(SECOND), notes: b"new"}
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "all_outputs", lambda: made)
    return tmp_path


def release(root):
    return root / "course" / UNIT / f"{UNIT}.ipynb"


def test_what_the_last_build_wrote_is_written_over(root, capsys):
    (root / "assets" / "units").mkdir(parents=True)
    (root / "assets" / "units" / "00.json").write_text("not a notebook: nobody's answers")
    assert build.main([]) == 0 and release(root).read_bytes() == to_bytes(SECOND)
    assert (root / "assets" / "units" / "00.json").read_bytes() == b"new"
    assert build.main([]) == 0 and "2 generated files are up to date" in capsys.readouterr().out
    assert not (root / "build").exists()


CHANGES = {
    "an answer": lambda b: edit(b, "solve-x-1", "answered"),
    "an output": lambda b: b["cells"][2].update(outputs=[{"output_type": "stream", "name": "stdout", "text": "x"}]),
    "a count": lambda b: b["cells"][2].update(execution_count=1),
    "a cell more": lambda b: b["cells"].append(cell("mine", "x")),
    "a cell less": lambda b: b["cells"].pop(),
    "a tag": lambda b: b["cells"][0]["metadata"].update(tags=["x"]),
    "a kernel": lambda b: b["metadata"].update(kernelspec={"name": "mine"}),
    "no fingerprint": lambda b: b["metadata"].clear(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_anything_else_is_not(change, root, capsys):
    made = parse(to_bytes(FIRST))
    change(made)
    release(root).write_bytes(to_bytes(made))
    assert build.main([]) == 1
    said = capsys.readouterr().err
    assert f"course/{UNIT}/{UNIT}.ipynb holds something that the last build did not write" in said
    assert "make lab" in said and "make build ARGS=--replace" in said and "build/replaced/" in said
    assert release(root).read_bytes() == to_bytes(made) and not (root / "assets").exists(), "nothing is written at all"
    assert build.main(["--replace"]) == 0 and release(root).read_bytes() == to_bytes(SECOND)
    copies = list((root / "build" / "replaced").glob(f"*/course/{UNIT}/{UNIT}.ipynb"))
    assert [c.read_bytes() for c in copies] == [to_bytes(made)]


def test_a_file_that_cannot_be_read_as_a_notebook_is_not_either(root, capsys):
    release(root).write_bytes(b'{"cells": [')
    assert build.main([]) == 1 and release(root).read_bytes() == b'{"cells": ['


def test_what_is_already_as_the_build_would_write_it_is_never_refused(root, monkeypatch):
    odd = b"no notebook at all"
    release(root).write_bytes(odd)
    monkeypatch.setattr(build, "all_outputs", lambda: {release(root): odd})
    assert build.main([]) == 0


@pytest.mark.parametrize("unit", [exercises.units()[0], exercises.units()[-1]])
def test_every_generated_notebook_carries_its_fingerprint(unit):
    made = [parse(b) for p, b in build.outputs(unit).items() if p.suffix == ".ipynb"]
    assert len(made) == 2 and all(map(is_as_built, made))
    assert {b["metadata"]["anatomy"]["unit"] for b in made} == {unit}
    assert all(set(b["metadata"]["anatomy"]["cells"]) == {c["id"] for c in b["cells"]} for b in made)


def test_the_preview_is_beside_the_course_and_keeps_what_was_tried_in_it(root, capsys):
    before = release(root).read_bytes()
    made = {
        release(root): to_bytes(FIRST),
        root / "solutions" / UNIT / f"{UNIT}.ipynb": to_bytes(SECOND),
        root / "assets" / "units" / "00.json": b"{}",
    }
    files = preview.preview_files(made, root)
    place = root / "build" / "preview"
    assert files == {
        place / "course" / UNIT / f"{UNIT}.ipynb": to_bytes(FIRST),
        place / "solved" / UNIT / f"{UNIT}.ipynb": to_bytes(SECOND),
        place / "texts" / "units" / "00.json": b"{}",
    }
    preview.write(files, root)
    assert all(p.read_bytes() == b for p, b in files.items()) and release(root).read_bytes() == before
    tried = place / "course" / UNIT / f"{UNIT}.ipynb"
    tried.write_bytes(to_bytes(sign(book(text("x")), UNIT) | {"nbformat_minor": 4}))
    preview.write(files, root)
    assert tried.read_bytes() == to_bytes(FIRST) and "what you wrote into the last preview" in capsys.readouterr().out
    assert len(list((root / "build" / "replaced").rglob("*.ipynb"))) == 1


def test_two_copies_of_the_same_second_are_both_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(generated.time, "strftime", lambda *_: "20260101T000000Z")
    notebook = tmp_path / "a.ipynb"
    for answer in (b"first", b"second", b"third"):
        notebook.write_bytes(answer)
        generated.keep_copies([notebook], tmp_path)
    kept = (tmp_path / "build" / "replaced").rglob("a.ipynb")
    assert sorted(p.read_bytes() for p in kept) == [b"first", b"second", b"third"]


def test_a_preview_of_an_unknown_unit_is_one_sentence(capsys):
    assert preview.main(["--unit", "99-nothing", "--no-lab"]) == 2
    assert "There is no unit '99-nothing'" in capsys.readouterr().err


def test_a_source_that_cannot_be_built_makes_no_package(monkeypatch, tmp_path, capsys):
    def broken():
        raise SourceError("00-start-here, cell 3: no END SOLUTION")

    monkeypatch.setattr(build, "all_outputs", broken)
    assert package.main(["--out", str(tmp_path)]) == 1 and not list(tmp_path.iterdir())
    assert "release: 00-start-here, cell 3" in capsys.readouterr().err


def test_a_stray_notebook_with_answers_does_not_travel(root, monkeypatch, capsys):
    """Checks every notebook that git tracks in course/, not only those that the build writes."""
    stray = root / "course" / UNIT / "scratch.ipynb"
    stray.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}))
    monkeypatch.setattr(build, "all_outputs", dict)
    names = [p.relative_to(root).as_posix() for p in root.rglob("*.ipynb")]
    monkeypatch.setattr(package, "contents", lambda root: dict.fromkeys(names, b""))
    assert package.unfit(root) == [
        f"course/{UNIT}/scratch.ipynb holds something that no build wrote (answers? `make lab` takes them over)"
    ]

"""``anatomy check``: a notebook's answers from a terminal, one line for each exercise, and an exit status."""

import json

import pytest
from anatomy.app import command
from anatomy.parts import apart
from anatomy.parts.command import first_sentence

from .learners_folder import answers, cell_of, own_cell, released, save, write_folder

UNIT, SOFTMAX, FAMILIES = "01-attention", "attention.softmax", "attention.families"
TWO = ["--only", SOFTMAX, "--only", "attention.split_heads"]


def checked(capsys, *words):
    """(exit status, lines of the output, text of the errors)."""
    status = command.main(["check", *map(str, words)])
    said = capsys.readouterr()
    return status, said.out.splitlines(), said.err


def unit_with(folder, **others):
    """Path of the solved unit with other answers to some exercises."""
    return write_folder(folder, [UNIT], **others) / UNIT / f"{UNIT}.ipynb"


def test_a_solved_notebook_passes_by_its_status_and_is_only_read(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ANATOMY_HOME", str(tmp_path / "home"))
    folder = tmp_path / "mine"
    path = unit_with(folder, attention_families=None)
    before = path.read_bytes(), path.stat().st_mtime_ns
    status, lines, errors = checked(capsys, path)
    assert (status, errors) == (0, "")
    assert f"✓ {SOFTMAX}: passed" in lines and f"· {FAMILIES} (extension): nothing is written yet" in lines
    assert lines[-1] == f"{UNIT}: 6/6 exercises, extensions 3 of 4" and len(lines) == 11
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before and [*folder.rglob("*.*")] == [path]
    assert not (tmp_path / "home" / "progress.json").exists(), "it is no try of the learner's"


def test_a_wrong_answer_is_a_line_with_the_first_sentence_of_its_check(tmp_path, capsys):
    wrong = "def softmax(x, dim=-1):\n    print('noise')\n    e = x.exp()\n    return e / e.sum()\n"
    path = unit_with(tmp_path, attention_softmax=wrong)
    status, lines, _ = checked(capsys, path, *TWO)
    assert status == 1 and lines[1] == "✓ attention.split_heads: passed"
    assert lines[0].startswith(f"✗ {SOFTMAX}: ") and lines[0].endswith(".") and "noise" not in lines[0]
    assert ". " not in lines[0] and "does not pass as saved" not in lines[0]
    status, lines, _ = checked(capsys, path, *TWO, "--json")
    rows = json.loads("\n".join(lines))
    assert status == 1 and [(r["exercise"], r["state"], r["points"]) for r in rows] == [
        (SOFTMAX, "failed", 2),
        ("attention.split_heads", "passed", 2),
    ]


def test_answers_that_never_end_or_end_python_cost_only_themselves(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(apart, "COMPUTES", 4.0)
    endless, ends = (
        "def softmax(x, dim=-1):\n    while True:\n        pass\n",
        "import os\n\ndef split_heads(x, n_heads):\n    os._exit(0)\n\ndef merge_heads(x):\n    return x\n",
    )
    path = unit_with(tmp_path, attention_softmax=endless, attention_split_heads=ends)
    status, lines, _ = checked(capsys, path, *TWO, "--only", "attention.padding_mask")
    assert status == 1 and "computed for more than 4 s" in lines[0] and "ended Python" in lines[1]
    assert lines[2] == "✓ attention.padding_mask: passed"


def test_a_helper_beside_the_notebook_is_found(tmp_path, capsys):
    path = unit_with(tmp_path, attention_softmax="from helpers import softmax\n")
    path.with_name("helpers.py").write_text("def softmax(x, dim=-1):\n    return x.softmax(dim)\n")
    _, lines, _ = checked(capsys, path, "--only", SOFTMAX)
    assert lines[0].startswith(f"✗ {SOFTMAX}: ") and "softmax" in lines[0], "torch's own is not allowed here"
    assert "No module" not in lines[0]


def test_a_folder_is_all_its_units_and_a_renamed_notebook_is_known(tmp_path, capsys):
    write_folder(tmp_path, [UNIT])
    book = released(UNIT)
    cell_of(book, "solve-attention-softmax")["source"] = answers()[SOFTMAX]
    book["metadata"].pop("anatomy")
    book["cells"].append(own_cell("1 +"))
    lost = save(tmp_path / "elsewhere", "homework", book)
    status, lines, _ = checked(capsys, lost, tmp_path, *TWO)
    assert status == 1 and lines[:2] == [f"✓ {SOFTMAX}: passed", "· attention.split_heads: nothing is written yet"]
    assert lines[2:] == [f"✓ {SOFTMAX}: passed", "✓ attention.split_heads: passed"]


@pytest.mark.parametrize(
    "words, said",
    [
        (["gone.ipynb"], "there is no file gone.ipynb"),
        (["empty"], "there is no notebook of the course in empty"),
        (["bad.ipynb"], "bad.ipynb cannot be read, it cannot be read as JSON."),
        (["other.ipynb"], "other.ipynb is no notebook of a unit"),
        ([UNIT, "--only", "attention.sofmax"], "there is no exercise 'attention.sofmax'"),
        ([UNIT, "--only", "rope.stretch"], "none of these notebooks asks for rope.stretch"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(words, said, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.ipynb").write_text("{")
    book = released(UNIT) | {"metadata": {}, "cells": [own_cell("1")]}
    (tmp_path / "other.ipynb").write_text(json.dumps(book))
    write_folder(tmp_path, [UNIT])
    status, lines, errors = checked(capsys, *words)
    assert (status, lines) == (2, []) and errors.startswith(f"check: {said}") and errors.count("\n") == 1


def test_a_sentence_ends_where_a_reader_would_say_so():
    assert first_sentence("No scaling by `1/d**0.5`. Divide.") == "No scaling by `1/d**0.5`."
    assert first_sentence("It gives x.shape[-1] e.g. for 3. Then") == "It gives x.shape[-1] e.g. for 3."
    assert first_sentence("缺少缩放。请除以它。") == "缺少缩放。"
    assert first_sentence("no end") == "no end"

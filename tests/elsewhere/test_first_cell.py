"""The first cell: does nothing at home, everything on Colab and Kaggle, and never asks pip for torch."""

import ast
import json
import re

import nbformat
import pytest

from autograder import ROOT, exercises
from autograder.notebooks.address import Address, read
from autograder.notebooks.first_cell import FIRST_CELL, first_cell

from .host import COLAB, KAGGLE, Host

BOOKS = [*exercises.units(), "gallery"]
PUBLIC = Address("ada", "transformer-anatomy", "main", read().version)
NOWHERE = Address("", "", "main", read().version)
CELL = first_cell("01-attention", PUBLIC).source
BY_HAND = first_cell("01-attention", NOWHERE).source
ANSWER = """
from anatomy import evaluate, progress
from anatomy import check
check("start.weighted_average", lambda values, weights: weights @ values / weights.sum())
print(repr(progress("00-start-here")))
"""


@pytest.mark.parametrize("unit", BOOKS)
def test_every_notebook_has_it_below_its_title(unit):
    book = nbformat.read(ROOT / "course" / unit / f"{unit}.ipynb", as_version=4)
    cell = book.cells[1]
    assert book.cells[0].source.startswith("# ") and cell.id == FIRST_CELL
    assert sum(c.id == FIRST_CELL for c in book.cells) == 1
    assert "nbgrader" not in cell.metadata and "setup" not in cell.metadata.tags, "grading has no use for it"
    folded = cell.metadata["jupyter"]["source_hidden"], cell.metadata["_kg_hide-input"], cell.metadata["cellView"]
    assert folded == (True, True, "form") and cell.source == first_cell(unit, read()).source
    assert f'"{unit}"' in cell.source


@pytest.mark.parametrize("text", [CELL, BY_HAND])
def test_it_is_short_and_leaves_no_name_that_an_answer_might_use(text):
    assert len(text.split("\n")) <= 8 and text.startswith("# @title ")
    at_home = [n for n in ast.parse(text).body if not isinstance(n, ast.If)]
    names = {t.id for n in at_home if isinstance(n, ast.Assign) for t in n.targets}
    names |= {a.asname or a.name for n in at_home if isinstance(n, ast.Import) for a in n.names}
    assert names == {"keep_in_drive", "_os"}


@pytest.mark.parametrize("text", [CELL, BY_HAND])
@pytest.mark.parametrize("env", [{}, {"JUPYTERHUB_USER": "ada"}, {"VSCODE_PID": "1"}, {"CODESPACES": "true"}])
def test_at_home_it_does_nothing_at_once_and_silently(tmp_path, text, env):
    host = Host(tmp_path)
    ran = host.run(
        f"import time; modules, start = set(sys.modules), time.perf_counter()\nexec({text!r}, {{}})",
        after="print(round(1000 * (time.perf_counter() - start)), sorted(set(sys.modules) - modules))",
        **env,
    )
    took, _, imported = ran.out.partition(" ")
    assert ran.status == 0 and not ran.error and not ran.pip, ran.error
    assert int(took) < 10 and imported == "[]\n"


def test_colab_gets_the_course_and_keeps_torch(tmp_path):
    host = Host(tmp_path)
    ran = host.run(CELL, before=host.mounts, after=ANSWER, **COLAB)
    assert ran.status == 0, ran.error
    asked = [argument for call in ran.pip for argument in call]
    assert f"{PUBLIC.repository}/releases/download/v{PUBLIC.version}/{PUBLIC.wheel}" in asked
    assert not re.search(r"\btorch\b", " ".join(asked)) and all("--no-deps" in call for call in ran.pip)
    assert ran.out.count("WIDGETS") == 1 and ran.out.count("MOUNTED") == 1
    assert "Progress is kept in your Drive" in ran.out and "call it 01-attention.ipynb" in ran.out
    kept = json.loads((host.drive / "MyDrive" / "transformer-anatomy" / "progress" / "progress.json").read_text())
    assert kept["start.weighted_average"]["passed_on_try"] == 1 and not host.home.exists()
    assert ran.out.count("File, Download, Download .ipynb") == 2, "progress says it again"


def test_a_second_run_of_the_cell_changes_nothing(tmp_path):
    host = Host(tmp_path)
    ran = host.run(CELL, before=host.mounts, after=f"print('AGAIN')\n{CELL}\n{ANSWER}", **COLAB, OFFLINE="")
    assert ran.status == 0, ran.error
    first, _, again = ran.out.partition("AGAIN")
    assert "Progress is kept in your Drive" in again and "MOUNTED" not in again


@pytest.mark.parametrize("text, env", [(CELL, {"DECLINES": "1"}), (CELL.replace("= True ", "= False "), {})])
def test_who_wants_no_drive_is_told_what_is_lost(tmp_path, text, env):
    host = Host(tmp_path)
    ran = host.run(text, before=host.mounts, after=ANSWER, **COLAB, **env)
    assert ran.status == 0, ran.error
    assert ("MOUNTED" in ran.out) == bool(env), "no window opens for who said no"
    assert ran.out.count("Progress vanishes with this machine") == 2 and not host.drive.exists()
    assert (host.home / "transformer-anatomy" / "progress.json").is_file()


def test_what_was_done_before_drive_was_connected_goes_along(tmp_path):
    host = Host(tmp_path)
    assert host.run(CELL.replace("= True ", "= False "), before=host.mounts, after=ANSWER, **COLAB).status == 0
    later = {"mask.causal": {"tries": 3, "best": 1.0, "passed_on_try": 3}}
    there = host.drive / "MyDrive" / "transformer-anatomy" / "progress" / "progress.json"
    there.parent.mkdir(parents=True)
    there.write_text(json.dumps(later))
    (host.site / "anatomy").unlink()
    ran = host.run(CELL, before=host.mounts, **COLAB)
    assert ran.status == 0, ran.error
    kept = json.loads(there.read_text())
    assert kept["mask.causal"]["tries"] == 3 and kept["start.weighted_average"]["passed_on_try"] == 1


@pytest.mark.parametrize("text, says", [(CELL, "is there a network?"), (BY_HAND, PUBLIC.wheel)])
@pytest.mark.parametrize("place", [COLAB, KAGGLE])
def test_without_network_or_file_one_sentence_says_what_to_do(tmp_path, text, says, place):
    host = Host(tmp_path)
    ran = host.run(text, before=host.mounts, after="print('WENT ON')", **place, OFFLINE="1")
    assert ran.status == 1 and "WENT ON" not in ran.out
    said = ran.error.replace("ERROR: Could not find a version that satisfies the requirement\n", "")
    assert says in said and "Kaggle" in said and "run this cell again" in said and said.count("\n") == 1, said


def test_without_a_public_address_the_course_comes_from_a_file_and_never_from_an_index(tmp_path):
    host = Host(tmp_path)
    ran = host.run(BY_HAND, before=host.mounts, **COLAB)
    assert ran.status == 0, ran.error
    (call,) = [call for call in ran.pip if any("transformer" in a for a in call)]
    assert "--no-index" in call and f"transformer-anatomy=={NOWHERE.version}" in call
    assert {".", "drive/MyDrive", "/kaggle/input/transformer-anatomy"} <= set(call)
    assert not any("torch" in argument for call in ran.pip for argument in call)


def test_the_course_in_a_folder_of_ones_own_is_used_where_pip_has_nothing(tmp_path):
    """As docs/students.md describes for the zip: the learner's own first cell has made it importable."""
    host = Host(tmp_path, installed=True)
    ran = host.run(BY_HAND, before=host.mounts, **COLAB, OFFLINE="1", ANATOMY_HOME=str(tmp_path / "mine"))
    assert ran.status == 0 and "is ready" in ran.out, ran.error
    assert "MOUNTED" not in ran.out, "they chose a place for their progress"


def test_kaggle_keeps_progress_in_its_working_folder(tmp_path):
    host = Host(tmp_path)
    ran = host.run(CELL, before=host.mounts, after=ANSWER, **KAGGLE)
    assert ran.status == 0, ran.error
    assert "WIDGETS" not in ran.out and "MOUNTED" not in ran.out, "Colab's image is not Colab"
    assert "Persistence" in ran.out and "pictures where widgets were" in ran.out
    assert (host.folder / "working" / "transformer-anatomy" / "progress.json").is_file()


def test_another_version_is_named_with_what_to_do(tmp_path):
    """If it is loaded but was replaced on disk: restart. Otherwise notebook and package do not match."""
    host = Host(tmp_path)
    newer = CELL.replace(f'"{PUBLIC.version}"', '"9.9.9"')
    ran = host.run(newer, before=host.mounts, **COLAB)
    assert ran.status == 1 and "version 9.9.9" in ran.error and f"version {PUBLIC.version} is installed" in ran.error
    replaced = "import anatomy.system.hosted as e\ne.read_address = lambda: {'version': '9.9.9'}\n"
    ran = Host(tmp_path / "b", installed=True).run(newer, before=replaced, **COLAB)
    assert ran.status == 1 and "Runtime, Restart session, then run this cell again" in ran.error

"""The first cell in learners' existing notebooks: an update adds it, and keeps what learners changed in it."""

import copy
import json

import nbformat
import pytest
from anatomy.app import carry_over
from anatomy.app.build_stamp import mark, parse, plain, sign, text_of

from autograder import ROOT
from autograder.grading.intake import rebuild
from autograder.notebooks.address import Address
from autograder.notebooks.first_cell import FIRST_CELL, first_cell, is_first_cell

UNIT = "00-start-here"
RELEASE = parse((ROOT / "course" / UNIT / f"{UNIT}.ipynb").read_bytes())
ANSWER = "def weighted_average(values, weights):\n    return weights @ values / weights.sum()"


def place(book):
    return [c.get("id") for c in book["cells"]].index(FIRST_CELL)


def edited(book, old, new):
    work = copy.deepcopy(book)
    cell = work["cells"][place(work)]
    assert old in text_of(cell)
    cell["source"] = text_of(cell).replace(old, new)
    return work


def released(version):
    """A release of another version: the same notebook with a different first cell."""
    book = copy.deepcopy(RELEASE)
    book["cells"][place(book)]["source"] = first_cell(UNIT, Address("ada", "anatomy", "main", version)).source
    return sign(book, UNIT)


def test_a_notebook_from_before_gets_it_and_keeps_everything():
    old = copy.deepcopy(RELEASE)
    del old["cells"][place(old)]
    sign(old, UNIT)
    next(c for c in old["cells"] if c["id"].startswith("solve-"))["source"] = ANSWER
    mine = {"cell_type": "code", "id": "mine", "metadata": {}, "source": "x = 1", "outputs": []}
    old["cells"].insert(3, mine)
    made, report = carry_over.merge(old, RELEASE)
    assert place(made) == 1 and sum(c["id"] == FIRST_CELL for c in made["cells"]) == 1
    assert report == carry_over.Carried(answers=1, cells=1) and mine in made["cells"]
    again, _ = carry_over.merge(made, RELEASE)
    assert plain(again) == plain(made)


def test_a_switch_stays_as_it_was_set_in_every_later_release():
    work = edited(RELEASE, "= True  # @param", "= False  # @param")
    made, report = carry_over.merge(work, RELEASE)
    assert text_of(made["cells"][1]) == text_of(work["cells"][1])
    for version in ("8.0.0", "9.0.0"):
        made, report = carry_over.merge(made, released(version))
        text = text_of(made["cells"][1])
        assert "keep_in_drive = False  # @param" in text and version in text
        assert report == carry_over.Carried(cells=1) and len(made["cells"]) == len(RELEASE["cells"])


def test_any_other_change_to_it_is_never_lost():
    work = edited(RELEASE, "import os as _os", "import os as _os, my_helpers")
    made, report = carry_over.merge(work, RELEASE)
    assert "my_helpers" in text_of(made["cells"][1]) and report == carry_over.Carried(cells=1)
    made, report = carry_over.merge(work, released("9.0.0"))
    assert "9.0.0" in text_of(made["cells"][1]) and report == carry_over.Carried(kept=1)
    assert made["cells"][-1]["cell_type"] == "raw" and "my_helpers" in text_of(made["cells"][-1])


def test_an_untouched_one_is_replaced_without_a_word():
    made, report = carry_over.merge(RELEASE, released("9.0.0"))
    assert plain(made)["cells"] == plain(released("9.0.0"))["cells"] and report == carry_over.Carried()


def test_a_switch_is_kept_too_where_a_program_lost_the_marks():
    work = edited(RELEASE, "= True  # @param", "= False  # @param")
    del work["metadata"]["anatomy"]
    made, report = carry_over.merge(work, released("9.0.0"))
    assert report.kept == 1 and "= False  # @param" in text_of(made["cells"][-1])


def test_both_at_once_are_no_mere_switch():
    work = edited(RELEASE, "= True  # @param", "= False  # @param")
    work = edited(work, "import os as _os", "import os as _os, my_helpers")
    made, report = carry_over.merge(work, released("9.0.0"))
    assert report == carry_over.Carried(kept=1) and "my_helpers" in text_of(made["cells"][-1])


@pytest.mark.parametrize("old, new", [("True  # @param", "False  # @param"), ("import os as _os", "raise SystemExit")])
def test_grading_runs_neither_it_nor_what_was_made_of_it(old, new):
    work = edited(RELEASE, old, new)
    work["cells"][place(work)]["outputs"] = []
    next(c for c in work["cells"] if c["id"].startswith("solve-"))["source"] = ANSWER
    rebuilt = rebuild.rebuild(json.dumps(work).encode(), UNIT)
    cell = next(c for c in rebuilt.notebook.cells if c.id == FIRST_CELL)
    assert cell.metadata[rebuild.MARK]["role"] == "demo" and mark(cell) == mark(RELEASE["cells"][1])
    assert not [c for c in rebuilt.notebook.cells if c.metadata[rebuild.MARK]["role"] == "extra"]
    assert not rebuilt.notes and not rebuilt.absent


@pytest.mark.parametrize("version", [None, "8.0.0"])
def test_grading_knows_it_where_a_program_lost_ids_and_marks(version):
    """As Colab saves a notebook; the learner has changed a switch, or has another release's cell."""
    work = edited(released(version) if version else RELEASE, "= True  # @param", "= False  # @param")
    next(c for c in work["cells"] if c["id"].startswith("solve-"))["source"] = ANSWER
    for cell in work["cells"]:
        del cell["id"]
        cell["metadata"] = {}
    work["metadata"], work["nbformat_minor"] = {}, 0
    rebuilt = rebuild.rebuild(json.dumps(work).encode(), UNIT)
    ran = [c.source for c in rebuilt.notebook.cells if c.metadata[rebuild.MARK]["role"] in ("answer", "extra")]
    assert ran == [ANSWER], "neither run nor held against anybody"


def test_a_cell_with_more_in_it_is_a_learners_own():
    text = text_of(RELEASE["cells"][1])
    assert is_first_cell(text) and is_first_cell(text.replace("\n", "\r\n") + "\n")
    for more in (f"{text}\nx = 1", f"x = 1\n{text}", text.replace("True  # @param", "f()  # @param"), ANSWER, ""):
        assert not is_first_cell(more), more
    assert not is_first_cell(text.replace('_os.system("pip', '_os.system("x"); f("pip'))


def test_it_counts_in_no_minutes_and_stands_in_no_description_of_the_unit():
    source = nbformat.read(ROOT / "solutions" / UNIT / f"{UNIT}.ipynb", as_version=4)
    assert source.cells[1].id == FIRST_CELL
    text = json.loads((ROOT / "assets" / "units" / f"{UNIT}.json").read_text(encoding="utf-8"))
    assert FIRST_CELL not in text["extension_cells"] and mark(RELEASE["cells"][1]) not in json.dumps(text["claims"])

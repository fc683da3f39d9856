"""What is copied from a submission, what is not, and one clear message for each way a file can be wrong."""

import copy
import json
import re
import time

import pytest

from autograder.grading.base.masters import MARK, UnknownUnit, gradable_units, master
from autograder.grading.intake.rebuild import MAX_NOTES, BadSubmission, read_submission, rebuild

from .cheats.base import ATTENTION, CHECK, SOLVE, START, code_cell, find, insert_before, released
from .classroom import notebook


def roles(result):
    return [c.metadata[MARK]["role"] for c in result.notebook.cells if c.cell_type == "code"]


def extras(result):
    return [c.source for c in result.notebook.cells if c.metadata[MARK]["role"] == "extra"]


def built(book):
    return rebuild(json.dumps(book).encode(), START)


def by_grade_id(result, name):
    return next(c for c in result.notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == name)


@pytest.mark.parametrize("unit", gradable_units())
def test_an_untouched_notebook_comes_back_as_the_course_gave_it(unit):
    trusted = master(unit)
    result = rebuild(json.dumps(released(unit)).encode(), unit)
    assert not result.notes and not result.absent and not extras(result)
    assert [c.source for c in result.notebook.cells] == [c.source for c in trusted.notebook.cells]
    assert roles(result).count("check") == roles(result).count("answer") == len(trusted.exercises)
    assert "setup" in roles(result)


def test_only_the_answer_and_own_cells_are_taken_over():
    book = released()
    find(book, SOLVE)["source"] = ["x = 1\n", "y = 2"]
    insert_before(book, SOLVE, code_cell("helper = 3"))
    for cell in book["cells"]:
        if cell["cell_type"] == "markdown" and "nbgrader" not in cell["metadata"]:
            cell["source"] = "<script>alert(1)</script>"
        cell["metadata"]["extra"] = "anything"
    book["metadata"]["evil"] = True
    result = built(book)
    assert by_grade_id(result, SOLVE).source == "x = 1\ny = 2"
    assert extras(result) == ["helper = 3"]
    order = [c.source for c in result.notebook.cells]
    assert order.index("helper = 3") < order.index("x = 1\ny = 2")
    text = json.dumps(result.notebook)
    assert "alert" not in text and "evil" not in text and '"extra": "anything"' not in text


def test_a_demo_cell_of_the_course_is_not_run_even_if_it_was_edited():
    book = released()
    demo = next(
        c
        for c in book["cells"]
        if "environment_report()" in "".join(c["source"])
        and c["cell_type"] == "code"
        and "import" not in "".join(c["source"])
    )
    demo["source"] = "raise SystemExit"
    copied = code_cell("environment_report()")
    book["cells"].append(copied)
    assert extras(built(book)) == []


def test_an_edited_setup_cell_runs_after_the_courses_own():
    book = released()
    setup = next(c for c in book["cells"] if "setup" in c["metadata"].get("tags", []))
    setup["source"] = "import math\n" + "".join(setup["source"])
    assert extras(built(book)) == [setup["source"]]


def test_cells_without_ids_and_cells_above_everything():
    book = released()
    for cell in book["cells"]:
        del cell["id"]
    book["cells"].insert(0, {"cell_type": "code", "source": "first = 1", "metadata": {}, "outputs": []})
    result = built(book)
    assert "first = 1" in extras(result)
    kinds = [c.metadata[MARK]["role"] for c in result.notebook.cells]
    assert kinds.index("setup") < kinds.index("extra")


def test_marks_lost_but_ids_kept():
    book = released()
    find(book, SOLVE)["source"] = "mine = 1"
    for cell in book["cells"]:
        cell["metadata"] = {}
    result = built(book)
    assert by_grade_id(result, SOLVE).source == "mine = 1"
    assert [n.name for n in result.notes] == ["submission.marks_lost"]


def test_cells_that_were_copied_are_no_sign_of_cheating():
    book = released()
    book["cells"] += copy.deepcopy(book["cells"])
    assert not any(n.suspicious for n in built(book).notes)
    find(book, CHECK)["source"] = "1.0"
    assert [n.name for n in built(book).notes if n.suspicious] == ["submission.check_altered"]


def test_another_units_notebook_is_named():
    with pytest.raises(BadSubmission, match=f"the notebook of {ATTENTION}, not of {START}") as caught:
        rebuild(notebook(unit=ATTENTION), START)
    assert caught.value.name == "submission.other_unit"


def test_a_missing_answer_is_said_and_the_rest_is_graded():
    book = released()
    book["cells"].remove(find(book, SOLVE))
    result = built(book)
    assert result.absent == {"start.weighted_average"}
    assert by_grade_id(result, SOLVE).source == ""
    assert "not in the submission, and no other cell defines weighted_average" in result.notes[0].sentence


BROKEN = {
    "submission.empty_file": [b"", b" \n", b"\0" * 1000],
    "submission.not_json": [b"{", b"\xff\xfe\x00", b"%PDF-1.4", b"[" * 100_000, b"{'cells': []}"],
    "submission.not_a_notebook": [
        b"[]",
        b"3",
        b"null",
        b"{}",
        b'{"cells": {}}',
        b'{"worksheets": [7]}',
        b'{"worksheets": 7}',
    ],
    "submission.no_marks": [
        b'{"cells": []}',
        b'{"worksheets": [{"cells": []}]}',
        b'{"cells": [1, null, "x", {"metadata": 5}, {"id": 7, "source": 3}]}',
        json.dumps({"cells": [code_cell("def weighted_average(): pass")]}).encode(),
    ],
}


@pytest.mark.parametrize(
    "name, data", [pytest.param(n, d, id=f"{n}-{i}") for n, ds in BROKEN.items() for i, d in enumerate(ds)]
)
def test_a_file_that_is_no_notebook_gets_one_clear_message(name, data):
    with pytest.raises(BadSubmission) as caught:
        rebuild(data, START)
    assert caught.value.name == name
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


BOOK = json.dumps({"cells": []}, indent=1)
MERGED = BOOK.replace("[]", "[\n<<<<<<< HEAD\n=======\n>>>>>>> other\n]").encode()


@pytest.mark.parametrize(
    "data, words",
    [
        (b"%PDF-1.4 ...", "a PDF"),
        (b"PK\x03\x04" + b"\0" * 30, "a zip archive"),
        (b"\n<!DOCTYPE html><html></html>", "a web page"),
        (b"import torch\n\ndef f(x): return x\n", "a Python script"),
        (BOOK[:-4].encode(), "cut off on the way"),
        (MERGED, "from line 3 on"),
        ('{"cells": ["作业"]}'.encode("gbk"), "not in UTF-8"),
        ('{"cells": ["работа"]}'.encode("cp1251"), "not in UTF-8"),
        (BOOK.replace(":", "=").encode(), "(line 2)"),
    ],
)
def test_a_file_that_is_no_notebook_is_called_what_it_is(data, words):
    with pytest.raises(BadSubmission, match=re.escape(words)) as caught:
        rebuild(data, START)
    assert words == "cut off on the way" or "cut off" not in str(caught.value)


@pytest.mark.parametrize("code", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_notebook_in_another_encoding_is_read(code):
    assert built(released()).notebook == rebuild(json.dumps(released()).encode(code), START).notebook


@pytest.mark.parametrize(
    "odd",
    [
        {"source": None},
        {"source": [1, {"a": 2}]},
        {"metadata": None},
        {"metadata": {"nbgrader": "x"}},
        {"metadata": {"nbgrader": {"grade_id": 5}}},
        {"cell_type": ["code"]},
        {"id": {"a": 1}},
        {"outputs": 7},
        {"source": "\ud800 lone surrogate"},
        {"metadata": {"tags": 5}},
    ],
)
def test_odd_values_in_a_cell_raise_nothing(odd):
    book = released()
    for cell in list(book["cells"]):
        book["cells"].append({**copy.deepcopy(cell), **odd})
    json.dumps(built(book).notebook).encode()


def test_unknown_unit():
    with pytest.raises(UnknownUnit, match="There is no unit '99-nothing'.*00-start-here"):
        rebuild(b"{}", "99-nothing")


def test_reading_a_file(tmp_path):
    path = tmp_path / "a.ipynb"
    with pytest.raises(BadSubmission, match="no file"):
        read_submission(path)
    path.write_bytes(b"{}")
    link = tmp_path / "b.ipynb"
    link.symlink_to(path)
    with pytest.raises(BadSubmission, match="not a regular file"):
        read_submission(link)
    with pytest.raises(BadSubmission, match="is a folder"):
        read_submission(tmp_path)
    with open(path, "wb") as file:
        file.truncate(101 << 20)
    with pytest.raises(BadSubmission, match="Clear the outputs"):
        read_submission(path)


def test_many_and_long_cells_are_cut():
    book = released()
    book["cells"] += [code_cell(f"x{i} = {i}") for i in range(600)]
    book["cells"].append(code_cell("#" * 300_000))
    result = built(book)
    assert len(extras(result)) == 500
    assert "submission.many_cells" in [n.name for n in result.notes]


@pytest.mark.parametrize(
    "claimed, believed", [(3, 3), (0, None), (-1, None), (10**9, None), (True, None), ("3", None), ([], None)]
)
def test_the_number_of_tries_is_read_from_the_output_of_the_check(claimed, believed):
    tries = rebuild(notebook(tries=claimed), START).tries
    assert tries == ({} if believed is None else {"start.weighted_average": believed})


def test_a_file_of_a_million_cells_is_looked_at_in_part():
    book = released()
    find(book, SOLVE)["source"] = "mine = 1"
    book["cells"] += [
        {"cell_type": "code", "source": "x", "metadata": {"nbgrader": {"grade_id": f"a{i}"}}} for i in range(20_000)
    ]
    result = built(book)
    assert by_grade_id(result, SOLVE).source == "mine = 1"
    assert len(result.notes) <= MAX_NOTES and len(extras(result)) <= 500
    names = [n.name for n in result.notes]
    assert "submission.many_cells" in names and names[-1] == "submission.many_notes"
    assert "more remarks are left out" in result.notes[-1].sentence


def test_the_source_of_own_cells_is_limited_as_a_whole():
    book = released()
    book["cells"] += [code_cell("#" * 150_000) for _ in range(100)]
    result = built(book)
    assert 500_000 < sum(map(len, extras(result))) <= 1_000_000
    (note,) = [n for n in result.notes if n.name == "submission.long_source"]
    assert "15000000 characters" in note.sentence and note.suspicious


def test_a_setup_cell_that_is_a_flood_is_not_run():
    book = released()
    setup = next(c for c in book["cells"] if "setup" in c["metadata"].get("tags", []))
    book["cells"] += [{**copy.deepcopy(setup), "source": f"x = {i}\n" + "#" * 190_000} for i in range(50)]
    assert sum(map(len, extras(built(book)))) <= 1_000_000


def test_marks_are_quoted_legibly_and_each_remark_stands_once():
    book = released()
    for _ in range(30):
        cell = code_cell("1")
        cell["metadata"] = {"nbgrader": {"grade_id": "\x1b[31m\u202e" + "y" * 10_000}}
        book["cells"].append(cell)
    (note,) = built(book).notes
    assert note.name == "submission.alien_marks" and note.sentence.isprintable() and len(note.sentence) < 250


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 3_000_000,
        b'{"cells":' * 100_000,
        b'{"cells": [' + b"9" * 100_000 + b"]}",
        b'{"cells": [1e999999, NaN, -Infinity]}',
        b'{"cells": [], "cells": [], "cells": 3}',
        b'{"cells": ["' + b"\\ud800" * 1_000 + b'"]}',
    ],
    ids=range(6),
)
def test_odd_json_is_refused_in_one_sentence(data):
    with pytest.raises(BadSubmission) as caught:
        rebuild(data, START)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_a_long_source_takes_time_in_proportion(cpu_of):
    def seconds(size):
        book = released()
        check = find(book, CHECK)
        book["cells"] += [{**copy.deepcopy(check), "source": " \n\t" * (size // 3)} for _ in range(50)]
        data = json.dumps(book).encode()
        return min(cpu_of(lambda: rebuild(data, START)) for _ in range(3))

    assert seconds(200_000) < 40 * seconds(20_000) + 0.5


@pytest.fixture
def cpu_of():
    """Processor seconds of this process that a call takes."""

    def measure(call):
        began = time.process_time()
        call()
        return time.process_time() - began

    return measure

"""Matching cells of a submission: copies, lost marks, merged and moved cells, and files designed to exhaust it."""

import copy
import json
import random
import time

import pytest

from autograder.grading.base.masters import MARK, gradable_units, master
from autograder.grading.intake.rebuild import BadSubmission, rebuild

from .cheats.base import ATTENTION, SOLVE_SOFTMAX, START, code_cell, find, insert_before, released

SOFTMAX, MASKED, HEADS = "attention.softmax", "attention.masked_softmax", "attention.split_heads"
SOLVE_MASKED, SOLVE_HEADS = "solve-attention-masked_softmax", "solve-attention-split_heads"
GOOD = "def softmax(x, dim=-1):\n    e = (x - x.amax(dim, True)).exp()\n    return e / e.sum(dim, True)\n"
BETTER = "def softmax(x, dim=-1):\n    return x.exp() / x.exp().sum(dim, keepdim=True)\n"
BROKEN = "def softmax(x, dim=-1)\n    return 0\n"
SPLIT = "def split_heads(x, h):\n    return x.unflatten(-1, (h, -1)).transpose(1, 2)\n"
MERGE = "def merge_heads(x):\n    return x.transpose(1, 2).flatten(2)\n"


def stub(name, unit=ATTENTION):
    return "".join(find(released(unit), name)["source"])


def without_marks(book):
    """Removes nbgrader marks and ids and sets format 4.4, as other editors do."""
    for cell in book["cells"]:
        cell["metadata"] = {"id": "Xy1"}
        cell.pop("id", None)
    book["nbformat_minor"] = 4
    return book


def built(book, unit=ATTENTION):
    return rebuild(json.dumps(book).encode(), unit)


def answer(result, exercise):
    mark = {"role": "answer", "exercise": exercise}
    return next(c for c in result.notebook.cells if c.metadata[MARK] == mark).source


def extras(result):
    return [c.source for c in result.notebook.cells if c.metadata[MARK]["role"] == "extra"]


def running(result):
    """Sources in the order in which they run, without the course's own cells."""
    return [
        c.source for c in result.notebook.cells if c.metadata[MARK]["role"] in ("answer", "extra") and c.source.strip()
    ]


def said(result, name):
    return [n for n in result.notes if n.name == f"submission.{name}"]


def with_copies(*sources):
    """Unit 01 with one answer cell of softmax for each source, one after the other."""
    book = released(ATTENTION)
    first = find(book, SOLVE_SOFTMAX)
    place = book["cells"].index(first)
    book["cells"][place : place + 1] = [
        {**copy.deepcopy(first), "id": f"c{i}", "source": s} for i, s in enumerate(sources)
    ]
    return book


COPIES = {
    "the last one": ((GOOD, BETTER), BETTER, []),
    "before an empty one": ((GOOD, "\n \n"), GOOD, []),
    "before the stub": ((GOOD, stub(SOLVE_SOFTMAX)), GOOD, []),
    "before the stub with other comments": ((GOOD, stub(SOLVE_SOFTMAX) + "\n# mine\n"), GOOD, []),
    "before a stub of one's own": ((GOOD, "def softmax(x, dim=-1):\n    'later'\n    pass"), GOOD, []),
    "before a syntax error": ((GOOD, BROKEN), GOOD, []),
    "between both": ((BROKEN, GOOD, "", stub(SOLVE_SOFTMAX)), GOOD, []),
    "with its helper in the copy above": (
        (f"def helper(x):\n    return x\n{BETTER}", GOOD),
        GOOD,
        [f"def helper(x):\n    return x\n{BETTER}"],
    ),
    "split in two": (("import math\nk = 3\n", GOOD), GOOD, ["import math\nk = 3\n"]),
    "split in two, the helper below": ((GOOD, "def helper(x):\n    return x"), GOOD, ["def helper(x):\n    return x"]),
    "a name given to another function": ((GOOD, "soft = GOOD\nsoftmax = soft"), "soft = GOOD\nsoftmax = soft", []),
    "the name in a comment": ((GOOD, "# softmax\nx = 'def softmax(x)'"), GOOD, ["# softmax\nx = 'def softmax(x)'"]),
    "nothing but broken ones": ((stub(SOLVE_SOFTMAX), BROKEN, ""), BROKEN, []),
    "nothing but stubs": ((stub(SOLVE_SOFTMAX), ""), stub(SOLVE_SOFTMAX), []),
    "with magics": ((stub(SOLVE_SOFTMAX), f"%matplotlib inline\n!pip install x\n{GOOD}", ""), None, []),
    "a helper alone beside a renamed answer": (("def my_softmax(x):\n    return x", stub(SOLVE_SOFTMAX)), None, []),
}


@pytest.mark.parametrize("sources, counts, beside", COPIES.values(), ids=COPIES)
def test_of_several_copies_the_last_that_defines_it_counts(sources, counts, beside):
    result = built(with_copies(*sources))
    want = counts or next(s for s in sources if s != stub(SOLVE_SOFTMAX))
    assert answer(result, SOFTMAX) == want and extras(result) == beside
    (note,) = said(result, "answer_twice")
    assert note.exercise == SOFTMAX and f"appears {len(sources)} times" in note.sentence and not note.suspicious
    real = want not in (BROKEN, stub(SOLVE_SOFTMAX)) and "my_softmax" not in want
    assert ("that defines softmax counts" in note.sentence) == real


def test_the_note_says_which_copy_counts():
    (note,) = said(built(with_copies(GOOD, BETTER, "")), "answer_twice")
    assert note.sentence.endswith("the last one that defines softmax counts, which is number 2.")


def test_copies_of_an_answer_with_two_functions():
    first = find(released(ATTENTION), SOLVE_HEADS)
    half = f"{SPLIT}\ndef merge_heads(x):\n    raise NotImplementedError\n"
    for sources, want, beside in (
        ((f"{SPLIT}\n{MERGE}", half), f"{SPLIT}\n{MERGE}", []),
        ((half, f"{SPLIT}\n{MERGE}"), f"{SPLIT}\n{MERGE}", []),
        ((SPLIT, MERGE), MERGE, [SPLIT]),
    ):
        book = released(ATTENTION)
        place = book["cells"].index(find(book, SOLVE_HEADS))
        book["cells"][place : place + 1] = [{**first, "id": f"c{i}", "source": s} for i, s in enumerate(sources)]
        result = built(book)
        assert answer(result, HEADS) == want and extras(result) == beside
        assert running(result).index(want) > max([running(result).index(b) for b in beside], default=-1)


def test_the_answer_written_into_a_cell_of_ones_own_takes_the_place_of_the_stub():
    book = released(ATTENTION)
    book["cells"].insert(book["cells"].index(find(book, SOLVE_SOFTMAX)) + 2, code_cell(GOOD))  # below the check
    result = built(book)
    assert answer(result, SOFTMAX) == GOOD and extras(result) == []
    (note,) = said(result, "found_by_name")
    assert note.exercise == SOFTMAX and "softmax was found in a cell of your own" in note.sentence


def test_an_answer_stays_an_answer_whatever_stands_beside_it():
    book = released(ATTENTION)
    find(book, SOLVE_SOFTMAX)["source"] = GOOD
    insert_before(book, SOLVE_SOFTMAX, code_cell(BETTER))
    insert_before(book, SOLVE_SOFTMAX, code_cell(stub(SOLVE_SOFTMAX)))  # pasted without its mark
    result = built(book)
    assert answer(result, SOFTMAX) == GOOD and extras(result) == [BETTER] and not said(result, "found_by_name")


NOT_IT = {
    "an import": "from torch import softmax",
    "a value": "softmax = 3.0",
    "a stub": "def softmax(x, dim=-1):\n    raise NotImplementedError",
    "a comment": "# def softmax(x, dim=-1): return x",
    "a text": "'''\ndef softmax(x, dim=-1):\n    return x\n'''",
    "a method": "class A:\n    def softmax(self):\n        return 1",
    "an inner function": "def outer():\n    def softmax(x):\n        return x",
    "exec": "exec('def softmax(x, dim=-1): return x')",
    "globals": "globals()['softmax'] = lambda x: x",
    "a look-alike": "def sоftmax(x, dim=-1):\n    return x",  # a Cyrillic letter
    "no Python": "def softmax(x, dim=-1)\n    return x",
    "a cell magic's body": "%%writefile x.py\ndef softmax(x, dim=-1):\n    return x",
}


@pytest.mark.parametrize("source", NOT_IT.values(), ids=NOT_IT)
def test_what_only_looks_like_an_answer_is_a_cell_of_ones_own_as_ever(source):
    book = released(ATTENTION)
    insert_before(book, SOLVE_SOFTMAX, code_cell(source))
    result = built(book)
    assert answer(result, SOFTMAX) == stub(SOLVE_SOFTMAX) and extras(result) == [source]
    assert not said(result, "found_by_name")
    with pytest.raises(BadSubmission, match="no cell defines"):
        built({"cells": [code_cell(source)]})


def test_letters_that_python_takes_for_the_same_are_the_same():
    book = released(ATTENTION)
    wide = GOOD.replace("softmax", "ｓoftmax")
    insert_before(book, SOLVE_SOFTMAX, code_cell(wide))
    assert answer(built(book), SOFTMAX) == wide


def solved(unit):
    """({exercise: source}, book) of the unit with the references' source in the answer cells."""
    book, sources = released(unit), {}
    source_book = json.loads((__import__("autograder").ROOT / f"solutions/{unit}/{unit}.ipynb").read_text("utf-8"))
    for name, exercise in master(unit).answers.items():
        sources[exercise.id] = find(book, name)["source"] = "".join(find(source_book, name)["source"])
    return book, sources


@pytest.mark.parametrize("unit", gradable_units())
def test_a_solved_notebook_loses_nothing_with_its_marks_and_ids(unit):
    book, sources = solved(unit)
    book["cells"].append(code_cell("mine = 3"))
    result = built(without_marks(book), unit)
    assert {e: answer(result, e) for e in sources} == sources and extras(result) == ["mine = 3"]
    assert not result.absent
    (note,) = result.notes
    assert note.name == "submission.marks_lost" and "found by the names of what they define" in note.sentence
    assert not note.suspicious


def test_half_solved_without_marks_the_rest_are_stubs_left_alone():
    book = released(ATTENTION)
    find(book, SOLVE_SOFTMAX)["source"] = f"!pip install einops\n%time pass\n{GOOD}"
    result = built(without_marks(book))
    assert GOOD in answer(result, SOFTMAX) and answer(result, MASKED) == stub(SOLVE_MASKED)
    (note,) = result.notes
    assert "softmax." in note.sentence and "masked" not in note.sentence and not result.absent


def test_without_marks_drafts_are_not_taken_for_the_answer():
    book = released(ATTENTION)
    place = book["cells"].index(find(book, SOLVE_SOFTMAX))
    drafts = [code_cell(BETTER), code_cell("def helper(x):\n    return x\n" + BETTER), code_cell(GOOD)]
    book["cells"][place : place + 1] = drafts
    result = built(without_marks(book))
    assert answer(result, SOFTMAX) == GOOD and extras(result) == ["def helper(x):\n    return x\n" + BETTER]


def test_answers_written_at_the_end_run_in_their_order():
    """A helper above an answer belongs to it: no cell is moved past another cell that runs."""
    book = released(ATTENTION)
    own = ["k = 3", f"def decorated(f):\n    return f\n@decorated\n{GOOD}", "def masked_softmax(s, m):\n    return k\n"]
    book["cells"] += map(code_cell, own)
    for lost in (False, True):
        result = built(without_marks(copy.deepcopy(book)) if lost else book)
        assert running(result)[-3:] == own or running(result) == own
        assert stub(SOLVE_SOFTMAX) not in running(result) and not result.absent


def test_one_cell_for_several_exercises():
    both = f"{GOOD}\ndef masked_softmax(scores, mask):\n    return softmax(scores)\n"
    for lost in (False, True):
        book = released(ATTENTION)
        find(book, SOLVE_SOFTMAX)["source"] = both
        book["cells"].remove(find(book, SOLVE_MASKED))
        result = built(without_marks(book) if lost else book)
        assert answer(result, SOFTMAX) == both and answer(result, MASKED) == "" and not result.absent
        assert running(result).count(both) == 1
        if not lost:
            (note,) = said(result, "found_by_name")
            assert note.exercise == MASKED and f"found in the answer cell of {SOFTMAX}" in note.sentence


def test_an_answer_merged_into_a_check_cell_or_written_over_a_demonstration():
    for where in ("check-attention-softmax", "c-5a2075d19802"):
        book = released(ATTENTION)
        cell = next(c for c in book["cells"] if c.get("id") == where or where in json.dumps(c["metadata"]))
        cell["source"] = "check('attention.softmax', softmax)\n" + (merged := SPLIT + MERGE)
        result = built(book)
        assert merged in "".join(running(result)) and said(result, "found_by_name")[0].exercise == HEADS
        assert not any(n.suspicious for n in result.notes)


def test_a_part_of_the_marks_is_lost():
    book = released(ATTENTION)
    find(book, SOLVE_MASKED)["source"] = "def masked_softmax(scores, mask):\n    return scores\n"
    cell = find(book, SOLVE_SOFTMAX)
    cell["source"], cell["metadata"], cell["id"] = GOOD, {}, "new"
    result = built(book)
    assert answer(result, SOFTMAX) == GOOD and answer(result, MASKED).endswith("scores\n")
    assert [n.name for n in result.notes] == ["submission.found_by_name"]


def test_a_notebook_without_marks_in_another_units_folder_is_named():
    book, _ = solved(ATTENTION)
    with pytest.raises(BadSubmission, match=f"the notebook of {ATTENTION}, not of {START}"):
        built(without_marks(book), START)
    stray = {"cells": [*without_marks(book)["cells"], code_cell("def weighted_average(v, w):\n    return w @ v")]}
    with pytest.raises(BadSubmission, match=f"the notebook of {ATTENTION}"):
        built(stray, START)
    assert "weighted_average" in answer(built({"cells": stray["cells"][-1:]}, START), "start.weighted_average")


def test_worksheets_of_old_formats_are_read():
    book, sources = solved(ATTENTION)
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            cell["input"] = cell.pop("source")
    old = {"nbformat": 3, "worksheets": [{"cells": book["cells"][:50]}, {"cells": book["cells"][50:]}, {}, 7]}
    result = built(old)
    assert {e: answer(result, e) for e in sources} == sources and not result.notes
    assert not built({"worksheets": [{"cells": without_marks(book)["cells"]}]}).absent


HOSTILE = {
    "copies that define it": lambda: with_copies(*[f"{GOOD}\nx{i} = {i}" for i in range(10_000)]),
    "cells of one's own that define it": lambda: {"cells": [code_cell(f"{GOOD}# {i}") for i in range(10_000)]},
    "copies too long to read": lambda: with_copies(*[GOOD + "#" * 190_000] * 100),
    "cells that do not parse": lambda: {"cells": [code_cell(GOOD)] + [code_cell("softmax(" * 20_000)] * 200},
    "names without end": lambda: {"cells": [code_cell(GOOD + "\n".join(f"n{i} = 0" for i in range(9_000)))] * 20},
    "all names in every cell": lambda: {
        "cells": [
            code_cell("".join(f"def {t}(*a): return {i}\n" for e in master(ATTENTION).exercises for t in e.targets))
            for i in range(3_000)
        ]
    },
    "sums without end": lambda: {"cells": [code_cell(f"{GOOD}y = {'1 + ' * 900}1"), code_cell(f"z = {'-' * 50_000}1")]},
    "marks of every kind": lambda: {
        "cells": [
            {**code_cell(GOOD), "metadata": {"nbgrader": {"grade_id": random.Random(i).choice([SOLVE_SOFTMAX, "x"])}}}
            for i in range(10_000)
        ]
    },
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_work_is_bounded_and_what_is_right_is_found(make):
    data = json.dumps(make()).encode()
    master(ATTENTION)
    began = time.process_time()
    result = rebuild(data, ATTENTION)
    assert time.process_time() - began < 6, "a small part of it where nothing else runs"
    assert len(result.notes) <= 100 and len(extras(result)) <= 500
    assert sum(map(len, extras(result))) <= 1_000_000
    assert any("def softmax" in s for s in running(result))
    json.dumps(result.notebook).encode()

"""Odd files, graded: students keep the points they earned and get no others."""

import json

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbconvert.exporters import HTMLExporter
from traitlets.config import Config

from autograder import ROOT
from autograder.grading.base.masters import MARK, master
from autograder.grading.intake.absences import absences
from autograder.grading.intake.rebuild import rebuild
from autograder.grading.intake.slips import slips
from autograder.grading.judging import execution, grade
from autograder.grading.judging.result_json import to_json
from autograder.grading.judging.submitted import of_bytes
from autograder.judge.drawing import student_key

from .cheats.base import ATTENTION, CHECK, SOLVE, SOLVE_SOFTMAX, START, code_cell, find, insert_before, released
from .test_matching import without_marks

RIGHT = "def weighted_average(values, weights):\n    return weights @ values / weights.sum()\n"
WRITTEN = f"written-{START}"
LIVE = r"$\href{javascript:alert(1)}{x}$ <img src=//x onerror=alert(1)> ![a](//x/y.png) [x](javascript:alert(1)) \(x\)"


def graded(book, sandbox):
    return grade.grade(of_bytes(json.dumps(book).encode(), START, "ada", student_key("secret", "ada", START)), sandbox)


def answered(source):
    book = released()
    find(book, SOLVE)["source"] = source
    return book


COLAB = f"""from google.colab import drive, files
drive.mount('/content/drive')
!pip install einops
import pandas as pd, torch
n = int(input('n? '))
k = n + 1
{RIGHT}
files.download('x.ipynb')
"""


def test_a_notebook_from_colab_earns_what_it_is_worth(sandbox):
    book = without_marks(answered(COLAB))
    book["cells"].insert(0, code_cell("from google.colab import drive\ndrive.mount('/content/drive')"))
    result = graded(book, sandbox)
    assert result.score == 1, result.verdicts[0].text()
    assert {n.name for n in result.notes} == {
        "submission.marks_lost",
        "submission.not_installed",
        "submission.input",
    }
    assert "google.colab, pandas" in " ".join(n.sentence for n in result.notes)
    said = " ".join(o.text for o in result.outputs.values())
    assert "passed over in grading: drive.mount(" in said and "passed over in grading: n = int(input(" in said
    assert not any(o.error for o in result.outputs.values())


def test_the_same_where_each_cell_runs_alone(sandbox, monkeypatch):
    monkeypatch.setattr(execution, "_together", lambda *a: None)
    assert graded(answered(COLAB), sandbox).score == 1


@pytest.mark.parametrize("alone", [False, True])
def test_half_a_character_in_an_error_costs_nothing(sandbox, monkeypatch, alone):
    if alone:
        monkeypatch.setattr(execution, "_together", lambda *a: None)
    book = answered(RIGHT)
    insert_before(book, CHECK, code_cell("raise ValueError('before \\ud800\\udce4 behind')"))
    result = graded(book, sandbox)
    assert result.score == 1
    assert nbformat.writes(result.notebook).encode() and "behind" in nbformat.writes(result.notebook)
    assert json.dumps(to_json(result), ensure_ascii=False).encode()


def test_what_an_annotation_lacks_costs_no_points(sandbox):
    head = "from jaxtyping import Float\nfrom torch import Tensor\n"
    source = RIGHT.replace("(values, weights)", "(values: Float[Tensor, '... d'], weights) -> Float[Tensor, 'd']")
    assert graded(answered(head + source), sandbox).score == 1


@pytest.mark.parametrize("cell", ["@torch.compile\n", "torch.set_default_device('meta')\n"])
def test_what_torch_does_elsewhere_costs_no_points(sandbox, cell):
    assert graded(answered(f"import torch\n{cell}{RIGHT}"), sandbox).score == 1


def test_the_last_copy_that_defines_it_is_graded(sandbox):
    book = answered(RIGHT.replace("/ weights.sum()", ""))
    for source in (RIGHT, "", "def weighted_average(values, weights)\n"):
        insert_before(book, CHECK, {**find(book, SOLVE), "source": source, "id": f"c{len(book['cells'])}"})
    assert graded(book, sandbox).score == 1


NOTHING = {
    "an exception in the middle": f"1 / 0\n{RIGHT}",
    "what is missing as the answer": "import not_there\nweighted_average = not_there.f",
    "an import as the answer": "from not_there import weighted_average",
    "an answer below that is missing": f"{RIGHT}\nimport not_there\n@not_there.jit\n{RIGHT}",
    "an answer that asks": "def weighted_average(values, weights):\n    return float(input())",
    "an error that looks like it": f"raise ImportError('google.colab')\n{RIGHT}",
}


@pytest.mark.parametrize("source", NOTHING.values(), ids=NOTHING)
def test_what_earned_nothing_earns_nothing(source, sandbox):
    result = graded(answered(source), sandbox)
    assert result.score == 0 and len(result.verdicts) == 1


FORBIDDEN = "import torch\ndef softmax(x, dim=-1):\n    return torch.softmax(x, dim)\n"
CLEAN = "def softmax(x, dim=-1):\n    e = (x - x.amax(dim, True)).exp()\n    return e / e.sum(dim, True)\n"


@pytest.mark.parametrize(
    "later",
    [
        f"import not_there\n@not_there.jit\n{CLEAN}",
        "import not_there\nsoftmax = not_there.softmax",
        "from not_there import softmax",
        "import softmax",
        "softmax = (input(), lambda x, dim=-1: x)[1]",
    ],
)
def test_a_statement_that_is_passed_over_hides_no_forbidden_builtin(later, sandbox):
    """The function read from the source and the function that runs must be the same."""
    book = released(ATTENTION)
    find(book, SOLVE_SOFTMAX)["source"] = FORBIDDEN + later
    key = student_key("secret", "eve", ATTENTION)
    result = grade.grade(of_bytes(json.dumps(book).encode(), ATTENTION, "eve", key), sandbox)
    assert result.verdicts[0].exercise == "attention.softmax" and result.score == 0
    find(book, SOLVE_SOFTMAX)["source"] = FORBIDDEN
    insert_before(book, "check-attention-softmax", code_cell(later))
    assert grade.grade(of_bytes(json.dumps(book).encode(), ATTENTION, "eve", key), sandbox).score == 0


def about(*sources):
    cells = [nbformat.v4.new_code_cell(s, metadata={MARK: {"role": "answer"}}) for s in sources]
    return {n.name: n.sentence for n in absences(nbformat.v4.new_notebook(cells=cells))}


def test_what_is_missing_is_said_from_the_source_alone():
    here = "import torch, numpy as np, matplotlib.pyplot as plt, os.path, anatomy\nfrom IPython.display import Math\n"
    guarded = (
        "try:\n    import google.colab\nexcept ImportError:\n    pass\ndef f():\n    import x1\n    return input()\n"
    )
    assert about(here, guarded, "import (", "input = 3\n# input()\n", "%%bash\nimport x") == {}
    said = about(
        "from a_b.c import d, e\nimport f_g\nfrom . import h\nimport nbgrader", "x = [int(i) for i in input()]"
    )
    assert "a_b.c, f_g, nbgrader. " in said["submission.not_installed"] and "submission.input" in said
    many = about("\n".join(f"import x{i}" for i in range(10_000)))["submission.not_installed"]
    assert "x7 and others. " in many and len(many) < 300
    assert "\u202e" not in json.dumps(about("import ａ\u0301b, _" + "y" * 10_000))


@pytest.mark.parametrize(
    "answer, below, name",
    [
        ("<<<<<<< HEAD\ndef f(): pass\n=======\ndef f(): return 1\n>>>>>>> mine\n", "", "submission.conflict"),
        ("```python\ndef f():\n    return 1\n```", "", "submission.fence"),
        ("def f(x):\n    y = x", "    return y\n", "submission.split"),
        ("def f(x):\n    y = x", "\n\treturn y\n", "submission.split"),
        ("text = '''\n<<<<<<< HEAD\n```\n'''", "  # indented, and it runs\n", None),
        ("def f(x):\n    return x", "    f(1)", None),
        ("def f(x):\n    return x", "  def g():\n    return 1", None),
        ("", "    return y", None),
    ],
)
def test_an_answer_that_cannot_run_is_told_what_was_left_in_it(answer, below, name):
    own = nbformat.v4.new_code_cell(answer, metadata={MARK: {"role": "answer", "exercise": "x.y"}})
    extra = nbformat.v4.new_code_cell(below, metadata={MARK: {"role": "extra"}})
    found = slips(nbformat.v4.new_notebook(cells=[own, extra]))
    assert [(n.name, n.exercise) for n in found] == ([(name, "x.y")] if name else [])


# ---- the written answer ----------------------------------------------------------------------------------------------
def text_of(book):
    result = rebuild(json.dumps(book).encode(), START)
    (cell,) = [c for c in result.notebook.cells if c.metadata[MARK]["role"] == "written"]
    return cell, result


def page(cell):
    """The page that nbconvert makes of a cell with this course's settings."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(cell.source)])
    html, _ = HTMLExporter(config=Config(HTMLExporter={"sanitize_html": True})).from_notebook_node(book)
    return BeautifulSoup(html, "html.parser").main


def test_a_written_answer_is_taken_over_as_text_that_does_nothing():
    book = released()
    source = (
        f"Because **it** scales.\n\n```python\nx\n```\n{LIVE}\n</pre><script>alert(1)</script>\n\x1b[31m\u202e\n$$y$$"
    )
    find(book, WRITTEN)["source"] = source
    cell, result = text_of(book)
    assert not result.notes and cell.cell_type == "markdown"
    shown = page(cell)
    for part in (
        "Because **it** scales.",
        "```python",
        "onerror=alert(1)",
        "</pre><script>",
        "$$y$$",
        "![a](//x/y.png)",
    ):
        assert part in shown.get_text()
    assert "\x1b" not in shown.get_text() and "\u202e" not in shown.get_text()
    assert not shown.select("script, img, a[href*=javascript], [onerror]")
    for text in shown.find_all(string=lambda t: "$" in t or "\\(" in t or "href" in t):
        assert "pre" in {p.name for p in text.parents}, "a typesetter goes over everything else"


def test_long_lines_of_a_written_answer_can_be_read_and_long_ones_are_cut():
    book = released()
    find(book, WRITTEN)["source"] = "word " * 100
    cell, _ = text_of(book)
    assert max(map(len, cell.source.split("\n"))) <= 100 and cell.source.count("word") == 100
    find(book, WRITTEN)["source"] = "`" * 1_000_000
    cell, result = text_of(book)
    assert len(cell.source) < 70_000 and [n.name for n in result.notes] == ["submission.long_cell"]


@pytest.mark.parametrize("text", [None, "", "  \n"])
def test_a_written_answer_that_is_none_is_as_it_was_given_out(text):
    """nbgrader then knows that nothing was written and asks no one to grade it."""
    given = next(
        c for c in master(START).notebook.cells if (c.metadata.get("nbgrader") or {}).get("grade_id") == WRITTEN
    )
    book = released()
    if text is None:
        book["cells"].remove(find(book, WRITTEN))
    else:
        find(book, WRITTEN)["source"] = text
    cell, result = text_of(book)
    assert cell.source == given.source and cell.metadata.nbgrader.checksum == given.metadata.nbgrader.checksum
    assert [n.name for n in result.notes] == ["submission.written_missing"] * (text is None)


def test_a_written_answer_is_found_by_its_id_or_behind_its_question():
    book = released()
    find(book, WRITTEN)["source"] = "mine"
    for cell in book["cells"]:
        cell["metadata"] = {}
    assert "\nmine\n" in text_of(book)[0].source
    assert "\nmine\n" in text_of(without_marks(book))[0].source


def test_of_copies_of_a_written_answer_the_last_with_something_in_it_counts():
    book = released()
    cell = find(book, WRITTEN)
    book["cells"] += [
        {**cell, "id": f"w{i}", "source": s} for i, s in enumerate(("first", "second", "", cell["source"]))
    ]
    assert "\nsecond\n" in text_of(book)[0].source


def test_an_answer_written_into_a_new_cell_below_is_found():
    book = released()
    own = {"cell_type": "markdown", "source": "below", "metadata": {}, "id": "own"}
    book["cells"].insert(book["cells"].index(find(book, WRITTEN)) + 1, own)
    assert "\nbelow\n" in text_of(book)[0].source
    find(book, WRITTEN)["source"] = "mine"
    assert "\nmine\n" in text_of(book)[0].source


@pytest.mark.parametrize("line", ["drive.mount('/content/drive')", "drive.flush_and_unmount()"])
def test_what_colab_alone_has_holds_no_points(line, sandbox):
    """Lines that only Colab needs are skipped. Code that could change their meaning is held on its own account."""

    def held(*cells):
        book = json.loads((ROOT / "solutions" / ATTENTION / f"{ATTENTION}.ipynb").read_text())
        book["cells"] = [*map(code_cell, cells), *book["cells"]]
        key = student_key("secret", "ada", ATTENTION)
        return grade.grade(of_bytes(json.dumps(book).encode(), ATTENTION, "ada", key), sandbox).held

    colab = f"from google.colab import drive\n{line}"
    assert not held(colab)
    forged = "import sys, types, torch\nsys.modules['google.colab'] = types.SimpleNamespace(drive=torch.nn.functional)"
    assert held(forged, colab)

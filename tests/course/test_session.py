"""The verdict is about the code on the screen: stale definitions, edited cells, names that are not defined yet."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from anatomy.notebook import after_check, checks, claims, session
from anatomy.program import units
from anatomy.system import stopped
from anatomy.system.store import read
from IPython.core.interactiveshell import InteractiveShell

RELEASED = Path(__file__).resolve().parents[2] / "course" / "00-start-here" / "00-start-here.ipynb"
ID = "start.weighted_average"
SOLVE = "solve-start-weighted_average"
RIGHT = "def weighted_average(values, weights):\n    return weights @ values / weights.sum()\n"
WRONG = "def weighted_average(values, weights):\n    return values.mean(0)\n"
CHECK = f'check("{ID}", weighted_average)'


class Notebook:
    """Runs cells in IPython as a kernel does, and records what they show."""

    def __init__(self, shell, monkeypatch):
        self.shell, self.shown, self.bars = shell, [], []
        monkeypatch.setattr("IPython.display.display", lambda data, **more: self.shown.append(data))
        monkeypatch.setattr(shell, "_showtraceback", lambda kind, error, lines: self.bars.append("\n".join(lines)))

    def run(self, source, cell_id=None):
        result = self.shell.run_cell(source, store_history=True, cell_id=cell_id)
        return result.error_before_exec or result.error_in_exec

    def check(self, source=CHECK):
        """Runs a check cell; returns (error, text shown, red bar)."""
        del self.shown[:], self.bars[:]
        error = self.run(source, "check-start-weighted_average")
        return error, "\n".join(d["text/plain"] for d in self.shown), "\n".join(self.bars)


@pytest.fixture
def notebook(monkeypatch):
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    monkeypatch.setattr(session, "current", session.Session())
    session.install(shell, lambda name, source: after_check.undefined(name, source, session.current.left_behind))
    book = Notebook(shell, monkeypatch)
    assert book.run("import torch\nfrom anatomy import check") is None
    yield book
    InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    "broken, line, says",
    [
        ("def weighted_average(values, weights)\n    return 0", 1, "SyntaxError: expected ':'"),
        (
            "def weighted_average(values, weights):\n    a = 0\n  return a\n",
            3,
            "IndentationError: unindent does not match",
        ),
        ("nothing_like_it\n" + WRONG, 1, "NameError: name 'nothing_like_it' is not defined"),
        ("x = 1\nx / 0\n" + WRONG, 2, "ZeroDivisionError: division by zero"),
        ("def weighted_average(values, weights, eps=tiny):\n    return 0", 1, "NameError: name 'tiny' is not defined"),
        ("import nowhere_to_be_found\n" + WRONG, 1, "ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        ("def weighted_average(values, weights):\n    return (values\n", 2, "SyntaxError: '(' was never closed"),
        ("def weighted_average(values, weights):\n", 1, "IndentationError: expected an indented block"),
    ],
)
def test_a_cell_that_failed_leaves_nothing_to_judge(notebook, broken, line, says):
    notebook.run(RIGHT, SOLVE)
    assert notebook.check()[0] is None
    assert notebook.run(broken, SOLVE) is not None
    error, text, bar = notebook.check()
    assert isinstance(error, checks.NotChecked), text
    assert f"It stopped at line {line}: " in text and says in text and "version from before" in text
    assert "passed" not in text and bar == f"{ID}: not checked"
    assert read("progress")[ID]["tries"] == 1, "what was not judged is no try"
    notebook.run(WRONG, SOLVE)
    error, text, _ = notebook.check()
    assert type(error) is checks.CheckFailed and "plain mean" in text


def test_what_stands_above_the_line_that_failed_did_run(notebook):
    """An answer is judged even if a line after it in its cell fails."""
    notebook.run(WRONG, SOLVE)
    notebook.run(RIGHT + "\nweighted_average(1, 2)", SOLVE)
    assert notebook.check()[0] is None


def test_an_interrupted_cell_counts_as_failed(notebook):
    notebook.run(RIGHT, SOLVE)
    notebook.run("raise KeyboardInterrupt\n" + WRONG, SOLVE)
    assert isinstance(notebook.check()[0], checks.NotChecked)


def test_a_helper_that_failed_is_named(notebook):
    notebook.run("def total(w):\n    return w.sum()\n", "c-helper")
    notebook.run("def weighted_average(values, weights):\n    return weights @ values / total(weights)\n", SOLVE)
    assert notebook.check()[0] is None
    notebook.run("def total(w)\n    return w.sum()", "c-helper")
    error, text, _ = notebook.check()
    assert isinstance(error, checks.NotChecked) and "the cell of total did not run" in text


def test_an_attribute_of_the_same_name_is_no_use_of_a_function(notebook):
    notebook.run("def sum(w):\n    return 0\n", "c-sum")
    notebook.run(RIGHT, SOLVE)
    notebook.run("def sum(w)\n    return 0", "c-sum")
    assert notebook.check()[0] is None


def test_a_change_while_the_cell_ran_counts(notebook, saved):
    notebook.run(RIGHT, SOLVE)
    session.current.began = 0
    notebook.shell.events.unregister("pre_run_cell", session.current.started)  # as if the run had begun long ago
    notebook.run(RIGHT, SOLVE)
    saved(WRONG, seconds=-5)
    assert isinstance(notebook.check()[0], checks.NotChecked)


def test_a_failed_cell_elsewhere_stops_no_check(notebook):
    notebook.run(RIGHT, SOLVE)
    notebook.run("def another(x)\n    return x", "c-other")
    assert notebook.check()[0] is None


def test_a_name_that_does_not_exist_yet(notebook):
    error, _, bar = notebook.check()
    assert isinstance(error, NameError) and "there is no weighted_average in memory" in bar
    assert "Run its cell above" in bar and "Traceback" not in bar
    notebook.run("def weighted_average(values, weights)\n    return 0", SOLVE)
    _, _, bar = notebook.check()
    assert "did not run, so there is no weighted_average yet" in bar and "SyntaxError: expected ':'" in bar


def test_other_name_errors_keep_their_traceback(notebook):
    del notebook.bars[:]
    assert isinstance(notebook.run("missing + 1"), NameError)
    assert "NameError" in notebook.bars[0] and "Not checked" not in notebook.bars[0]


@pytest.fixture
def saved(notebook, tmp_path, monkeypatch):
    """Saves the notebook with this source in its answer cell, as JupyterLab would, dated one second from now."""
    path = tmp_path / "00-start-here.ipynb"
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))

    def save(source, seconds=1.0):
        cells = [{"cell_type": "code", "id": SOLVE, "source": (source or "").splitlines(keepends=True)}]
        cells = cells if source else [{"cell_type": "markdown", "id": SOLVE, "source": RIGHT}]
        path.write_text(json.dumps({"cells": cells}))
        os.utime(path, (time.time() + seconds,) * 2)

    return save


def test_a_cell_that_was_changed_and_not_run(notebook, saved):
    notebook.run(RIGHT, SOLVE)
    saved(WRONG)
    error, text, _ = notebook.check()
    assert isinstance(error, checks.NotChecked) and "was changed after it was run" in text
    notebook.run(WRONG, SOLVE)
    assert type(notebook.check()[0]) is checks.CheckFailed


def test_an_older_save_says_nothing(notebook, saved):
    saved(WRONG, seconds=-60)
    notebook.run(RIGHT, SOLVE)
    assert notebook.check()[0] is None


def test_the_same_text_saved_later_is_no_edit(notebook, saved):
    notebook.run(RIGHT, SOLVE)
    saved(RIGHT + "\n\n")
    assert notebook.check()[0] is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"cells": [3]}', '{"cells": [{"cell_type": "code", "id": 4}]}'])
def test_a_notebook_that_cannot_be_read_stops_no_check(notebook, saved, content, tmp_path):
    notebook.run(RIGHT, SOLVE)
    (tmp_path / "00-start-here.ipynb").write_text(content)
    assert notebook.check()[0] is None


def test_definitions_are_found_in_cells_that_are_no_python():
    source = "%%time\ndef one(x)\n    return x\nclass Two:\n    inner = 1\nthree: int = 3\nfour == 4\n# five = 5\n"
    assert session.defined(source) == [("one", 2), ("Two", 4), ("three", 6)]


def test_methods_and_bases_are_followed():
    namespace = {}
    exec(
        "def f(): return g()\ndef g(): return [h() for _ in 'x']\ndef h(): return 1\n"
        "class A:\n    def forward(self): return f()\nclass B(A):\n    pass\n",
        namespace,
    )
    for value in namespace.values():
        if hasattr(value, "__module__"):
            value.__module__ = "__main__"
    assert set(session.used_names({"B": namespace["B"]}, namespace)) == {"B", "A", "f", "g", "h"}


def test_a_claim_is_decided_when_its_cells_have_run(notebook):
    """As in unit 00, one cell is between the claim and its verdict."""
    session.current.listeners.append(claims.Tracker().ran)
    (claim,) = units.load("00-start-here")["claims"]
    assert "must sum to 1" in claim["claim"]
    deciding = next(
        "".join(c["source"])
        for c in json.loads(RELEASED.read_text(encoding="utf-8"))["cells"]
        if "share = weights" in "".join(c["source"])
    )
    notebook.run(deciding)
    assert read("claims") == {}, "it failed: nothing was decided"
    notebook.run("words = weights = torch.ones(3)")
    notebook.run(deciding + "\n# changed")
    assert read("claims") == {}
    notebook.run(deciding)
    assert read("claims") == {claim["id"]: True}


def test_every_claim_of_the_course_can_be_decided():
    for unit in units.names():
        for claim in units.load(unit)["claims"]:
            assert claim["cells"], f"{unit}: nothing runs between {claim['claim']!r} and its verdict"


RENAMED = RIGHT.replace("weighted_average", "weighted_averge")
HELPER = "def total(w):\n    return w.sum()\n"
WITH_HELPER = "def weighted_average(values, weights):\n    return weights @ values / total(weights)\n"


def assert_gone(notebook):
    error, text, bar = notebook.check()
    assert isinstance(error, checks.NotChecked) and "no cell defines weighted_average any more" in text
    assert "missing in what you hand in" in text and "passed" not in text and bar == f"{ID}: not checked"
    assert ID not in read("progress")


@pytest.mark.parametrize("first", [RIGHT, WRONG])
def test_a_function_that_its_cell_defines_no_more_is_not_judged(notebook, first):
    notebook.run(first, SOLVE)
    notebook.run(RENAMED, SOLVE)
    assert_gone(notebook)
    notebook.run(RIGHT, SOLVE)
    assert notebook.check()[0] is None


def test_a_function_whose_cell_is_gone_or_became_text_is_not_judged(notebook, saved):
    notebook.run(RIGHT, SOLVE)
    saved(None)
    assert_gone(notebook)
    saved(RIGHT)
    assert notebook.check()[0] is None


@pytest.mark.parametrize(
    "elsewhere",
    [
        RIGHT,
        "from somewhere import weighted_average\n",
        "weighted_average = lambda values, weights: weights @ values / weights.sum()\n",
        "a, weighted_average = 1, print\n",
        "if True:\n    def weighted_average(values, weights):\n        return 0\n",
        "%run answers.py\n",
        "%%time\ndef weighted_average(values, weights):\n    return 0\n",
        "exec(open('answers.py').read())\n",
    ],
)
def test_a_function_that_some_cell_may_define_is_judged(notebook, saved, elsewhere):
    notebook.run(RIGHT, "c-old")
    saved(elsewhere)
    assert notebook.check()[0] is None


def test_a_function_that_moved_to_another_cell_is_judged(notebook):
    notebook.run(RIGHT, SOLVE)
    notebook.run(RIGHT, "c-mine")
    notebook.run("# it is below now", SOLVE)
    assert notebook.check()[0] is None
    notebook.run("# gone", "c-mine")
    assert_gone_after_a_pass(notebook)


def assert_gone_after_a_pass(notebook):
    error, text, _ = notebook.check()
    assert isinstance(error, checks.NotChecked) and "no cell defines weighted_average any more" in text


TURNED = """
def rope_frequencies(D, base=10000.0):
    if D % 2:
        raise ValueError("an odd number has no pairs")
    return base ** (-torch.arange(0, D, 2, dtype=torch.float32) / {D})

def wavelengths(D, base=10000.0):
    return 6.283185307179586 / rope_frequencies(D, base)
"""
ROPE = """
def apply_rope(x, position_ids, base=10000.0):
    wide = torch.promote_types(x.dtype, torch.float32)
    angles = position_ids[..., None] * rope_frequencies(x.shape[-1], base).to(wide)
    angles = angles[:, None] if position_ids.dim() == 2 else angles
    even, odd = x[..., 0::2], x[..., 1::2]
    pairs = even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()
    return torch.stack(pairs, dim=-1).flatten(-2).to(x.dtype)
"""


def test_an_answer_that_uses_another_one_that_failed_its_check_is_told_so(notebook):
    frequencies = lambda: notebook.check('check("rope.rope_frequencies", rope_frequencies, wavelengths)')
    rope = lambda: notebook.check('check("rope.apply_rope", apply_rope)')
    turned = lambda D: TURNED.replace("{D}", D)
    told = "Your answer uses rope_frequencies, whose own check still fails: look there first."
    notebook.run(turned("(D - 2)"), "c-frequencies")
    notebook.run(ROPE, "c-rope")
    assert rope()[0] is not None and told not in notebook.shown[0]["text/plain"], "nobody has checked it yet"
    assert frequencies()[0] is not None and "still fails" not in notebook.shown[0]["text/plain"]
    assert rope()[0] is not None and told in notebook.shown[0]["text/plain"]
    assert "<code>rope_frequencies</code>" in notebook.shown[0]["text/html"]
    notebook.run(turned("(D - 2.0)"), "c-frequencies")
    assert rope()[0] is not None and told not in notebook.shown[0]["text/plain"], "it is another one now"
    notebook.run(turned("D"), "c-frequencies")
    assert frequencies()[0] is None
    notebook.run(ROPE.replace("odd * angles.sin()", "odd", 1), "c-rope")
    assert rope()[0] is not None and "still fails" not in notebook.shown[0]["text/plain"], "it passes now"


def test_a_helper_that_no_cell_defines_any_more_is_a_warning(notebook, saved):
    notebook.run(HELPER, "c-helper")
    notebook.run(WITH_HELPER, SOLVE)
    notebook.run("print('nothing')", "c-helper")
    error, text, _ = notebook.check()
    assert error is None and "uses total, which no cell defines any more" in text and "passed" in text
    notebook.run(HELPER, "c-helper")
    assert "any more" not in notebook.check()[1]
    saved(WITH_HELPER)  # the helper's cell was deleted
    error, text, _ = notebook.check()
    assert error is None and "uses total, which no cell defines any more" in text


def test_what_is_printed_stands_below_the_smallest_failing_case(notebook, capsys):
    notebook.run(WRONG.replace("    return", "    for i in range(3_000):\n        print('at', i)\n    return"), SOLVE)
    capsys.readouterr()
    error, text, _ = notebook.check()
    assert type(error) is checks.CheckFailed and capsys.readouterr().out == ""
    lines = text.splitlines()
    at = lines.index("Your code printed in this case:")
    assert lines[at + 1] == "  at 0" and lines[at + 20] == "  at 19" and lines[at + 21] == "  … and 2,980 more lines"
    assert text.index("plain mean") < text.index("Your code printed")
    notebook.run(RIGHT.replace("    return", "    print(weights)\n    return"), SOLVE)
    error, text, _ = notebook.check()
    assert error is None and "printed" not in text and capsys.readouterr().out == ""


def test_a_check_that_is_stopped_says_where_the_code_was(notebook, monkeypatch):
    monkeypatch.setattr(stopped, "PATIENCE", 0.2)
    notebook.run("def weighted_average(values, weights):\n    while True:\n        values = values + 0\n", SOLVE)
    timer = threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    error, text, bar = notebook.check()
    timer.join()
    assert isinstance(error, checks.Stopped) and not text
    assert "Stopped in this case: " in bar and "Nothing was judged." in bar and len(bar.splitlines()) == 3
    assert "Your code was at line 2: while True:" in bar or "Your code was at line 3: values = values + 0" in bar
    assert ID not in read("progress")


def test_a_reveal_that_fails_or_is_stopped_shows_nothing_of_ours(notebook):
    notebook.run("from anatomy import reveal, record_prediction\nrecord_prediction('start.p1', 'mine')", "c-import")
    for code, lines in (
        ("reveal('start.p1', lambda: 1 / 0)", ["ZeroDivisionError: division by zero", "At line 1: "]),
        ("import signal\nreveal('start.p1', lambda: signal.raise_signal(2))", ["Stopped.", "At line 2: "]),
    ):
        del notebook.bars[:]
        notebook.run(code, "c-reveal")
        (bar,) = notebook.bars
        assert [said.startswith(line) for said, line in zip(bar.splitlines(), lines, strict=True)] == [True, True], bar

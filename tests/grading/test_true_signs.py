"""The report's signs of cheating: what bears on points is listed, ordinary code in cells of one's own is not."""

import pytest
from anatomy.judge.verdict import Verdict

from autograder.grading.book.gradebook import GradebookWriter
from autograder.grading.judging.results import GradedNotebook
from autograder.grading.pages import report, report_signs
from autograder.grading.source.signs import Sign, signs_of

from .cheats.base import START

OWN = "c-0123456789ab"
ANSWER = "solve-start-weighted_average"
HONEST = {
    "the folder on a host": 'import os\nos.environ["ANATOMY_HOME"] = "/content/drive/MyDrive/anatomy"',
    "a change of folder": "%cd /content/drive/MyDrive",
    "a clone": "!git clone https://example.org/course.git",
    "captured output": "%%capture out\nprint(1)",
    "paths": "from pathlib import Path\nprint(Path.cwd())",
    "notes in a file": 'print(open("notes.txt").read())',
    "display": "from IPython.display import display\ndisplay(3)",
    "a known workaround": 'import os\nos.environ["KMP_DUPLICATE_LIB_OK"] = "TRUE"',
    "a thread": "import threading\nthreading.Thread(target=print).start()",
    "the source of a function": "import inspect\nprint(inspect.getsource(print))",
    "a builtin's name": "all = 5",
    "a shell's answer and a magic": "x = !whoami\n%timeit sum(range(10))",
    "a download": "import urllib.request\nurllib.request.urlopen('https://example.org')",
    "a class of one's own": "class Pair:\n    def __eq__(self, other): return True",
}
BEARING = {
    "torch's internals": (OWN, "import torch\nf = torch.ops.aten.softmax"),
    "the judge": (OWN, "from anatomy.judge import judging"),
    "a name replaced in an answer": (ANSWER, "import torch\ntorch.softmax = torch.exp"),
    "the interpreter in an answer": (ANSWER, "import sys\nf = sys._getframe(1).f_globals"),
}


def result_with(signs, tmp_path):
    with GradebookWriter(f"sqlite:///{tmp_path}/gradebook.db", "signs") as writer:
        verdict = Verdict("start.weighted_average", True, 1.0, 1.0)
        writer.write(GradedNotebook("ada", START, [verdict], signs=signs), "1" * 64, "v")
        return list(writer.results())


@pytest.mark.parametrize("kind", HONEST)
def test_ordinary_code_in_a_cell_of_one_s_own_is_no_sign(kind, tmp_path):
    results = result_with(signs_of(HONEST[kind], OWN), tmp_path)
    assert report_signs.suspicious(results) == []
    told = report.page(*report.summarize(results))
    assert "Signs of cheating (0 submissions)" in told


@pytest.mark.parametrize("kind", BEARING)
def test_what_bears_on_points_is_listed(kind, tmp_path):
    where, source = BEARING[kind]
    results = result_with(signs_of(source, where), tmp_path)
    assert len(report_signs.suspicious(results)) == 1
    assert "Signs of cheating (1 submission)" in report.page(*report.summarize(results))


def test_both_lists_show_their_evidence(tmp_path):
    found = [
        Sign("judge", "from anatomy.judge import x", f"{OWN}, line 1"),
        Sign("network", "get(y)", f"{OWN}, line 2"),
    ]
    told = report.page(*report.summarize(result_with(found, tmp_path)))
    first, second = told.split("Unusual in cells of their own")
    assert "from anatomy.judge import x" in first and "get(y)" not in first and "get(y)" in second

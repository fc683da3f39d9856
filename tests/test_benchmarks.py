"""The benchmarks start with the Makefile's commands, and grade the class that they describe."""

import re
import subprocess
import sys
from collections import Counter

import pytest

from autograder import ROOT
from autograder.grading.judging import contained, sessions
from autograder.grading.judging.submitted import of_bytes
from autograder.sandbox import sandbox_available
from benchmarks import grading_speed, make_class

COMMANDS = re.findall(r"python -m (benchmarks\.\w+)", (ROOT / "autograder" / "staff.mk").read_text(encoding="utf-8"))


def test_every_benchmark_has_a_make_target():
    modules = {f"benchmarks.{p.stem}" for p in (ROOT / "benchmarks").glob("*.py") if p.stem != "__init__"}
    others = {"benchmarks.make_class", "benchmarks.judge_parts", "benchmarks.widget_latency_page"}
    assert modules - set(COMMANDS) == others, "a class to try things on and parts of others are no measurements"


@pytest.mark.parametrize("module", COMMANDS)
def test_it_says_what_it_measures(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and "usage" in done.stdout, done.stdout + done.stderr


# One unit with one exercise, one with many.
@pytest.mark.parametrize("unit", ["00-start-here", "06-rope"])
def test_a_class_is_what_it_is_called(unit):
    if not sandbox_available():
        pytest.skip(sandbox_available().reason)
    books = grading_speed.kinds(unit)
    assert len(set(books)) == 4
    share = []
    for data in books:
        graded = contained.grade(of_bytes(data, unit, "ada", b"key"), sessions.sandboxed)
        share.append(graded.score / sum(v.max_score for v in graded.verdicts))
    solved, half, wrong, untouched = share
    assert solved == 1 and 0.3 < half < 0.7 and untouched == 0
    assert wrong < 0.05, "a wrong result may meet a case by chance, no more"


def test_an_answer_is_spoiled_in_all_that_it_gives_back_and_nowhere_else():
    source = (
        "def f(x):\n    y = (lambda: 'é')()\n    if x:\n        return 'é', (\n            x + len(y))\n    return\n"
        "class C:\n    def g(self, x): return x\n"
    )
    space = {"_bad": lambda result: ("bad", result)}
    exec(grading_speed.spoiled(source, "_bad"), space)
    assert space["f"](1) == ("bad", ("é", 2)) and space["f"](0) is None and space["C"]().g(3) == ("bad", 3)


def test_a_wrong_answer_has_the_form_of_a_right_one():
    space = {}
    exec(grading_speed.WRONG, space)
    assert space["_wrong"]((1, [2.0], {"a": True})) == (2, [3.0], {"a": False})


@pytest.mark.parametrize("unit", ["00-start-here", "06-rope"])
def test_a_made_class_has_every_kind(unit):
    counts = Counter(kind for _, kind, _ in make_class.submissions(unit, 70))
    honest = {kind: counts.pop(kind) for kind in ("solved", "half", "wrong", "untouched")}
    assert honest["solved"] == max(honest.values()) and min(honest.values()) > 0
    assert counts.pop("broken") == 7 and sum(honest.values()) == 49 and sum(counts.values()) == 14

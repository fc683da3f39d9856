"""The benchmarks start, by the commands that the Makefile gives."""

import re
import subprocess
import sys

import pytest

from autograder import ROOT

COMMANDS = re.findall(r"python -m (benchmarks\.\w+)", (ROOT / "autograder" / "staff.mk").read_text(encoding="utf-8"))


def test_every_benchmark_has_a_make_target():
    modules = {f"benchmarks.{p.stem}" for p in (ROOT / "benchmarks").glob("*.py") if p.stem != "__init__"}
    assert modules - set(COMMANDS) == {"benchmarks.make_class"}, "a class to try things on is no measurement"


@pytest.mark.parametrize("module", COMMANDS)
def test_it_says_what_it_measures(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and "usage" in done.stdout, done.stdout + done.stderr

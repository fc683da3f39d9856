"""The instant check is instant (benchmarks/instant_check.py prints the table)."""

import statistics
import subprocess
import sys
import time

import pytest

from autograder import exercises
from benchmarks.instant_check import seconds


@pytest.mark.parametrize("unit", exercises.units())
def test_a_typical_check_takes_less_than_200_ms(unit):
    """Measures processor time, since wall time depends on what else the machine is doing."""
    times = [seconds(e, e.reference, time.process_time) for e in exercises.of_unit(unit)]
    assert statistics.median(times) < 0.2, times


FIRST = """
import sys, torch
from anatomy import evaluate

def layer_norm(x, weight, bias, eps=1e-5):
    centered = x - x.mean(-1, keepdim=True)
    return weight * centered / torch.sqrt(centered.pow(2).mean(-1, keepdim=True) + eps) + bias

assert evaluate("norm.layer_norm", layer_norm).passed
assert not evaluate("norm.layer_norm", lambda x, weight, bias, eps=1e-5: 2 * layer_norm(x, weight, bias, eps)).passed
print([name for name in ("sympy", "torch.fx.experimental.symbolic_shapes") if name in sys.modules])
"""


def test_a_first_check_with_gradients_loads_no_algebra():
    """Passing tensors to ``backward`` would import 485 modules, which adds a second to a learner's first check."""
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr

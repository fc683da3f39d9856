"""The instant check is instant (benchmarks/instant_check.py prints the table), and brings few libraries along."""

import ast
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import anatomy
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


# Prints the libraries that the part after the mark has imported, but for those that the first line brings along itself.
NEW_ONES = """
import sys
import {first}

def libraries():
    names = {{name.partition(".")[0] for name in sys.modules}} - set(sys.stdlib_module_names) - {{"anatomy"}}
    return {{name for name in names if not name.startswith("_sysconfigdata")}}  # the standard library's as well

known = libraries()
{then}
print(sorted(libraries() - known))
"""
CHECKS = """
from anatomy import CheckFailed, check

check("start.weighted_average", lambda values, weights: weights @ values / weights.sum())
try:
    check("start.weighted_average", lambda values, weights: values.mean(0))
except CheckFailed:
    pass
"""
WIDGETS = """
import importlib, pkgutil
import anatomy.widgets

for module in pkgutil.walk_packages(anatomy.widgets.__path__, "anatomy.widgets."):
    importlib.import_module(module.name)
"""


def new_ones(home, first, then):
    """The last line of a fresh process that runs this code."""
    code = NEW_ONES.format(first=first, then=then)
    own = {**os.environ, "ANATOMY_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=own)
    return done.stdout.strip().splitlines()[-1] if done.returncode == 0 else done.stderr


def test_a_check_needs_torch_numpy_safetensors_and_a_lock_only(tmp_path):
    """So that it may run where nothing else can be installed, in a browser for example."""
    assert new_ones(tmp_path, "filelock, numpy, safetensors.torch, torch", CHECKS) == "[]"


def test_widgets_bring_nothing_along_until_a_picture_is_drawn(tmp_path):
    """Matplotlib and Pillow are for pictures. IPython is here through ipywidgets, on which anywidget rests."""
    assert new_ones(tmp_path, "anywidget, filelock, numpy, safetensors.torch, torch", WIDGETS) == "[]"
    by_itself = "import anywidget; print(sorted({'IPython', 'matplotlib', 'PIL'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", f"import sys; {by_itself}"], capture_output=True, text=True)
    assert done.stdout.strip() == "['IPython']"


def test_widgets_import_ipython_only_where_they_use_it():
    """Once anywidget does without IPython, so do they."""
    folder = Path(anatomy.__file__).parent / "widgets"
    at_once = []
    for path in sorted(folder.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = (
                [a.name for a in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", "") or ""]
            )
            at_once += [f"{path.name}: {name}" for name in names if name.partition(".")[0] in ("IPython", "ipywidgets")]
    assert len(list(folder.rglob("*.py"))) > 60 and not at_once

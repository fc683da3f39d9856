"""Distances to float64, and the recorder on a machine with few packages."""

import json
import os
import re
import subprocess
import sys

import pytest
import torch
from anatomy.program import records

from autograder import ROOT, exercises
from autograder.recording import precision

RECORDED = json.loads((ROOT / "assets" / "recordings" / "precision.json").read_text())
BLOCKED = (
    "ipywidgets",
    "anywidget",
    "matplotlib",
    "jupyter",
    "jupyter_core",
    "IPython",
    "notebook",
    "jupyterlab",
)


def test_manifest_says_where():
    for kind, part in RECORDED.items():
        made = part["made"]
        assert made["device"].split(":")[0] == kind and made["tf32"] is False and made["seed"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", made["date"]) and f"--device {made['device']}" in made["command"]
        if kind == "cpu":
            assert not re.search("cuda|gpu|nvidia", json.dumps(made), re.I)


@pytest.mark.parametrize("unit", exercises.units())
def test_recorded_distances_equal_a_live_run(unit):
    """Equal up to the factor that the judge's tolerance allows a right answer: other processors add in a different
    order, and the largest of few roundings is noisy (9 times, in one exercise, with a different matrix library)."""
    recorded = RECORDED["cpu"]["distances"]
    for exercise in exercises.of_unit(unit):
        live = precision.measure(exercise)
        if not live:
            assert exercise.id not in recorded
            continue
        for dtype, found in live.items():
            old = recorded[exercise.id][dtype]
            assert (old is None) == (found is None), (exercise.id, dtype)
            for key in found or ():
                # Below this, a single rounding is already a large factor.
                floor = torch.finfo(precision.DTYPES[dtype]).eps
                assert found[key] <= 16 * old[key] + floor and old[key] <= 16 * found[key] + floor, (exercise.id, dtype)


def test_narrow_dtypes_are_farther_away():
    rows = RECORDED["cpu"]["distances"]
    for name in ("attention.scaled_dot_product", "norm.rms_norm", "rope.apply_rope"):
        d = {dtype: rows[name][dtype]["relative"] for dtype in ("float32", "float16", "bfloat16")}
        assert 0 < d["float32"] < d["float16"] < d["bfloat16"] < 0.05, (name, d)


def test_distance_ignores_overflow_and_scales():
    got = {"a": torch.tensor([1.0, float("inf"), 4.0]), "n": torch.tensor([1.0])}
    assert precision.distance(got, {"a": torch.tensor([1.5, 2.0, 4.0])}) == (0.5, 0.125)
    assert precision.distance(got, {"a": torch.zeros(2)}) is None


def test_the_checks_do_not_take_precision_json_for_a_unit():
    assert set(records.known_exercises()) >= {"start.weighted_average", "rope.apply_rope"}


BARE = f"""
import sys
for name in {BLOCKED!r}:
    sys.modules[name] = None
"""


def bare(code, tmp_path):
    """Runs code in a process that cannot import the modules in BLOCKED."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}:{ROOT / 'course'}"}
    return subprocess.run(
        [sys.executable, "-c", BARE + code], capture_output=True, text=True, cwd=tmp_path, env=environment
    )


def test_recorder_on_a_machine_with_torch_numpy_and_safetensors_only(tmp_path):
    done = bare(
        "from autograder.recording import __main__ as m; "
        f"sys.exit(m.main(['--unit', '06-rope', '--unit', '01-attention', '--out', {str(tmp_path)!r}]))",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    for unit in ("01-attention", "06-rope"):  # including the latter's proofs, since torch itself needs sympy
        before = json.loads((ROOT / "assets" / "recordings" / f"{unit}.json").read_text())["exercises"]
        after = json.loads((tmp_path / f"{unit}.json").read_text())["exercises"]
        assert [e["id"] for e in after] == [e["id"] for e in before]
    assert (tmp_path / "manifest.json").exists()


def test_the_whole_recorder_leaves_out_the_widgets_with_a_sentence(tmp_path):
    done = bare(
        "from autograder.recording import __main__ as m, references, precision; "
        "references.main = precision.main = lambda argv: 0; sys.exit(m.main(['--out', '.']))",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"The widgets' tables need (anywidget|matplotlib), which is not here", done.stdout), done.stdout


def test_experiment_scripts_need_no_more(tmp_path):
    done = bare("from autograder.recording.experiments import roofline, sparse_attention, loss_spike", tmp_path)
    assert done.returncode == 0, done.stderr

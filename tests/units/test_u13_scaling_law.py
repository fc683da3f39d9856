"""Unit 13's own scaling law: parabolas on known numbers, the live run beside the recording, the words of the text."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from anatomy.experiments import growing, recorded, scaling_law
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder import ROOT
from autograder.recording.experiments import scaling_law as script

PROSE = (Path(__file__).parents[2] / "solutions" / "13-scale-and-cost.py").read_text(encoding="utf-8")
LIVE = "import json; from anatomy.experiments.scaling_law import run; print(json.dumps([run(4e9, w) for w in (8, 16)]))"


@given(best=st.floats(2_000, 40_000), bend=st.floats(0.01, 1.0), floor=st.floats(1.0, 3.0))
@settings(max_examples=50, deadline=None)
def test_a_parabola_over_log_n_is_read_back(best, bend, floor):
    sizes = [1_000, 3_000, 10_000, 30_000, 100_000]
    found = scaling_law.lowest(sizes, [floor + bend * math.log(n / best) ** 2 for n in sizes])
    if best > math.sqrt(3) * 1_000 and best < 100_000 / math.sqrt(3.4):
        assert not found.edge and found.size == pytest.approx(best, rel=1e-6)
        assert found.loss == pytest.approx(floor, abs=1e-9)
        assert min(found.losses) >= found.loss - 1e-9 and len(found.sizes) == len(found.losses) == 25
        assert found.sizes[0] < found.size < found.sizes[-1]


def test_lowest_points_by_hand():
    """1, 0, 1 at N = 1, e, e² is lowest at e; 3, 1, 1 between the last two."""
    sizes = [1, math.e, math.e**2]
    assert scaling_law.lowest(sizes, [1.0, 0.0, 1.0]).size == pytest.approx(math.e)
    tilted = scaling_law.lowest(sizes, [3.0, 1.0, 1.0])
    assert tilted.size == pytest.approx(math.e**1.5) and tilted.loss == pytest.approx(0.75)


@pytest.mark.parametrize("losses, size", [([1.0, 2.0, 3.0], 10), ([3.0, 2.0, 1.0], 1000)])
def test_at_an_edge_nothing_is_read_between(losses, size):
    found = scaling_law.lowest([10, 100, 1000], losses)
    assert (found.size, found.edge, found.sizes, found.losses) == (size, True, (), ())


def test_every_run_spends_its_budget():
    for r in recorded("scaling_law")["rows"]:
        assert 6 * r["parameters"] * r["characters"] == pytest.approx(r["budget"], rel=512 / r["characters"]), r
        assert scaling_law.steps_for(r["budget"], r["parameters"]) == r["characters"] / 512
    assert scaling_law.steps_for(1.0, 10**9) == 1


def test_a_size_is_what_the_text_counts():
    """A width of 8 has two layers of 12·8² with two norms, tables of characters and positions, a head and a norm."""
    kinds = len(growing._text()[0])
    assert scaling_law.model(8, 1).parameters == 2 * (12 * 64 + 2 * 8) + (2 * kinds + 32) * 8 + 8


@pytest.mark.parametrize("kernels", [None, "default", "avx2"])
def test_the_live_run_tells_what_the_recording_tells_on_every_processor(kernels):
    """Losses differ between processors as a training does, by less than between two widths."""
    environment = {k: v for k, v in os.environ.items() if k != "ATEN_CPU_CAPABILITY"}
    environment |= {"ATEN_CPU_CAPABILITY": kernels} if kernels else {}
    environment |= {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "course")))}
    said = subprocess.run([sys.executable, "-c", LIVE], env=environment, capture_output=True, text=True, check=True)
    kept = [r for r in recorded("scaling_law")["live"] if r["seed"] == 0 and r["width"] > 4]  # width 4 takes longest
    for now, then in zip(json.loads(said.stdout), kept, strict=True):
        assert [now[k] for k in ("parameters", "characters")] == [then[k] for k in ("parameters", "characters")]
        assert now["loss"] == pytest.approx(then["loss"], abs=0.03)


def test_the_text_says_what_was_recorded():
    data = recorded("scaling_law")
    facts = script.facts(data)
    budgets = [f"{budget / 1e9:g} billion FLOPs" for budget in (*scaling_law.LIVE, sorted(scaling_law.GRID)[1])]
    assert all(budget in PROSE for budget in budgets) and f"width in {scaling_law.LIVE[4e9]}" in PROSE
    assert data["rate"] == 0.2 and {r["rate"] for r in data["other_rate"]} == {0.4}
    exponents = [facts["exponent"], *facts["rates"].values()]
    assert all(0.25 < e["least"] <= e["most"] < 0.75 for e in exponents), "nearer to a half than to 0 or 1"
    assert facts["exponent"]["apart"] > 0.03, "agreement to a few hundredths would be luck"
    assert facts["rates"]["usual"]["least"] > facts["exponent"]["most"], "higher throughout with half of the budgets"
    assert facts["edges"] == sum(rate["edges"] for rate in facts["rates"].values()) == 0
    assert facts["live"]["middle"] == facts["seeds"] == 3, "the middle width is best for each seed"

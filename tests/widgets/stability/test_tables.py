"""Tier 1 of SoftmaxStabilityExplorer: tables against loops and torch, mistakes, broken functions, notices, display."""

import json
import math

import numpy as np
import pytest
import torch
from anatomy.widgets import SoftmaxStabilityExplorer, stability
from anatomy.widgets.tools.base import NOTHING_GIVEN

from autograder import ROOT

from ..learners import unfinished
from .learners import RIGHT, WRONG

A = len(stability.FACTORS)
LAST = dict(zip(stability.DTYPES, (11.09, 88.72, 88.72, 709.78), strict=True))  # ln of the largest number


def with_(**changes):
    return {**RIGHT, **changes}


def array(widget, name, *shape):
    return np.frombuffer(widget.tables[name], "<f4").reshape(*shape, -1)


def test_right_functions_are_right_everywhere():
    widget = SoftmaxStabilityExplorer(RIGHT)
    assert widget.notice == "" and all(widget.written(name) for name in widget.names)
    assert array(widget, "gap").max() < stability.TOLERANCE and array(widget, "hand").max() < stability.TOLERANCE
    gaps = array(widget, "lse_gap", 4)
    assert all(np.nanmax(row) < limit for row, limit in zip(gaps, stability.ROUNDING, strict=True))
    assert "All agree with the reference" in widget.alt and "your functions" in widget.alt


def test_the_row_and_its_query_and_keys_agree():
    inputs = SoftmaxStabilityExplorer()._inputs
    assert torch.allclose((inputs["q"] @ inputs["k"].T / math.sqrt(stability.D))[0], inputs["row"], atol=1e-5)
    assert inputs["row"].tolist() == [2, 1.5, 1, 0.5, 0, -0.5, -1, -2]


@pytest.mark.parametrize("factor, cap, gain", [(0, 1.0, 0.5), (6, 10.0, 1.0), (20, 50.0, 8.0), (36, 2.0, 4.0)])
def test_what_is_on_show_equals_a_loop(factor, cap, gain):
    widget = SoftmaxStabilityExplorer(RIGHT, factor=factor, cap=cap, gain=gain, coefficient=1e-2)
    n, x = widget.readings(), [stability.FACTORS[factor] * v for v in (2, 1.5, 1, 0.5, 0, -0.5, -1, -2)]
    capped = [cap * math.tanh(v / cap) for v in x]
    for name, row in (("none", x), ("soft cap", capped)):
        e = [math.exp(v - max(row)) for v in row]
        p = [v / sum(e) for v in e]
        assert n["largest"][name] == pytest.approx(max(map(abs, row)), rel=1e-5)
        assert n["weight"][name] == pytest.approx(max(p), abs=1e-4)
        assert n["entropy"][name] == pytest.approx(-sum(v * math.log(v) for v in p if v), abs=1e-3)
    log_z = max(x) + math.log(sum(math.exp(v - max(x)) for v in x))
    assert n["log_z"] == pytest.approx(log_z, rel=1e-5) and n["z_loss"] == pytest.approx(1e-2 * log_z**2, rel=1e-4)
    assert n["pull"] == pytest.approx(0.02 * log_z * n["weight"]["none"], rel=1e-3)
    assert n["largest"]["soft cap"] <= cap and n["largest"]["QK-norm"] <= n["bound"] == 4 * gain**2


def test_qk_norm_keeps_the_scores_and_the_cap_ends_the_slope():
    low, high = (SoftmaxStabilityExplorer(RIGHT, factor=i).readings() for i in (8, 36))
    assert high["largest"]["QK-norm"] == pytest.approx(low["largest"]["QK-norm"], rel=1e-4)
    assert high["slope"]["QK-norm"] > 0.2 and high["slope"]["none"] == high["slope"]["soft cap"] == 0
    assert high["entropy"]["soft cap"] == pytest.approx(math.log(4), abs=1e-3), "four scores end at the cap"


def test_where_each_dtype_breaks():
    """From torch's numbers: the largest score that a softmax without a shift survives; the shifted one always works."""
    widget = SoftmaxStabilityExplorer(RIGHT)
    naive, shifted = (array(widget, name, 4)[:, :A] for name in ("naive", "shifted"))
    row = torch.tensor([2, 1.5, 1, 0.5, 0, -0.5, -1, -2]).double() * stability.FACTORS[5]
    for i, dtype in enumerate(stability.DTYPES):
        largest = [2 * f for f, v in zip(stability.FACTORS, naive[i], strict=True) if np.isfinite(v)]
        assert max(largest) < LAST[dtype] < 2 * stability.FACTORS[len(largest)] < 1.5 * LAST[dtype], dtype
        assert math.isclose(widget.spec["limits"][i], LAST[dtype], abs_tol=0.01)
        e = row.to(getattr(torch, dtype)).exp()
        assert naive[i, 5] == pytest.approx((e / e.sum()).max().item(), rel=1e-7)
    first = [next(2 * f for f, v in zip(stability.FACTORS, row, strict=True) if not np.isfinite(v)) for row in naive]
    assert [round(v, 1) for v in first] == [11.3, 90.5, 90.5, 724.1], "the notebook names these scores"
    assert np.isfinite(shifted[1:]).all()
    assert np.isfinite(shifted[0, :-1]).all() and np.isnan(shifted[0, -1]), "65,536 is infinite in float16"
    assert SoftmaxStabilityExplorer(RIGHT, factor=16).readings()["nan"] == ["float16"]


def test_the_slope_is_gone_where_the_notebook_says():
    widget = SoftmaxStabilityExplorer(RIGHT, grow="as in a training run")
    slopes = {}
    for i, step in enumerate(widget.spec["steps"]):
        widget.run_step = i
        slopes[step] = widget.readings()["slope"]["none"]
    assert slopes[8] > 0.2 and slopes[24] > 5e-3 and slopes[32] < 1e-4, slopes


def test_the_run_is_the_recorded_one():
    data = json.loads((ROOT / "assets" / "experiments" / "loss_spike.json").read_text())
    run = next(r for r in data["rows"] if (r["remedy"], r["seed"]) == ("nothing", 0))
    widget = SoftmaxStabilityExplorer(RIGHT, grow="as in a training run")
    for step in (0, 7, len(widget.spec["steps"]) - 1):
        widget.run_step = step
        at = int(widget.spec["steps"][step])
        assert widget.readings()["largest"]["none"] == pytest.approx(float(run["score"].split()[at]), rel=1e-4)
        assert f"step {widget.spec['steps'][step]} of a recorded run" in widget.alt


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_show(name):
    widget = SoftmaxStabilityExplorer(with_(**{name: WRONG[name]}))
    gaps = widget.readings()["gap"]
    assert {k for k, v in gaps.items() if not v <= stability.TOLERANCE} == {name}
    assert widget.notice == "" and f"Differs from the reference: {name}" in widget.alt


def test_a_logsumexp_without_shift_is_infinite_where_its_dtype_ends():
    widget = SoftmaxStabilityExplorer(with_(logsumexp=WRONG["logsumexp"]), factor=16)  # largest score 64
    table = array(widget, "L_logsumexp", 4)
    assert np.isinf(table[0, 16]) and np.isfinite(table[1:, 16]).all()


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize(
    "broken, said",
    [
        (lambda *a, **k: 1 / 0, "which raised ZeroDivisionError: division by zero"),
        (lambda *a, **k: "no", "it returned"),
        (lambda *a, **k: None, "it returned"),
    ],
)
def test_a_broken_function_falls_back_on_its_own(name, broken, said):
    widget = SoftmaxStabilityExplorer(with_(**{name: broken}))
    assert widget.notice.startswith(f"Showing the reference for {name}") and said in widget.notice
    assert not widget.written(name) and all(widget.written(k) for k in RIGHT if k != name)
    own = array(widget, "own")
    assert [own[i] == 1 for i, k in enumerate(widget.names)] == [k != name for k in widget.names]
    assert "All agree" in widget.alt and "partly the reference's" in widget.alt
    widget.refresh(RIGHT)
    assert widget.notice == "" and widget.written(name)


def test_a_shape_that_is_wrong_and_a_cut_off_gradient():
    cut_off = lambda x, c: RIGHT["z_loss"](x.detach(), c)
    widget = SoftmaxStabilityExplorer(with_(soft_cap=lambda x, cap: x[0], z_loss=cut_off))
    assert "soft_cap must return a floating-point tensor of shape" in widget.notice
    assert "No gradient flows through z_loss" in widget.notice
    widget = SoftmaxStabilityExplorer(with_(qk_norm=lambda q, k, a, b: q))
    assert "qk_norm must return 2 things here" in widget.notice


def test_unwritten_functions_fall_back_by_themselves():
    assert SoftmaxStabilityExplorer().notice == NOTHING_GIVEN
    widget = SoftmaxStabilityExplorer(with_(soft_cap=unfinished, qk_norm=unfinished))
    assert widget.notice == "Showing the reference for qk_norm, soft_cap: not written yet"
    widget = SoftmaxStabilityExplorer(dict.fromkeys(RIGHT, unfinished))
    assert "the reference's functions" in widget.alt and not any(array(widget, "own"))
    widget.refresh(RIGHT)
    assert widget.notice == "" and all(array(widget, "own"))
    with pytest.raises(TypeError, match="does not know soft_cup"):
        SoftmaxStabilityExplorer({"soft_cup": unfinished})


def test_a_soft_cap_makes_large_scores_alike():
    """At factor 256 the four positive scores end at the cap, and share what there is; a cap of 1 gives no key much."""
    widget = SoftmaxStabilityExplorer(RIGHT, factor=22)
    plain, capped = widget.rows()["none"], widget.rows()["soft cap"]
    up = plain > 0
    assert up.sum() == 4 and (plain[up].min(), plain.max()) == (128, 512)
    assert capped[up] == pytest.approx([10] * 4)
    assert torch.softmax(torch.tensor(capped), -1).numpy()[up] == pytest.approx([0.25] * 4, abs=1e-4)
    for factor in range(A):
        low = SoftmaxStabilityExplorer(RIGHT, cap=1.0, factor=factor).readings()
        assert low["weight"]["soft cap"] < 0.24 and low["largest"]["soft cap"] <= 1


def test_z_loss_pushes_the_largest_logit_most():
    widget = SoftmaxStabilityExplorer(RIGHT, factor=8, coefficient=1.0)
    pull, row = widget.shown("g_z_loss_gradient")[2, 8], widget.rows()["none"]
    assert pull.argmax() == row.argmax() and (pull > 0).all() and pull[0] > 1.5 * pull[1]
    p = torch.softmax(torch.tensor(row), -1)
    assert pull == pytest.approx((2 * widget.readings()["log_z"] * p).numpy(), rel=1e-4)


def test_the_static_picture_and_the_words_tell_both_losses():
    made = SoftmaxStabilityExplorer(RIGHT, more=True, part="loss", factor=12)
    by_weight, by_sum = made.losses().values()
    assert np.isinf(by_weight[-3:]).all() and np.isfinite(by_sum).all()
    assert np.allclose(by_weight[:5], by_sum[:5], atol=0.2)  # float16
    assert "The loss −log p of the eight tokens is " in made.words and "∞" in made.words.split("−log p")[1][:90]
    assert "The loss log Z − x of the eight tokens is 0, 4, 8, 12, 16, 20, 24, 32." in made.words
    made.part = "dtypes"
    assert made.losses() == {} and "The loss −log p" not in made.words


def test_each_loss_has_an_axes_of_the_static_picture():
    made = SoftmaxStabilityExplorer(RIGHT, more=True, part="loss", factor=12)
    titles = [axes.get_title(loc) for axes in made.figure().axes for loc in ("left", "center")]
    assert {"loss −log p", "loss log Z − x"} < set(titles)
    made.more = False
    titles = [axes.get_title(loc) for axes in made.figure().axes for loc in ("left", "center")]
    assert not [t for t in titles if t.startswith("loss")]

"""The story of SoftmaxStabilityExplorer: the right answers are true of the widget's own tables, the others are not."""

import math

import pytest
import torch
from anatomy.widgets import SoftmaxStabilityExplorer
from anatomy.widgets.stability import DTYPES, FACTORS
from anatomy.widgets.stability.story import STORY

from .learners import RIGHT


def shown(i, **changes):
    return SoftmaxStabilityExplorer(RIGHT, **{**STORY[i].state, **changes})


def chosen(i):
    return STORY[i].choices[STORY[i].answer]


def along(widget, trait, count):
    """The widget's readings at each value of that trait."""
    found = []
    for place in range(count):
        setattr(widget, trait, place)
        found.append(widget.readings())
    return found


def test_it_starts_where_the_widget_starts():
    widget = SoftmaxStabilityExplorer()
    assert {name: getattr(widget, name) for name in STORY[0].state} == STORY[0].state


def test_large_scores_leave_one_weight():
    first, small, large = (shown(0, **at).readings() for at in ({}, {"factor": 0}, {"factor": 13}))
    assert FACTORS[STORY[0].state["factor"]] == 1 and 0.4 < first["weight"]["none"] < 0.41  # none takes all yet
    assert chosen(0) == "one weight takes all" and FACTORS[0] == 0.125 and round(FACTORS[13], 1) == 11.3
    assert small["weight"]["none"] < 0.16 and f"{large['weight']['none']:.3f}" == "0.997" in STORY[0].because
    assert large["entropy"]["none"] < 0.03 < 2 < small["entropy"]["none"] < math.log(8)


def test_a_soft_cap_makes_large_scores_alike():
    """At factor 256 the four positive scores end at the cap, and share what there is."""
    widget = shown(1, factor=22)
    plain, capped = widget.rows()["none"], widget.rows()["soft cap"]
    assert FACTORS[widget.factor] == 256 and "256" in STORY[1].asks and "256" in STORY[1].look
    up = plain > 0
    assert up.sum() == 4 and (plain[up].min(), plain.max()) == (128, 512) and "128 to 512" in STORY[1].because
    assert capped[up] == pytest.approx([10] * 4) and chosen(1) == "all at 10"
    p = torch.softmax(torch.tensor(capped), -1).numpy()
    assert p[up] == pytest.approx([0.25] * 4, abs=1e-4) and shown(1).cap == 10


def test_qk_norm_alone_keeps_its_slope_at_256():
    widget = shown(2)
    slopes = widget.readings()["slope"]
    assert FACTORS[widget.factor] == 256 and str(256) in STORY[2].asks and str(256) in STORY[2].look
    assert [slopes[name] > 0.2 for name in ("none", "soft cap", "QK-norm")] == [False, False, True]
    assert max(slopes["none"], slopes["soft cap"]) < 1e-6 and chosen(2) == "QK-norm"
    found = along(widget, "factor", len(FACTORS))
    kept = [n["slope"]["QK-norm"] for n in found]
    assert max(kept) - min(kept) < 1e-4  # "divides the growth out"
    assert max(n["largest"]["soft cap"] for n in found) <= 10  # "the cap bounds the scores"


def test_float16_alone_needs_the_shift_at_64():
    n = shown(3).readings()
    assert n["largest"]["none"] == 64 and n["nan"] == ["float16"] == [chosen(3)]
    assert set(STORY[3].choices) < set(DTYPES)
    assert n["beyond"] == {"float16": 4, "bfloat16": 0, "float32": 0, "float64": 0}
    assert f"{torch.finfo(torch.float16).max:,.0f}" in STORY[3].because and math.exp(64) > 65504
    assert f"{math.exp(64):.1e}" == "6.2e+27" and "6.2·10²⁷" in STORY[3].because
    assert shown(3, exp_of="x − max").marks().max() == 0 and not any(
        shown(3, exp_of="x − max").readings()["beyond"].values()
    )


def test_z_loss_pushes_the_largest_logit_most():
    widget = shown(4)
    at = widget.factor
    pull = widget.shown("g_z_loss_gradient")[2, at]
    row = widget.rows()["none"]
    assert widget.coefficient == 1.0 and chosen(4) == "the largest"
    assert pull.argmax() == row.argmax() and (pull > 0).all() and pull[0] > 1.5 * pull[1]  # "down", not equally
    p = torch.softmax(torch.tensor(row), -1)
    assert pull == pytest.approx((2 * widget.readings()["log_z"] * p).numpy(), rel=1e-4)


def test_the_slope_of_the_run_is_gone_from_step_32_on():
    widget = shown(5)
    steps = widget.spec["steps"]
    found = dict(zip(steps, along(widget, "run_step", len(steps)), strict=True))
    below = {step: n["slope"]["none"] < 0.001 for step, n in found.items()}
    first = min(step for step in steps if all(below[s] for s in steps if s >= step))
    assert chosen(5) == str(first) and all(int(c) in steps for c in STORY[5].choices)
    told = STORY[5].because
    assert f"step 24 it is still {found[24]['slope']['none']:.4f}" in told
    assert f"{found[32]['largest']['none']:.1f}" in told and f"{found[32]['slope']['none']:.1e}" == "3.3e-06"
    assert "3.3e−6" in told


def test_a_cap_of_1_gives_no_key_much():
    widget = shown(6)
    found = along(widget, "factor", len(FACTORS))
    most = max(n["weight"]["soft cap"] for n in found)
    assert most < 0.24 and chosen(6) == "no" and "0.24" in STORY[6].because
    assert max(n["largest"]["soft cap"] for n in found) <= 1 and max(n["weight"]["none"] for n in found) > 0.99

"""The story of SoftmaxStabilityExplorer: the right answers are true of the widget's own tables, the others are not."""

import math

import numpy as np
import torch
from anatomy.widgets import SoftmaxStabilityExplorer, stability
from anatomy.widgets.stability import DTYPES, FACTORS, scores
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


def half(widget):
    """(8,) scores as float16 has them."""
    return scores(widget._inputs)[widget.factor].half()


def test_exp_of_the_largest_score_breaks_float16():
    assert chosen(0) == "exp of the largest score"
    ends = STORY[0].show[-1]
    before, broken = shown(0, factor=ends["factor"] - 1), shown(0, **ends)
    assert np.isfinite(before.half()).all() and np.isnan(broken.half()[0]) and broken.readings()["nan"] == ["float16"]
    x = half(broken)
    assert round(x[0].item(), 1) == 11.3 and x.isfinite().all() and x[0].exp() == math.inf  # not the score itself
    assert f"{torch.finfo(torch.float16).max:,.0f}" in STORY[0].because
    assert round(math.exp(x[0].item()), -3) == 82_000 and "82,000" in STORY[0].because
    assert np.nanmax(before.half()) < 1


def test_the_shift_changes_no_weight():
    """Not one that can be seen: float16 rounds to three digits."""
    assert chosen(1) == "nothing"
    for factor in range(11):
        plain, shifted = (shown(1, factor=factor, exp_of=x).half() for x in stability.EXP_OF)
        assert np.abs(plain - shifted).max() < 1e-3 and [f"{v:.2f}" for v in plain] == [f"{v:.2f}" for v in shifted]
    assert np.isfinite(shown(1, **STORY[1].show[-1], exp_of="x − max").half()).all()
    assert all(shown(1, factor=i, exp_of="x − max").marks()[0].max() == 0 for i in range(36))


def test_what_becomes_0_takes_nothing_away():
    assert chosen(2) == "next to nothing"
    for factor in range(36):
        widget = shown(2, factor=factor)
        p = torch.softmax(half(widget).double(), -1).numpy()
        assert np.abs(widget.half() - p).max() < 1e-3
        lost = p[widget.half() == 0]
        assert (lost < 1e-7).all()
        assert len(lost) == 0 or factor > STORY[2].state["factor"]
    assert (shown(2, **STORY[2].show[-1]).half() == 0).sum() == 6


def test_the_log_of_0_makes_the_loss_infinite():
    assert chosen(3) == "it becomes ∞"
    assert (shown(3).half() > 0).all()
    widget = shown(3, factor=12)
    assert FACTORS[12] == 8 and "factor 8" in STORY[3].look and (widget.half()[-3:] == 0).all()
    x = half(widget).requires_grad_()
    with torch.enable_grad():
        loss = -torch.softmax(x, -1).log()[-1]
        loss.backward()
    assert loss == math.inf and x.grad.isnan().all()
    assert np.isfinite(widget.readings()["log_z"]) and torch.logsumexp(half(widget), -1).isfinite()


def test_no_dtype_does_without_the_shift():
    assert chosen(4) == "none of them" and set(STORY[4].choices[:2]) < set(DTYPES)
    assert shown(4).readings()["nan"] == [] and shown(4, **STORY[4].show[-1]).readings()["nan"] == list(DTYPES)
    ends = {dtype: f"{math.log(torch.finfo(getattr(torch, dtype)).max):.1f}" for dtype in DTYPES[1:]}
    assert ends == {"bfloat16": "88.7", "float32": "88.7", "float64": "709.8"}
    assert "float32 and bfloat16 end at exp(88.7), float64 at exp(709.8)" in STORY[4].because


def test_without_the_root_of_d_one_weight_takes_all_and_hardly_learns():
    first, large = shown(5).readings(), shown(5, **STORY[5].show[-1]).readings()
    assert f"{FACTORS[13]:.1f}" == f"{math.sqrt(128):.1f}" == "11.3" and STORY[5].show[-1] == {"factor": 13}
    assert f"{large['weight']['none']:.3f}" == "0.997" and f"{large['slope']['none']:.4f}" == "0.0035"
    assert chosen(5) == "it almost stops" and first["slope"]["none"] > 60 * large["slope"]["none"]


def test_a_soft_cap_shares_the_weight_but_is_flat():
    start, far = shown(6).readings(), shown(6, **STORY[6].show[-1]).readings()
    assert FACTORS[STORY[6].show[-1]["factor"]] == 64 and "64" in STORY[6].says and "64" in STORY[6].look
    assert far["weight"]["none"] > 0.999 and far["weight"]["soft cap"] < 0.26  # no weight takes all
    assert far["largest"]["soft cap"] <= 10 and chosen(6) == "with soft cap"
    capped = shown(6, **STORY[6].show[-1]).rows()["soft cap"]
    assert ((capped > 9.9).sum(), capped.max() > 10) == (4, False)
    assert start["slope"]["soft cap"] > 0.2 and far["slope"]["soft cap"] < 1e-6


def test_qk_norm_alone_keeps_its_slope_at_256():
    widget = shown(7, factor=22)
    slopes = widget.readings()["slope"]
    assert FACTORS[widget.factor] == 256 and "256" in STORY[7].says and "256" in STORY[7].look
    assert [slopes[name] > 0.2 for name in ("none", "soft cap", "QK-norm")] == [False, False, True]
    assert (
        max(slopes["none"], slopes["soft cap"]) < 1e-6
        and chosen(7) == "yes, as at factor 1"
        and widget.readings()["bound"] == 4
        and "here 4" in STORY[7].says
    )
    found = along(widget, "factor", len(FACTORS))
    kept = [n["slope"]["QK-norm"] for n in found]
    assert max(kept) - min(kept) < 1e-4  # "divides the growth out"
    assert max(n["largest"]["soft cap"] for n in found) <= 10  # "the cap bounds the scores"

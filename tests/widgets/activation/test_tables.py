"""Tier 1 of ActivationExplorer: tables, facts, mistakes."""

import math

import numpy as np
import pytest
import torch
from anatomy.widgets import ActivationExplorer, WrongOutput
from anatomy.widgets import activation as act

from .learners import ACTIVATIONS, right_silu_prime, wrong_constant_gelu


def with_(functions, **changes):
    return {**functions, **changes}


def array(widget, name, *shape):
    return np.frombuffer(widget.tables[name], "<f4").reshape(shape)


def test_activation_tables_equal_a_loop():
    widget = ActivationExplorer(ACTIVATIONS)
    curve = array(widget, "f_swish", len(act.BETAS), act.POINTS)
    slope = array(widget, "d_swish", len(act.BETAS), act.POINTS)
    for j, i in ((0, 3), (4, 100), (8, 90)):
        x, beta = -4 + 0.05 * i, act.BETAS[j]
        gate = 1 / (1 + math.exp(-beta * x))
        assert math.isclose(curve[j, i], x * gate, abs_tol=1e-5)
        assert math.isclose(slope[j, i], gate + beta * x * gate * (1 - gate), abs_tol=2e-5)


def test_units_are_counted_as_a_loop_counts_them():
    widget = ActivationExplorer(ACTIVATIONS, activation="relu", shift=-3)
    pre = widget._inputs["pre"] - 3
    dead = sum(all(v <= 0 for v in pre[:, u].tolist()) for u in range(act.UNITS))
    flat = sum(v <= 0 for v in pre.flatten().tolist()) / pre.numel()
    found = widget.facts()
    assert 0 < dead < act.UNITS and found["dead"] == dead and math.isclose(found["flat"], flat, abs_tol=1e-6)
    smooth = ActivationExplorer(ACTIVATIONS, activation="gelu", shift=-3).facts()
    assert smooth["dead"] == 0 and smooth["flat"] > 0.5  # never dead, but nearly flat


def test_swish_comes_near_relu_as_beta_grows():
    far = [ActivationExplorer(ACTIVATIONS, activation="swish", beta=b).facts()["relu"] for b in act.BETAS]
    assert far == sorted(far, reverse=True)
    assert math.isclose(far[-1], 0.27846 / 20, rel_tol=0.05)  # the grid slightly misses the peak


@pytest.mark.parametrize(
    "functions, name, broken",
    [
        (ACTIVATIONS, "gelu", set()),
        (with_(ACTIVATIONS, gelu=wrong_constant_gelu), "gelu", {"reference", "hand"}),
        (with_(ACTIVATIONS, gelu_prime=right_silu_prime), "gelu", {"hand"}),
        (with_(ACTIVATIONS, swish=lambda x, beta=1.0: beta * x * torch.sigmoid(beta * x)), "swish", set()),  # at beta 1
    ],
)
def test_activation_mistakes_show(functions, name, broken):
    widget = ActivationExplorer(functions, activation=name)
    found = widget.facts()
    assert {k for k in ("reference", "hand") if found[k] > act.TOLERANCE} == broken
    assert all(found[k] > 0.01 for k in broken)
    assert ("broken" in widget.alt) == bool(broken)


def test_a_slope_by_hand_is_asked_for_only_where_it_belongs():
    assert math.isnan(ActivationExplorer(ACTIVATIONS, activation="swish", beta=3.0).facts()["hand"])
    assert math.isnan(ActivationExplorer({"gelu": ACTIVATIONS["gelu"]}, activation="gelu").facts()["hand"])
    assert math.isnan(ActivationExplorer(ACTIVATIONS, activation="relu").facts()["hand"])


def test_a_function_cut_off_from_its_gradient_gets_one_sentence():
    with pytest.raises(WrongOutput, match="No gradient flows through relu"):
        ActivationExplorer({"relu": lambda x: x.detach().clamp(min=0)})

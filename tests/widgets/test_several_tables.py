"""Tier 1 of the widgets that draw several functions: tables, facts, notices, display bundle."""

import math

import numpy as np
import pytest
import torch
from anatomy.widgets import ActivationExplorer, NormExplorer, WrongOutput, norm
from anatomy.widgets import activation as act
from anatomy.widgets.base import NOTHING_GIVEN

from .learners import unfinished
from .several_learners import (
    ACTIVATIONS,
    NORMS,
    right_silu_prime,
    sum_rms_norm,
    unbiased_layer_norm,
    wrong_constant_gelu,
)

WIDGETS = [(ActivationExplorer, ACTIVATIONS), (NormExplorer, NORMS)]
EACH = pytest.mark.parametrize("widget, functions", WIDGETS, ids=["activation", "norm"])


def with_(functions, **changes):
    return {**functions, **changes}


def array(widget, name, *shape):
    return np.frombuffer(widget.tables[name], "<f4").reshape(shape)


def test_norm_tables_equal_a_loop():
    widget = NormExplorer(NORMS)
    x = widget._inputs["x"].tolist()
    for e, a, b in ((0, 5, 5), (1, 0, 7), (2, 8, 0), (3, 1, 10)):
        v = [norm.SCALES[a] * xi + norm.SHIFTS[b] for xi in x]
        mean = sum(v) / 8
        variance = sum((vi - mean) ** 2 for vi in v) / 8
        square = sum(vi * vi for vi in v) / 8
        shape = (len(norm.EPSILONS), len(norm.SCALES), len(norm.SHIFTS), 8)
        layer, rms = (array(widget, f"y_{k}", *shape)[e, a, b] for k in NORMS)
        eps = norm.EPSILONS[e]
        assert np.allclose(layer, [(vi - mean) / math.sqrt(variance + eps) for vi in v], atol=5e-4)
        assert np.allclose(rms, [vi / math.sqrt(square + eps) for vi in v], atol=1e-5)


def test_layer_norm_ignores_shifts_and_rms_norm_does_not():
    widget = NormExplorer(NORMS, eps=1e-8)
    for shift in norm.SHIFTS:
        widget.shift = shift
        found = widget.facts()
        assert found["layer_norm"] < 1e-5 and found["identity"] < 1e-4
        assert (found["rms_norm"] < 1e-5) == (shift == 0)
    widget.shift = 0.0
    for scale in norm.SCALES:
        widget.scale = scale
        changed = max(widget.facts()[k] for k in NORMS)
        assert changed > 1 if scale < 0 else changed < norm.TOLERANCE  # a sign is not a scale


def test_a_large_epsilon_ends_the_invariance_to_scale():
    widget = NormExplorer(NORMS, eps=0.1, scale=0.1, shift=0.0)
    assert widget.facts()["layer_norm"] > 0.5 and "changed since scale 1" in widget.alt


@pytest.mark.parametrize(
    "functions, broken",
    [
        (NORMS, set()),
        (with_(NORMS, rms_norm=sum_rms_norm), {"identity", "reference"}),
        (with_(NORMS, layer_norm=unbiased_layer_norm), {"identity", "reference"}),
        (with_(NORMS, layer_norm=lambda x, w, b, eps: x), {"identity", "reference"}),
    ],
)
def test_norm_mistakes_show(functions, broken):
    widget = NormExplorer(functions, shift=0.0)
    found = widget.facts()
    assert {k for k in ("identity", "reference") if found[k] > norm.TOLERANCE} == broken
    assert all(found[k] > 0.05 for k in broken)
    assert ("broken" in widget.alt) == bool(broken)


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
    assert smooth["dead"] == 0 and smooth["flat"] > 0.5  # never dead, but deaf


def test_swish_comes_near_relu_as_beta_grows():
    far = [ActivationExplorer(ACTIVATIONS, activation="swish", beta=b).facts()["relu"] for b in act.BETAS]
    assert far == sorted(far, reverse=True)
    assert math.isclose(far[-1], 0.27846 / 20, rel_tol=0.05)  # the grid misses the peak a little


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


@EACH
def test_each_unwritten_function_falls_back_by_itself(widget, functions):
    first, *others = functions
    made = widget(with_(functions, **{first: unfinished}))
    assert made.notice == f"Showing the reference for {first}: not written yet"
    assert not made.written(first) and all(made.written(name) for name in others)
    made.refresh(functions)
    assert made.notice == "" and made.written(first)
    made = widget(dict.fromkeys(functions, unfinished))
    assert made.notice == f"Showing the reference for {', '.join(sorted(functions))}: not written yet"
    assert "the reference's" in made.alt and "broken" not in made.alt
    assert widget().notice == NOTHING_GIVEN


@EACH
def test_wrong_names_results_and_errors(widget, functions):
    first = next(iter(functions))
    with pytest.raises(TypeError, match="does not know geelu"):
        widget({"geelu": unfinished})
    with pytest.raises(WrongOutput, match=f"{first} must return a floating-point tensor of shape"):
        widget(with_(functions, **{first: lambda *args, **kwargs: torch.zeros(7, 7, 7)}))
    with pytest.raises(ZeroDivisionError):
        widget(with_(functions, **{first: lambda *args, **kwargs: 1 / 0}))


@EACH
def test_right_functions_are_right_everywhere(widget, functions):
    made = widget(functions)
    if widget is NormExplorer:
        shape = (len(norm.EPSILONS), len(norm.SCALES), len(norm.SHIFTS), len(norm.FACTS))
        assert array(made, "facts", *shape)[..., 2:].max() < norm.TOLERANCE
    else:
        facts = array(made, "facts", len(act.ACTIVATIONS), len(act.BETAS), 3)
        assert facts[..., 0].max() < act.TOLERANCE and np.nanmax(facts[..., 2]) < act.TOLERANCE

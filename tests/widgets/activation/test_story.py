"""The story of ActivationExplorer: the right answers are true of the widget's own tables, the others are not."""

import itertools

import numpy as np
from anatomy.widgets import ActivationExplorer
from anatomy.widgets import activation as act
from anatomy.widgets.activation.story import STORY

from .learners import ACTIVATIONS


def shown(i, **changes):
    state = {**STORY[i].state, **changes}
    return ActivationExplorer(ACTIVATIONS, **state)


def chosen(i):
    return STORY[i].choices[STORY[i].answer]


def curves(widget):
    """x, f and f′ of the activation that is shown, at its own β."""
    row = widget._row()
    x = widget._inputs["x"].numpy().astype(float)
    return x, *(widget.shown(f"{kind}_{widget.name}")[row].astype(float) for kind in "fd")


def units(widget):
    """(tokens, units) inputs after the shift, and which units are dead."""
    silent, _ = widget.shown(f"u_{widget.name}")[widget._row(), act.SHIFTS.index(widget.shift)]
    return widget._inputs["pre"].numpy() + widget.shift, silent == 1


def test_it_starts_where_the_widget_starts():
    widget = ActivationExplorer()
    assert {name: getattr(widget, name) for name in STORY[0].state} == STORY[0].state


def test_without_a_bend_the_sum_of_the_units_is_a_straight_line():
    straight = {"beta": 0.0}
    _, f, slope = curves(shown(0, **straight))
    x = shown(0)._inputs["x"].numpy()
    assert np.allclose(f, x / 2, atol=1e-6) and np.allclose(slope, 0.5, atol=1e-6) and "x/2" in STORY[0].because
    assert chosen(0) == "only a straight line" and np.ptp(shown(0, **straight).sums()) > 2  # and not 0 everywhere
    for weights in itertools.product(act.WEIGHTS, repeat=3):
        steps = np.diff(shown(0, **straight, **dict(zip(("w1", "w2", "w3"), weights, strict=True))).sums())
        assert np.allclose(steps, steps[0], atol=1e-5), weights
    assert all(shown(0, beta=beta).bends() for beta in act.BETAS[1:])


def test_the_hill_is_flat_at_its_right_if_the_weights_add_up_to_0():
    widget = shown(1)
    assert widget.name == "relu" and chosen(1) == "when the weights add up to 0"
    x = widget._inputs["x"].numpy()[20:-20]
    hill = shown(1, w1=2, w2=-4, w3=2).sums()
    assert np.allclose(hill, np.maximum(0, 2 - 2 * abs(x)), atol=1e-5) and "2 − 4 + 2 = 0" in STORY[1].because
    for w1, w2, w3 in itertools.product(act.WEIGHTS, repeat=3):
        right = shown(1, w1=w1, w2=w2, w3=w3).sums()[x > 1.01]
        assert np.allclose(np.diff(right), 0.05 * (w1 + w2 + w3), atol=1e-5)


def test_relu_has_no_slope_left_of_0():
    widget = shown(2)
    x, f, slope = curves(widget)
    assert widget.name == "relu" and chosen(2) == "nothing"
    assert (f[x < -0.01] == 0).all() and (slope[x < -0.01] == 0).all() and (slope[x > 0.01] == 1).all()


def test_all_inputs_of_dead_units_are_below_0():
    """So nothing moves their weights. "no", they never wake."""
    widget = shown(3)
    inputs, dead = units(widget)
    assert widget.name == "relu" and 0 < dead.sum() < act.UNITS and chosen(3) == "no"
    assert (inputs[:, dead] < 0).all() and (inputs[:, ~dead] > 0).any(0).all()
    assert all(state["unit"] in np.flatnonzero(dead) for state in STORY[3].show)


def test_gelu_and_swish_let_the_dead_units_learn_again():
    assert chosen(4) == "yes, the same inputs teach them again" and shown(4).facts()["dead"] == 14
    for name, share in (("gelu", 42), ("swish", 18)):
        widget = shown(4, activation=act.ACTIVATIONS.index(name))
        found = widget.facts()
        assert found["dead"] == 0 and round(100 * found["flat"]) == share and f"{share} % of" in STORY[4].because
        flat = widget.shown(f"u_{name}")[widget._row(), act.SHIFTS.index(widget.shift), 1]
        _, dead = units(shown(4))
        assert (flat[dead] < 1).all()  # each of them has a slope that is not flat
    assert {state["activation"] for state in STORY[4].show} == {4, 6} and STORY[4].state["beta"] == 1


def test_two_straight_lines_multiply_to_a_parabola():
    x, f, _ = curves(shown(5))
    assert chosen(5) == "a parabola" and np.allclose(f, x / 2, atol=1e-6)
    assert STORY[5].state["value"] == 0 and max(act.VALUES) == 2
    assert np.allclose(f * 2 * x, x**2, atol=1e-5) and "v x²/2" in STORY[5].because


def test_a_sigmoid_gate_makes_nothing_larger():
    widget = shown(6)
    assert widget.name == "sigmoid" and chosen(6) == "swish only"
    _, f, _ = curves(widget)
    assert (f > 0).all() and (f < 1).all()
    x, f, _ = curves(shown(6, activation=act.ACTIVATIONS.index("swish")))
    assert (f[x > 1.3] > 1).all() and (np.abs(f[x < 0]) < 1).all()

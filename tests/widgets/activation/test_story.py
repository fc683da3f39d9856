"""The story of ActivationExplorer: the right answers are true of the widget's own tables, the others are not."""

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
    x, f, slope = curves(shown(0, **straight))
    assert np.allclose(f, x / 2, atol=1e-6) and np.allclose(slope, 0.5, atol=1e-6) and "x/2" in STORY[0].because
    sums = shown(0, **straight).sums()
    assert (
        chosen(0) == "a straight line" and not shown(0, **straight).bends() and np.ptp(sums) > 2
    )  # and not 0 everywhere
    assert np.allclose(np.diff(sums), np.diff(sums)[0], atol=1e-5)
    assert all(shown(0, beta=beta).bends() for beta in act.BETAS[1:])


def test_gelu_is_steepest_at_1_4():
    widget = shown(1)
    x, _, slope = curves(widget)
    assert widget.name == "gelu" and chosen(1) == f"x = {x[slope.argmax()]:.1f}"
    assert np.isclose(slope.max(), 1.129, atol=5e-4) and "1.129" in STORY[1].because


def test_a_sigmoid_gate_makes_nothing_larger():
    widget = shown(2)
    assert widget.name == "sigmoid" and chosen(2) == "no"
    _, f, _ = curves(widget)
    assert (f > 0).all() and (f < 1).all()
    for v in act.VALUES:
        assert (np.abs(f * v) <= abs(v)).all() and (f * v * v >= 0).all()
    _, f, _ = curves(shown(2, activation="gelu"))
    assert (f > 1).any()  # another gate can, as the picture shows


def test_all_inputs_of_dead_units_are_below_0():
    widget = shown(3)
    inputs, dead = units(widget)
    assert widget.name == "relu" and 0 < dead.sum() < act.UNITS and chosen(3) == "all are below 0"
    assert (inputs[:, dead] < 0).all() and (inputs[:, ~dead] > 0).any(0).all()
    assert (inputs[:, dead].mean(0) < -1).all() and (inputs.std(0) > 0.5).all()  # the other choices
    x, f, slope = curves(widget)
    assert (f[x < -0.01] == 0).all() and (slope[x < -0.01] == 0).all()


def test_gelu_has_no_dead_units_and_mostly_flat_slopes():
    found = shown(4).facts()
    assert chosen(4) == "none, but most slopes are flat" and found["dead"] == 0
    assert f"{100 * found['flat']:.0f} %" in STORY[4].because and found["flat"] > 0.5
    relu = shown(4, activation=act.ACTIVATIONS.index("relu")).facts()["dead"]
    assert STORY[4].choices[0] == f"{relu}, as with relu"


def test_swish_turns_into_relu():
    far = [shown(5, beta=b).facts()["relu"] for b in act.BETAS]
    assert chosen(5) == "relu" and far == sorted(far, reverse=True) and far[-1] < 0.02
    x, f, _ = curves(shown(5, beta=act.BETAS[-1]))
    sigmoid = curves(shown(5, activation=act.ACTIVATIONS.index("sigmoid")))[1]
    assert np.abs(f - sigmoid).max() > 1 and np.abs(f - x / 2).max() > 1

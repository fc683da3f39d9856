"""The story of NormExplorer: the right answers are true of the widget's own tables, the others are not."""

import numpy as np
from anatomy.widgets import NormExplorer, norm
from anatomy.widgets.norm.story import STORY

from .learners import NORMS

POSITIVE = [s for s in norm.SCALES if s > 0]


def shown(i, **changes):
    return NormExplorer(NORMS, **{**STORY[i].state, **changes})


def chosen(i):
    return STORY[i].choices[STORY[i].answer]


def noticed(i, trait, values):
    """Norms that change anywhere along these values of a trait."""
    found = [shown(i, **{trait: v}).facts() for v in values]
    return {name for name in NORMS if any(f[name] > norm.TOLERANCE for f in found)}


def test_it_starts_where_the_widget_starts():
    widget = NormExplorer()
    assert {name: getattr(widget, name) for name in STORY[0].state} == STORY[0].state


def test_three_outputs_of_layer_norm_are_below_0():
    widget = shown(0)
    outputs = widget.outputs()
    below = np.flatnonzero(outputs["layer_norm"] < 0).tolist()
    assert (widget.vector() > 0).all() and (outputs["rms_norm"] > 0).all()
    assert chosen(0) == str(len(below)) == "3" and below == [1, 4, 7]  # as `because` says
    assert below == np.flatnonzero(widget.vector() < 3.5).tolist() and np.isclose(widget.vector().mean(), 3.5)


def test_only_rms_norm_notices_a_shift():
    assert noticed(1, "shift", norm.SHIFTS) == {"rms_norm"} and chosen(1) == "RMSNorm’s only"


def test_only_rms_norms_point_stays_above_the_plane():
    places = shown(2, stage=2).points()
    high = {name: way[-1][1] for name, way in places.items()}
    assert abs(high["layer_norm"]) < 1e-6 and chosen(2) == "RMSNorm’s" and f"{high['rms_norm']:.2f}" == "0.90"
    assert "0.90" in STORY[2].because and abs(places["rms_norm"][0]).max() < 3  # x itself is in the frame
    assert all(np.isclose(np.hypot(*way[-1]), 1, atol=1e-4) for way in places.values())  # both end on the circle


def test_neither_norm_notices_a_larger_scale():
    """The input outgrows its axis, as the step says."""
    assert [np.abs(shown(3, scale=s).vector()).max() > norm.END for s in (1.0, 3.0, 10.0, 100.0)] == [False] * 2 + [
        True
    ] * 2
    assert noticed(3, "scale", [s for s in POSITIVE if s >= 1]) == set() and chosen(3) == "neither"


def test_scale_minus_1_turns_all_bars_over():
    now, before = shown(4), shown(4, scale=1.0)
    assert chosen(4) == "both"
    for name in NORMS:
        assert np.allclose(now.outputs()[name], -before.outputs()[name], atol=1e-5)


def test_only_the_largest_epsilon_halves_the_bars():
    widget, first = shown(5), shown(5, scale=1.0)
    variance = widget.vector().var()
    assert np.abs(widget.vector()).max() < norm.END / 30  # "almost flat"
    assert f"{variance:.3f}" in STORY[5].says and round(0.1 / variance) == 7
    shorter = []
    for choice in STORY[5].choices:
        widget.eps = float(choice.replace("−", "-"))
        long = {name: np.abs(widget.outputs()[name]).max() / np.abs(first.outputs()[name]).max() for name in NORMS}
        shorter.append(all(v < 0.5 for v in long.values()))
        assert shorter[-1] or all(v > 0.9 for v in long.values())
    assert shorter.index(True) == STORY[5].answer and sum(shorter) == 1

"""The story of NormExplorer: the right answers are true of the widget's own tables, the others are not."""

import numpy as np
import pytest
from anatomy.widgets import NormExplorer, norm
from anatomy.widgets.norm.story import STORY

from .learners import NORMS


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


def test_neither_norm_notices_a_larger_scale():
    """The input outgrows its axis."""
    grown = [s for s in norm.SCALES if s >= 1]
    assert [np.abs(shown(0, scale=s).vector()).max() > norm.END for s in grown] == [False, False, True, True]
    assert noticed(0, "scale", grown) == set() and chosen(0) == "neither’s"


def test_only_rms_norm_notices_a_shift():
    assert noticed(1, "shift", norm.SHIFTS) == {"rms_norm"} and chosen(1) == "RMSNorm’s only"
    spread = {name: np.ptp(y) for name, y in shown(1, shift=10.0).outputs().items()}
    assert spread["rms_norm"] < 0.5 < 3 < spread["layer_norm"]  # "nearly alike"


def test_only_layer_norm_takes_the_height_away():
    places = shown(2, stage=2).points()
    high = {name: way[-1][1] for name, way in places.items()}
    assert abs(high["layer_norm"]) < 1e-6 and chosen(2) == "the height" and f"{high['rms_norm']:.2f}" == "0.90"
    assert "0.90" in STORY[2].because and abs(places["rms_norm"][0]).max() < 3  # x itself is in the frame
    assert all(np.isclose(np.hypot(*way[-1]), 1, atol=1e-4) for way in places.values())  # both end on the circle
    x, fallen, _ = places["layer_norm"]
    assert fallen[0] == pytest.approx(x[0]) and abs(fallen[1]) < 1e-6  # straight


def test_at_mean_0_both_norms_are_one():
    apart = {shift: np.abs(np.subtract(*shown(3, shift=shift).outputs().values())).max() for shift in norm.SHIFTS}
    assert [shift for shift, gap in apart.items() if gap < norm.TOLERANCE] == [-0.5] and chosen(3) == "not at all"
    assert "−0.5" in STORY[3].look and shown(3, shift=-0.5).vector().mean() == pytest.approx(0, abs=1e-6)
    assert f"μ is {shown(3).vector().mean():.1f}" in STORY[3].says


def test_only_a_large_epsilon_keeps_a_flat_input_small():
    widget = shown(4)
    variance = widget.vector().var()
    assert np.abs(widget.vector()).max() < norm.END / 300 and f"{variance:.5f}" in STORY[4].because  # "almost flat"
    long = {}
    for eps in norm.EPSILONS:
        widget.eps = eps
        long[eps] = max(np.abs(y).max() for y in widget.outputs().values())
    assert long[1e-8] > 2 and long[0.1] < 0.1 and chosen(4) == "keeps them low"
    assert sorted(long.values(), reverse=True) == list(long.values())
    assert np.sqrt(variance + 0.1) == pytest.approx(np.sqrt(0.1), rel=1e-3)  # "nearly √ε"


def test_layer_norm_forgets_size_and_mean_and_keeps_the_sign():
    assert chosen(5) == "3 · x + 3" and shown(5, scale=3.0, shift=3.0).facts()["layer_norm"] < norm.TOLERANCE
    assert shown(5, scale=3.0, shift=3.0).facts()["rms_norm"] > 1
    now, before = shown(5, scale=-1.0), shown(5)
    for name in NORMS:
        assert np.allclose(now.outputs()[name], -before.outputs()[name], atol=1e-5)

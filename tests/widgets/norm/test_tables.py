"""Tier 1 of NormExplorer: tables, facts, mistakes."""

import math

import numpy as np
import pytest
from anatomy.widgets import NormExplorer, norm

from .learners import NORMS, sum_rms_norm, unbiased_layer_norm


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


def test_points_are_the_vector_seen_from_the_side():
    """Two coordinates hold all of x: its length, its mean; and the learner's outputs, wherever they are."""
    for scale, shift in ((1.0, 2.0), (-1.0, -2.0), (0.3, 10.0)):
        widget = NormExplorer(NORMS, scale=scale, shift=shift)
        x, places = widget.vector(), widget.points()
        across = np.sign(scale) * x.std()
        assert places["layer_norm"][:2] == pytest.approx(np.array([[across, x.mean()], [across, 0]]), abs=1e-5)
        assert places["rms_norm"][1] == pytest.approx(places["rms_norm"][0])
        for name, y in widget.outputs().items():
            assert np.linalg.norm(places[name][[0, 2]], axis=1) * math.sqrt(8) == pytest.approx(
                [np.linalg.norm(x), np.linalg.norm(y)], rel=1e-5
            )
    short = NormExplorer(with_(NORMS, rms_norm=sum_rms_norm)).points()["rms_norm"][2]
    assert np.linalg.norm(short) == pytest.approx(1 / math.sqrt(8), rel=1e-4)


def test_the_way_is_told_up_to_the_stage_on_show():
    told = [NormExplorer(NORMS, show="points", stage=i, shift=2.0).alt for i in range(3)]
    assert "x is 3.38 along the plane and 7.07 above it." in told[0] and "lets it fall" not in told[0]
    assert "LayerNorm lets it fall to 3.38 along the plane and 0.00 above it" in told[1] and "ends at" not in told[1]
    assert "LayerNorm ends at 2.83 along and 0.00 above, RMSNorm at 1.22 along and 2.55 above." in told[2]
    assert NormExplorer(NORMS, show="points").png() != NormExplorer(NORMS).png()

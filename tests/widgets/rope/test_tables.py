"""Tier 1 of RopeExplorer: tables, facts, mistakes."""

import math

import numpy as np
import pytest
from anatomy.widgets import (
    RopeExplorer,
)
from anatomy.widgets.rope import BASES, DIMS, POSITIONS, TOLERANCE

from .learners import backward_rope, deaf_rope, half_rope, right_rope, sign_rope


def array(widget, name, *shape):
    return np.frombuffer(widget.tables[name], "<f4").reshape(shape)


def test_rope_tables_equal_a_loop_over_planes():
    widget = RopeExplorer(right_rope)
    for D in DIMS:
        q = array(widget, f"q{D}", len(BASES), POSITIONS, D)
        start = widget._inputs[f"q{D}"].tolist()
        for j, m, i in ((0, 63, 0), (2, 7, 1), (4, 40, D // 2 - 1)):
            angle = m * BASES[j] ** (-2 * i / D)
            x, y = start[2 * i], start[2 * i + 1]
            expected = [x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)]
            assert np.allclose(q[j, m, 2 * i : 2 * i + 2], expected, atol=2e-5)


def test_right_rope_keeps_every_invariant_at_every_setting():
    table = array(RopeExplorer(right_rope), "invariants", len(DIMS), len(BASES), 3)
    assert table.max() < TOLERANCE


@pytest.mark.parametrize(
    "fn, broken",
    [
        (sign_rope, {"shift", "norm", "reference"}),
        (backward_rope, {"reference"}),  # still a rotation: only the comparison can tell
        (deaf_rope, {"shift", "reference"}),
        (lambda x, position_ids, base=1e4: x, {"reference"}),
        (lambda x, position_ids, base=1e4: right_rope(x, position_ids), set()),  # right only at base 1e4
    ],
)
def test_mistakes_show_in_the_invariants(fn, broken):
    widget = RopeExplorer(fn, dim=8, base=1e4)
    found = widget.invariants()
    assert {k for k, v in found.items() if v > TOLERANCE} == broken
    for name in broken:
        assert found[name] > 0.1  # well above the tolerance
    assert ("broken" in widget.alt or "differs" in widget.alt) == bool(broken)


@pytest.mark.parametrize(
    "fn, cause",
    [
        (sign_rope, "differs"),
        (backward_rope, "differs: turns the other way"),
        (half_rope, "differs: pairs the halves"),
        (lambda x, position_ids, base=1e4: right_rope(x, position_ids, 10.0), "differs: other speeds"),
        (lambda x, position_ids, base=1e4: right_rope(x, 2 * position_ids, base), "differs: other speeds"),
        (lambda x, position_ids, base=1e4: x, "differs"),
    ],
)
def test_how_it_differs_is_said(fn, cause):
    for dim in DIMS:
        widget = RopeExplorer(fn, dim=dim)
        assert widget.cause() == cause and f"({cause})" in widget.alt


def test_base_ignored_shows_at_another_base():
    widget = RopeExplorer(lambda x, position_ids, base=1e4: right_rope(x, position_ids), base=100.0)
    assert widget.invariants()["reference"] > 0.1


def test_scores_follow_the_settings():
    widget = RopeExplorer(right_rope, dim=4)
    before = widget.scores()
    assert before.shape == (POSITIONS, POSITIONS)
    assert np.allclose(before[5:, 5:], before[:-5, :-5], atol=TOLERANCE)
    widget.base = 100.0
    assert not np.allclose(widget.scores(), before, atol=0.1)
    assert not np.allclose(before, before.T, atol=0.1)  # so that the direction is visible

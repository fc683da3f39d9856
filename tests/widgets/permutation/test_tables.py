"""Tier 1 of PermutationExplorer: tables, facts, mistakes."""

import numpy as np
from anatomy.widgets import (
    PermutationExplorer,
)
from anatomy.widgets.permutation import ORDERS, TOLERANCE

from ..attention.learners import causal_always, right_attention


def array(widget, name, *shape):
    return np.frombuffer(widget.tables[name], "<f4").reshape(shape)


def test_permutation_holds_without_positions_and_breaks_with_them():
    widget = PermutationExplorer(right_attention)
    for order in ORDERS:
        widget.order, widget.positions = order, False
        assert widget.gap() < TOLERANCE
        widget.positions = True
        assert widget.gap() < TOLERANCE if order == "as written" else widget.gap() > 0.1
    assert sorted(map(sorted, ORDERS.values())) == [list(range(6))] * len(ORDERS)


def test_permutation_rows_are_moved_the_right_way():
    widget = PermutationExplorer(right_attention, order="shuffled")
    out = array(widget, "out", 2, len(ORDERS), 6, 8)
    place = list(ORDERS).index("shuffled")
    for new, old in enumerate(ORDERS["shuffled"]):
        assert np.allclose(out[0, place, new], out[0, 0, old], atol=1e-5)


def test_permutation_shows_a_hidden_mask():
    widget = PermutationExplorer(causal_always)
    assert widget.gap() > 0.1 and "not equal" in widget.alt

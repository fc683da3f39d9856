"""Tier 1 of PermutationExplorer: tables, facts, mistakes."""

import numpy as np
from anatomy.widgets import (
    PermutationExplorer,
)
from anatomy.widgets.permutation import NAMED, ORDERS, TOLERANCE, T, moved_word

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


def test_permutation_whatever_a_hand_can_reach_is_measured_with_the_learners_function():
    """Each word of the sentence as written at each place, once; all in one call, and in little room."""
    calls = []

    def counted(q, k, v, mask=None):
        calls.append(q.shape)
        return right_attention(q, k, v, mask)

    widget = PermutationExplorer(counted)
    reached = {moved_word(word, place) for word in range(T) for place in range(T)}
    assert len(reached) == 26 and reached <= set(ORDERS.values()) and len(set(ORDERS.values())) == len(ORDERS) == 30
    assert moved_word(1, 4) == (0, 2, 3, 4, 1, 5) == ORDERS["dog: 1 → 4"] and moved_word(2, 3) == ORDERS["bites ↔ the"]
    assert list(ORDERS)[: len(NAMED)] == list(NAMED)
    assert calls == [(60, 1, 6, 16)] and sum(map(len, widget.tables.values())) < 40_000


def test_permutation_a_mistake_in_one_order_shows_in_that_order():
    """A moved word has numbers of its own, and not those of another order."""
    place = list(ORDERS).index("bites: 2 → 5")

    def wrong_once(q, k, v, mask=None):
        out = right_attention(q, k, v, mask)
        out[place] += 1
        return out

    widget = PermutationExplorer(wrong_once)
    for order in ORDERS:
        widget.order = order
        assert (widget.gap() > 0.5) == (order == "bites: 2 → 5")
